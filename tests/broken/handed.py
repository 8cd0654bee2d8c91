"""A submission before it is damaged, and the list of ways in which it is: a case is a builder with its outcome.

The undamaged one is no flawless one: its first function makes a mistake that the tasks know, its second calls a helper
in a cell of the student's own. So a repair that loses the helper, or gives points for nothing, is seen in the verdicts.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from rlinfra_autograder.classroom import Student, solve_in_style
from rlinfra_autograder.tasks import FunctionTask, load_tasks

STUDENT = "ada"
TOPICS = ("memory", "kv-cache", "records", "pipelines")  # the quick ones; pipelines has a question in words
HELPER = "my-helper"


def undamaged(released: NotebookNode, topic: str) -> NotebookNode:
    """Return the submission of one student: a known mistake in the first function, a helper for the second."""
    first, second, *_ = (task for task in load_tasks(topic) if isinstance(task, FunctionTask))
    student = Student(STUDENT, "for damaging", solve_in_style(0), {first.name: first.misconceptions[0]})
    notebook = student.submission(released, topic)
    place = next(place for place, cell in enumerate(notebook.cells) if cell.id == f"{second.name}-code")
    code = notebook.cells[place]
    source = code.source.replace(f"def {second.name}(", f"def my_{second.name}(")
    code.source = f"def {second.name}(*args, **kwargs):\n    return my_{second.name}(*args, **kwargs)"
    notebook.cells.insert(place, nbformat.v4.new_code_cell(source, id=HELPER))
    return notebook


@dataclass
class Handed:
    """A folder to hand in, and the notebook to be damaged: `data` is its JSON, `cells` the cells in it."""

    folder: Path
    topic: str
    released: NotebookNode
    data: dict = field(init=False)

    def __post_init__(self):
        self.folder.mkdir(parents=True)
        self.data = json.loads(json.dumps(undamaged(self.released, self.topic)))

    @property
    def cells(self) -> list:
        return self.data["cells"]

    @cells.setter
    def cells(self, cells: list) -> None:
        self.data["cells"] = cells

    @property
    def names(self) -> list[str]:
        """The functions of the topic: the first is wrong, the second has a helper, the third and fourth are right."""
        return [task.name for task in load_tasks(self.topic) if isinstance(task, FunctionTask)]

    @property
    def text(self) -> str:
        return json.dumps(self.data, ensure_ascii=False, indent=1)

    def cell(self, name: str) -> dict:
        return self.cells[self.place(name)]

    def place(self, name: str) -> int:
        return next(place for place, cell in enumerate(self.cells) if cell["id"] == name)

    def take(self, name: str) -> dict:
        return self.cells.pop(self.place(name))

    def delete(self, *names: str) -> None:
        self.cells = [cell for cell in self.cells if cell["id"] not in names]

    def insert_after(self, name: str, *cells: dict) -> None:
        place = self.place(name) + 1
        self.cells[place:place] = cells

    def copy(self, name: str, **changes) -> dict:
        """Return a copy of a cell as an editor makes it: under a new id, its metadata copied along."""
        return {**copy.deepcopy(self.cell(name)), "id": f"copy-of-{name}"[:60], **changes}

    def merge(self, *names: str, into: str | None = None, kind: str | None = None) -> None:
        """Join cells as an editor does: the first one, or the one given, keeps its id, type and metadata."""
        kept = self.cell(into or names[0])
        source = "\n\n".join(self.cell(name)["source"] for name in names)
        place = self.place(names[0])
        for name in names:
            self.take(name)
        self.cells.insert(place, {**kept, "source": source, "cell_type": kind or kept["cell_type"]})

    def write(self, content: str | bytes | None = None, name: str | None = None) -> Path:
        path = self.folder / (name or f"{self.topic}.ipynb")
        path.parent.mkdir(parents=True, exist_ok=True)
        content = self.text if content is None else content
        path.write_bytes(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)
        return path


@dataclass(frozen=True)
class Case:
    """A damage: of which kind, what it does to the folder, and what becomes of it.

    `repairs` are the kinds of repair of an admitted one, `reason` is a part of the sentence that refuses it.
    """

    kind: str
    name: str
    build: Callable[[Handed], None]
    repairs: frozenset[str] = frozenset()
    reason: str = ""
    topic: str = ""

    def handed(self, submitted: Path, number: int, released: Callable[[str], NotebookNode]) -> Handed:
        """Return the damaged submission; topics go in turn where the case does not ask for one."""
        topic = self.topic or TOPICS[number % len(TOPICS)]
        handed = Handed(submitted / STUDENT / topic, topic, released(topic))
        self.build(handed)
        return handed


CASES: list[Case] = []


def repaired(kind: str, *repairs: str, topic: str = ""):
    """Register a builder that changes the notebook, which is then written; it is repaired in these ways."""
    return _register(kind, frozenset(repairs), "", topic, writes=False)


def refused(kind: str, reason: str):
    """Register a builder that writes the folder; it is refused for a reason with these words in it."""
    return _register(kind, frozenset(), reason, "", writes=True)


def found(kind: str, *repairs: str, topic: str = ""):
    """Register a builder that writes the folder; the notebook in it is found and repaired in these ways."""
    return _register(kind, frozenset(repairs), "", topic, writes=True)


def _register(kind: str, repairs: frozenset[str], reason: str, topic: str, *, writes: bool):
    def register(builder):
        def build(handed: Handed) -> None:
            builder(handed)
            if not writes:
                handed.write()

        CASES.append(Case(kind, builder.__name__, build, repairs, reason, topic))
        return builder

    return register

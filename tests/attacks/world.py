"""What an attack could reach: a course root with a secret in every file, processes, sockets, the grader itself.

A world is made for one attack and compared with itself afterwards, so that `touched` says what the attack reached
without knowing what it tried.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
import secrets
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat

import rlinfra_reference
from rlinfra_autograder.grade import Graded
from rlinfra_autograder.sandbox.zygote import CHILD

from . import notebooks, texts_of
from .attack import Attack, Goal
from .feedback_page import FeedbackReader
from .listeners import Listeners
from .system import (
    SharedSegment,
    Victim,
    adopting_orphans,
    descendants,
    end,
    eventually,
    kept_in_the_kernel,
    remove_tree,
)

CANARY = "RLINFRA_ATTACK_CANARY"
PATIENCE_SECONDS = 20.0  # both runs of a notebook, each as long as the limits of the bench let it wait, and some more
MORE_PATIENCE_SECONDS = 60.0  # with an attack that wants something else than to hold the grader up
MOST_SAID = 1 << 20
LOOK_AROUND = """
import builtins, os, sys, threading
places = [*vars(builtins), *os.environ, *os.listdir(), *(thread.name for thread in threading.enumerate()),
          *(str(getattr(finder, "name", "")) for finder in sys.meta_path)]
if any("«tag»" in place for place in places):
    «say»
"""
GradeIt = Callable[[Any, str], Graded]


@dataclass(frozen=True)
class Touch:
    """One thing that an attack reached."""

    goal: Goal
    what: str

    def __str__(self) -> str:
        return f"{self.goal.value}: {self.what}"


class World:
    """The world of one attack, used as a context. `scratch` is where the grader's temporary folders are made."""

    def __init__(self, scratch: Path, reader: FeedbackReader | None = None, root: Path | None = None) -> None:
        self.tag = f"own{secrets.token_hex(8)}"
        self.secret = secrets.token_hex(24)
        self.scratch = scratch
        self._reader = reader
        self._given_root = root

    def __enter__(self) -> World:
        self._orphans = adopting_orphans()
        self._orphans.__enter__()
        self._made = self._given_root is None
        self.root = self._given_root or Path(tempfile.mkdtemp(prefix="attacked-", dir="/tmp"))
        self._fill_root()
        self.victim = Victim(self.secret)
        self.listeners = Listeners(self.root, self.tag)
        self.segment = SharedSegment(self.secret)
        self._posix = Path("/dev/shm") / f"secret-{self.tag}"
        self._posix.write_text(self.secret)
        self._posix.chmod(0o666)
        os.environ[CANARY] = self.secret
        self.descriptor = os.open(self.root / "course-seed.txt", os.O_RDONLY)
        os.set_inheritable(self.descriptor, True)
        self.names = self._names()
        self._files = self._snapshot()
        self._scratch = self._in_scratch()
        self._processes = set(descendants())
        return self

    def __exit__(self, *_: object) -> None:
        end([process for pid, process in descendants().items() if pid not in self._processes])
        os.close(self.descriptor)
        os.environ.pop(CANARY, None)
        self._posix.unlink(missing_ok=True)
        self.segment.close()
        self.listeners.close()
        self.victim.close()
        kept_in_the_kernel(self.tag)
        for path in self._tagged():
            path.unlink() if not path.is_dir() or path.is_symlink() else remove_tree(path)
        for path in self._in_scratch() - self._scratch:
            remove_tree(path)
        if self._made:
            remove_tree(self.root)
        self._orphans.__exit__(None, None, None)

    def _fill_root(self) -> None:
        """Lay out a course root in which everybody may read: only the grader's own defences stand in the way."""
        self.root.chmod(0o755)
        topic = notebooks.TOPIC
        (self.root / "course-seed.txt").write_text(self.secret)
        source = self.root / "source" / topic / f"{topic}.ipynb"
        if not source.exists():
            source.parent.mkdir(parents=True)
            shutil.copy(notebooks.ROOT / "source" / topic / f"{topic}.ipynb", source)
        gradebook = self.root / "gradebook.db"
        if not gradebook.exists():
            gradebook.write_text(f"every grade, and {self.secret}")
        neighbour = self.root / "submitted" / notebooks.NEIGHBOUR / topic / f"{topic}.ipynb"
        neighbour.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebooks.honest_notebook(), neighbour)
        (self.root / "outside").mkdir(exist_ok=True)
        (self.root / "outside").chmod(0o777)
        (self.root / "outside" / "file").write_text("as it was")
        (self.root / "outside" / "file").chmod(0o666)

    def _names(self) -> dict[str, str]:
        topic = notebooks.TOPIC
        return {
            "root": str(self.root),
            "seed": str(self.root / "course-seed.txt"),
            "source": str(self.root / "source" / topic / f"{topic}.ipynb"),
            "gradebook": str(self.root / "gradebook.db"),
            "neighbour": str(self.root / "submitted" / notebooks.NEIGHBOUR / topic / f"{topic}.ipynb"),
            "outside": str(self.root / "outside"),
            "file": str(self.root / "outside" / "file"),
            "scratch": str(self.scratch),
            "reference": str(Path(rlinfra_reference.__file__).parent),
            "library": str(_student_library()),
            "victim": str(self.victim.pid),
            "address": str(self.victim.address),
            "length": str(len(self.secret)),
            "grader": str(os.getpid()),
            "descriptor": str(self.descriptor),
            "canary": CANARY,
            "port": str(self.listeners.port),
            "udp": str(self.listeners.udp),
            "port6": str(self.listeners.port6),
            "unix": str(self.listeners.unix),
            "segment": str(self.segment.id),
            "posix": str(self._posix),
            "tag": self.tag,
            "say": f"print({self.tag!r}[::-1])",
            "functions": json.dumps(notebooks.FUNCTIONS),
        }

    def fill(self, notebook: Any) -> Any:
        """Return the notebook with the world's names filled in."""
        text = nbformat.writes(notebook)
        for name, value in self.names.items():
            text = text.replace(f"«{name}»", json.dumps(value)[1:-1])
        assert "«" not in text, "a name that this world does not have"
        return nbformat.reads(text, as_version=4)

    # --- before and after ---------------------------------------------------------------------------------------

    def _snapshot(self) -> dict[Path, object]:
        return {path: _state_of(path) for path in sorted(self.root.rglob("*"))}

    def _tagged(self) -> list[Path]:
        """Return the files and folders of this attack's name in the places where one could be put."""
        library = _student_library()
        places = [
            library, library / "rlinfra", library / "rlinfra" / "__pycache__", CHILD, Path.home(), Path("/tmp"),
            Path("/var/tmp"), Path("/dev/shm"), Path.home() / ".ipython" / "profile_default" / "startup",
        ]  # fmt: skip
        found = [path for place in places if place.is_dir() for path in place.iterdir() if self.tag in path.name]
        return [path for path in found if path != self._posix]

    def attempt(self, attack: Attack, grade_it: GradeIt) -> tuple[Graded | None, list[Touch]]:
        """Grade the attack's notebook, and return the outcome with what the attack reached."""
        notebook = self.fill(attack.notebook(notebooks.wrong_notebook()))
        patience = PATIENCE_SECONDS if attack.goal is Goal.GRADER else MORE_PATIENCE_SECONDS
        graded, error = self._graded(grade_it, notebook, patience)
        touches = [Touch(Goal.GRADER, error)] if error else []
        touches += self._outside()
        if graded is not None:
            touches += self._in_the_outputs(graded, attack.goal)
            if attack.goal is Goal.BROWSER and self._reader is not None:
                touches += [Touch(Goal.BROWSER, what) for what in self._reader.touched(graded.notebook)]
        return graded, touches

    def _graded(self, grade_it: GradeIt, notebook: Any, patience: float) -> tuple[Graded | None, str]:
        """Grade in a thread; a grader that hangs is freed by ending what it started."""
        future: Future[Graded] = Future()

        def work() -> None:
            try:
                future.set_result(grade_it(notebook, notebooks.ATTACKER))
            except BaseException as error:  # whatever it is, it ends the grading of this submission
                future.set_exception(error)

        threading.Thread(target=work, daemon=True).start()
        try:
            return future.result(timeout=patience), ""
        except TimeoutError:
            while not future.done():
                end(self._new_processes())
                wait([future], timeout=0.5)
            return None, "it did not end by itself"
        except BaseException as error:
            return None, f"{type(error).__name__}: {str(error)[:200]}"

    def _outside(self) -> list[Touch]:
        after = self._snapshot()
        changed = [path for path in sorted({*self._files, *after}) if self._files.get(path) != after.get(path)]
        touches = [Touch(Goal.WRITE, str(path.relative_to(self.root))) for path in changed]
        touches += [Touch(Goal.WRITE, str(path)) for path in self._tagged()]
        touches += [Touch(Goal.CONNECT, name) for name in dict.fromkeys(self.listeners.reached)]
        touches += [Touch(Goal.VICTIM, what) for what in self.victim.changed()]
        if self.segment.changed() or self._posix.read_text() != self.secret:
            touches.append(Touch(Goal.VICTIM, "its shared memory"))
        if not eventually(lambda: not self._new_processes()):
            touches.append(Touch(Goal.PROCESS, f"{len(self._new_processes())} left alive"))
        eventually(lambda: self._in_scratch() <= self._scratch)
        left = self._in_scratch() - self._scratch
        touches += [Touch(Goal.LEFTOVER, "its working folder") for _ in left]
        touches += [Touch(Goal.LEFTOVER, what) for what in kept_in_the_kernel(self.tag)]
        return touches

    def _in_scratch(self) -> set[Path]:
        """Return the grader's temporary folders, and what lies right in them."""
        return {*self.scratch.glob("*"), *self.scratch.glob("*/*")}

    def next_student(self, grade_it: GradeIt) -> list[Touch]:
        """Grade an honest notebook after the attack; it also looks around for what the attack left."""
        notebook = copy.deepcopy(notebooks.honest_notebook())
        notebook.cells.append(nbformat.v4.new_code_cell(LOOK_AROUND, id="look-around"))
        graded = grade_it(self.fill(notebook), notebooks.NEIGHBOUR)
        touches = []
        if graded.earned != notebooks.ALL_POINTS:
            touches.append(Touch(Goal.LEFTOVER, f"it got {graded.earned:g} points"))
        if self.tag[::-1] in texts_of.said_by(graded):
            touches.append(Touch(Goal.LEFTOVER, "it found something"))
        return touches

    def _new_processes(self) -> list[Any]:
        return [process for pid, process in descendants().items() if pid not in self._processes]

    def _in_the_outputs(self, graded: Graded, goal: Goal) -> list[Touch]:
        touches = []
        if graded.earned > 0:
            touches.append(Touch(Goal.POINTS, f"{graded.earned:g}"))
        said = texts_of.said_by(graded)
        if self.secret in said:
            touches.append(Touch(Goal.READ, "the secret stands in the outputs"))
        if self.tag[::-1] in said:
            touches.append(Touch(goal, "it says so"))
        shown = [number for number in notebooks.hidden_numbers() if number in said]
        if shown:
            touches.append(Touch(Goal.INPUTS, f"{len(shown)} numbers"))
        if len(said) > MOST_SAID:
            touches.append(Touch(Goal.BOUNDS, f"{len(said) >> 10:,} KiB of outputs"))
        touches += [Touch(Goal.TEXT, line) for line in texts_of.dangerous_lines(graded)]
        try:
            nbformat.validate(graded.notebook)
            nbformat.writes(graded.notebook).encode()
        except Exception as error:
            touches.append(Touch(Goal.GRADER, f"the graded notebook cannot be written: {type(error).__name__}"))
        return touches


def _student_library() -> Path:
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return notebooks.ROOT / ".venv-student" / "lib" / version / "site-packages"


def _state_of(path: Path) -> object:
    status = path.lstat()
    state = (status.st_mode, status.st_uid, status.st_gid, status.st_nlink)
    if not path.is_file():
        return state
    return (*state, status.st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest())

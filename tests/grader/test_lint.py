"""The lint of source notebooks: each rule trips on a notebook that breaks it alone, and on no other."""

import copy
import json
import shutil

import pytest

from rlinfra.topics import TOPICS
from rlinfra_autograder import lint
from rlinfra_autograder.lint import lint_topic

from .course import REPOSITORY


class Source:
    """A notebook to be damaged: its cells by id, as JSON, so that nothing is repaired on the way."""

    def __init__(self, path):
        self.path = path
        self.data = json.loads(path.read_text(encoding="utf-8"))

    @property
    def cells(self):
        return self.data["cells"]

    def __getitem__(self, name):
        return next(cell for cell in self.cells if cell["id"] == name)

    def place(self, name):
        return self.cells.index(self[name])

    def edit(self, name, old, new):
        text = "".join(self[name]["source"])
        assert old in text
        self[name]["source"] = text.replace(old, new)

    def write(self):
        self.path.write_text(json.dumps(self.data), encoding="utf-8")


@pytest.fixture
def root(tmp_path):
    for folder in ("source", "release"):
        (tmp_path / folder / "memory").mkdir(parents=True)
        name = f"{folder}/memory/memory.ipynb"
        shutil.copy(REPOSITORY / name, tmp_path / name)
    return tmp_path


@pytest.fixture
def source(root):
    return Source(root / "source/memory/memory.ipynb")


@pytest.mark.parametrize("topic", [topic.name for topic in TOPICS])
def test_the_sources_and_releases_of_the_course_pass(topic):
    assert lint_topic(REPOSITORY, topic) == []


def test_an_undamaged_copy_passes_with_its_release_and_without(root, source):
    source.write()
    assert lint_topic(root, "memory") == []
    (root / "release/memory/memory.ipynb").unlink()
    assert lint_topic(root, "memory") == []


# --- what can be wrong with a source ------------------------------------------------------------------------------


def id_is_not_the_grade_id(source):
    source["bytes_per_parameter-prompt"]["metadata"]["nbgrader"]["grade_id"] = "other-prompt"


def output_is_left(source):
    source["setup"]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ["hello\n"]}]


def widgets_are_left(source):
    source.data["metadata"]["widgets"] = {"application/vnd.jupyter.widget-state+json": {"state": {}}}


def number_is_left(source):
    source["setup"]["execution_count"] = 3


def solution_is_not_ended(source):
    source.edit("logits_bytes-code", "### END SOLUTION", "### END")


def solution_begins_in_the_middle_of_a_line(source):
    source.edit("logits_bytes-code", "    ### BEGIN SOLUTION\n", "    pass  # BEGIN SOLUTION\n")


def two_titles(source):
    source.edit("closing", "## What to keep", "# What to keep")


def title_is_not_the_first_heading(source):
    source.cells.insert(0, {"cell_type": "markdown", "id": "before", "metadata": {}, "source": "## Before all"})


def no_title(source):
    source.edit("title", "# Bytes per parameter", "Bytes per parameter")


def heading_leaves_out_a_level(source):
    source.edit("worked", "### One parameter", "#### One parameter")


def check_is_gone(source):
    source.cells.remove(source["logits_bytes"])


def check_stands_twice(source):
    again = copy.deepcopy(source["logits_bytes"])
    again["id"] = again["metadata"]["nbgrader"]["grade_id"] = "again"
    source.cells.append(again)


def checks_are_exchanged(source):
    one, other = source.place("memory_variant-prompt"), source.place("memory_sort-prompt")
    last = source.place("memory_sort") + 1
    source.cells[one:last] = source.cells[other:last] + source.cells[one:other]


def check_has_a_second_line(source):
    source["peak_memory"]["source"] = 'check("peak_memory")\nprint("done")'


def check_is_of_another_task(source):
    source["peak_memory"]["source"] = 'check("logits_bytes")'


def points_differ(source):
    source["peak_memory"]["metadata"]["nbgrader"]["points"] = 3


def prompt_is_gone(source):
    source.cells.remove(source["peak_memory-prompt"])


def code_is_gone(source):
    source.cells.remove(source["peak_memory-code"])


def code_stands_after_its_check(source):
    code = source["peak_memory-code"]
    source.cells.remove(code)
    source.cells.insert(source.place("peak_memory") + 1, code)


def prompt_can_be_edited(source):
    source["peak_memory-prompt"]["metadata"]["nbgrader"]["locked"] = False


def prompt_is_a_solution(source):
    source["peak_memory-prompt"]["metadata"]["nbgrader"]["solution"] = True


def code_is_no_solution(source):
    source["peak_memory-code"]["metadata"]["nbgrader"]["solution"] = False


def code_is_graded_by_hand(source):
    source["peak_memory-code"]["metadata"]["nbgrader"].update(grade=True, points=2)


def no_minutes(source):
    source.edit("peak_memory-prompt", "15 min", "a while")


def function_has_another_name(source):
    source.edit("peak_memory-code", "def peak_memory(", "def peak(")


def field_is_not_asked_for(source):
    source.edit("memory_variant-prompt", "rank_gib", "share")


def statement_is_not_told(source):
    source.edit("memory_sort-prompt", "a_second_adam_moment", "a_moment")


def class_is_not_told(source):
    source.edit("memory_sort-prompt", "not counted", "left out")


DAMAGES = {
    id_is_not_the_grade_id: "(bytes_per_parameter-prompt): its id must be its grade id 'other-prompt'",
    output_is_left: "cell 3 (setup): outputs and numbers must be cleared",
    widgets_are_left: "the metadata holds the state of widgets: clear all outputs and save",
    number_is_left: "cell 3 (setup): outputs and numbers must be cleared",
    solution_is_not_ended: "(logits_bytes-code): a solution needs a line ### BEGIN SOLUTION and a line ### END SOL",
    solution_begins_in_the_middle_of_a_line: "(logits_bytes-code): a solution needs a line ### BEGIN SOLUTION",
    two_titles: "the notebook must open with its one heading of level 1",
    title_is_not_the_first_heading: "the notebook must open with its one heading of level 1",
    no_title: "the notebook must open with its one heading of level 1",
    heading_leaves_out_a_level: "cell worked: a heading of level 4 follows one of level 2",
    check_is_gone: "each task must be used once, in order",
    check_stands_twice: "each task must be used once, in order",
    checks_are_exchanged: "each task must be used once, in order",
    check_has_a_second_line: 'the graded cell must be the one line check("peak_memory")',
    check_is_of_another_task: 'the graded cell must be the one line check("peak_memory")',
    points_differ: "peak_memory: 3 points, the task says 2",
    prompt_is_gone: "peak_memory: there is no cell peak_memory-prompt",
    code_is_gone: "peak_memory: there is no cell peak_memory-code",
    code_stands_after_its_check: "peak_memory: the cell peak_memory-code stands after its check",
    prompt_can_be_edited: "peak_memory: its prompt must be locked",
    prompt_is_a_solution: "peak_memory: its prompt must be locked",
    code_is_no_solution: "peak_memory: its code must be an autograded answer's solution cell",
    code_is_graded_by_hand: "peak_memory: its code must be an autograded answer's solution cell",
    no_minutes: "peak_memory: its prompt does not state the minutes",
    function_has_another_name: "peak_memory: 'def peak_memory(' is nowhere in its prompt or code",
    field_is_not_asked_for: "memory_variant: 'rank_gib' is nowhere in its prompt or code",
    statement_is_not_told: "memory_sort: 'a_second_adam_moment' is nowhere in its prompt or code",
    class_is_not_told: "memory_sort: 'not counted' is nowhere in its prompt or code",
}


@pytest.mark.parametrize(("damage", "part"), DAMAGES.items(), ids=[damage.__name__ for damage in DAMAGES])
def test_a_damage_is_the_one_problem_told(root, source, damage, part):
    damage(source)
    source.write()
    problems = lint_topic(root, "memory")
    assert len(problems) == 1
    assert problems[0].startswith("memory: ")
    assert part in problems[0]


@pytest.mark.parametrize("part", ["def tune(", "max_policy_lag"])
def test_a_function_or_a_setting_of_a_choice_that_is_nowhere_is_told(tmp_path, part):
    path = tmp_path / "source" / "lab" / "lab.ipynb"
    path.parent.mkdir(parents=True)
    text = (REPOSITORY / "source/lab/lab.ipynb").read_text(encoding="utf-8")
    path.write_text(text.replace(part, part.upper()), encoding="utf-8")
    assert lint_topic(tmp_path, "lab") == [f"lab: tune: {part!r} is nowhere in its prompt or code"]


def test_headings_in_a_fenced_block_are_no_headings(root, source):
    source["closing"]["source"] = "## What to keep\n\n```python\n# a comment\n```\n"
    source.write()
    assert lint_topic(root, "memory") == []


def test_several_damages_are_all_told(root, source):
    for damage in (no_minutes, number_is_left, heading_leaves_out_a_level, points_differ):
        damage(source)
    source.write()
    assert len(lint_topic(root, "memory")) == 4


def test_a_topic_whose_tasks_are_not_worth_20_points_is_told(root, monkeypatch):
    monkeypatch.setattr(lint, "POINTS_A_TOPIC", 21)
    assert lint_topic(root, "memory") == ["memory: the tasks are worth 20 points, not 21"]


def test_a_missing_notebook_is_told_with_its_place(root):
    assert lint_topic(root, "kv-cache") == ["kv-cache: there is no notebook at source/kv-cache/kv-cache.ipynb"]


def test_a_line_of_a_solution_in_the_release_is_told(root):
    release = Source(root / "release/memory/memory.ipynb")
    release["closing"]["source"] = [
        "## What to keep\n",
        "    return  total_bytes / ranks\n",
        "return total_bytes / ranks",
    ]
    release.write()
    assert lint_topic(root, "memory") == ["memory: the release holds a line of a solution: return total_bytes / ranks"]


def test_a_line_that_stands_outside_the_solution_too_may_stand_in_the_release(root, source):
    source["closing"]["source"] = ["## What to keep\n", "return total_bytes / ranks"]
    source.write()
    release = Source(root / "release/memory/memory.ipynb")
    release["closing"]["source"] = source["closing"]["source"]
    release.write()
    assert lint_topic(root, "memory") == []

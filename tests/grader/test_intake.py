"""The intake: it raises for nothing, what it admits keeps to the release, and nbgrader finds no fault in it."""

from __future__ import annotations

import copy
import json
import logging
import tempfile
import time
from pathlib import Path

import nbformat
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from nbgrader.preprocessors import CheckCellMetadata, DeduplicateIds, OverwriteCells, OverwriteKernelspec
from traitlets.config import Config

from rlinfra_autograder.intake import Admitted, Refused, take_in
from rlinfra_autograder.intake.outcome import SENTENCES, Notes, printable
from tests.broken import cells, marks
from tests.broken.handed import HELPER, Handed, undamaged

from .course import REPOSITORY

TOPIC = "memory"
RELEASED = nbformat.read(REPOSITORY / "release" / TOPIC / f"{TOPIC}.ipynb", as_version=4)
SOLVED = undamaged(RELEASED, TOPIC)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def take_in_bytes(data: bytes):
    """Take in a folder that holds one file under the right name."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "ada" / TOPIC
        folder.mkdir(parents=True)
        (folder / f"{TOPIC}.ipynb").write_bytes(data)
        outcome = take_in(folder, TOPIC, RELEASED)
        assert outcome == take_in(folder, TOPIC, RELEASED)
        assert [path.name for path in folder.iterdir()] == [f"{TOPIC}.ipynb"]
        assert (folder / f"{TOPIC}.ipynb").read_bytes() == data
    return outcome


def assert_keeps_to_the_release(notebook):
    nbformat.validate(notebook, version=4, version_minor=5)
    ids = [cell.id for cell in notebook.cells]
    assert len(set(ids)) == len(ids)
    kept = {cell.id: cell for cell in notebook.cells}
    assert [name for name in ids if name in {cell.id for cell in RELEASED.cells}] == [
        cell.id for cell in RELEASED.cells
    ]
    for cell in RELEASED.cells:
        assert kept[cell.id].metadata == cell.metadata
        assert kept[cell.id].cell_type == cell.cell_type
        if cell.metadata.get("editable") is False:
            assert kept[cell.id].source == cell.source
    for name in set(ids) - {cell.id for cell in RELEASED.cells}:
        assert kept[name].metadata == {}
    assert notebook.metadata == RELEASED.metadata
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in notebook.cells)
    nbformat.writes(notebook).encode()


def dumped(content) -> bytes:
    return json.dumps(content).encode()


# --- anything at all


@quick
@given(st.binary() | st.text().map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_are_refused_with_one_sentence(data):
    outcome = take_in_bytes(data)
    assert isinstance(outcome, Refused)
    assert outcome.reason.endswith(".")
    assert outcome.reason.isprintable()


@quick
@given(ANYTHING)
@example([[[[[]]]]])
@example({"cells": [[]]})
def test_any_json_is_refused(content):
    assert isinstance(take_in_bytes(dumped(content)), Refused)


@quick
@given(
    st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "cell_type": st.sampled_from(["code", "markdown", "raw", "heading"]) | ANYTHING,
                "source": st.sampled_from([cell.source for cell in SOLVED.cells]) | ANYTHING,
                "id": st.sampled_from([cell.id for cell in SOLVED.cells]) | ANYTHING,
                "level": ANYTHING,
                "attachments": ANYTHING,
                "metadata": st.fixed_dictionaries(
                    {"nbgrader": st.sampled_from([dict(cell.metadata.get("nbgrader", {})) for cell in SOLVED.cells])}
                )
                | ANYTHING,
            },
        )
        | ANYTHING,
        max_size=8,
    ),
    ANYTHING,
)
def test_any_list_of_cells_is_refused_or_keeps_to_the_release(entries, version):
    outcome = take_in_bytes(dumped({"cells": entries, "nbformat": version, "nbformat_minor": version}))
    if isinstance(outcome, Admitted):
        assert_keeps_to_the_release(outcome.notebook)


@quick
@given(st.data())
def test_cells_deleted_doubled_and_moved_at_random_keep_to_the_release_and_lose_no_solution(data):
    solved = json.loads(nbformat.writes(SOLVED))["cells"]
    places = data.draw(st.lists(st.integers(0, len(solved) - 1), min_size=1, max_size=2 * len(solved)))
    without_marks = data.draw(st.booleans())
    handed = [copy.deepcopy(solved[place]) for place in places]
    for cell in handed if without_marks else ():
        cell["metadata"] = {}
        del cell["id"]
    outcome = take_in_bytes(dumped({"cells": handed, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    marked = {cell.id for cell in RELEASED.cells if "nbgrader" in cell.metadata or not cell.metadata.get("editable", 1)}
    if not marked & {solved[place]["id"] for place in places}:
        assert isinstance(outcome, Refused) or HELPER in {solved[place]["id"] for place in places}
        return
    assert_keeps_to_the_release(outcome.notebook)
    admitted = {cell.id: cell.source for cell in outcome.notebook.cells}
    for place in places:
        if solved[place]["id"].endswith("-code"):
            assert admitted[solved[place]["id"]] == SOLVED.cells[place].source


@quick
@given(st.integers(0, 40), st.binary(min_size=1, max_size=8))
def test_a_few_bytes_overwritten_anywhere_never_raise(part, noise):
    data = bytearray(nbformat.writes(SOLVED).encode())
    start = part * len(data) // 41
    data[start : start + len(noise)] = noise
    outcome = take_in_bytes(bytes(data))
    if isinstance(outcome, Admitted):
        assert_keeps_to_the_release(outcome.notebook)


# --- the undamaged one


def test_an_undamaged_submission_is_admitted_as_it_is_without_a_word():
    outcome = take_in_bytes(nbformat.writes(SOLVED).encode())
    assert isinstance(outcome, Admitted)
    assert outcome.repairs == ()
    assert outcome.notebook == SOLVED
    assert outcome.path.name == f"{TOPIC}.ipynb"


def test_the_released_notebook_is_not_changed():
    before = copy.deepcopy(RELEASED)
    take_in_bytes(nbformat.writes(SOLVED).encode())
    assert before == RELEASED


# --- what is said


def test_a_repair_names_the_cells_and_no_more_than_five():
    notes = Notes()
    for name in "abcdefg":
        notes.note("order", name)
        notes.note("order", name)
    notes.note("renamed", printable("a\nb.ipynb"))
    said = {repair.kind: repair.what for repair in notes.repairs()}
    assert list(said) == ["renamed", "order"]
    assert said["order"].endswith(": a, b, c, d, e and 2 more.")
    assert said["renamed"].endswith(": “a b.ipynb”.")


def test_every_kind_of_repair_is_one_sentence_with_one_place_for_names():
    assert all(text.count("{}") == 1 and text.endswith("{}.") for text in SENTENCES.values())


def test_a_lost_set_up_is_put_back_with_the_id_of_the_folder(tmp_path):
    handed = Handed(tmp_path / "grace o'hara" / TOPIC, TOPIC, RELEASED)
    handed.delete("setup")
    handed.write()
    outcome = take_in(handed.folder, TOPIC, RELEASED)
    (setup,) = [cell for cell in outcome.notebook.cells if cell.id == "setup"]
    assert 'STUDENT = "grace o\'hara"' in setup.source


def test_an_own_cell_stays_between_its_neighbours_when_the_check_below_it_is_gone(tmp_path):
    handed = Handed(tmp_path / "ada" / TOPIC, TOPIC, RELEASED)
    own = {"cell_type": "code", "id": "mine", "metadata": {}, "source": "x = 1", "outputs": []}
    handed.insert_after(f"{handed.names[2]}-code", own)
    handed.delete(handed.names[2])
    handed.write()
    ids = [cell.id for cell in take_in(handed.folder, TOPIC, RELEASED).notebook.cells]
    place = ids.index("mine")
    assert ids[place - 1 : place + 2] == [f"{handed.names[2]}-code", "mine", handed.names[2]]


def test_of_two_versions_the_one_that_does_not_count_is_kept_to_be_read_and_is_not_run(tmp_path):
    handed = Handed(tmp_path / "ada" / TOPIC, TOPIC, RELEASED)
    cells.an_older_version_below_the_released_cell(handed)
    handed.write()
    outcome = take_in(handed.folder, TOPIC, RELEASED)
    kept = [cell for cell in outcome.notebook.cells if "'old'" in cell.source]
    assert [cell.cell_type for cell in kept] == ["raw"]


def test_pictures_in_an_answer_survive(tmp_path):
    topic = "pipelines"
    released = nbformat.read(REPOSITORY / "release" / topic / f"{topic}.ipynb", as_version=4)
    handed = Handed(tmp_path / "ada" / topic, topic, released)
    picture = {"a.png": {"image/png": "iVBORw0KGgo="}, "b": "damaged", "c.png": {"image/png": ["ä", 3]}}
    handed.cell("pipelines_truncation")["attachments"] = picture
    handed.write()
    outcome = take_in(handed.folder, topic, released)
    (answer,) = [cell for cell in outcome.notebook.cells if cell.id == "pipelines_truncation"]
    assert answer.attachments == {"a.png": picture["a.png"]}
    nbformat.validate(outcome.notebook)


def test_a_file_that_cannot_be_read_is_refused(tmp_path, monkeypatch):
    handed = Handed(tmp_path / "ada" / TOPIC, TOPIC, RELEASED)
    handed.write()

    def denied(*_):
        raise PermissionError

    monkeypatch.setattr("os.open", denied)
    outcome = take_in(handed.folder, TOPIC, RELEASED)
    assert outcome == Refused(f"“{TOPIC}.ipynb” cannot be read: hand in the .ipynb file itself again.")


def test_a_folder_of_thousands_of_files_is_refused(tmp_path):
    handed = Handed(tmp_path / "ada" / TOPIC, TOPIC, RELEASED)
    handed.write()
    for number in range(5001):
        (handed.folder / f"{number}.png").touch()
    assert "more than 5000 files" in take_in(handed.folder, TOPIC, RELEASED).reason


def test_an_own_cell_never_has_the_id_of_the_result_that_grading_adds(tmp_path):
    handed = Handed(tmp_path / "ada" / TOPIC, TOPIC, RELEASED)
    handed.cell(HELPER)["id"] = "rlinfra-result"
    handed.write()
    ids = [cell.id for cell in take_in(handed.folder, TOPIC, RELEASED).notebook.cells]
    assert "own-1" in ids
    assert "rlinfra-result" not in ids


def test_a_solution_that_a_prompt_shows_is_not_taken_for_an_answer(tmp_path):
    """No released prompt does so today; where one does, deleting the solution must not cut the prompt up."""
    released = copy.deepcopy(RELEASED)
    prompt, code = (
        next(cell for cell in released.cells if cell.id == f"peak_memory-{part}") for part in ("prompt", "code")
    )
    prompt.source += f"\n\n```python\n{code.source}\n```"
    handed = Handed(tmp_path / "ada" / TOPIC, TOPIC, released)
    handed.delete("peak_memory-code")
    handed.write()
    outcome = take_in(handed.folder, TOPIC, released)
    assert [repair.kind for repair in outcome.repairs] == ["unanswered"]
    assert next(cell for cell in outcome.notebook.cells if cell.id == "peak_memory-code").source == code.source


@pytest.mark.parametrize(("count", "source"), [(1001, "1"), (1, "1" * 2**23 + "1")])
def test_more_cells_or_text_than_anybody_writes_are_refused(count, source):
    cell = {"cell_type": "code", "source": source, "metadata": {}}
    outcome = take_in_bytes(dumped({"cells": [cell] * count, "nbformat": 4, "nbformat_minor": 5}))
    assert "more than 1000 cells or 8 MiB of text" in outcome.reason


def test_a_source_made_to_take_long_does_not(tmp_path):
    """A pattern that goes back and forth over a long run of one character would take hours."""
    for run in ("\r", "\n", " ", "\u00a0", "<<<<<<<\n", "x=\n", "\t", "#", "@"):
        source = "def peak_memory(): pass\n" + run * (2**20 // len(run)) + "x"
        started = time.process_time()
        take_in_bytes(dumped({"cells": [{"cell_type": "code", "source": source}], "nbformat": 4}))
        assert time.process_time() - started < 20


# --- nbgrader


@pytest.mark.parametrize(
    "damage",
    [
        cells.the_whole_notebook_twice,
        cells.all_but_solutions_and_the_own_cell,
        cells.every_code_cell_to_raw,
        cells.two_whole_tasks_in_one_code_cell,
        marks.a_hundred_each,
        marks.one_grade_id_for_all_solutions,
        marks.every_mark_and_every_id,
        marks.grade_ids_that_are_no_text,
        marks.marks_of_a_cell_of_ones_own,
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_nbgraders_own_preprocessors_change_nothing_and_complain_of_nothing(damage, released, tmp_path, caplog):
    notebook = nbformat.read(released / "release" / TOPIC / f"{TOPIC}.ipynb", as_version=4)
    handed = Handed(tmp_path / "ada" / TOPIC, TOPIC, notebook)
    damage(handed)
    handed.write()
    admitted = take_in(handed.folder, TOPIC, notebook).notebook
    gradebook = f"sqlite:///{released / 'gradebook.db'}"
    resources = {"nbgrader": {"notebook": TOPIC, "assignment": TOPIC, "db_url": gradebook}}
    config = Config({"OverwriteCells": {"add_missing_cells": True}})
    processed = copy.deepcopy(admitted)
    with caplog.at_level(logging.WARNING):
        for preprocessor in (DeduplicateIds, OverwriteKernelspec, OverwriteCells, CheckCellMetadata):
            one = preprocessor(config=config, log=logging.getLogger("intake-test"))
            processed, _ = one.preprocess(processed, resources)
    assert processed == admitted
    assert not caplog.records

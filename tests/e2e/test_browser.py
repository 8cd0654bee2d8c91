"""In a real browser: the check card in JupyterLab, and the points in the formgrader. Screenshots: build/screenshots."""

from __future__ import annotations

import nbformat
import pytest

from rlinfra_autograder.classroom import attempt_source, mistaken_student, synthetic_class
from rlinfra_autograder.tasks import load_tasks
from tests.e2e.browser import SCREENSHOTS, TOKEN, chromium_page, jupyter_lab, run_all_cells
from tests.e2e.course import BIN, copy_course, run
from tests.preflight import chromium

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(chromium() is None, reason="Chromium is missing: README, “Tests” (CI fails in preflight)"),
]


@pytest.fixture(scope="module", autouse=True)
def _screenshots():
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)


def test_the_card_in_jupyterlab_shows_the_example_the_hint_and_the_points(root, tmp_path):
    """A student who gave frozen weights a gradient sees at once which fields differ, and the question that leads on."""
    task = next(task for task in load_tasks("memory") if task.name == "model_state_bytes")
    released = nbformat.read(root / "release" / "memory" / "memory.ipynb", as_version=4)
    cells = {cell.id: cell for cell in released.cells}
    cells["model_state_bytes-code"].source = attempt_source(task.misconceptions[0], task)
    kept = ("setup", "model_state_bytes-code", "model_state_bytes", "peak_memory-code", "peak_memory")
    released.cells = [cells[name] for name in kept]
    nbformat.write(released, tmp_path / "mine.ipynb")
    outside: list[str] = []
    errors: list[str] = []
    with jupyter_lab(root / ".venv-student" / "bin" / "jupyter", tmp_path) as address, chromium_page(outside) as page:
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"{address}/lab/tree/mine.ipynb?token={TOKEN}")
        run_all_cells(page)
        card = page.get_by_role("group", name="Check of model_state_bytes: 1 of 5 examples")
        card.wait_for(timeout=60_000)
        blank = page.get_by_role("group", name="Check of peak_memory: not written yet")
        blank.wait_for(timeout=60_000)
        card.scroll_into_view_if_needed()
        page.screenshot(path=SCREENSHOTS / "check-card.png")
        text = card.inner_text()
    assert "0.8 of 4 points so far" in text
    assert '"gradient_bytes": 14_140_000_000' in text
    assert "Which parameters does the optimizer step?" in text
    assert not outside
    assert not errors


def test_the_formgrader_shows_the_points_of_a_graded_class(tmp_path):
    course = copy_course(tmp_path)
    run(course, "rlinfra-grade", "release", "memory")
    students = {student.id: student for student in synthetic_class()}
    students["felix"] = mistaken_student("felix", "memory", "bytes_per_parameter", "master_forgotten")
    released = nbformat.read(course / "release" / "memory" / "memory.ipynb", as_version=4)
    for name in ("ada", "felix", "rosa"):
        path = course / "submitted" / name / "memory" / "memory.ipynb"
        path.parent.mkdir(parents=True)
        nbformat.write(students[name].submission(released, "memory"), path)
    run(course, "nbgrader", "autograde", "memory")
    outside: list[str] = []
    with jupyter_lab(BIN / "jupyter", course) as address, chromium_page(outside) as page:
        page.goto(f"{address}/lab?token={TOKEN}")  # sets the cookie that the formgrader's own requests need
        page.get_by_text("Nbgrader", exact=True).first.wait_for(timeout=60_000)
        page.goto(f"{address}/formgrader/manage_submissions/memory")
        page.get_by_text("felix", exact=True).wait_for(timeout=60_000)
        page.screenshot(path=SCREENSHOTS / "formgrader-class.png")
        rows = page.locator("table tbody tr").all_inner_texts()
        page.goto(f"{address}/formgrader/gradebook/memory/memory")
        page.get_by_text("Submission #").first.wait_for(timeout=60_000)
        page.screenshot(path=SCREENSHOTS / "formgrader.png")
    points = {student: row for row in rows for student in ("ada", "felix", "rosa") if student in row}
    assert "20 / 20" in points["ada"]
    assert "18 / 20" in points["felix"]
    assert "0 / 20" in points["rosa"]
    assert not outside

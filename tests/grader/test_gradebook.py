"""Opening the gradebook: the course's own late policy is found, and one that cannot be is said in a line."""

import nbformat
import pytest

from rlinfra_autograder.course import notebook_path
from rlinfra_autograder.gradebook import GradebookError, GradebookWriter, notebook_text

from .gradebooks import empty_gradebook

POLICY = """
from nbgrader.plugins import BasePlugin

class OnePointAnHour(BasePlugin):
    def late_submission_penalty(self, student_id, score, total_seconds_late):
        return total_seconds_late / 3600
"""


def with_policy(root, module):
    with (root / "nbgrader_config.py").open("a") as config:
        config.write(f'c.AssignLatePenalties.plugin_class = "{module}.OnePointAnHour"\n')


def test_a_late_policy_that_lies_in_the_course_root_is_found_as_nbgrader_finds_it(tmp_path):
    root = empty_gradebook(tmp_path / "root")
    (root / "rlinfra_test_policy.py").write_text(POLICY)
    with_policy(root, "rlinfra_test_policy")
    with GradebookWriter(root) as gradebook:
        (late,) = [one for one in gradebook._preprocessors if type(one).__name__ == "AssignLatePenalties"]
    late.init_plugin()
    assert late.plugin_inst.late_submission_penalty("ada", 20.0, 7200.0) == 2.0


def test_a_late_policy_that_is_nowhere_is_said_with_the_file_that_names_it(tmp_path):
    root = empty_gradebook(tmp_path / "root")
    with_policy(root, "rlinfra_no_such_policy")
    with pytest.raises(
        GradebookError, match=r"nbgrader_config.py: .*'rlinfra_no_such_policy.OnePointAnHour' could not"
    ):
        GradebookWriter(root)


def test_the_text_of_a_notebook_is_what_nbformat_reads_with_a_cell_a_line(root):
    notebook = nbformat.read(notebook_path(root / "release", "memory"), as_version=4)
    notebook.cells[0].source = 'Grüße,\n"世界" 🎉'
    text = notebook_text(notebook)
    assert nbformat.reads(text, as_version=4) == notebook
    assert len(text.splitlines()) == len(notebook.cells) + 3
    assert nbformat.reads(notebook_text(nbformat.v4.new_notebook()), as_version=4).cells == []

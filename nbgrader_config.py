"""nbgrader's settings: the repository is a course root.

Our preprocessors are named as strings and none of our packages is imported, so that `nbgrader validate` and
`nbgrader generate_assignment` work where the staff packages are not installed.
"""

from pathlib import Path

c = get_config()  # type: ignore[name-defined]  # noqa: F821

c.CourseDirectory.course_id = "rlinfra"
c.Exchange.root = str(Path(__file__).parent / "exchange")  # a place that can be written; set your own for a real class
c.ClearSolutions.code_stub = {"python": "pass  # YOUR CODE HERE"}
c.ClearSolutions.text_stub = "*Write your answer here.*"
c.OverwriteCells.add_missing_cells = True
c.Autograde.autograde_preprocessors = [
    "rlinfra_autograder.plugin.GradeNotebook",  # in the place of Execute
    "nbgrader.preprocessors.IgnorePattern",
    "nbgrader.preprocessors.LimitOutput",
    "nbgrader.preprocessors.SaveAutoGrades",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbgrader.preprocessors.CheckCellMetadata",
]

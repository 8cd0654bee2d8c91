"""nbgrader's settings: the repository is a course root.

Our preprocessors are named as strings and nothing is imported, so that `nbgrader validate` and
`nbgrader generate_assignment` work where the staff packages are not installed.
"""

c = get_config()  # type: ignore[name-defined]  # noqa: F821

c.CourseDirectory.course_id = "rlinfra"
c.ClearSolutions.code_stub = {"python": "...  # YOUR CODE HERE"}
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

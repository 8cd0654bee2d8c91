"""nbgrader's settings: the repository is a course root.

Our preprocessors are named as strings and none of our packages is imported, so that `nbgrader validate` and
`nbgrader generate_assignment` work where the staff packages are not installed.
"""

import warnings
from pathlib import Path

# nbgrader 0.9.6 under SQLAlchemy 2.1 and nbformat 5.11 warns at every step of what is no concern of its user
warnings.filterwarnings("ignore", message="Object of type <Submitted")
warnings.filterwarnings("ignore", message="Cell is missing an id field")

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
# Pages that load nothing from elsewhere, with the tasks by name on top
c.GenerateFeedback.exporter_class = "rlinfra_autograder.pages.exporter.FeedbackExporter"
c.GenerateFeedback.preprocessors = [
    "nbgrader.preprocessors.GetGrades",
    "rlinfra_autograder.pages.grades.WhatStands",
    "nbconvert.preprocessors.CSSHTMLHeaderPreprocessor",
]

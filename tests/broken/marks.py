"""Locked text, points and the marks by which a grader knows a cell: edited, swapped, lost, foreign, damaged."""

import uuid

from .handed import HELPER, Handed, repaired


def ours(cell: dict) -> dict:
    return cell["metadata"].get("nbgrader", {})


def swap(handed: Handed, one: str, other: str, key: str) -> None:
    first, second = handed.cell(one), handed.cell(other)
    first[key], second[key] = second[key], first[key]


# --- locked text


@repaired("locked text", "locked")
def checks_that_are_a_number(handed: Handed):
    for cell in handed.cells:
        if ours(cell).get("grade") and not ours(cell)["solution"]:
            cell["source"] = "100"


@repaired("locked text", "locked")
def an_emptied_check(handed: Handed):
    handed.cell(handed.names[2])["source"] = ""


@repaired("locked text", "locked")
def a_prompt_rewritten(handed: Handed):
    handed.cell(f"{handed.names[2]}-prompt")["source"] = "Return 0, says the lecturer."


@repaired("locked text", "locked", topic="pipelines")
def the_prompt_of_a_question_in_words_shortened(handed: Handed):
    cell = handed.cell("pipelines_truncation-prompt")
    cell["source"] = cell["source"][:200]


@repaired("locked text", "merged")
def a_line_of_ones_own_below_a_check(handed: Handed):
    handed.cell(handed.names[2])["source"] += '\n\nprint("once more")'


@repaired("locked text", "marks", "order", topic="records")
def two_checks_with_their_texts_swapped(handed: Handed):
    """They are known by what they check: the marks are wrong then, and the places."""
    swap(handed, "protocol", "project_completion", "source")


@repaired("locked text", "locked")
def every_prompt_in_capitals(handed: Handed):
    for cell in handed.cells:
        if cell["id"].endswith("-prompt"):
            cell["source"] = cell["source"].upper()


# --- points


@repaired("points", "points")
def a_hundred_each(handed: Handed):
    for cell in handed.cells:
        if ours(cell).get("grade"):
            ours(cell)["points"] = 100


@repaired("points", "points")
def points_as_a_word(handed: Handed):
    ours(handed.cell(handed.names[0]))["points"] = "all"


@repaired("points", "points")
def points_lost(handed: Handed):
    del ours(handed.cell(handed.names[3]))["points"]


@repaired("points", "points")
def negative_points_for_a_solution_cell(handed: Handed):
    ours(handed.cell(f"{handed.names[3]}-code"))["points"] = -5


# --- marks


@repaired("marks", "marks")
def grade_ids_of_two_solutions_swapped(handed: Handed):
    swap(handed, f"{handed.names[1]}-code", f"{handed.names[2]}-code", "metadata")


@repaired("marks", "marks")
def the_lock_removed_from_every_cell(handed: Handed):
    for cell in handed.cells:
        if ours(cell).get("locked"):
            ours(cell)["locked"] = False


@repaired("marks", "marks")
def a_check_made_a_solution(handed: Handed):
    ours(handed.cell(handed.names[0])).update(solution=True, locked=False)


@repaired("marks", "marks")
def one_grade_id_for_all_solutions(handed: Handed):
    for cell in handed.cells:
        if ours(cell).get("solution"):
            ours(cell)["grade_id"] = "solution"


@repaired("marks", "marks", "order")
def two_solutions_in_each_others_cells(handed: Handed):
    swap(handed, f"{handed.names[2]}-code", f"{handed.names[3]}-code", "source")


@repaired("marks", "marks", "points", "restored")
def a_solution_that_carries_the_marks_of_its_check(handed: Handed):
    name = handed.names[2]
    cell = handed.cell(f"{name}-code")
    check = handed.take(name)
    cell["id"], cell["metadata"] = name, check["metadata"]


@repaired("marks")
def marks_of_a_cell_of_ones_own(handed: Handed):
    """A student's own cell never gets points, whatever it says of itself."""
    mark = {"grade": True, "grade_id": "extra", "points": 50, "solution": False, "locked": True, "schema_version": 3}
    handed.cell(HELPER)["metadata"] = {"nbgrader": mark}


# --- metadata: lost


@repaired("metadata lost", "metadata")
def every_mark_but_no_id(handed: Handed):
    for cell in handed.cells:
        cell["metadata"] = {}


@repaired("metadata lost", "metadata")
def every_mark_and_every_id(handed: Handed):
    for cell in handed.cells:
        cell["metadata"] = {}
        del cell["id"]


@repaired("metadata lost", "metadata")
def every_mark_and_ids_of_the_editors_own(handed: Handed):
    for number, cell in enumerate(handed.cells):
        cell["metadata"] = {"tags": []}
        cell["id"] = uuid.uuid5(uuid.NAMESPACE_DNS, str(number)).hex[:8]


@repaired("metadata lost", "metadata", "locked")
def every_mark_and_every_id_with_prompts_edited(handed: Handed):
    for cell in handed.cells:
        if cell["id"].endswith("-prompt"):
            cell["source"] = cell["source"].replace("**", "").replace("·", "-")
        cell["metadata"] = {}
        del cell["id"]


@repaired("metadata lost", "metadata")
def the_metadata_of_the_notebook_too(handed: Handed):
    every_mark_and_every_id(handed)
    del handed.data["metadata"]


@repaired("metadata lost")
def ids_alone(handed: Handed):
    """The marks say enough."""
    for cell in handed.cells:
        cell["id"] = uuid.uuid5(uuid.NAMESPACE_DNS, cell["id"]).hex[:8]


# --- metadata: foreign


@repaired("metadata foreign", "format")
def saved_by_colab(handed: Handed):
    handed.data["metadata"] = {"colab": {"provenance": []}, "kernelspec": {"name": "python3"}}
    handed.data["nbformat_minor"] = 0
    for cell in handed.cells:
        cell["metadata"] |= {"id": cell.pop("id"), "colab": {"base_uri": "https://localhost:8080/"}}


@repaired("metadata foreign")
def saved_by_vs_code(handed: Handed):
    handed.data["metadata"]["vscode"] = {"interpreter": {"hash": "31f2"}}
    for cell in handed.cells:
        cell["metadata"]["vscode"] = {"languageId": "python"}


@repaired("metadata foreign", "format", "metadata")
def saved_by_kaggle(handed: Handed):
    handed.data["metadata"] = {"kaggle": {"accelerator": "none", "dataSources": []}}
    handed.data["nbformat_minor"] = 4
    for cell in handed.cells:
        cell["metadata"] = {"_uuid": cell.pop("id"), "_cell_guid": "b1076dfc", "trusted": True}


@repaired("metadata foreign", "metadata")
def another_language_in_the_notebook(handed: Handed):
    handed.data["metadata"] = {"kernelspec": {"name": "ir", "language": "R"}, "deepnote": {}}
    for cell in handed.cells:
        cell["metadata"] = {"deepnote_cell_type": cell["cell_type"], "source_hash": "0"}


# --- metadata: damaged


@repaired("metadata damaged", "metadata")
def metadata_of_the_wrong_type(handed: Handed):
    for cell, value in zip(handed.cells, [None, [], "text", 3, True] * 20, strict=False):
        cell["metadata"] = value
    handed.data["metadata"] = ["none"]


@repaired("metadata damaged", "metadata")
def marks_of_the_wrong_type(handed: Handed):
    for cell in handed.cells:
        cell["metadata"]["nbgrader"] = "yes"


@repaired("metadata damaged", "marks")
def grade_ids_that_are_no_text(handed: Handed):
    for number, cell in enumerate(handed.cells):
        if ours(cell):
            ours(cell)["grade_id"] = [None, number, ["x"]][number % 3]


@repaired("metadata damaged")
def ids_that_are_not_valid(handed: Handed):
    for number, cell in enumerate(handed.cells):
        cell["id"] = [None, 7, "ä ö", "x" * 300, ""][number % 5]


@repaired("metadata damaged")
def one_id_for_all(handed: Handed):
    for cell in handed.cells:
        cell["id"] = "cell"


@repaired("metadata damaged", "damaged")
def entries_that_are_no_cells(handed: Handed):
    handed.cells[3:3] = [None, "def f(): pass", 12, []]


@repaired("metadata damaged")
def cell_types_that_are_unknown_in_a_cell_of_ones_own(handed: Handed):
    handed.cells.append({"cell_type": "sql", "id": "mine", "metadata": {}, "source": {"not": "text"}})

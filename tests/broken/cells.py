"""Cells: duplicated, deleted, reordered, merged, split, retyped, moved."""

import random

from .handed import HELPER, Handed, repaired

# --- duplicated


@repaired("duplicated", "duplicate")
def a_solution_pasted_again_at_the_end(handed: Handed):
    handed.cells.append(handed.copy(f"{handed.names[2]}-code"))


@repaired("duplicated", "duplicate")
def the_whole_notebook_twice(handed: Handed):
    handed.cells += [handed.copy(cell["id"]) for cell in handed.cells if cell["id"] != HELPER]


@repaired("duplicated", "duplicate")
def a_check_three_times(handed: Handed):
    name = handed.names[0]
    handed.insert_after(name, handed.copy(name), {**handed.copy(name), "id": "again"})


@repaired("duplicated", "duplicate")
def a_blank_copy_below_the_solution(handed: Handed):
    name = f"{handed.names[2]}-code"
    stub = next(cell.source for cell in handed.released.cells if cell.id == name)
    handed.insert_after(name, handed.copy(name, source=stub))


@repaired("duplicated", "duplicate")
def solved_in_the_copy_and_the_released_cell_left_blank(handed: Handed):
    name = f"{handed.names[2]}-code"
    handed.insert_after(name, handed.copy(name))
    handed.cell(name)["source"] = next(cell.source for cell in handed.released.cells if cell.id == name)


@repaired("duplicated", "duplicate")
def twice_under_the_same_id(handed: Handed):
    name = f"{handed.names[2]}-code"
    handed.insert_after(name, {**handed.copy(name), "id": name})


@repaired("duplicated", "versions")
def an_older_version_below_the_released_cell(handed: Handed):
    name = handed.names[2]
    handed.insert_after(f"{name}-code", handed.copy(f"{name}-code", source=f"def {name}(*args):\n    return 'old'"))


@repaired("duplicated", "versions")
def two_versions_without_the_released_id_of_which_the_last_before_the_check_counts(handed: Handed):
    name = handed.names[2]
    cell = handed.cell(f"{name}-code")
    old = handed.copy(f"{name}-code", source=f"def {name}(*args):\n    return 'old'")
    handed.cells.insert(handed.place(f"{name}-code"), old)
    handed.insert_after(name, {**old, "id": "also-old"})
    cell["id"] = "a-new-id"


@repaired("duplicated", "metadata", "versions")
def two_versions_with_all_marks_and_ids_lost(handed: Handed):
    name = handed.names[2]
    old = handed.copy(f"{name}-code", source=f"def {name}(*args):\n    return 'old'")
    handed.cells.insert(handed.place(f"{name}-prompt"), old)
    for cell in handed.cells:
        cell["metadata"] = {}
        del cell["id"]


@repaired("duplicated", "duplicate", topic="pipelines")
def an_answer_in_words_twice(handed: Handed):
    handed.insert_after("pipelines_truncation", handed.copy("pipelines_truncation"))


# --- deleted


@repaired("deleted", "restored")
def a_check(handed: Handed):
    handed.delete(handed.names[2])


@repaired("deleted", "restored")
def prompt_and_check_of_a_task(handed: Handed):
    handed.delete(handed.names[1], f"{handed.names[1]}-prompt")


@repaired("deleted", "restored")
def every_check_and_prompt(handed: Handed):
    handed.cells = [cell for cell in handed.cells if cell["metadata"].get("editable") is not False]


@repaired("deleted", "restored")
def all_but_solutions_and_the_own_cell(handed: Handed):
    answers = [
        cell for cell in handed.cells if cell["id"] == HELPER or cell["metadata"].get("nbgrader", {}).get("solution")
    ]
    handed.cells = answers


@repaired("deleted", "restored")
def the_set_up_and_every_explorer(handed: Handed):
    handed.cells = [cell for cell in handed.cells if cell["id"] != "setup" and not cell["id"].startswith("explorer")]


@repaired("deleted", "metadata")
def a_solution_cell_whose_code_is_in_a_cell_of_the_students_own(handed: Handed):
    cell = handed.cell(f"{handed.names[2]}-code")
    cell["id"], cell["metadata"] = "mine", {}


# --- reordered


@repaired("reordered", "order")
def two_tasks_swapped(handed: Handed):
    first, second = handed.names[2:4]
    for part in ("-prompt", "-code", ""):
        one, other = handed.place(first + part), handed.place(second + part)
        handed.cells[one], handed.cells[other] = handed.cells[other], handed.cells[one]


@repaired("reordered", "order")
def the_notebook_backwards(handed: Handed):
    handed.cells.reverse()


@repaired("reordered", "order")
def every_check_at_the_end(handed: Handed):
    handed.cells.sort(key=lambda cell: bool(cell["metadata"].get("nbgrader", {}).get("grade")))


@repaired("reordered", "order")
def shuffled_but_for_the_helper(handed: Handed):
    cells = [cell for cell in handed.cells if cell["id"] not in (HELPER, f"{handed.names[1]}-code")]
    random.Random(5).shuffle(cells)
    handed.cells = [*cells, handed.cell(HELPER), handed.cell(f"{handed.names[1]}-code")]


# --- merged


@repaired("merged", "merged")
def a_solution_with_its_check(handed: Handed):
    handed.merge(f"{handed.names[2]}-code", handed.names[2])


@repaired("merged", "merged")
def a_solution_with_its_check_in_the_checks_cell(handed: Handed):
    handed.merge(f"{handed.names[2]}-code", handed.names[2], into=handed.names[2])


@repaired("merged", "merged")
def a_prompt_with_its_solution_as_text(handed: Handed):
    handed.merge(f"{handed.names[2]}-prompt", f"{handed.names[2]}-code")


@repaired("merged", "merged")
def a_prompt_with_its_solution_as_code(handed: Handed):
    name = handed.names[2]
    handed.merge(f"{name}-prompt", f"{name}-code", into=f"{name}-code")


@repaired("merged", "merged")
def a_whole_task(handed: Handed):
    name = handed.names[2]
    handed.merge(f"{name}-prompt", f"{name}-code", name)


@repaired("merged", "merged")
def two_solutions_in_the_cell_of_the_first(handed: Handed):
    handed.merge(f"{handed.names[2]}-code", f"{handed.names[3]}-code")


@repaired("merged", "merged")
def two_solutions_in_the_cell_of_the_second(handed: Handed):
    last = f"{handed.names[3]}-code"
    handed.merge(f"{handed.names[2]}-code", last, into=last)


@repaired("merged", "merged")
def two_whole_tasks_in_one_code_cell(handed: Handed):
    parts = [f"{name}{part}" for name in handed.names[2:4] for part in ("-prompt", "-code", "")]
    handed.merge(*parts, into=parts[1])


@repaired("merged", "merged")
def the_set_up_with_the_text_above_it(handed: Handed):
    handed.merge("how", "setup")


@repaired("merged", "merged", topic="pipelines")
def an_answer_in_words_with_its_prompt(handed: Handed):
    handed.merge("pipelines_truncation-prompt", "pipelines_truncation")


@repaired("merged", "merged", topic="pipelines")
def an_answer_in_words_with_the_text_below_it(handed: Handed):
    handed.merge("pipelines_truncation", "closing")


@repaired("merged", "merged", "restored", topic="memory")
def all_code_in_one_cell(handed: Handed):
    code = [cell["source"] for cell in handed.cells if cell["cell_type"] == "code"]
    handed.cells = [{**handed.cell("setup"), "source": "\n\n".join(code)}]


# --- split


@repaired("split", "split")
def a_function_in_the_middle(handed: Handed):
    name = f"{handed.names[2]}-code"
    head, _, tail = handed.cell(name)["source"].partition("\n")
    handed.insert_after(name, handed.copy(name, source=tail))
    handed.cell(name)["source"] = head


@repaired("split", "split", "metadata")
def a_function_in_the_middle_with_all_marks_and_ids_lost(handed: Handed):
    a_function_in_the_middle(handed)
    for cell in handed.cells:
        cell["metadata"] = {}
        del cell["id"]


@repaired("split", "split")
def a_helper_from_its_function(handed: Handed):
    """An editor gives both halves the marks of the cell, and both a new id."""
    name = f"{handed.names[2]}-code"
    source = handed.cell(name)["source"]
    call = f"def {handed.names[2]}(*args, **kwargs):\n    return inner(*args, **kwargs)"
    handed.insert_after(name, handed.copy(name, source=call))
    handed.cell(name).update(source=source.replace(f"def {handed.names[2]}(", "def inner("), id="another")


@repaired("split", "split", "locked")
def a_prompt(handed: Handed):
    name = f"{handed.names[0]}-prompt"
    head, _, tail = handed.cell(name)["source"].partition("\n\n")
    handed.insert_after(name, handed.copy(name, source=tail))
    handed.cell(name)["source"] = head


@repaired("split", "split", topic="pipelines")
def an_answer_in_words(handed: Handed):
    name = "pipelines_truncation"
    head, tail = handed.cell(name)["source"][:20], handed.cell(name)["source"][20:]
    handed.insert_after(name, handed.copy(name, source=tail))
    handed.cell(name)["source"] = head


# --- retyped


@repaired("retyped", "retyped")
def a_solution_to_text(handed: Handed):
    handed.cell(f"{handed.names[2]}-code")["cell_type"] = "markdown"


@repaired("retyped", "retyped")
def every_code_cell_to_raw(handed: Handed):
    for cell in handed.cells:
        if cell["cell_type"] == "code" and cell["id"] != HELPER:
            cell["cell_type"] = "raw"


@repaired("retyped", "retyped")
def a_check_to_text(handed: Handed):
    handed.cell(handed.names[1])["cell_type"] = "markdown"


@repaired("retyped", "retyped")
def a_prompt_to_code(handed: Handed):
    handed.cell(f"{handed.names[1]}-prompt")["cell_type"] = "code"


@repaired("retyped", "retyped", topic="pipelines")
def an_answer_in_words_to_code(handed: Handed):
    handed.cell("pipelines_truncation")["cell_type"] = "code"


@repaired("retyped", "retyped", "metadata")
def solutions_to_text_with_all_marks_and_ids_lost(handed: Handed):
    for cell in handed.cells:
        cell["cell_type"] = "markdown" if cell["id"].endswith("-code") else cell["cell_type"]
        cell["metadata"] = {}
        del cell["id"]


# --- moved


@repaired("moved", "order")
def a_solution_below_its_check(handed: Handed):
    handed.insert_after(handed.names[2], handed.take(f"{handed.names[2]}-code"))


@repaired("moved", "order")
def a_solution_and_its_helper_to_the_end(handed: Handed):
    handed.cells += [handed.take(HELPER), handed.take(f"{handed.names[1]}-code")]


@repaired("moved", "order")
def the_set_up_to_the_end(handed: Handed):
    handed.cells.append(handed.take("setup"))


@repaired("moved", "order")
def a_check_to_the_top(handed: Handed):
    handed.cells.insert(0, handed.take(handed.names[1]))


@repaired("moved", "beside", topic="pipelines")
def an_answer_in_words_written_below_its_cell(handed: Handed):
    cell = handed.cell("pipelines_truncation")
    handed.insert_after("pipelines_truncation", {"cell_type": "markdown", "metadata": {}, "source": cell["source"]})
    cell["source"] = "*Write your answer here.*"

"""Files: cut off, empty, no notebook, older formats, huge outputs, merge marks, pages and scripts."""

import io
import json
import os
import zipfile

import nbformat

from .handed import Handed, found, refused, repaired

# --- cut off


@refused("cut off", "ends in the middle")
def half_the_file(handed: Handed):
    handed.write(handed.text[: len(handed.text) // 2])


@refused("cut off", "ends in the middle")
def the_last_brace_missing(handed: Handed):
    handed.write(handed.text.rstrip()[:-1])


@refused("cut off", "ends in the middle")
def in_the_middle_of_a_character(handed: Handed):
    data = handed.text.encode()
    handed.write(data[: data.index("●".encode()) + 1])


@refused("cut off", "ends in the middle")
def cut_and_filled_up_with_zero_bytes(handed: Handed):
    handed.write(handed.text.encode()[:9000] + b"\0" * 9000)


# --- empty


@refused("empty", "is empty")
def no_byte(handed: Handed):
    handed.write(b"")


@refused("empty", "is empty")
def nothing_but_blanks(handed: Handed):
    handed.write("\n\n   \n")


@refused("empty", "is empty")
def nothing_but_zero_bytes(handed: Handed):
    handed.write(b"\0" * 20_000)


@refused("empty", "has no cells")
def a_notebook_without_cells(handed: Handed):
    handed.cells = []
    handed.write()


# --- no JSON


@refused("no JSON", "is not a notebook that can be read")
def a_letter(handed: Handed):
    handed.write("Dear Sir or Madam, my notebook does not open any more. Best regards, Ada")


@refused("no JSON", "is not a notebook that can be read")
def a_dictionary_as_python_prints_it(handed: Handed):
    handed.write(repr(handed.data))


@refused("no JSON", "is not a notebook that can be read")
def a_comma_lost(handed: Handed):
    handed.write(handed.text.replace('"cell_type": "code",', '"cell_type": "code"', 1))


@refused("no JSON", "is not a notebook that can be read")
def brackets_without_end(handed: Handed):
    handed.write('{"cells": ' + "[" * 200_000)


@refused("no JSON", "a PDF")
def a_printed_notebook(handed: Handed):
    handed.write(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")


# --- JSON but no notebook


@refused("no notebook", "holds JSON but no notebook")
def a_shortcut_of_a_cloud_drive(handed: Handed):
    handed.write(json.dumps({"doc_id": "1a2b", "resource_key": "", "email": "ada@example.org"}))


@refused("no notebook", "holds JSON but no notebook")
def the_cells_alone(handed: Handed):
    handed.write(json.dumps(handed.cells))


@refused("no notebook", "holds JSON but no notebook")
def cells_that_are_a_text(handed: Handed):
    handed.write(json.dumps({"cells": str(handed.cells), "nbformat": 4, "nbformat_minor": 5}))


@refused("no notebook", "has no cell of the notebook of")
def a_notebook_of_ones_own(handed: Handed):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("print('hello')")])
    handed.write(nbformat.writes(notebook))


# --- what stands after the end


@found("after the end", "trailing")
def the_tail_of_a_longer_older_file(handed: Handed):
    handed.write(handed.text + '.5"\n  }\n },\n "nbformat": 4\n}\n')


@found("after the end", "trailing")
def a_mail_footer(handed: Handed):
    handed.write(handed.text + "\n-- \nSent from my telephone\n")


@found("after the end", "trailing")
def one_brace_too_many(handed: Handed):
    handed.write(handed.text + "}")


@refused("after the end", "two notebooks")
def a_second_notebook(handed: Handed):
    handed.write(handed.text + "\n" + handed.text)


# --- older formats


@repaired("format", "format")
def format_3(handed: Handed):
    handed.data = {"nbformat": 3, "nbformat_minor": 0, "metadata": {"name": ""}, "worksheets": [_sheet(handed)]}


def _sheet(handed: Handed) -> dict:
    """As format 3 has it: one heading a cell, the sources of code under `input`, and no ids."""
    cells = []
    for cell in handed.cells:
        if cell["cell_type"] == "code":
            old = {"cell_type": "code", "input": cell["source"], "language": "python", "collapsed": False}
        else:
            old = {"cell_type": cell["cell_type"], "source": cell["source"]}
        cells.append({**old, "metadata": cell["metadata"]})
    return {"cells": cells, "metadata": {}}


@repaired("format", "format", "metadata")
def format_2(handed: Handed):
    sheet = _sheet(handed)
    for cell in sheet["cells"]:
        del cell["metadata"]
    handed.data = {"nbformat": 2, "nbformat_minor": 0, "metadata": {"name": ""}, "worksheets": [sheet]}


@repaired("format", "format", "restored")
def format_3_with_headings_of_its_own_kind(handed: Handed):
    format_3(handed)
    (sheet,) = handed.data["worksheets"]
    sheet["cells"][0] = {"cell_type": "heading", "level": 1, "source": "A title", "metadata": {}}
    sheet["cells"][1] = {"cell_type": "heading", "level": "one", "source": "Another", "metadata": {}}


def _older(handed: Handed, minor: int) -> None:
    handed.data["nbformat_minor"] = minor
    for cell in handed.cells:
        del cell["id"]


@repaired("format", "format")
def format_4_0(handed: Handed):
    _older(handed, 0)


@repaired("format", "format")
def format_4_2(handed: Handed):
    _older(handed, 2)


@repaired("format", "format")
def format_4_4(handed: Handed):
    _older(handed, 4)


@repaired("format", "format")
def format_5(handed: Handed):
    handed.data |= {"nbformat": 5, "nbformat_minor": 0}


@repaired("format", "format")
def no_format_at_all(handed: Handed):
    del handed.data["nbformat"], handed.data["nbformat_minor"]


@repaired("format", "format")
def a_format_that_is_no_number(handed: Handed):
    handed.data |= {"nbformat": "four", "nbformat_minor": [5]}


# --- outputs


@repaired("outputs")
def ten_megabytes_in_one_output(handed: Handed):
    cell = handed.cell(handed.names[0])
    cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "x" * 10_000_000}]


@repaired("outputs")
def outputs_that_are_not_valid(handed: Handed):
    for cell, outputs in zip(
        handed.cells, [None, "text", [7], {"a": 1}, [{"output_type": "magic"}]] * 20, strict=False
    ):
        cell["outputs"] = outputs
        cell["execution_count"] = "many"


@repaired("outputs")
def outputs_that_say_full_marks(handed: Handed):
    for cell in handed.cells:
        if cell["metadata"].get("nbgrader", {}).get("grade"):
            cell["outputs"] = [{"output_type": "execute_result", "data": {"text/plain": "20"}, "metadata": {}}]


@found("outputs")
def numbers_too_long_to_read_in_an_output(handed: Handed):
    handed.cell(handed.names[0])["outputs"] = [{"output_type": "x", "data": {"application/json": "HERE"}}]
    handed.write(handed.text.replace('"HERE"', "9" * 6000))


@refused("outputs", "larger than 64 MiB")
def more_than_can_be_read(handed: Handed):
    os.truncate(handed.write(), 65 * 2**20)


# --- merge marks


@refused("merge marks", "has merge marks")
def of_git_in_the_json(handed: Handed):
    line = next(line for line in handed.text.split("\n") if f"def {handed.names[2]}(" in line)
    handed.write(handed.text.replace(line, f"<<<<<<< HEAD\n{line}\n=======\n{line} \n>>>>>>> main"))


@refused("merge marks", "has merge marks")
def of_git_around_the_whole_file_with_windows_line_ends(handed: Handed):
    handed.write(f"<<<<<<< HEAD\r\n{handed.text}\r\n=======\r\n{handed.text}\r\n>>>>>>> 1a2b3c\r\n")


@refused("merge marks", "stand merge marks")
def in_a_solution(handed: Handed):
    cell = handed.cell(f"{handed.names[2]}-code")
    cell["source"] = f"<<<<<<< local\n{cell['source']}\n=======\npass\n>>>>>>> remote"
    handed.write()


@refused("merge marks", "In a cell of your own stand merge marks")
def in_a_cell_of_ones_own(handed: Handed):
    cell = handed.cell("my-helper")
    cell["source"] = f"<<<<<<< local\n{cell['source']}\n=======\npass\n>>>>>>> remote"
    handed.write()


@repaired("merge marks", "locked")
def in_a_prompt_which_is_as_released_anyway(handed: Handed):
    cell = handed.cell(f"{handed.names[2]}-prompt")
    cell["source"] = f"{cell['source'][:99]}\n<<<<<<< local\nno\n=======\nyes\n>>>>>>> remote"


# --- pages and scripts


@refused("page", "is a web page")
def the_page_that_shows_the_notebook(handed: Handed):
    handed.write(f"<!DOCTYPE html>\n<html><head><title>{handed.topic}</title></head><body></body></html>")


@refused("page", "is a web page")
def a_login_page(handed: Handed):
    handed.write("\ufeff\n<html lang='en'><body><form action='/login'></form></body></html>")


@refused("page", "is a web page")
def an_error_of_a_cloud_drive(handed: Handed):
    handed.write("<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>")


@refused("script", "is a Python script")
def the_code_alone(handed: Handed):
    handed.write("\n\n".join(cell["source"] for cell in handed.cells if cell["cell_type"] == "code"))


@refused("script", "is a Python script")
def an_export_with_cell_marks(handed: Handed):
    handed.write("# %%\n'''text'''\n# %%\nprint(1)\n")


@refused("script", "is a Python script")
def a_program(handed: Handed):
    handed.write("#!/usr/bin/env python\nprint('done')\n")


# --- archives


def _zipped(handed: Handed) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(f"{handed.topic}.ipynb", handed.text)
    return buffer.getvalue()


@refused("archive", "is a ZIP archive and not a notebook")
def a_zip_under_the_notebooks_name(handed: Handed):
    handed.write(_zipped(handed))


@refused("archive", "only an archive")
def a_zip_under_its_own_name(handed: Handed):
    handed.write(_zipped(handed), "submission.zip")


@refused("archive", "is a compressed archive")
def a_compressed_file_under_the_notebooks_name(handed: Handed):
    handed.write(b"\x1f\x8b\x08\x00" + b"compressed")

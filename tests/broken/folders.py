"""Names and folders: renamed, nested, of another topic, twice, by links, and what other systems leave behind."""

import json
import os

import nbformat

from tests.conftest import ROOT

from .handed import Handed, found, refused, repaired, undamaged

# --- renamed


@found("renamed", "renamed", topic="kv-cache")
def by_a_browser(handed: Handed):
    handed.write(name="kv-cache (1).ipynb")


@found("renamed", "renamed", topic="kv-cache")
def by_a_cloud_drive(handed: Handed):
    handed.write(name="Copy of kv-cache.ipynb")


@found("renamed", "renamed", topic="kv-cache")
def by_jupyter(handed: Handed):
    handed.write(name="kv-cache-Copy1.ipynb")


@found("renamed", "renamed", topic="kv-cache")
def with_the_students_name_in_capitals_and_blanks(handed: Handed):
    handed.write(name=" KV Cache – Ada Lovelace .IPYNB ")


@found("renamed", "renamed")
def by_a_mail_client(handed: Handed):
    handed.write(name=f"{handed.topic}.ipynb.txt")


@found("renamed", "renamed")
def by_another_browser(handed: Handed):
    handed.write(name=f"{handed.topic}.json")


@found("renamed", "renamed")
def without_an_ending(handed: Handed):
    handed.write(name=handed.topic)


@found("renamed", "renamed")
def with_a_name_that_is_no_utf_8(handed: Handed):
    handed.write(name=os.fsdecode(b"\xe4rger \x1b[31m.ipynb"))


# --- nested


@found("nested", "nested")
def in_a_folder(handed: Handed):
    handed.write(name=f"homework/{handed.topic}.ipynb")


@found("nested", "nested", "renamed")
def where_an_archive_was_unpacked(handed: Handed):
    handed.write(name="submission (2)/ada/final/final FINAL.ipynb")
    handed.write(b"\0\x05\x16\x07", name="__MACOSX/submission (2)/._final FINAL.ipynb")


@found("nested", "nested")
def in_a_folder_with_a_notebooks_name(handed: Handed):
    handed.write(name=f"{handed.topic}.ipynb/{handed.topic}.ipynb")


# --- of another topic


def _other(handed: Handed) -> tuple[str, dict]:
    topic = "lag"
    released = nbformat.read(ROOT / "release" / topic / f"{topic}.ipynb", as_version=4)
    return topic, json.loads(json.dumps(undamaged(released, topic)))


@refused("another topic", "is the notebook of the topic lag and not of")
def under_this_topics_name(handed: Handed):
    _, data = _other(handed)
    handed.write(json.dumps(data))


@refused("another topic", "is the notebook of the topic lag and not of")
def under_its_own_name(handed: Handed):
    topic, data = _other(handed)
    handed.write(json.dumps(data), f"{topic}.ipynb")


@refused("another topic", "is the notebook of the topic lag and not of")
def with_its_marks_lost(handed: Handed):
    topic, data = _other(handed)
    for cell in data["cells"]:
        cell["metadata"] = {}
    handed.write(json.dumps(data), f"{topic}.ipynb")


@found("another topic", "left-aside")
def beside_the_right_one(handed: Handed):
    topic, data = _other(handed)
    handed.write(json.dumps(data), f"{topic}.ipynb")
    handed.write()


# --- two candidates


@refused("two candidates", "several notebooks with different answers")
def that_differ_in_one_answer(handed: Handed):
    handed.write()
    handed.cell(f"{handed.names[2]}-code")["source"] += "\n# changed my mind"
    handed.write(name=f"{handed.topic} (1).ipynb")


@refused("two candidates", "several notebooks with different answers")
def that_differ_in_two_folders(handed: Handed):
    handed.write(name=f"old/{handed.topic}.ipynb")
    handed.cell(f"{handed.names[2]}-code")["source"] = "pass"
    handed.write(name=f"new/{handed.topic}.ipynb")


@refused("two candidates", "more than 12 notebooks")
def that_are_a_whole_collection(handed: Handed):
    for number in range(13):
        handed.write(name=f"version {number}.ipynb")


@found("two candidates", "copies")
def that_are_the_same(handed: Handed):
    handed.write()
    handed.write(name=f"{handed.topic}-Copy1.ipynb")


@found("two candidates", "copies")
def that_differ_in_outputs_and_metadata_alone(handed: Handed):
    handed.write()
    for cell in handed.cells:
        cell["metadata"] = {}
        cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "run"}]
    handed.write(name=f"backup/{handed.topic}.ipynb")


@found("two candidates", "renamed", "blank-copy")
def of_which_one_is_as_released(handed: Handed):
    handed.write(nbformat.writes(handed.released))
    handed.write(name=f"{handed.topic}-solved.ipynb")


@found("two candidates", "renamed", "left-aside")
def of_which_one_is_cut_off(handed: Handed):
    handed.write(handed.text[:2000])
    handed.write(name=f"{handed.topic} (1).ipynb")


# --- left behind


@found("left behind")
def by_macos(handed: Handed):
    handed.write()
    handed.write(b"\0\0\0\x01Bud1", ".DS_Store")
    handed.write(b"\0\x05\x16\x07", f"._{handed.topic}.ipynb")
    handed.write(b"\0\x05\x16\x07", f"__MACOSX/._{handed.topic}.ipynb")


@found("left behind")
def by_windows(handed: Handed):
    handed.write()
    for name in ("Thumbs.db", "desktop.ini", f"~${handed.topic}.ipynb"):
        handed.write(b"\xd0\xcf\x11\xe0", name)


@found("left behind")
def by_jupyter_itself(handed: Handed):
    handed.write()
    handed.cell(f"{handed.names[2]}-code")["source"] = "pass  # an older save"
    handed.write(name=f".ipynb_checkpoints/{handed.topic}-checkpoint.ipynb")


@found("left behind", "checkpoint")
def by_jupyter_and_nothing_else(handed: Handed):
    handed.write(name=f".ipynb_checkpoints/{handed.topic}-checkpoint.ipynb")


@found("left behind")
def by_the_work_itself(handed: Handed):
    handed.write()
    for name in ("notes.txt", "data.json", "__pycache__/mine.pyc", "figure.png", f"{handed.topic}.html", ".git/HEAD"):
        handed.write(b"whatever", name)


# --- links


@found("links", "linked", "renamed")
def to_a_file_inside(handed: Handed):
    path = handed.write(name=f"store/{handed.topic}.data")
    (handed.folder / "link.ipynb").symlink_to(path.relative_to(handed.folder))


@found("links")
def to_the_notebook_itself(handed: Handed):
    path = handed.write()
    (handed.folder / "shortcut.ipynb").symlink_to(path)


@refused("links", "a link that leads out of the submission")
def to_a_file_outside(handed: Handed):
    outside = handed.folder.parent / "elsewhere.ipynb"
    outside.write_text(handed.text)
    (handed.folder / f"{handed.topic}.ipynb").symlink_to(outside)


@refused("links", "a link that leads out of the submission")
def to_a_file_outside_by_way_of_another_link(handed: Handed):
    outside = handed.folder.parent / "elsewhere.ipynb"
    outside.write_text(handed.text)
    (handed.folder / "first").symlink_to("../elsewhere.ipynb")
    (handed.folder / f"{handed.topic}.ipynb").symlink_to("first")


@refused("links", "There is no notebook in the submission")
def to_a_folder_outside(handed: Handed):
    outside = handed.folder.parent / "elsewhere"
    outside.mkdir()
    (outside / f"{handed.topic}.ipynb").write_text(handed.text)
    (handed.folder / "work").symlink_to(outside)


@refused("links", "a link that leads nowhere")
def to_nothing(handed: Handed):
    (handed.folder / f"{handed.topic}.ipynb").symlink_to("gone.ipynb")


@refused("links", "a link that leads nowhere")
def in_a_circle(handed: Handed):
    (handed.folder / "a.ipynb").symlink_to("b.ipynb")
    (handed.folder / "b.ipynb").symlink_to("a.ipynb")


@found("links", "left-aside")
def out_of_the_folder_beside_the_notebook(handed: Handed):
    handed.write()
    (handed.folder / "passwords.ipynb").symlink_to("/etc/passwd")


# --- no notebook


@refused("no file", "There is no notebook in the submission: hand in")
def an_empty_folder(handed: Handed):
    pass


@refused("no file", "There is no notebook in the submission: hand in")
def no_folder(handed: Handed):
    handed.folder.rmdir()


@refused("no file", "only a web page")
def a_page_alone(handed: Handed):
    handed.write("<html></html>", f"{handed.topic}.html")


@refused("no file", "only a Python script")
def a_script_alone(handed: Handed):
    handed.write("print(1)", "solution.py")


@refused("no file", "no ordinary file")
def a_pipe_under_the_notebooks_name(handed: Handed):
    os.mkfifo(handed.folder / f"{handed.topic}.ipynb")


# --- several damages at once


@found("several", "nested", "renamed", "encoding", "format", "line-ends", "metadata")
def mailed_from_an_old_machine(handed: Handed):
    handed.data["nbformat_minor"] = 2
    for cell in handed.cells:
        del cell["id"]
        cell["metadata"] = {}
        cell["source"] = cell["source"].replace("\n", "\r\n")
    handed.write(handed.text.encode("utf-16"), name="Attachment/notebook (3).ipynb")


@repaired("several", "duplicate", "merged", "order", "points", "restored", "retyped")
def an_evening_in_the_wrong_editor(handed: Handed):
    third, fourth = handed.names[2:4]
    handed.merge(f"{third}-prompt", f"{third}-code")
    handed.cell(f"{fourth}-code")["cell_type"] = "raw"
    handed.cells.append(handed.copy(f"{fourth}-code"))
    handed.cell(fourth)["metadata"]["nbgrader"]["points"] = 0
    handed.delete(handed.names[0], "title")
    handed.cells.append(handed.take(handed.names[1]))


@found("several", "metadata", "order", "split", "trailing", topic="memory")
def backwards_without_marks_and_with_a_split_function(handed: Handed):
    name = f"{handed.names[2]}-code"
    head, _, tail = handed.cell(name)["source"].partition("\n")
    handed.cell(name)["source"] = head
    handed.cells.reverse()
    handed.cells.insert(handed.place(name) + 1, handed.copy(name, source=tail))
    for cell in handed.cells:
        cell["metadata"] = {}
        del cell["id"]
    handed.write(handed.text + "\n}")

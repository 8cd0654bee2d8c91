"""Measuring and removing what a student's process wrote, whatever it looks like."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from rlinfra_autograder.sandbox.wipe import measure, remove

TOO_DEEP = 2_100  # a path of as many parts of one letter is longer than the 4,096 bytes that the kernel takes


def make_deep(folder, levels: int) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=descriptor)
        deeper = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = deeper
    os.close(os.open("bottom", os.O_CREAT | os.O_WRONLY, dir_fd=descriptor))
    os.close(descriptor)


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    return folder


@pytest.fixture
def outside(tmp_path):
    """A neighbour's folder, which nothing here may touch."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "work").write_text("a neighbour's")
    outside.chmod(0o755)
    yield outside
    assert (outside / "work").read_text() == "a neighbour's"
    assert outside.stat().st_mode & 0o777 == 0o755
    assert sorted(path.name for path in tmp_path.iterdir()) == ["outside"]


def test_folders_nested_deeper_than_a_path_can_say_are_removed(folder, outside):
    make_deep(folder, 5_000)
    remove(folder)
    assert not folder.exists()


def test_folders_closed_to_their_owner_are_removed(folder, outside):
    inner = folder / "closed" / "within"
    inner.mkdir(parents=True)
    (inner / "file").write_text("x")
    (inner / "file").chmod(0)
    inner.chmod(0)
    inner.parent.chmod(0)
    folder.chmod(0)
    remove(folder)
    assert not folder.exists()


def test_symbolic_links_go_and_what_they_point_to_stays(folder, outside):
    (folder / "to a folder").symlink_to(outside)
    (folder / "to a file").symlink_to(outside / "work")
    (folder / "to nowhere").symlink_to("nowhere")
    (folder / "to itself").symlink_to("to itself")
    (folder / "up").symlink_to("..")
    remove(folder)
    assert not folder.exists()


def test_a_hard_link_goes_and_the_file_stays(folder, outside):
    os.link(outside / "work", folder / "linked")
    remove(folder)
    assert not folder.exists()


def test_pipes_and_sockets_are_removed_without_being_opened(folder, outside, monkeypatch):
    os.mkfifo(folder / "pipe")
    monkeypatch.chdir(folder)  # the name of a socket may be only a hundred characters long
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
    remove(folder)
    assert not folder.exists()


def test_odd_names_are_removed(folder, outside):
    for name in (b"\xff\xfe", b"new\nline", b"-rf", b" ", b"...", b"*", b"x" * 255, "世🎉".encode()):
        (folder / os.fsdecode(name)).mkdir()
        (folder / os.fsdecode(name) / os.fsdecode(name)).touch()
    remove(folder)
    assert not folder.exists()


def test_a_name_of_the_kind_that_removing_itself_uses_is_no_obstacle(folder, outside):
    """Subfolders are moved up beside the folder under such names."""
    for name in ("run.1", "run.2", "run"):
        (folder / name / name / "run.1").mkdir(parents=True)
    remove(folder)
    assert not folder.exists()


def test_removing_what_is_not_there_is_nothing(folder, outside):
    folder.rmdir()
    remove(folder)


def test_no_descriptor_is_left_open(folder, outside):
    make_deep(folder, 50)
    before = descriptors()
    measure(folder, 1_000)
    remove(folder)
    assert descriptors() == before


def test_size_is_what_is_on_the_disk_and_each_entry_counts(folder):
    assert measure(folder, 10) == (0, 0)
    (folder / "note").write_bytes(b"x" * 10_000)
    (folder / "a").mkdir()
    (folder / "a" / "b").write_bytes(b"")
    with (folder / "sparse").open("wb") as file:
        file.truncate(1 << 30)  # takes no room
    size, entries = measure(folder, 10)
    assert entries == 4
    assert 10_000 <= size < 1 << 20


def test_measuring_stops_soon_after_so_many_entries(folder):
    for number in range(300):
        (folder / str(number)).touch()
    assert measure(folder, 100)[1] == 101


def test_many_entries_in_many_folders_are_counted_together(folder):
    for number in range(20):
        (folder / str(number)).mkdir()
        for inner in range(10):
            (folder / str(number) / str(inner)).touch()
    assert measure(folder, 1_000)[1] == 220
    assert measure(folder, 100)[1] == 101


def test_symbolic_links_are_not_followed_while_measuring(folder, tmp_path):
    (tmp_path / "big").mkdir()
    (tmp_path / "big" / "file").write_bytes(b"x" * 1_000_000)
    (folder / "link").symlink_to(tmp_path / "big")
    (folder / "link to the file").symlink_to(tmp_path / "big" / "file")
    (folder / "up").symlink_to("..")
    size, entries = measure(folder, 100)
    assert entries == 3
    assert size < 100_000


def test_a_folder_too_deep_to_look_into_counts_as_too_many_entries(folder, outside):
    make_deep(folder, TOO_DEEP)
    assert measure(folder, 10_000)[1] == 10_001
    remove(folder)


def test_a_folder_that_is_gone_measures_nothing(folder):
    folder.rmdir()
    assert measure(folder, 10) == (0, 0)

"""Measuring and removing a folder that a student's process wrote: bounded, and whatever it may look like.

Folders may be nested thousands deep, carry no permission at all, or be symbolic links to somewhere else.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from pathlib import Path


def measure(folder: Path, most_entries: int) -> tuple[int, int]:
    """Return how many bytes and entries a folder holds; after so many entries it stops counting."""
    size = entries = 0
    pending = [str(folder)]
    while pending and entries <= most_entries:
        try:
            with os.scandir(pending.pop()) as found:
                for entry in found:
                    entries += 1
                    with suppress(FileNotFoundError):
                        size += entry.stat(follow_symlinks=False).st_blocks * 512
                        if entry.is_dir(follow_symlinks=False):
                            pending.append(entry.path)
                    if entries > most_entries:
                        break
        except FileNotFoundError:
            continue  # removed meanwhile
        except OSError:  # too deep for a path, or closed to its owner: nothing that honest work needs
            return size, most_entries + 1
    return size, entries


def measure_nameless(pid: int, folder: Path, file_bytes: int) -> int:
    """Return how many bytes a process keeps alive in files of the folder that it has deleted.

    An open one is measured. Of one that is only mapped the size cannot be had: it counts as `file_bytes`, the most that
    a file may have; with 0 for that, nobody looks. 0 where the system does not let us look.
    """
    sizes: dict[int, int] = {}
    with suppress(OSError), os.scandir(f"/proc/{pid}/fd") as descriptors:
        for descriptor in descriptors:
            with suppress(FileNotFoundError):
                file = os.stat(descriptor.path)  # noqa: PTH116 - at the end of every cell: a Path takes as long again
                if stat.S_ISREG(file.st_mode) and file.st_nlink == 0:
                    sizes[file.st_ino] = file.st_blocks * 512
    if file_bytes:
        with suppress(OSError):
            maps = Path(f"/proc/{pid}/maps").read_bytes()
            deleted = rb"^\S+ \S+ \S+ \S+ (\d+) +%b/.* \(deleted\)$" % re.escape(os.fsencode(folder))
            for inode in re.findall(deleted, maps, re.MULTILINE) if b" (deleted)\n" in maps else ():
                sizes.setdefault(int(inode), file_bytes)
    return sum(sizes.values())


def remove(folder: Path) -> None:
    """Remove a folder and all in it, going down by descriptors: a path may be too long to be one."""
    with suppress(FileNotFoundError):
        parent = os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            _remove_at(parent, folder.name)
        finally:
            os.close(parent)


def _remove_at(parent: int, name: str) -> None:
    """Remove a folder in `parent`. Subfolders are moved up into it first, so that nothing is ever deep."""
    pending = [name]
    moved = 0
    while pending:
        current = pending.pop()
        os.chmod(current, stat.S_IRWXU, dir_fd=parent)  # it may be closed to its owner
        descriptor = os.open(current, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
        try:
            for entry in list(os.scandir(descriptor)):
                if entry.is_dir(follow_symlinks=False):
                    moved += 1
                    os.chmod(entry.name, stat.S_IRWXU, dir_fd=descriptor)  # moving a folder writes to it
                    os.rename(entry.name, f"{name}.{moved}", src_dir_fd=descriptor, dst_dir_fd=parent)
                    pending.append(f"{name}.{moved}")
                else:
                    os.unlink(entry.name, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        os.rmdir(current, dir_fd=parent)

"""Which files of a submission's folder may be its notebook, and their bytes; nothing is read that lies outside it."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING

from .outcome import HAND_IN, RefusalError, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_BYTES = 64 * 2**20
MAX_FILES = 5_000
MAX_DEPTH = 12
MAX_NOTEBOOKS = 12

CHECKPOINTS = ".ipynb_checkpoints"
_LEFTOVERS = re.compile(r"\..*|__macosx|__pycache__|thumbs\.db|desktop\.ini|~\$.*|.*~", re.IGNORECASE)
_NOTEBOOK = re.compile(r".*\.ipynb\b.*", re.IGNORECASE | re.DOTALL)
_PERHAPS = re.compile(r"[^.]*|.*\.(?:json|txt)", re.IGNORECASE | re.DOTALL)
_INSTEAD = (
    (r"\.html?$", "a web page"),
    (r"\.py$", "a Python script"),
    (r"\.(?:zip|tar|gz|tgz|7z|rar)$", "an archive"),
    (r"\.pdf$", "a PDF"),
    (r"", "another file"),
)


class Tier(IntEnum):
    """How sure a file's name is to be that of a notebook; a later tier counts only where an earlier one is empty."""

    NOTEBOOK = 0
    PERHAPS = 1
    CHECKPOINT = 2


@dataclass(frozen=True)
class Found:
    """A file that may be the notebook: its path as it was found, where it really lies, and why it is none, if so."""

    path: Path
    real: Path
    tier: Tier
    linked: bool
    fault: str


def find_notebooks(folder: Path, topic: str) -> list[Found]:
    """Return the files of the best tier there is, the one with the released name first; a file once, however linked.

    Raises `RefusalError` where there is none, or too much.
    """
    root = Path(os.path.realpath(folder))
    files = list(_walk(root, 0, [0]))
    if len(files) > MAX_FILES:
        raise RefusalError(f"The folder holds more than {MAX_FILES} files: {HAND_IN}, and nothing else.")
    found = [one for path in files if (one := _classified(folder, path.relative_to(root), topic)) is not None]
    best = min((one.tier for one in found), default=None)
    if best is None:
        raise RefusalError(_why_none(files))
    first: dict[Path, Found] = {}
    for one in sorted((one for one in found if one.tier == best), key=lambda one: _rank(one, topic)):
        first.setdefault(one.real, one)
    if len(first) > MAX_NOTEBOOKS:
        raise RefusalError(f"The folder holds more than {MAX_NOTEBOOKS} notebooks: {HAND_IN}, and nothing else.")
    return list(first.values())


def _walk(folder: Path, depth: int, seen: list[int]) -> Iterator[Path]:
    """Yield what is no folder, links included and unfollowed, without what other systems leave behind."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: os.fsencode(entry.name))
    except OSError:
        return
    for entry in entries:
        if (_LEFTOVERS.fullmatch(entry.name) and entry.name != CHECKPOINTS) or seen[0] > MAX_FILES:
            continue
        seen[0] += 1
        if not entry.is_dir(follow_symlinks=False):
            yield Path(entry.path)
        elif depth < MAX_DEPTH:
            yield from _walk(Path(entry.path), depth + 1, seen)


def _classified(folder: Path, relative: Path, topic: str) -> Found | None:
    """Return what a file is to the submission, None where it cannot be its notebook."""
    name = relative.name.strip()
    if CHECKPOINTS in relative.parts:
        tier = Tier.CHECKPOINT
    elif _NOTEBOOK.fullmatch(name):
        tier = Tier.NOTEBOOK
    elif _PERHAPS.fullmatch(name) and name.casefold().startswith(topic):
        tier = Tier.PERHAPS
    else:
        return None
    root = Path(os.path.realpath(folder))
    real = Path(os.path.realpath(root / relative))
    return Found(folder / relative, real, tier, real != root / relative, _fault(root, relative.name, real))


def _fault(root: Path, filename: str, real: Path) -> str:
    """Return why a path is no file of this submission, "" where it is one."""
    name = printable(filename)
    if not real.is_relative_to(root):
        return f"{name} is a link that leads out of the submission: {HAND_IN}."
    try:
        mode = real.lstat().st_mode
    except OSError:
        mode = stat.S_IFLNK
    if stat.S_ISLNK(mode):
        return f"{name} is a link that leads nowhere: {HAND_IN}."
    return "" if stat.S_ISREG(mode) else f"{name} is no ordinary file: {HAND_IN}."


def _rank(found: Found, topic: str) -> tuple[bool, bool, int, bytes]:
    path = found.path
    return (found.linked, path.name != f"{topic}.ipynb", len(path.parts), os.fsencode(path))


def _why_none(files: list[Path]) -> str:
    files = [path for path in files if CHECKPOINTS not in path.parts]
    if not files:
        return f"There is no notebook in the submission: {HAND_IN}."
    name = files[0].name
    what = next(what for pattern, what in _INSTEAD if re.search(pattern, name, re.IGNORECASE))
    return f"There is no notebook in the submission, only {what}, {printable(name)}: {HAND_IN}."


def read_bytes(found: Found) -> bytes:
    """Return the bytes of a file; raise `RefusalError` where it cannot be read or is too large."""
    name = printable(found.path.name)
    if found.fault:
        raise RefusalError(found.fault)
    try:
        # no link may have taken the file's place since, and a pipe that has must not be waited for
        descriptor = os.open(found.real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise RefusalError(f"{name} cannot be read: {HAND_IN} again.") from error
    if len(data) > MAX_BYTES:
        limit = MAX_BYTES // 2**20
        raise RefusalError(f"{name} is larger than {limit} MiB: choose “Clear All Outputs”, save, and {HAND_IN} again.")
    return data

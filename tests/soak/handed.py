"""A class of any size for one topic: the synthetic students in turn, and every twentieth hostile or broken."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import nbformat

from rlinfra_autograder.classroom import Student, synthetic_class
from rlinfra_autograder.course import notebook_path
from tests.attacks.attack import Attack
from tests.attacks.catalogue import ATTACKS
from tests.attacks.notebooks import TOPIC, wrong_notebook
from tests.attacks.world import World
from tests.broken import test_corpus  # noqa: F401 - it registers the cases
from tests.broken.handed import CASES, Case, Handed

BAD = 20  # one of so many
_BROKEN = [case for case in CASES if case.topic in ("", TOPIC) and case.name != "no_folder"]  # nothing is handed in
_SLOW = ("sven", "tara")  # they end or hold up their process: others of that kind are among the hostile


@dataclass(frozen=True)
class HandedIn:
    """One submission: whose, of which kind, and whether it cannot be told and must be refused."""

    student: str
    kind: str
    refused: bool = False


def hand_in(course: Path, count: int, world: World) -> list[HandedIn]:
    """Hand in so many submissions, and return what they are."""
    released = nbformat.read(notebook_path(course / "release", TOPIC), as_version=4)
    good = [student for student in synthetic_class() if student.id not in _SLOW]
    handed = []
    for number in range(count):
        name = f"s{number:04}"
        folder = course / "submitted" / name / TOPIC
        if number % BAD:
            handed.append(_good(folder, good[number % len(good)], name, released))
        elif number // BAD % 2:
            handed.append(_broken(folder, _BROKEN[number * len(_BROKEN) // count], name, released))
        else:
            handed.append(_hostile(folder, ATTACKS[number * len(ATTACKS) // count], name, world))
    return handed


def _good(folder: Path, student: Student, name: str, released: Any) -> HandedIn:
    own = replace(student, id=name, states_id=None if student.states_id is None else name)
    _write(folder, own.submission(released, TOPIC))
    return HandedIn(name, student.id)


def _broken(folder: Path, case: Case, name: str, released: Any) -> HandedIn:
    case.build(Handed(folder, TOPIC, released))
    return HandedIn(name, f"broken: {case.name}", refused=bool(case.reason))


def _hostile(folder: Path, attack: Attack, name: str, world: World) -> HandedIn:
    _write(folder, world.fill(attack.notebook(wrong_notebook())))
    return HandedIn(name, f"hostile: {attack.name}")


def _write(folder: Path, notebook: Any) -> None:
    folder.mkdir(parents=True)
    nbformat.write(notebook, folder / f"{TOPIC}.ipynb")

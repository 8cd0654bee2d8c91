"""Every attack gains and touches nothing, and would have reached its goal but for the one defence that it targets.

`make test` tries one attack on each defence, `make attacks` all of them (RLINFRA_ALL_ATTACKS=1).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import groupby

import pytest

from . import notebooks
from .attack import Goal
from .bench import Bench, bench
from .catalogue import ATTACKS
from .defences import DEFENCES
from .feedback_page import FeedbackReader, feedback_reader
from .inkernel import grade_by_asserts, grade_by_cards
from .world import GradeIt, World

BY_DEFENCE = sorted(ATTACKS, key=lambda attack: attack.defence)
FIRSTS = [next(group) for _, group in groupby(BY_DEFENCE, key=lambda attack: attack.defence)]
TRIED = BY_DEFENCE if os.environ.get("RLINFRA_ALL_ATTACKS") == "1" else FIRSTS
NEXT_EVERY = 10  # an honest notebook is graded after every so many attacks, and after each that leaves something


@dataclass
class Lab:
    """The bench, the browser, and the defence that is switched off at the moment."""

    bench: Bench
    reader: FeedbackReader | None
    _open: ExitStack = field(default_factory=ExitStack)
    _name: str = ""
    _grade_it: GradeIt | None = None

    def without(self, defence: str) -> GradeIt:
        """Return a function that grades without one defence; attacks on the same one come after one another."""
        if defence != self._name:
            self._open.close()
            self._grade_it = self._open.enter_context(DEFENCES[defence].off(self.bench))
            self._name = defence
        assert self._grade_it is not None
        return self._grade_it

    def close(self) -> None:
        """Switch everything on again."""
        self._open.close()
        self._name = ""

    def world(self) -> World:
        """Return a new world to attack."""
        return World(self.bench.scratch, self.reader)


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with bench() as one, feedback_reader(one.grade(notebooks.wrong_notebook()).notebook) as reader:
        made = Lab(one, reader)
        yield made
        made.close()


def skip_without_browser(attack, lab):
    if attack.goal is Goal.BROWSER and lab.reader is None:
        pytest.skip("Chromium is missing: README, “Tests” (CI fails in preflight)")


@pytest.mark.parametrize("attack", TRIED, ids=lambda attack: attack.name)
def test_an_attack_gains_and_touches_nothing(attack, lab):
    skip_without_browser(attack, lab)
    lab.close()
    with lab.world() as world:
        graded, touches = world.attempt(attack, lab.bench.grade)
        if attack.goal is Goal.LEFTOVER or TRIED.index(attack) % NEXT_EVERY == 0:
            touches += world.next_student(lab.bench.grade)
    assert not touches
    assert graded is not None
    assert graded.earned == 0


@pytest.mark.slow
@pytest.mark.parametrize("attack", TRIED, ids=lambda attack: attack.name)
def test_an_attack_reaches_its_goal_without_the_defence_that_it_targets(attack, lab):
    skip_without_browser(attack, lab)
    grade_it = lab.without(attack.defence)
    with lab.world() as world:
        _, touches = world.attempt(attack, grade_it)
        if attack.goal is Goal.LEFTOVER:
            touches += world.next_student(grade_it)
    assert attack.goal in {touch.goal for touch in touches}


def test_there_are_enough_attacks_of_enough_kinds():
    assert len(ATTACKS) >= 40
    assert len({attack.kind for attack in ATTACKS}) >= 12


def test_every_attack_has_a_name_of_its_own_and_every_defence_an_attack():
    assert {name for name, count in Counter(attack.name for attack in ATTACKS).items() if count > 1} == set()
    assert {attack.defence for attack in ATTACKS} == set(DEFENCES)


def test_without_a_trick_wrong_answers_get_nothing_and_right_ones_everything(lab):
    right = notebooks.honest_notebook(notebooks.ATTACKER)
    assert lab.bench.grade(notebooks.wrong_notebook()).earned == 0
    assert lab.bench.grade(right).earned == notebooks.ALL_POINTS
    for grade_it in (grade_by_asserts, grade_by_cards):
        assert grade_it(notebooks.wrong_notebook(), lab.bench.runner).earned == 0
    assert grade_by_asserts(right, lab.bench.runner).earned == notebooks.ALL_POINTS


def test_an_honest_notebook_touches_nothing(lab):
    with lab.world() as world:
        assert world.next_student(lab.bench.grade) == []

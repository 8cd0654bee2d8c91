"""What an explorer makes of functions that are missing, unwritten, raise, hang or return nonsense."""

import math
import time

import pytest

from rlinfra.explorers._functions import Answer, Functions, WrongFormError
from rlinfra.explorers._reading import size


def functions(reference=None, seconds=0.3, **notebook):
    return Functions(("a", "b"), notebook, reference or {}, seconds)


def asked(made, *args, overlay=False):
    """Call `a` once: what it answers, and its problem."""
    with made.redraw(overlay=overlay) as redraw:
        answer, problem = redraw.call("a", size, *args), redraw.problems.get("a")
    return answer, problem and problem.text


def forever(*_):
    while True:
        pass


def swallowing(*_):
    while True:
        try:
            forever()
        except KeyboardInterrupt:
            return 1


def no_body(*_):
    pass


def not_implemented(*_):
    raise NotImplementedError


def divides(ranks):
    return 1 / ranks


def test_a_function_of_the_notebook_is_called_with_the_arguments():
    assert asked(functions(a=lambda x: 2 * x), 21) == (Answer(42, None), None)


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (no_body, "is not written yet"),
        (not_implemented, "is not written yet"),
        (divides, "raises ZeroDivisionError: division by zero"),
        (lambda: 1, "raises TypeError"),
        (5, "is not a function: the name stands for 5"),
        (lambda _: "16 GB", "returns '16 GB'; expected is a number of bytes, 0 or more"),
        (lambda _: -1, "returns -1; expected is a number of bytes, 0 or more"),
        (lambda _: math.nan, "returns nan; expected is a number of bytes, 0 or more"),
        (lambda _: math.inf, "returns inf; expected is a number of bytes, 0 or more"),
        (lambda _: True, "returns True; expected is a number of bytes, 0 or more"),
        (lambda _: [1, 2], "returns [1, 2]; expected is a number of bytes, 0 or more"),
        (lambda _: 10**200, "an integer of 665 bits"),
        (lambda _: object(), "a value of type object"),
        (forever, "is still running after 0.3 s: stopped"),
    ],
)
def test_what_is_wrong_with_a_function_is_told_and_its_value_is_missing(function, problem):
    answer, told = asked(functions(a=function), 0)
    assert answer == Answer(None, None)
    assert problem in told


def test_a_function_whose_cell_was_not_run_is_missing():
    assert asked(functions(), 0) == (Answer(None, None), "is not there yet: run its cell")


def test_a_number_of_numpy_is_a_number():
    import numpy

    assert asked(functions(a=lambda _: numpy.int64(7)), 0) == (Answer(7, None), None)


def test_what_a_function_prints_goes_nowhere(capsys):
    asked(functions(a=lambda _: print("hello") or 1), 0)
    assert capsys.readouterr().out == ""


def test_the_others_go_on():
    with functions(a=divides, b=lambda x: x).redraw() as redraw:
        assert redraw.call("a", size, 0).value is None
        assert redraw.call("b", size, 3).value == 3
    assert set(redraw.problems) == {"a"}


def test_a_function_that_fails_is_called_no_more_in_that_redraw():
    calls = []

    def failing(x):
        calls.append(x)
        raise ValueError

    with functions(a=failing).redraw() as redraw:
        redraw.call("a", size, 1)
        redraw.call("a", size, 2)
    assert calls == [1]


def test_a_function_that_hangs_costs_its_time_once_until_its_cell_is_run_anew():
    notebook = {"a": forever}
    made = Functions(("a",), notebook, {}, 0.3)
    asked(made, 0)
    begun = time.monotonic()
    _, problem = asked(made, 0)
    assert time.monotonic() - begun < 0.1
    assert "is not called again until its cell is run anew" in problem
    notebook["a"] = lambda _: 1
    assert asked(made, 0) == (Answer(1, None), None)


def test_all_functions_share_the_time_of_a_redraw():
    with functions(a=forever, b=lambda: 1).redraw() as redraw:
        redraw.call("a", size)
        assert redraw.call("b", size).value is None
    assert redraw.problems["b"].text == "is not called: the others took all the time of this redraw"


def test_what_is_drawn_between_calls_is_not_stopped():
    with functions(seconds=0.05, a=lambda: 1).redraw() as redraw:
        time.sleep(0.1)
        assert redraw.call("a", size).value is None
    assert "took all the time" in redraw.problems["a"].text


def test_a_function_that_changes_its_arguments_changes_nothing_else():
    given = {"parts": [[1, 2], (3, [4])]}

    def changes(value):
        value["parts"][1][1].clear()
        del value["parts"][0]
        return 1

    answer = functions({"a": lambda value: value["parts"][0][0] + value["parts"][1][1][0]}, a=changes)
    assert asked(answer, given, overlay=True)[0] == Answer(1, 5)
    assert given == {"parts": [[1, 2], (3, [4])]}


def test_a_function_that_swallows_the_interrupt_is_over_in_time():
    answer, problem = asked(functions(a=swallowing), 0)
    assert (answer.value, problem) == (1, None)


def test_the_reference_stands_in_for_what_is_missing_and_is_beside_what_is_compared():
    reference = {"a": lambda x: x + 1}
    missing, _ = asked(functions(reference), 1)
    assert (missing.value, missing.whose) == (2, "the reference")
    there, _ = asked(functions(reference, a=lambda x: x), 1)
    assert (there.value, there.whose, there.reference) == (1, "yours", None)
    compared, _ = asked(functions(reference, a=lambda x: x), 1, overlay=True)
    assert (compared.value, compared.whose, compared.reference) == (1, "yours", 2)


def test_without_a_reference_there_is_nothing_to_overlay():
    assert not functions().redraw(overlay=True).overlay
    assert functions({"a": abs}).redraw(overlay=True).overlay


@pytest.mark.parametrize("value", [0, 1.5, 10**20])
def test_sizes_are_numbers(value):
    assert size(value) == value


@pytest.mark.parametrize("value", [None, "1", -0.5, 1e25, {}])
def test_other_values_are_no_sizes(value):
    with pytest.raises(WrongFormError):
        size(value)

"""Calling a student's function and noting what it did, whatever it does."""

import linecache
import sys
from types import ModuleType

import pytest

from rlinfra.observe import Call, Drill, Observation, Raised, observe
from rlinfra.wire import Other

NO_ARGUMENTS = Call()


def cell(source, name="<cell>"):
    """Run a notebook's cell and return its variables."""
    variables = {"__name__": "__main__"}
    exec(compile(source, name, "exec"), variables)
    return variables


def observed(source, call=NO_ARGUMENTS):
    """Return what the function `f` of a cell does."""
    return observe(cell(source)["f"], call)


# --- returned values ---------------------------------------------------------------------------------------------


def test_a_returned_value_is_observed():
    assert observe(lambda a, *, b: a + b, Call((1,), {"b": 2})) == Observation(value=3)


def test_a_value_is_observed_as_it_crosses_the_wire():
    assert observe(lambda: (1, {2}), NO_ARGUMENTS).value == [1, Other("a value of type set")]


def test_a_returned_value_is_sent_without_what_was_printed():
    observation = observed("def f():\n    print('noise')\n    return float('inf')")
    assert observation.printed == "noise\n"
    assert observation.to_data() == {"value": {"$float": "inf"}}


# --- exceptions --------------------------------------------------------------------------------------------------


def test_a_built_in_exception_is_known_by_name_message_and_line():
    observation = observed("def f(n):\n    half = n / 2\n    return half / 0\n", Call((1,)))
    assert observation.raised == Raised("ZeroDivisionError", message="float division by zero", line=3)


def test_a_raised_exception_is_sent_without_its_source_line():
    observation = observed("def f():\n    raise ValueError('ranks must be positive')")
    assert observation.to_data() == {
        "raised": {"exception": "ValueError", "own": False, "message": "ranks must be positive", "line": 2}
    }


def test_an_exception_class_named_after_the_arguments_is_known_by_its_built_in_base():
    observation = observed("def f(n):\n    raise type(f'Got{n}', (KeyError,), {})('x')", Call((4711,)))
    assert observation.raised == Raised("KeyError", own=True, message="'x'", line=2)


def test_an_exception_class_that_claims_to_be_built_in_is_known_by_its_built_in_base():
    source = "def f():\n    raise type('ValueError', (TypeError,), {'__module__': 'builtins'})('x')"
    assert observed(source).raised == Raised("TypeError", own=True, message="x", line=2)


def test_an_exception_class_of_a_library_is_known_by_its_built_in_base():
    observation = observed("import json\ndef f():\n    return json.loads('{')")
    assert (observation.raised.exception, observation.raised.own) == ("ValueError", True)


@pytest.mark.parametrize("statement", ["raise SystemExit(3)", "import sys; sys.exit(3)"])
def test_leaving_the_interpreter_is_an_exception_like_others(statement):
    assert observed(f"def f():\n    {statement}").raised == Raised("SystemExit", message="3", line=2)


def test_an_interrupt_by_the_user_passes_through():
    with pytest.raises(KeyboardInterrupt):
        observed("def f():\n    raise KeyboardInterrupt")


def test_endless_recursion_is_an_exception_like_others():
    observation = observed("def f():\n    return f()")
    assert (observation.raised.exception, observation.raised.line) == ("RecursionError", 2)


def test_a_call_with_the_wrong_arguments_has_no_line():
    observation = observed("def f():\n    pass", Call((1,)))
    assert observation.raised == Raised("TypeError", message="f() takes 0 positional arguments but 1 was given")


@pytest.mark.parametrize("body", ["return 1 / 0", "raise SystemExit", "return 3", "return self.__str__()"])
def test_an_exception_without_readable_text_has_no_message(body):
    source = f"class Bad(ValueError):\n    def __str__(self):\n        {body}\ndef f():\n    raise Bad"
    assert observed(source).raised == Raised("ValueError", own=True, message="", line=5)


def test_a_long_message_is_cut():
    assert observed("def f():\n    raise ValueError('x' * 10_000)").raised.message == "x" * 500


# --- lines -------------------------------------------------------------------------------------------------------


def test_the_line_is_the_cells_own_where_a_library_raises():
    observation = observed("import random\n\ndef f():\n    x = 1\n    return random.choice([])")
    assert (observation.raised.exception, observation.raised.line) == ("IndexError", 5)


def test_the_line_is_the_cells_own_where_the_import_machinery_raises():
    observation = observed("import importlib\n\ndef f():\n    importlib.import_module('no_such_module')")
    assert (observation.raised.exception, observation.raised.line) == ("ModuleNotFoundError", 4)


def test_the_line_is_the_last_of_the_cell_that_the_exception_passed():
    source = "def f():\n    return helper()\n\ndef helper():\n    raise ValueError"
    assert observed(source).raised.line == 5


def test_the_text_of_the_line_is_what_the_cell_says(monkeypatch):
    source = "def f():\n    return  undefined  # oops\n"
    monkeypatch.setitem(linecache.cache, "<cell-7>", (len(source), None, source.splitlines(keepends=True), "<cell-7>"))
    observation = observe(cell(source, "<cell-7>")["f"], NO_ARGUMENTS)
    assert (observation.raised.line, observation.source_line) == (2, "return  undefined  # oops")


def test_an_exception_that_passed_no_cell_has_no_line():
    assert observe(int, Call(("x",))).raised.line is None
    assert observe(lambda: 1 / 0, NO_ARGUMENTS).raised.line is None  # this file is a module's, not a cell


# --- printing ----------------------------------------------------------------------------------------------------


def test_both_streams_are_captured_in_order(capfd):
    observation = observed("import sys\ndef f():\n    print('a')\n    print('b', file=sys.stderr)\n    print('c')")
    assert observation.printed == "a\nb\nc\n"
    assert capfd.readouterr() == ("", "")


def test_what_was_printed_before_an_exception_is_captured(capfd):
    observation = observed("def f():\n    print('a')\n    raise ValueError")
    assert observation.printed == "a\n"
    assert capfd.readouterr() == ("", "")


def test_printing_is_bounded():
    assert observed("def f():\n    print('x' * 10**6)").printed == "x" * 2_000
    assert observed("def f():\n    for _ in range(5_000):\n        print('abc')").printed == "abc\n" * 500
    assert observed("import sys\ndef f():\n    sys.stdout.writelines(['ab'] * 5_000)").printed == "ab" * 1_000


def test_a_write_tells_how_much_was_written():
    assert observed("import sys\ndef f():\n    return sys.stdout.write('x' * 3_000)").value == 3_000


def test_the_streams_are_put_back():
    before = (sys.stdout, sys.stderr)
    observed("def f():\n    raise ValueError")
    with pytest.raises(KeyboardInterrupt):
        observed("def f():\n    raise KeyboardInterrupt")
    assert (sys.stdout, sys.stderr) == before


# --- calls -------------------------------------------------------------------------------------------------------


def test_a_call_travels_as_data():
    call = Call((1, [2.5, float("inf")]), {"lengths": {"a": [1]}}, driver="checkpoints.run")
    assert Call.from_data(call.to_data()) == call
    assert Call().to_data() == {"args": [], "kwargs": {}}


def test_every_call_gets_fresh_arguments():
    data = Call(([3, 1, 2],), {"sizes": {"a": 1}}).to_data()
    source = "def f(lengths, *, sizes):\n    lengths.sort()\n    sizes['b'] = 2\n    return [lengths, sizes]"
    observations = [observed(source, Call.from_data(data)) for _ in range(2)]
    assert [observation.value for observation in observations] == [[[1, 2, 3], {"a": 1, "b": 2}]] * 2
    assert data == {"args": [[3, 1, 2]], "kwargs": {"sizes": {"a": 1}}}


def test_a_call_without_a_driver_is_of_the_notebooks_function():
    variables = cell("def f(n):\n    return n + 1")
    assert observe(Call((1,)).function("f", variables), Call((1,))).value == 2


# --- drills ------------------------------------------------------------------------------------------------------


@pytest.fixture
def drill(monkeypatch):
    """A drill whose first process saves a state with `save` and whose second goes on from it with `load`."""
    drivers = ModuleType("rlinfra.given.recovery")
    drivers.before = lambda notebook, state: notebook["save"](state)
    drivers.after = lambda notebook, saved, step: notebook["load"](saved) + step
    monkeypatch.setitem(sys.modules, "rlinfra.given.recovery", drivers)
    return Drill(("save", "load"), "recovery.before", "recovery.after")


def test_the_second_half_of_a_drill_gets_what_the_first_hands_over(drill):
    variables = cell("def save(state):\n    return {'state': state}\ndef load(saved):\n    return saved['state']")
    assert drill.observe(variables, Call((40, 2))) == Observation(value=42)


def test_a_drill_hands_over_nothing_but_plain_values(drill):
    save = "from types import SimpleNamespace\ndef save(state):\n    return (state, SimpleNamespace(state=state))\n"
    variables = cell(save + "def load(saved):\n    return saved + [isinstance(saved[1], SimpleNamespace)]")
    state, _, is_the_same_object, step = drill.observe(variables, Call((40, [2]))).value
    assert (state, is_the_same_object, step) == (40, False, 2)


def test_a_drill_whose_first_half_raises_ends_there(drill):
    variables = cell("def save(state):\n    raise ValueError('state is bad')\ndef load(saved):\n    return 0")
    assert drill.observe(variables, Call((40, 2))).raised == Raised("ValueError", message="state is bad", line=2)


def test_the_calls_of_a_drill_name_its_drivers(drill):
    call = Call((40, 2))
    assert drill.first_call(call) == Call((40,), driver="recovery.before")
    assert drill.second_call(call, [40]) == Call(([40], 2), driver="recovery.after")

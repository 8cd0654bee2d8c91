"""The runner: outputs in order, and a fault that costs only itself."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rlinfra.observe import Call, Observation
from rlinfra.wire import Other
from rlinfra_autograder.probes import MISSING, NOT_CALLABLE, NOT_REACHED, OBSERVED, Fault, Request
from rlinfra_autograder.sandbox.attempt import CellRun
from rlinfra_autograder.sandbox.runner import ZygoteRunner

CHECKED = "from rlinfra import check\ndef double(number):\n    return 2 * number"
HANGS = "while True: pass"
HANGS_ON = "while True:\n  try:\n    while True: pass\n  except BaseException: pass"


def shown(runner: ZygoteRunner, *sources: str) -> list[CellRun]:
    run = runner.run(list(enumerate(sources)), None)
    return [run.cells[place] for place in sorted(run.cells)]


def text_of(cell: CellRun) -> str:
    return "".join(output.get("text", "") for output in cell.outputs)


def probe(runner: ZygoteRunner, *sources: str, numbers: tuple[int, ...] = (1, 2, 3), at: int | None = None):
    place = len(sources) - 1 if at is None else at
    request = Request("double", calls=tuple(Call((number,)) for number in numbers))
    return runner.run(list(enumerate(sources)), {place: request}).probed["double"]


def values(probed) -> list[object]:
    return [outcome if isinstance(outcome, Fault) else outcome.value for outcome in probed.outcomes]


def test_streams_and_results_come_in_the_order_in_which_they_are_written(runner):
    (cell,) = shown(runner, "import sys\nprint('a')\nprint('b', file=sys.stderr)\nprint('c')\n1 + 1")
    kinds = [(output.output_type, output.get("name"), output.get("text")) for output in cell.outputs]
    assert kinds == [
        ("stream", "stdout", "a\n"),
        ("stream", "stderr", "b\n"),
        ("stream", "stdout", "c\n"),
        ("execute_result", None, None),
    ]
    assert cell.outputs[-1].data["text/plain"] == "2"
    assert cell.outputs[-1].execution_count == cell.execution_count == 1


def test_an_explorer_is_text(runner):
    """Nobody looks at a widget here: its libraries are imported for nobody."""
    opened = "from rlinfra.explorers import explore\nexplore('memory', globals())"
    blank, loaded = shown(runner, opened, "import sys\n'anywidget' in sys.modules")
    assert set(blank.outputs[0].data) == {"text/plain"}
    assert blank.outputs[0].data["text/plain"].startswith("Nothing is written yet")
    assert loaded.outputs[0].data["text/plain"] == "False"


def test_a_function_that_hangs_in_an_explorer_is_stopped_by_it_and_the_cell_goes_on(settings):
    """The explorer gives its functions one second together, and a cell has more than that."""
    hangs = "def logits_bytes(*args, **kwargs):\n    while True: pass\n"
    opened = "from rlinfra.explorers import explore\n" + hangs + "explore('memory', globals())"
    patient = replace(settings, limits=replace(settings.limits, cell_cpu_seconds=4.0))
    with ZygoteRunner(patient) as runner:
        (cell,) = shown(runner, opened)
    assert "logits_bytes: is still running after 1 s: stopped" in cell.outputs[0].data["text/plain"]


def test_displays_are_updated_and_cleared(runner):
    update, clear = shown(
        runner,
        "from IPython.display import HTML, clear_output, display\n"
        "handle = display(HTML('<b>old</b>'), display_id=True)\nhandle.update(HTML('<b>new</b>'))",
        "print('gone')\nclear_output(wait=True)\nprint('kept')",
    )
    assert [output.data["text/html"] for output in update.outputs] == ["<b>new</b>"]
    assert text_of(clear) == "kept\n"


def test_an_exception_is_an_error_output_and_the_next_cell_runs(runner):
    failing, after = shown(runner, "1 / 0", "print('after')")
    assert failing.outputs[0].ename == "ZeroDivisionError"
    assert text_of(after) == "after\n"


def test_input_is_refused_with_a_sentence(runner):
    (cell,) = shown(runner, "input('name? ')")
    assert "nobody to answer" in cell.outputs[0].evalue


@pytest.mark.parametrize(
    ("killer", "why"),
    [
        (HANGS, "stopped after 1 seconds"),
        (HANGS_ON, "stopped after 1 seconds"),
        ("import os; os._exit(3)", "ended the Python process (exit status 3)"),
        ("import ctypes; ctypes.string_at(0)", "ended the Python process (segmentation fault)"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "ended the Python process (killed)"),
    ],
    ids=["hangs", "hangs and swallows interrupts", "exits", "crashes", "kills itself"],
)
def test_a_cell_that_hangs_or_dies_costs_only_itself(runner, killer, why):
    before, killed, after = shown(runner, "number = 41\nprint('before')", killer, "print(number + 1)")
    assert killed.fault == why
    assert text_of(before) == "before\n"
    assert text_of(after) == "42\n"


def test_memory_beyond_the_limit_is_an_error_in_its_cell(runner):
    greedy, after = shown(runner, "block = bytearray(64 << 30)", "print('after')")
    assert greedy.outputs[0].ename == "MemoryError"
    assert text_of(after) == "after\n"


def test_a_flood_of_output_is_cut(runner):
    flood, after = shown(runner, "for _ in range(200): print('x' * 100_000)", "1")
    assert len(text_of(flood)) < 2 * runner.limits.cell_output_bytes
    assert "output cut here" in text_of(flood)
    assert after.execution_count == 2


def test_a_loop_that_prints_for_ever_costs_only_its_cell(runner):
    before, flood, after = shown(runner, "number = 41", "while True: print('x' * 1000)", "print(number + 1)")
    assert flood.fault == "stopped after 1 seconds"
    assert not before.fault
    assert text_of(after) == "42\n"


def test_a_check_observes_the_function_at_its_place(runner):
    probed = probe(runner, CHECKED, 'check("double")', "double = None", at=1)
    assert probed.status == OBSERVED
    assert values(probed) == [2, 4, 6]


def test_a_helper_redefined_later_does_no_harm(runner):
    helper = "def helper(number):\n    return 2 * number\n\ndef double(number):\n    return helper(number)"
    assert values(probe(runner, "from rlinfra import check", helper, 'check("double")', "helper = None", at=2)) == [
        2,
        4,
        6,
    ]


def test_a_check_elsewhere_in_the_notebook_does_not_count(runner):
    probed = probe(runner, CHECKED, 'check("double")', "print('no check here')", at=2)
    assert probed.status == NOT_REACHED


def test_a_missing_function_and_one_that_is_none_are_told_apart(runner):
    assert probe(runner, "from rlinfra import check", 'check("double")').status == MISSING
    assert probe(runner, "from rlinfra import check\ndouble = 2", 'check("double")').status == NOT_CALLABLE


def test_a_check_given_another_meaning_is_not_reached(runner):
    assert probe(runner, CHECKED, "check = print", 'check("double")').status == NOT_REACHED


def test_variables_are_read_and_a_missing_one_is_noted(runner):
    request = Request("answer", read=("answer", "STUDENT"))
    cells = [(0, "from rlinfra import check\nanswer = {'bytes': 16}"), (1, 'check("answer")')]
    probed = runner.run(cells, {1: request}).probed["answer"]
    assert values(probed) == [{"bytes": 16}, Fault("missing")]


@pytest.mark.parametrize(
    ("body", "fault"),
    [(HANGS, "time"), (HANGS_ON, "time"), ("import os; os._exit(0)", "died")],
    ids=["hangs", "hangs and swallows interrupts", "exits"],
)
def test_a_call_that_hangs_or_dies_costs_only_itself(runner, body, fault):
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    function = f"from rlinfra import check\ndef double(number):\n    if number == 2:\n{lines}\n    return 2 * number"
    assert values(probe(runner, function, 'check("double")')) == [2, Fault(fault), 6]


INTERRUPTED = """from rlinfra import check
import os, signal, threading, time
def keep_interrupting():
    while True:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.0005)
started = []
def double(number):
    if not started:
        started.append(True)
        threading.Thread(target=keep_interrupting, daemon=True).start()
    time.sleep(0.001 * (number % 3))
    return 2 * number"""


def test_whenever_an_interrupt_comes_each_answer_belongs_to_its_own_question(runner):
    """An interrupt may come at any moment: here some hundreds do, also between two questions."""
    numbers = tuple(range(1, 201))
    outcomes = probe(runner, INTERRUPTED, 'check("double")', "print('after')", numbers=numbers, at=1).outcomes
    answered = {number: outcome.value for number, outcome in zip(numbers, outcomes, strict=True) if not outcome.raised}
    interrupted = [outcome.raised.exception for outcome in outcomes if outcome.raised]
    assert answered == {number: 2 * number for number in answered}
    assert answered
    assert set(interrupted) == {"KeyboardInterrupt"}


def test_after_several_faults_the_rest_of_a_check_is_skipped(runner):
    function = "from rlinfra import check\ndef double(number):\n    import os; os._exit(0)"
    found = values(probe(runner, function, 'check("double")', numbers=(1, 2, 3, 4, 5)))
    assert found == [Fault("died")] * 2 + [Fault("skipped")] * 3


def test_exceptions_cross_with_their_line_and_without_names_of_their_own(runner):
    function = """from rlinfra import check
def double(number):
    kind = type(f"Seen{number}", (KeyError,), {})
    raise kind(1)"""
    (outcome, *_) = probe(runner, function, 'check("double")').outcomes
    assert (outcome.raised.exception, outcome.raised.own, outcome.raised.line) == ("KeyError", True, 4)


def test_the_line_of_an_exception_is_one_that_a_cell_has(runner):
    """A function could raise in a line that says what it was called with."""
    function = """from rlinfra import check
exec(compile("\\n" * 300 + "def double(number): raise ValueError", "made up", "exec"))"""
    (outcome, *_) = probe(runner, function, 'check("double")').outcomes
    assert (outcome.raised.exception, outcome.raised.line) == ("ValueError", None)


def test_what_a_function_prints_while_it_is_observed_stays_out_of_the_judged_run(runner):
    cells = list(enumerate([CHECKED.replace("return", "print(number); return"), 'check("double")', "print('later')"]))
    run = runner.run(cells, {1: Request("double", calls=(Call((12345,)),))})
    assert all(not cell.outputs for cell in run.cells.values())


def test_what_a_cell_would_show_is_not_even_formed_in_the_judged_run(runner):
    shown = "class Shown:\n    def __repr__(self):\n        import os; os._exit(3)\nShown()"
    twice = "from IPython.display import display\ndisplay(Shown())"
    cells = list(enumerate([CHECKED, shown, twice, 'check("double")']))
    run = runner.run(cells, {3: Request("double", calls=(Call((21,)),))})
    assert [outcome.value for outcome in run.probed["double"].outcomes] == [42]
    assert not any(cell.fault for cell in run.cells.values())
    assert "ended the Python process" in runner.run(cells, None).cells[1].fault


def test_random_numbers_are_the_same_in_every_child(runner):
    source = "import random\nprint(random.random(), random.choice(range(10**9)))"
    first, again = (text_of(shown(runner, source)[0]) for _ in range(2))
    assert first == again


def test_a_notebook_of_many_slow_cells_ends_when_its_time_is_over(settings):
    """Each cell keeps within its own time; together they take more than the notebook has."""
    slow = "import time\nstart = time.process_time()\nwhile time.process_time() - start < 0.4: pass"
    with ZygoteRunner(replace(settings, limits=replace(settings.limits, notebook_cpu_seconds=1.0))) as runner:
        cells = shown(runner, *[slow] * 8)
    assert 1 < len(cells) < 8
    assert [cell.fault for cell in cells] == [""] * (len(cells) - 1) + ["the notebook's time was over"]


def test_after_too_many_faults_the_rest_is_not_run_and_says_so(settings):
    with ZygoteRunner(replace(settings, limits=replace(settings.limits, faults_per_notebook=2))) as runner:
        cells = shown(runner, *["import os; os._exit(3)"] * 5)
    why = "ended the Python process (exit status 3)"
    last = f"{why}; it was the last of too many, and the rest was not run"
    assert [cell.fault for cell in cells] == [why, why, last]


def test_a_function_that_says_that_its_cell_has_ended_loses_its_own_check_and_the_run_ends(settings):
    forging = CHECKED.replace("return", 'import os; os.write(3, b\'{"end": 1, "count": 1}\\n\'); return')
    impatient = replace(settings, limits=replace(settings.limits, wall_factor=2.0))  # it only waits from then on
    with ZygoteRunner(impatient) as runner:
        probed = probe(runner, forging, "check('double')", "print('next')", at=1)
    assert not any(isinstance(outcome, Observation) for outcome in probed.outcomes)


def test_where_a_process_ends_between_many_calls_the_fault_is_of_that_call_alone(runner):
    ending = CHECKED.replace("return", "import os; number == 30 and os._exit(1); return")
    expected = [Fault("died") if number == 30 else 2 * number for number in range(50)]
    assert values(probe(runner, ending, "check('double')", numbers=tuple(range(50)))) == expected


def test_where_a_call_takes_too_long_between_many_the_fault_is_of_that_call_alone(runner):
    slow = CHECKED.replace("return", "\n    while number == 30: pass\n    return")
    expected = [Fault("time") if number == 30 else 2 * number for number in range(50)]
    assert values(probe(runner, slow, "check('double')", numbers=tuple(range(50)))) == expected


def test_a_value_too_large_for_a_message_is_told_as_such_and_those_beside_it_arrive(runner):
    large = CHECKED.replace("return", "return ['x' * 4000] * 2000 if number == 2 else")
    first, second, third = values(probe(runner, large, "check('double')"))
    assert (first, third) == (2, 6)
    assert second == Other("an object")

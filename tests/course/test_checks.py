"""Instant checks: what a student sees under a graded cell, for each way in which a function can be right or wrong."""

import linecache
import signal
import subprocess
import sys
import threading
from types import ModuleType, SimpleNamespace

import pytest

from rlinfra import check
from rlinfra.checks import _notebook_namespace, examples, set_probe
from rlinfra.checks.card import CheckResult, Row
from rlinfra.checks.compare import Number
from rlinfra.checks.data import Example, TaskData, all_tasks, load_topic
from rlinfra.observe import Call, Drill
from rlinfra.topics import TOPICS

RIGHT = "def bytes_per_parameter(**sizes):\n    return sum(sizes.values())"
WITHOUT_MASTER_COPY = """
def bytes_per_parameter(*, parameter_bytes, gradient_bytes, optimizer_state_bytes, master_parameter_bytes):
    return parameter_bytes + gradient_bytes + optimizer_state_bytes
"""
MASTER_COPY_HINT = (
    "Your value lacks exactly the master copy. In which precision does the optimizer add its small updates?"
)
FIRST_CALL = (
    "bytes_per_parameter(parameter_bytes=2, gradient_bytes=2, optimizer_state_bytes=8, master_parameter_bytes=4)"
)
THIRD_CALL = (
    "bytes_per_parameter(parameter_bytes=4, gradient_bytes=3, optimizer_state_bytes=2, master_parameter_bytes=1)"
)


def card(result):
    html = result._repr_html_()
    assert html.startswith("<div class='rlinfra-card'")
    return html


def problem(result):
    """Return the one sentence that stands in the place of the examples."""
    (row,) = result.rows
    return row.problem


# --- functions that are right ------------------------------------------------------------------------------------


def test_a_right_function_passes_with_all_points(notebook):
    notebook.run(RIGHT)
    result = check("bytes_per_parameter")
    assert result == CheckResult("bytes_per_parameter", "passes", 2, 2, passed=3)
    assert result.summary() == "bytes_per_parameter: passes, 2 of 2 points so far"
    assert "✓</span> passes" in card(result)


def test_refused_arguments_are_part_of_the_examples(notebook):
    notebook.run("""
def kv_bytes_per_token(*, num_layers, hidden_size, num_query_heads, num_kv_heads, head_dim, element_bytes):
    for name, value in (("num_layers", num_layers), ("head_dim", head_dim)):
        if not isinstance(value, int) or value < 1:
            raise ValueError(f"{name} must be 1 or more")
    return 2 * num_layers * num_kv_heads * head_dim * element_bytes
""")
    assert check("kv_bytes_per_token") == CheckResult("kv_bytes_per_token", "passes", 3, 3, passed=5)


def test_a_numpy_number_is_right(notebook):
    notebook.run(
        "import numpy as np\ndef ideal_sharded_memory(total_bytes, ranks):\n    return np.float64(total_bytes) / ranks"
    )
    assert check("ideal_sharded_memory").state == "passes"


def test_an_object_that_can_be_called_is_a_function(notebook):
    notebook.run(
        "class Sum:\n    def __call__(self, **sizes):\n        return sum(sizes.values())\nbytes_per_parameter = Sum()"
    )
    assert check("bytes_per_parameter").state == "passes"


def test_a_function_that_changes_its_arguments_harms_no_example(notebook):
    notebook.run("""
def kv_cache_bytes(lengths, *, bytes_per_token):
    total = 0
    while lengths:
        total += lengths.pop() * bytes_per_token
    return total
""")
    for _ in range(2):
        assert check("kv_cache_bytes").state == "passes"


# --- functions that are wrong ------------------------------------------------------------------------------------


def test_a_known_misconception_gets_its_hint(notebook):
    notebook.run(WITHOUT_MASTER_COPY)
    result = check("bytes_per_parameter")
    assert (result.state, result.passed, result.hint) == ("1 of 3 examples", 1, MASTER_COPY_HINT)
    assert result.rows == (Row(FIRST_CALL, "16", "12"), Row(THIRD_CALL, "10", "9"))
    assert result.summary().splitlines() == [
        "bytes_per_parameter: 1 of 3 examples, 0.667 of 2 points so far",
        f"  {FIRST_CALL}",
        "    expected 16",
        "    got      12",
        f"  {THIRD_CALL}",
        "    expected 10",
        "    got      9",
        f"  Hint: {MASTER_COPY_HINT}",
    ]


def test_the_card_shows_failing_examples_alone_and_the_hint(notebook):
    notebook.run(WITHOUT_MASTER_COPY)
    html = card(check("bytes_per_parameter"))
    assert html.count("<tr>") == 1 + 2
    assert "◐</span> 1 of 3 examples" in html
    assert "0.667 of 2 points so far" in html
    assert f"Hint.</b> {MASTER_COPY_HINT}" in html
    assert "master_parameter_bytes=0" not in html


def test_a_value_that_no_misconception_gives_gets_no_hint(notebook):
    notebook.run("def bytes_per_parameter(**sizes):\n    return 4711")
    result = check("bytes_per_parameter")
    assert (result.state, result.points, result.hint) == ("0 of 3 examples", 0, "")
    assert "Hint" not in card(result)
    assert "✗</span> 0 of 3 examples" in card(result)


def test_the_hint_that_fits_most_examples_is_given(notebook):
    # Two examples come out as without a master copy, one as with the optimizer counted twice.
    notebook.run("def bytes_per_parameter(**sizes):\n    return {16: 12, 12: 20, 10: 9}[sum(sizes.values())]")
    assert check("bytes_per_parameter").hint == MASTER_COPY_HINT


def test_the_place_that_differs_is_named(notebook):
    notebook.run("def peak_memory(phases):\n    return max(phases), max(sum(parts) for parts in phases.values())")
    result = check("peak_memory")
    assert [row.differs_at for row in result.rows] == ["[0]", "[0]", "[0]"]
    assert "differs at <code" in card(result)


def test_the_fields_that_differ_stand_apart_from_those_that_are_right(notebook):
    notebook.run("""
def model_state_bytes(parameters, *, trainable_parameters=None, **sizes):
    trainable = parameters if trainable_parameters is None else trainable_parameters
    if parameters < 0 or trainable > parameters:
        raise ValueError("trainable_parameters or parameters is bad")
    parts = {name: size * trainable for name, size in sizes.items()}
    parts["parameter_bytes"] = sizes["parameter_bytes"] * parameters
    parts["master_parameter_bytes"] = sizes["master_parameter_bytes"] * parameters  # of frozen ones too
    return {**parts, "total_bytes": sum(parts.values())}
""")
    result = check("model_state_bytes")
    # 4 bytes for each of 7.07e9 parameters, where 70e6 are trained: 28.28e9 instead of 0.28e9
    assert result.rows[0].expected == '"master_parameter_bytes": 280_000_000\n"total_bytes": 15_120_000_000'
    assert result.rows[0].got == (
        '"master_parameter_bytes": 28_280_000_000\n"total_bytes": 43_120_000_000\n(the other keys are right)'
    )
    assert result.hint.startswith("Your value keeps a master copy of frozen weights.")


def test_a_value_of_another_form_is_told_so(notebook):
    notebook.run("def bytes_per_parameter(**sizes):\n    return str(sum(sizes.values()))")
    assert check("bytes_per_parameter").rows[0].got == "'16' (a number is wanted, this is text)"


def test_true_is_no_number(notebook):
    notebook.run("def ideal_sharded_memory(total_bytes, ranks):\n    return True")
    assert check("ideal_sharded_memory").rows[0].got == "True (a number is wanted, this is a truth value)"


def test_a_senseless_argument_that_is_not_refused_is_shown(notebook):
    notebook.run("""
def kv_bytes_per_token(*, num_layers, num_kv_heads, head_dim, element_bytes, **_):
    return 2 * num_layers * num_kv_heads * head_dim * element_bytes
""")
    result = check("kv_bytes_per_token")
    assert (result.state, result.points) == ("3 of 5 examples", 3 * 3 / 5)
    assert [(row.expected, row.got) for row in result.rows] == [
        ("ValueError that names num_layers", "0"),
        ("ValueError that names head_dim", "nan"),
    ]


@pytest.mark.parametrize(
    ("error", "got"),
    [
        ("ValueError('no')", "ValueError: no in line 4"),
        ("ValueError('num_layers_total is bad, and the_head_dim')", "ValueError: num_layers_total"),
        ("TypeError('num_layers head_dim')", "TypeError: num_layers head_dim in line 4"),
    ],
)
def test_an_argument_that_is_refused_in_another_way_is_shown(notebook, error, got):
    notebook.run(f"""
def kv_bytes_per_token(*, num_layers, num_kv_heads, head_dim, element_bytes, **_):
    if num_layers < 1 or head_dim != head_dim:
        raise {error}
    return 2 * num_layers * num_kv_heads * head_dim * element_bytes
""")
    result = check("kv_bytes_per_token")
    assert result.state == "3 of 5 examples"
    assert [row.got.startswith(got) for row in result.rows] == [True, True]


# --- functions that are not written, raise, print or loop --------------------------------------------------------


@pytest.mark.parametrize("body", ["...", "pass", "raise NotImplementedError", "sizes['parameter_bytes'] + 1"])
def test_a_function_that_returns_nothing_is_not_written_yet(notebook, body):
    notebook.run(f"def bytes_per_parameter(**sizes):\n    {body}")
    result = check("bytes_per_parameter")
    assert (result.state, result.points) == ("not written yet", 0)
    assert problem(result).startswith("It returns nothing.")
    assert "○</span> not written yet" in card(result)


def test_a_function_that_returns_nothing_in_places_is_asked_for_its_return(notebook):
    notebook.run("""
def bytes_per_parameter(*, master_parameter_bytes, **sizes):
    if not master_parameter_bytes:
        return sum(sizes.values())
""")
    result = check("bytes_per_parameter")
    assert (result.state, result.rows[0].got) == ("1 of 3 examples", "nothing (None): is there a return?")


def test_a_function_that_raises_is_shown_with_its_line(notebook, monkeypatch):
    source = "def bytes_per_parameter(**sizes):\n    total = 0\n    return totl\n"
    monkeypatch.setitem(linecache.cache, "<cell>", (len(source), None, source.splitlines(keepends=True), "<cell>"))
    notebook.run(source)
    result = check("bytes_per_parameter")
    assert (result.state, result.points) == ("raises", 0)
    assert result.rows[0] == Row(
        FIRST_CALL, "16", "NameError: name 'totl' is not defined in line 3: return totl", raised=True
    )


def test_an_exception_class_of_ones_own_is_shown_by_its_base(notebook):
    notebook.run("class Mine(KeyError):\n    pass\ndef bytes_per_parameter(**sizes):\n    raise Mine('x')")
    assert check("bytes_per_parameter").rows[0].got.startswith("an exception of its own (a KeyError): 'x' in line 4")


def test_a_function_that_leaves_the_interpreter_raises(notebook):
    notebook.run("def bytes_per_parameter(**sizes):\n    raise SystemExit('bye')")
    assert check("bytes_per_parameter").rows[0].got.startswith("SystemExit: bye in line 2")


def test_a_wrong_signature_raises(notebook):
    notebook.run("def bytes_per_parameter(a, b):\n    return a + b")
    result = check("bytes_per_parameter")
    assert (result.state, result.rows[0].got[:11]) == ("raises", "TypeError: ")


def test_a_function_that_raises_where_it_should_but_something_else_raises(notebook):
    notebook.run("def kv_bytes_per_token(**sizes):\n    return undefined")
    result = check("kv_bytes_per_token")
    assert (result.state, len(result.rows), result.points) == ("raises", 5, 0)


def test_a_function_that_prints_is_heard_on_its_card_alone(notebook):
    notebook.run(
        "import sys\ndef bytes_per_parameter(**sizes):\n    print('<b>', len(sizes))\n"
        "    print('careful', file=sys.stderr)\n    return sum(sizes.values())"
    )
    result = check("bytes_per_parameter")
    assert (result.state, result.printed) == ("passes", "<b> 4\ncareful\n")
    assert "Your function printed</summary>" in card(result)
    assert "&lt;b&gt; 4\ncareful\n</pre>" in card(result)


def test_a_function_that_does_not_end_is_stopped(notebook, monkeypatch):
    monkeypatch.setattr(examples, "MAX_SECONDS", 0.05)
    notebook.run(
        "calls = 0\ndef bytes_per_parameter(**sizes):\n    global calls\n    calls += 1\n    while True:\n        pass"
    )
    result = check("bytes_per_parameter")
    assert result.points == 0
    assert [row.got for row in result.rows] == ["still running after 0.05 s: stopped"]
    assert notebook.variables["calls"] == 1


def test_examples_before_the_one_that_does_not_end_count(notebook, monkeypatch):
    monkeypatch.setattr(examples, "MAX_SECONDS", 0.05)
    notebook.run(
        "def bytes_per_parameter(**sizes):\n    while sizes['master_parameter_bytes'] == 0:\n        pass\n"
        "    return sum(sizes.values())"
    )
    result = check("bytes_per_parameter")
    assert (result.state, result.passed, result.points) == ("1 of 3 examples", 1, 2 / 3)


def test_a_loop_that_swallows_its_stop_once_is_stopped_again(notebook, monkeypatch):
    monkeypatch.setattr(examples, "MAX_SECONDS", 0.05)
    notebook.run("""
def bytes_per_parameter(**sizes):
    try:
        while True:
            pass
    except BaseException:
        while True:
            pass
""")
    assert check("bytes_per_parameter").rows[0].got == "still running after 0.05 s: stopped"


def in_a_thread(name):
    """Return what a check says in another thread, where no alarm rings; a test's own trace does not go along."""
    results = []

    def work():
        sys.settrace(None)
        results.append(check(name))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return results[0]


def test_a_check_in_another_thread_works(notebook):
    notebook.run(RIGHT)
    assert in_a_thread("bytes_per_parameter").state == "passes"


@pytest.mark.parametrize("loop", ["while True: pass", "while True: list(map(str, range(9)))"])
def test_a_check_in_another_thread_has_its_time_limit_too(notebook, monkeypatch, loop):
    monkeypatch.setattr(examples, "MAX_SECONDS", 0.05)
    notebook.run(f"def bytes_per_parameter(**sizes):\n    {loop}")
    assert in_a_thread("bytes_per_parameter").rows[0].got == "still running after 0.05 s: stopped"


def test_no_trace_is_left_and_a_debuggers_is_kept(notebook, monkeypatch):
    monkeypatch.delattr(signal, "setitimer")  # as on Windows and in a browser
    notebook.run(RIGHT)
    before, own = sys.gettrace(), lambda *_: None
    try:
        for trace in (None, own):
            sys.settrace(trace)
            assert check("bytes_per_parameter").state == "passes"
            assert sys.gettrace() is trace
    finally:
        sys.settrace(before)


def test_a_check_leaves_the_alarm_as_it_was(notebook):
    notebook.run(RIGHT)
    before = signal.getsignal(signal.SIGALRM)
    check("bytes_per_parameter")
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_an_interrupt_by_the_user_stops_the_check(notebook):
    notebook.run("def bytes_per_parameter(**sizes):\n    raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        check("bytes_per_parameter")


def test_warnings_of_numpy_stand_on_the_card_and_not_on_stderr():
    """In a process of its own: pytest turns warnings into errors, a kernel shows them on stderr."""
    script = """
import numpy as np
from rlinfra import check

def bytes_per_parameter(**sizes):
    return np.array(1.0) / np.array(0.0)

result = check("bytes_per_parameter")
print(result.rows[0].got)
print("RuntimeWarning: divide by zero" in result.printed)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert (run.stdout.split(), run.stderr) == (["inf", "True"], "")


# --- names -------------------------------------------------------------------------------------------------------


def test_a_missing_function_is_asked_for(notebook):
    result = check("bytes_per_parameter")
    assert (result.state, result.points, result.max_points) == ("missing", 0, 2)
    assert problem(result) == "The notebook has no function bytes_per_parameter at this point. Run its cell first."


def test_a_renamed_function_is_recognised(notebook):
    notebook.run(RIGHT.replace("bytes_per_parameter", "bytes_per_parm"))
    assert problem(check("bytes_per_parameter")).endswith("There is a bytes_per_parm: was it renamed?")


def test_a_private_or_unlike_name_is_not_taken_for_a_renamed_function(notebook):
    notebook.run("_bytes_per_parameter = other = print")
    assert problem(check("bytes_per_parameter")).endswith("Run its cell first.")


@pytest.mark.parametrize("value", [16, None, {"a": 1}, "bytes_per_parameter"])
def test_a_name_that_stands_for_another_value_is_told_so(notebook, value):
    notebook.variables["bytes_per_parameter"] = value
    result = check("bytes_per_parameter")
    assert (result.state, result.points, result.max_points) == ("not a function", 0, 2)
    assert problem(result) == "bytes_per_parameter is not a function: the name now stands for another value."


def test_an_unknown_task_close_to_a_known_one_gets_a_suggestion(notebook):
    result = check("bytes_per_paramter")
    assert result.state == "unknown task"
    assert problem(result) == "There is no task of this name. Did you mean bytes_per_parameter?"
    assert "points" not in card(result)


@pytest.mark.parametrize("name", ["", "entirely else", None, 7, ["bytes_per_parameter"], print])
def test_what_is_no_tasks_name_is_told_so(notebook, name):
    result = check(name)
    assert (result.state, repr(result)) == ("unknown task", "0")
    assert problem(result).startswith("There is no task of this name.")


def test_an_endless_name_of_a_task_is_cut(notebook):
    assert check("x" * 1_000).name == "x" * 80


# --- drills ------------------------------------------------------------------------------------------------------


@pytest.fixture
def drill(notebook, monkeypatch):
    """A task whose two functions are tried together: what `save` returns is all that `load` gets."""
    drivers = ModuleType("rlinfra.given.recovery")
    drivers.before = lambda variables, state: variables["save"](state)
    drivers.after = lambda variables, saved, step: variables["load"](saved) + step
    monkeypatch.setitem(sys.modules, "rlinfra.given.recovery", drivers)
    task = TaskData(
        topic="memory",
        name="recovery",
        kind="function",
        points=1,
        accept=Number(),
        examples=(Example(Call((40, 2)), 42, None, ()),),
        drill=Drill(("save", "load"), "recovery.before", "recovery.after"),
    )
    monkeypatch.setattr("rlinfra.checks.all_tasks", lambda: {"recovery": task})
    return notebook


def test_a_drill_passes_where_both_functions_do_their_part(drill):
    drill.run("def save(state):\n    return [state]\ndef load(saved):\n    return saved[0]")
    assert check("recovery") == CheckResult("recovery", "passes", 1, 1, passed=1)


def test_a_drill_that_loses_its_state_is_shown(drill):
    drill.run("def save(state):\n    return []\ndef load(saved):\n    return 0")
    assert check("recovery").rows == (Row("recovery(40, 2)", "42", "2"),)


def test_a_drill_asks_for_the_function_that_is_missing(drill):
    drill.run("def save(state):\n    return [state]\nlod = print")
    assert problem(check("recovery")).startswith("The notebook has no function load at this point.")


def test_a_drill_tells_which_name_is_no_function(drill):
    drill.run("def save(state):\n    return [state]\nload = 3")
    result = check("recovery")
    assert (result.name, result.state) == ("recovery", "not a function")
    assert problem(result) == "load is not a function: the name now stands for another value."


# --- where checks look, and the data that they know --------------------------------------------------------------


def test_a_check_looks_in_the_notebook_that_runs(monkeypatch):
    variables = {"a": 1}
    shell = SimpleNamespace(user_ns=variables)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert _notebook_namespace() is variables


@pytest.mark.parametrize("module", [None, SimpleNamespace(get_ipython=lambda: None)])
def test_a_check_looks_in_the_main_module_where_no_notebook_runs(monkeypatch, module):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    if module is not None:
        monkeypatch.setitem(sys.modules, "IPython", module)
    assert _notebook_namespace() is vars(sys.modules["__main__"])


def test_a_probe_stands_in_the_place_of_every_check(notebook, monkeypatch):
    monkeypatch.setattr("rlinfra.checks._probe", None)
    notebook.run(RIGHT)
    asked = []
    set_probe(lambda name, variables: asked.append((name, variables)))
    judged = [check("bytes_per_parameter"), check("no task")]
    set_probe(None)
    assert asked == [("bytes_per_parameter", notebook.variables), ("no task", notebook.variables)]
    assert [(result.state, result.points, result.max_points) for result in judged] == [("judged", 0, 0)] * 2
    assert check("bytes_per_parameter").state == "passes"


def test_every_topic_has_tasks_and_no_name_twice():
    names = [task.name for topic in TOPICS for task in load_topic(topic.name)]
    assert len(set(names)) == len(names)
    assert list(all_tasks()) == names
    assert {task.topic for task in all_tasks().values()} == {topic.name for topic in TOPICS}


def test_no_answer_to_a_variant_or_a_sorting_stands_in_the_data():
    for task in all_tasks().values():
        if task.kind != "function":
            assert not task.examples
            assert bool(task.fields) is (task.kind == "variant")


def test_every_function_has_an_example_with_hints():
    for task in all_tasks().values():
        if task.kind == "function":
            assert any(example.wrong for example in task.examples), task.name


def test_no_hint_fits_a_right_value():
    for task in all_tasks().values():
        for example in task.examples:
            for wrong in example.wrong:
                assert task.accept.differs(wrong.value, example.expected) is not None, (task.name, wrong.hint)

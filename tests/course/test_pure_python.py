"""The student package is pure Python, and no function of it is an answer.

The leak scan calls everything in the package that can be called on the hidden cases of every task. A function that
agrees with the reference on all of them is an answer, under whatever name and wherever it is kept.
"""

import importlib
import inspect
import json
import pkgutil
import resource
import signal
import subprocess
import sys
from functools import cache, partial
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

import pytest

import rlinfra
from rlinfra.given.lab_tune import DEFAULT_CHOICE, WORKLOADS, require_choice
from rlinfra.observe import Call
from rlinfra.wire import decode, encode
from rlinfra_autograder.hidden import HiddenSet
from rlinfra_autograder.tasks import FunctionTask, all_tasks
from rlinfra_reference import kv_cache as reference
from rlinfra_reference import lab_tune as tuning

# --- pure Python -------------------------------------------------------------------------------------------------

IN_A_BARE_INTERPRETER = """
import importlib, json, pkgutil, sys
sys.path.insert(0, sys.argv[1])
import rlinfra
names = [module.name for module in pkgutil.walk_packages(rlinfra.__path__, "rlinfra.")]
for name in names:
    importlib.import_module(name)

def bytes_per_parameter(**sizes):
    return sum(sizes.values())

print(json.dumps({
    "walked": names,
    "imported": sorted(sys.modules),
    "state": rlinfra.check("bytes_per_parameter").state,
    "ranks": rlinfra.variant("memory", "ada-l")["ranks"],
}))
"""


@pytest.fixture(scope="module")
def bare():
    """What the package did in an interpreter that has the standard library and nothing else."""
    folder = str(Path(rlinfra.__file__).parents[1])
    command = [sys.executable, "-I", "-S", "-W", "error", "-c", IN_A_BARE_INTERPRETER, folder]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stderr == ""
    return json.loads(run.stdout)


def test_every_module_is_imported_without_any_other_package(bare):
    assert {"rlinfra.wire", "rlinfra.checks.examples", "rlinfra.given.kv_cache"} <= set(bare["walked"])
    roots = {name.partition(".")[0] for name in bare["imported"]} - set(sys.stdlib_module_names)
    assert roots == {"__main__", "rlinfra"}


def test_nothing_that_opens_a_connection_is_imported(bare):
    assert not {"socket", "_socket", "ssl", "http.client", "urllib.request", "asyncio"} & set(bare["imported"])


def test_checks_and_variants_need_no_other_package(bare):
    assert (bare["state"], bare["ranks"]) == ("passes", 13)


# --- the leak scan: what can be called ---------------------------------------------------------------------------


def modules_of(package):
    yield package
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        yield importlib.import_module(module.name)


def callables_in(modules):
    """Yield the path and the object of whatever can be called in modules: private, nested, wrapped or kept in data."""
    seen = {}
    todo = [(f"{module.__name__}.{name}", value) for module in modules for name, value in vars(module).items()]
    while todo:
        path, value = todo.pop()
        if id(value) in seen or isinstance(value, ModuleType):
            continue
        seen[id(value)] = value  # kept alive, so that no other object gets its id
        if callable(value) and not is_standard(value):
            yield path, value
        todo += parts_of(path, value)


def is_standard(value):
    root = (getattr(value, "__module__", None) or "builtins").partition(".")[0]
    return root in sys.stdlib_module_names


def parts_of(path, value):
    """Return what a value holds in which a function could be hidden."""
    match value:
        case dict():
            return [(f"{path}[{key!r}]", item) for key, item in value.items()]
        case list() | tuple() | set() | frozenset():
            return [(f"{path}[{place}]", item) for place, item in enumerate(value)]
        case staticmethod() | classmethod():
            return [(path, value.__func__)]
        case property():
            return [(path, value.fget)]
        case partial():
            return [(f"{path}.func", value.func)]
    parts = {}
    if not is_standard(value):
        parts = dict(getattr(value, "__dict__", None) or {})  # of a class, an instance, a function: `__wrapped__` too
    if isinstance(value, FunctionType) and not is_standard(value):
        parts |= {f"<default {place}>": item for place, item in enumerate(value.__defaults__ or ())}
        parts |= value.__kwdefaults__ or {}
        parts |= {"<closure>": list(inspect.getclosurevars(value).nonlocals.values())}
        parts |= functions_nested_in(value.__code__, value.__globals__)
    return [(f"{path}.{name}", item) for name, item in parts.items()]


def functions_nested_in(code, variables):
    """Return the functions, also those of classes, that a function would define if it ran."""
    found = {}
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            is_function = inner.co_flags & inspect.CO_OPTIMIZED  # the body of a class is none
            is_comprehension = inner.co_varnames[:1] == (".0",)  # the interpreter dies where it gets no iterator
            if is_function and not is_comprehension and not inner.co_freevars:
                found[inner.co_name] = FunctionType(inner, variables)
            deeper = functions_nested_in(inner, variables)
            found |= {f"{inner.co_name}.{name}": function for name, function in deeper.items()}
    return found


# --- the leak scan: what agrees ----------------------------------------------------------------------------------


@cache
def answers_of(task_name):
    """Return the calls of a task's hidden cases that are not refused, each with its answer."""
    hidden = HiddenSet(all_tasks()[task_name], "leak")
    return [
        (drawn.call, expected)
        for (_, drawn), expected in zip(hidden.cases, hidden.expected, strict=True)
        if drawn.names is None
    ]


@cache
def scanned_tasks():
    """Return the function tasks with at least four distinct answers: fewer are met by chance."""
    return [
        task
        for task in all_tasks().values()
        if isinstance(task, FunctionTask) and len({repr(expected) for _, expected in answers_of(task.name)}) >= 4
    ]


SECONDS_A_CALL = 0.5
SPARE_BYTES = 256 * 2**20
# What functions of `rlinfra.realmodel`, of charts and explorers import. No answer needs one, and an import that a bound
# cuts short stays half.
LARGE_LIBRARIES = (
    "torch",
    "transformers",
    "tokenizers",
    "huggingface_hub",
    "safetensors",
    "matplotlib",
    "ipywidgets",
    "anywidget",
    "typer",
    "rich",
)
WAYS_TO_CALL = (
    lambda function, call: function(*call.args, **call.kwargs),
    lambda function, call: function(*call.args, *call.kwargs.values()),
    lambda function, call: function(None, *call.args, **call.kwargs),  # a method, without its object
    lambda function, call: function(None, *call.args, *call.kwargs.values()),
)


def answers(task, way, function, call, expected):
    signal.setitimer(signal.ITIMER_REAL, SECONDS_A_CALL, SECONDS_A_CALL)  # again: a callback may swallow the first
    try:
        value = way(function, Call.from_data(call.to_data()))
    except BaseException:  # some functions of the package raise an interrupt
        return False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return is_accepted(task, value, expected) or is_accepted(task, task_form(task, value), expected)


def is_accepted(task, value, expected):
    return task.accept.differs(decode(encode(value)), expected) is None


def task_form(task, value):
    """Return the value in the form that the notebook asks for, where it is a reference's own."""
    try:
        return task.answer(value)
    except Exception:
        return None


def leaks(modules):
    """Return `path: task` for everything in the modules that agrees with a task's reference on all its cases."""
    return sorted(
        f"{path}: {task.name}"
        for path, function in callables_in(modules)
        for task in scanned_tasks()
        if any(
            all(answers(task, way, function, call, expected) for call, expected in answers_of(task.name))
            for way in WAYS_TO_CALL
        )
    )


def choosers(modules):
    """Return the path of everything in the modules that makes a choice of its own for a workload of `tune`."""
    return sorted(
        path
        for path, function in callables_in(modules)
        if any(makes_a_choice(partial(way, function, Call((dict(WORKLOADS["slow link"]),)))) for way in WAYS_TO_CALL)
    )


def makes_a_choice(call):
    signal.setitimer(signal.ITIMER_REAL, SECONDS_A_CALL, SECONDS_A_CALL)
    try:
        return require_choice(decode(encode(call()))) != DEFAULT_CHOICE
    except BaseException:
        return False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


@pytest.fixture
def scan(monkeypatch):
    """The leak scan, with bounds: what calls everything with any arguments calls something that takes for ever."""

    def stop(*_):
        raise TimeoutError

    monkeypatch.setattr("rlinfra.checks._probe", None)  # put back afterwards: `set_probe` is called as well
    for library in LARGE_LIBRARIES:
        monkeypatch.setitem(sys.modules, library, None)
    handler = signal.signal(signal.SIGALRM, stop)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + SPARE_BYTES, hard))
    yield leaks
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    signal.signal(signal.SIGALRM, handler)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the clock may ring in a callback
def test_no_function_of_the_student_package_is_an_answer(scan):
    assert scan(modules_of(rlinfra)) == []


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.usefixtures("scan")
def test_no_function_of_the_student_package_tunes_the_loop():
    assert choosers(modules_of(rlinfra)) == []


@pytest.mark.usefixtures("scan")
def test_a_copy_of_the_reference_that_tunes_is_found(plant):
    assert choosers([plant(inspect.getsource(tuning))]) == ["rlinfra.planted.tune"]


def test_the_scan_sees_what_is_private_nested_and_wrapped():
    seen = {getattr(function, "__qualname__", "") for _, function in callables_in(modules_of(rlinfra))}
    assert {
        "_before_colons",
        "_Encoder._mapping",
        "Call.from_data",
        "Topic.module",
        "all_tasks",
        "TimeLimit._look",
    } <= seen


def test_the_scan_covers_nearly_every_function_task():
    functions = {task.name for task in all_tasks().values() if isinstance(task, FunctionTask)}
    scanned = {task.name for task in scanned_tasks()}
    assert {"bytes_per_parameter", "peak_memory", "kv_bytes_per_token", "max_concurrent_sequences"} <= scanned
    assert len(scanned) >= 0.9 * len(functions)


# --- the leak scan finds what is planted -------------------------------------------------------------------------


@pytest.fixture
def plant(monkeypatch):
    """A function that puts a source into a module of the student package."""

    def plant(source):
        module = ModuleType("rlinfra.planted")
        monkeypatch.setitem(sys.modules, "rlinfra.planted", module)
        exec(source, vars(module))
        return module

    return plant


def test_a_copy_of_the_reference_is_found(scan, plant):
    found = scan([plant(inspect.getsource(reference))])
    assert {
        "rlinfra.planted.kv_bytes_per_token_of_config: kv_bytes_per_token",
        "rlinfra.planted.kv_bytes_per_rank: kv_bytes_per_rank",
        "rlinfra.planted.max_concurrent_sequences: max_concurrent_sequences",
        "rlinfra.planted.paged_kv_bytes: paged_kv_bytes",
        "rlinfra.planted.group_kv_bytes: group_kv_bytes",
    } <= set(found)


PRODUCT = "a * b * c * d * e"
HIDING_PLACES = {
    "_private": "def _private(a, b, c, *, element_bytes, copies):\n    return a * b * c * element_bytes * copies",
    "renamed": f"def renamed(a, b, c, d, e):\n    return {PRODUCT}",
    "table['logits'][0]": f"table = {{'logits': [lambda a, b, c, d, e: {PRODUCT}]}}",
    "Outer.Inner._own": f"class Outer:\n  class Inner:\n    def _own(self, a, b, c, d, e):\n      return {PRODUCT}",
    "Tools.static": f"class Tools:\n  @staticmethod\n  def static(a, b, c, d, e):\n    return {PRODUCT}",
    "Tools.of_class": f"class Tools:\n  @classmethod\n  def of_class(cls, a, b, c, d, e):\n    return {PRODUCT}",
    "outer.inner": f"def outer():\n  def inner(a, b, c, d, e):\n    return {PRODUCT}\n  return 1",
    "maker.Local.f": f"def maker():\n  class Local:\n    def f(self, a, b, c, d, e):\n      return {PRODUCT}",
    "cached": f"from functools import cache\n@cache\ndef cached(a, b, c, d, e):\n  return {PRODUCT}",
    "maker.<default 0>": f"def maker(f=lambda a, b, c, d, e: {PRODUCT}):\n  return 1",
    "kept.<closure>[0]": f"def keep(f):\n  return lambda: f\nkept = keep(lambda a, b, c, d, e: {PRODUCT})\ndel keep",
    "bound.func": f"from functools import partial\nbound = partial(lambda a, b, c, d, e: {PRODUCT}, 1)",
    "Size.__call__": f"class Size:\n  def __call__(self, a, b, c, d, e):\n    return {PRODUCT}",
    "as_data": f"def as_data(a, b, c, d, e):\n  return float({PRODUCT})",
}


@pytest.mark.parametrize("place", HIDING_PLACES)
def test_an_answer_is_found_wherever_it_is_kept(scan, plant, place):
    assert f"rlinfra.planted.{place}: logits_bytes" in scan([plant(HIDING_PLACES[place])])


def test_an_answer_that_is_imported_from_the_reference_is_found(scan, plant):
    found = scan([plant("from rlinfra_reference.memory import peak_memory as _peak")])
    assert found == ["rlinfra.planted._peak: peak_memory"]


def test_a_function_that_is_nearly_an_answer_is_none(scan, plant):
    nearly = "def nearly(a, b, c, d, e):\n    return a * b * c * d * max(e, 1)"  # no copies at all: one of the cases
    assert scan([plant(nearly)]) == []
    assert scan([plant("def raises(*args, **kwargs):\n    raise ValueError")]) == []

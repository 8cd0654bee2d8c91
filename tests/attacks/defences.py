"""The defences by name, each with how a test switches off this one: no such switch is in the product.

`off` is a context that yields a function which grades a notebook with every other defence still on.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import nbformat

from rlinfra_autograder import grade as grading
from rlinfra_autograder import judge, probes
from rlinfra_autograder.hidden import HiddenSet
from rlinfra_autograder.judge import request_of
from rlinfra_autograder.sandbox import attempt, outputs, process, zygote
from rlinfra_autograder.sandbox.zygote import CHILD, RunnerError

from . import inkernel, notebooks
from .bench import UNHURRIED, Bench, running
from .world import GradeIt

Off = Callable[[Bench], Any]


@dataclass(frozen=True)
class Defence:
    """A defence, and how it is switched off: `how` says it in a sentence."""

    name: str
    how: str
    off: Off


# --- kinds of switches -------------------------------------------------------------------------------------------


def _grading_by(grade_it: Callable[[Any, Any], Any]) -> Off:
    """Grade in another way on the same runner."""

    @contextmanager
    def off(bench: Bench) -> Iterator[GradeIt]:
        yield lambda notebook, student: grade_it(notebook, bench.runner)

    return off


def _patching(*patches: tuple[Any, str, Any]) -> Off:
    """Put something else in the place of the grader's own functions."""

    @contextmanager
    def off(bench: Bench) -> Iterator[GradeIt]:
        with ExitStack() as stack:
            for owner, name, new in patches:
                stack.enter_context(mock.patch.object(owner, name, new))
            yield bench.grade

    return off


def _running(**changes: Any) -> Off:
    """Start children with other settings; `lines` are appended to the modules of a copy of the child's program."""

    @contextmanager
    def off(bench: Bench) -> Iterator[GradeIt]:
        with _program(bench, changes.get("lines", ())) as program:
            others = {name: value for name, value in changes.items() if name != "lines"}
            with running(replace(bench.unhurried, program=program, **others)) as runner:
                yield lambda notebook, student: bench.grade(notebook, student, runner)

    return off


@contextmanager
def _program(bench: Bench, lines: Iterable[tuple[str, str]]) -> Iterator[Path]:
    """Make a copy of the child's program in which lines are appended to some modules."""
    program = bench.scratch.parent / f"{bench.scratch.name}-program"
    shutil.copytree(CHILD, program, ignore=shutil.ignore_patterns("__pycache__"))
    for module, line in lines:
        file = program / f"{module}.py"
        file.write_text(f"{file.read_text()}\n{line}\n")
    try:
        yield program
    finally:
        shutil.rmtree(program)


def _child_without(*parts: tuple[str, str]) -> Off:
    """Start a child that leaves parts of its confinement out."""
    return _running(lines=parts)


def _limits(**changes: float) -> Off:
    """Start children under other limits."""
    return _running(limits=replace(UNHURRIED, **changes))


# --- parts of the child's confinement, as lines that take them out ------------------------------------------------

LANDLOCK = (
    "confinement",
    "_all = _syscall\n_syscall = lambda what, number, *a: 0 if number == _RESTRICT_SELF else _all(what, number, *a)",
)
UID = ("confinement", "_become_nobody = lambda folder: None")
NO_CALL = "Call(None, None)"
PROCESSES = ("seccomp", f"REFUSED['processes'] = {{}}\n_Program.allow_with = lambda *a: None\n_CLONE3 = {NO_CALL}")
OTHERS = ("seccomp", f"REFUSED['others'] = {{}}\n_KILL = _TGKILL = _PRLIMIT = {NO_CALL}")
SHARED = ("seccomp", "REFUSED['shared memory'] = {}")
NETWORK = ("seccomp", "REFUSED['network'] = {}")
OWNERSHIP = ("seccomp", "REFUSED['ownership'] = {}\nPRETENDED.update(dict.fromkeys(PRETENDED, Call(None, None)))")
KERNEL = ("seccomp", "REFUSED['kernel'] = {}")


# --- what stands in for the grader's own -------------------------------------------------------------------------


def _public_cases(name: str, seed: str) -> HiddenSet:
    """Return a set whose cases are the public examples."""
    task = notebooks.TASKS[name]
    examples = replace(task.criteria[0], points=task.points, draw=lambda draws: list(task.examples), needs=None)
    return HiddenSet(replace(task, criteria=(examples,)), seed)


def _needing_nothing(name: str, seed: str) -> HiddenSet:
    """Return the hidden set with criteria that count by themselves."""
    task = notebooks.TASKS[name]
    return HiddenSet(replace(task, criteria=tuple(replace(one, needs=None) for one in task.criteria)), seed)


_JUDGE_VARIANT, _NOTE, _HANDLE = judge._judge_variant, judge._note, attempt.Attempt._handle


def _judge_stated_id(task: Any, outcomes: Any, student_id: str) -> Any:
    return _JUDGE_VARIANT(task, outcomes, judge._stated_id(judge._value(outcomes[1])))


def _note_with_message(hidden: Any, place: int, outcome: Any) -> str:
    raised = getattr(outcome, "raised", None)
    return _NOTE(hidden, place, outcome) + (f": {raised.message}" if raised else "")


def _note_with_value(hidden: Any, place: int, outcome: Any) -> str:
    return f"{_NOTE(hidden, place, outcome)}: {getattr(outcome, 'value', None)!r}"


def _refusing_at_any_time(self: Any, message: Any, child: Any) -> bool:
    if "refused" in message:
        raise RunnerError(message["refused"])
    return _HANDLE(self, message, child)


def _logging_every_output(self: Any, message: Any, child: Any) -> bool:
    match message:
        case {"output": dict(output)}:
            self._log.add(output)
            return False
    return _HANDLE(self, message, child)


def _restarting_the_clock(self: Any, message: Any, child: Any) -> bool:
    return _HANDLE(self, message, child) or "end" in message or "probe" in message


def _giving_up(self: Any, kind: str, why: str) -> Any:
    raise RuntimeError(f"the child {why}")


class _Anything:
    """Stands for a module in which every name is an exception."""

    def __getattr__(self, name: str) -> type[Exception]:
        return Exception


class _OneRun:
    """A runner whose shown run is a judged one: people see the outputs of the run with the hidden inputs."""

    def __init__(self, runner: Any) -> None:
        self._runner = runner
        self.limits, self.confined = runner.limits, runner.confined

    def run(self, cells: Any, requests: Any) -> Any:
        names = {f'check("{name}")': name for name in notebooks.TASKS}
        asked = {place: notebooks.TASKS[names[source]] for place, source in cells if source in names}
        requests = requests or {place: request_of(task, notebooks.SEED) for place, task in asked.items()}
        return self._runner.run(cells, requests)


class _OneProcess:
    """A runner that runs a notebook in the process in which it ran the one before."""

    def __init__(self, runner: Any) -> None:
        self._runner = runner
        self._before: list[tuple[int, str]] = []
        self.limits, self.confined = runner.limits, runner.confined

    def run(self, cells: Any, requests: Any) -> Any:
        ran = self._runner.run([*self._before, *cells], requests)
        return replace(ran, cells={place: run for place, run in ran.cells.items() if place >= 0})

    def forget(self) -> None:
        """Begin a new process."""
        self._before = []

    def remember(self, notebook: Any) -> None:
        """Run this notebook's cells before those of the next."""
        sources = [cell.source for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]
        self._before = [(place - len(sources), source) for place, source in enumerate(sources)]


@contextmanager
def _one_run(bench: Bench) -> Iterator[GradeIt]:
    shown = "shell", "Shell.show_nothing = lambda self: None"
    with (
        mock.patch.object(attempt.Attempt, "_handle", _logging_every_output),
        _program(bench, [shown]) as program,
        running(replace(bench.unhurried, program=program)) as runner,
    ):
        yield lambda notebook, student: bench.grade(notebook, student, _OneRun(runner))


@contextmanager
def _one_process(bench: Bench) -> Iterator[GradeIt]:
    runner = _OneProcess(bench.runner)

    def grade_it(notebook: Any, student: str) -> Any:
        if student != notebooks.ATTACKER:
            return bench.grade(notebook, student, runner)
        runner.forget()
        try:
            return bench.grade(notebook, student, runner)
        finally:
            runner.remember(notebook)

    yield grade_it


@contextmanager
def _inheriting_environment(bench: Bench) -> Iterator[GradeIt]:
    clean = zygote._environment
    with (
        mock.patch.object(zygote, "_environment", lambda home: {**os.environ, **clean(home)}),
        running(bench.unhurried, started=False) as runner,
    ):
        yield lambda notebook, student: bench.grade(notebook, student, runner)


@contextmanager
def _inheriting_descriptors(bench: Bench) -> Iterator[GradeIt]:
    class Popen(subprocess.Popen):
        def __init__(self, *args: Any, pass_fds: Any = (), **kwargs: Any) -> None:
            for descriptor in pass_fds:
                os.set_inheritable(descriptor, True)
            super().__init__(*args, close_fds=False, **kwargs)

    keep = ("zygote", "os.closerange = lambda *a: None")
    with (
        _program(bench, [keep]) as program,
        mock.patch.object(zygote.subprocess, "Popen", Popen),
        running(replace(bench.unhurried, program=program), started=False) as runner,
    ):
        yield lambda notebook, student: bench.grade(notebook, student, runner)


@contextmanager
def _staff_environment(bench: Bench) -> Iterator[GradeIt]:
    folders = [str(notebooks.ROOT / part) for part in ("course", "autograder/grader", "autograder/reference")]
    readable = ("confinement", f"SYSTEM_FOLDERS = (*SYSTEM_FOLDERS, *{[*folders, *map(str, _purelib())]!r})")
    with (
        _program(bench, [readable]) as program,
        running(
            replace(
                bench.unhurried,
                program=program,
                python=Path(sys.executable),
                environment={"PYTHONPATH": os.pathsep.join(folders)},
            )
        ) as runner,
    ):
        yield lambda notebook, student: bench.grade(notebook, student, runner)


def _purelib() -> list[Path]:
    return [Path(folder) for folder in sys.path if folder.endswith("site-packages")]


CLEANERS = ("clean_notebook",)


def _as_it_is(value: Any, *_: Any) -> Any:
    return value


ANSWER_LEFT = "import rlinfra.given.memory as given\ngiven._bytes_per_parameter = lambda **sizes: sum(sizes.values())"


def _one(name: str, how: str, off: Off) -> Defence:
    return Defence(name, how, off)


DEFENCES = {
    defence.name: defence
    for defence in (
        _one("scored outside the process", "the same checks as asserts in the graded cells, run by our engine",
             _grading_by(inkernel.grade_by_asserts)),
        _one("only the judge writes points", "points are read from what the check's own card says",
             _grading_by(inkernel.grade_by_cards)),
        _one("a refusal counts only beside right values", "every criterion counts by itself",
             _patching((judge, "hidden_set", _needing_nothing))),
        _one("numbers belong to the registered id", "a variant is judged by the id that the notebook states",
             _patching((judge, "_judge_variant", _judge_stated_id))),
        _one("hidden cases", "the judge asks for the public examples", _patching((judge, "hidden_set", _public_cases))),
        _one("a message that cannot be read ends the child", "what the child sends is parsed as it comes",
             _patching((process, "parse_message", json.loads))),
        _one("messages are bounded", "what the child sends may be of any depth and size",
             _patching((process, "parse_message", json.loads), (probes, "_refuse_unbounded", lambda data: None))),
        _one("a message has a longest length", "the grader waits for the end of any line",
             _patching((process, "LONGEST_MESSAGE", 1 << 40))),
        _one("only an unstarted child may refuse", "a child may say at any time that it cannot be confined",
             _patching((attempt.Attempt, "_handle", _refusing_at_any_time))),
        _one("clocks that student code cannot set back", "a step begins whenever the child says so",
             _patching((attempt.Attempt, "_handle", _restarting_the_clock),
                       (attempt.Budget, "is_over", lambda self, child: False))),
        _one("outputs have the form of a notebook's", "outputs are kept as they come",
             _patching((outputs, "_checked", nbformat.from_dict), (grading, "clean_notebook", _as_it_is))),
        _one("anonymous exceptions", "the name of an exception is kept as it comes",
             _patching((probes, "builtins", _Anything()))),
        _one("messages are not shown", "the judge shows an exception's message",
             _patching((judge, "_note", _note_with_message))),
        _one("values are not quoted", "the judge shows the value that came back",
             _patching((judge, "_note", _note_with_value), (probes, "_anonymous", lambda value: value))),
        _one("stated ids are made readable", "the judge shows a stated id as it is",
             _patching((judge, "_readable", str))),
        _one("an ended process costs one cell", "a child that is gone is an error of the grader's",
             _patching((attempt.Attempt, "_give_up", _giving_up))),
        _one("sanitised notebook", "the notebook goes to people as it came out of the runs",
             _patching(*((grading, name, _as_it_is) for name in CLEANERS))),
        _one("lines without control", "a line of text is the student's own",
             _patching((grading, "one_line", _as_it_is))),
        _one("wiped folder", "working folders are not removed", _patching((process, "remove", lambda folder: None))),
        _one("two runs", "the run with the hidden inputs is the one that people see", _one_run),
        _one("a process for each notebook", "the next notebook runs where this one ran", _one_process),
        _one("clean environment", "the child's environment is the grader's", _inheriting_environment),
        _one("closed descriptors", "the child inherits what the grader has open", _inheriting_descriptors),
        _one("an environment without the staff's packages", "students' code runs in the staff's environment",
             _staff_environment),
        _one("no answers in the student's package", "a module of rlinfra holds an answer",
             _running(lines=[("cells", ANSWER_LEFT)])),
        _one("files: Landlock", "the child's rules for files are not put on", _child_without(LANDLOCK)),
        _one("files: Landlock and uid", "no rules for files, and still root", _child_without(LANDLOCK, UID)),
        _one("other processes: seccomp, uid, Landlock", "each of the three keeps others out of reach: none is put on",
             _child_without(OTHERS, UID, LANDLOCK)),
        _one("shared memory: seccomp", "the filter lets the calls through", _child_without(SHARED)),
        _one("keys: seccomp and uid", "the filter lets the calls through, and the keyring is root's",
             _child_without(KERNEL, UID)),
        _one("new processes: seccomp", "the filter lets the calls through", _child_without(PROCESSES)),
        _one("sockets: seccomp and Landlock", "neither the filter nor the rules for TCP and abstract sockets",
             _child_without(NETWORK, LANDLOCK)),
        _one("owners and modes: seccomp and uid", "the filter lets the calls through, and the child is still root",
             _child_without(OWNERSHIP, UID)),
        _one("the kernel: seccomp, uid, Landlock", "each of the three refuses: none is put on",
             _child_without(KERNEL, UID, LANDLOCK)),
        _one("limit of memory", "64 times as much", _limits(memory_bytes=16 << 30)),
        _one("limit of threads", "a thousand", _limits(threads=1000)),
        _one("limit of a file", "a GiB", _limits(file_bytes=1 << 30, disk_bytes=1 << 30)),
        _one("limit of the disk", "a GiB", _limits(disk_bytes=1 << 30, disk_entries=10_000)),
        _one("limit of files", "10,000", _limits(disk_entries=10_000)),
        _one("limit of outputs", "a GiB", _limits(cell_output_bytes=1 << 30, notebook_output_bytes=1 << 30)),
        _one("limit of time", "a minute a cell and a call",
             _limits(cell_cpu_seconds=20.0, call_cpu_seconds=20.0, notebook_cpu_seconds=60.0)),
    )
}  # fmt: skip

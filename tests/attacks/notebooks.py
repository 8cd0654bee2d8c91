"""The notebooks of topic `memory` that attacks start from, and the same checks as ordinary asserts in the kernel."""

from __future__ import annotations

import copy
import math
from functools import cache
from typing import Any

import nbformat

from rlinfra.variants import variant
from rlinfra_autograder.classroom import Student, solve_in_style
from rlinfra_autograder.hidden import hidden_set
from rlinfra_autograder.judge import request_of
from rlinfra_autograder.tasks import load_tasks
from rlinfra_autograder.tasks.model import FunctionTask, SortingTask, Task, VariantTask
from tests.conftest import ROOT

TOPIC = "memory"
SEED = "a seed of the course that only the staff knows: 6b1f7b0c5d"
ATTACKER, NEIGHBOUR = "mallory", "ada"
TASKS = {task.name: task for task in load_tasks(TOPIC)}
ALL_POINTS = sum(task.points for task in TASKS.values())
FUNCTIONS = tuple(task.name for task in TASKS.values() if isinstance(task, FunctionTask))

# Plausible, and without a single criterion met.
WRONG = {
    "bytes_per_parameter": """
def bytes_per_parameter(*, parameter_bytes, gradient_bytes, optimizer_state_bytes, master_parameter_bytes):
    return parameter_bytes + gradient_bytes""",
    "model_state_bytes": """
def model_state_bytes(parameters, *, trainable_parameters=None, **sizes):
    state = {name: parameters * size for name, size in sizes.items()}
    return {**state, "total_bytes": parameters * sizes["parameter_bytes"]}""",
    "lora_state_bytes": """
def lora_state_bytes(base_parameters, adapter_parameters, *, base_parameter_bytes, bytes_per_trainable_parameter):
    return base_parameters * base_parameter_bytes""",
    "ideal_sharded_memory": """
def ideal_sharded_memory(total_bytes, ranks):
    return total_bytes // ranks""",
    "sharded_state_bytes": """
def sharded_state_bytes(stage, ranks, *, parameters, parameter_bytes, gradient_bytes, optimizer_bytes):
    return parameters * parameter_bytes / ranks""",
    "peak_memory": """
def peak_memory(phases):
    return list(phases)[-1], max(max(resident, default=0) for resident in phases.values()) + 1""",
    "logits_bytes": """
def logits_bytes(batch, tokens, vocabulary, *, element_bytes, copies):
    return batch * tokens * vocabulary * element_bytes""",
    "memory_variant": """
memory_variant = {"adapted_bytes": 14_320_000_000, "full_bytes": 112_000_000_001, "rank_gib": 13.34}""",
    "memory_sort": """
memory_sort = dict.fromkeys(
    ["a_second_adam_moment", "b_activations_for_backward", "c_float32_master_copy", "d_kv_cache_during_rollout",
     "e_logits_at_scoring", "f_gradient_of_a_trained_weight", "g_weights_of_the_base", "h_moments_of_the_base",
     "i_kv_cache_of_the_rollouts", "j_gradients_of_the_base"], "counted")""",
}  # fmt: skip


def released() -> Any:
    """Return the notebook that students get, without the worked problem and the explorers: they take time to run."""
    notebook = nbformat.read(ROOT / "release" / TOPIC / f"{TOPIC}.ipynb", as_version=4)
    notebook.cells = [cell for cell in notebook.cells if cell.id == "setup" or "nbgrader" in cell.metadata]
    return notebook


@cache
def wrong_notebook() -> Any:
    """Return the attacker's notebook without any trick."""
    student = Student(ATTACKER, "wrong in every task", lambda task, _: WRONG[task.name].strip())
    return student.submission(released(), TOPIC)


@cache
def honest_notebook(student: str = NEIGHBOUR) -> Any:
    """Return a notebook with every task solved."""
    return Student(student, "flawless", solve_in_style(0)).submission(released(), TOPIC)


def with_asserts(notebook: Any) -> Any:
    """Return a notebook whose checks are ordinary asserts over the hidden cases, as plain nbgrader would have them."""
    changed = copy.deepcopy(notebook)
    for one in changed.cells:
        if one.cell_type == "code" and one.get("id") in TASKS:
            one.source = asserts_of(TASKS[one.id])
    return changed


def asserts_of(task: Task) -> str:
    """Return the asserts on one task of the attacker's: the hidden cases, with what the reference answers."""
    match task:
        case FunctionTask():
            hidden = hidden_set(task.name, SEED)
            lines = [
                _refusal(drawn.call, task.name, drawn.names) if drawn.names else _equal(drawn.call, task.name, expected)
                for (_, drawn), expected in zip(hidden.cases, hidden.expected, strict=True)
            ]
        case VariantTask():
            numbers = task.answer(variant(task.topic, ATTACKER).numbers)
            lines = [_close(f"{task.name}[{name!r}]", value) for name, value in numbers.items()]
        case SortingTask():
            lines = [f"assert {task.name}[{key!r}] == {value!r}" for key, value in task.key.items()]
    return "\n".join(["import math", *lines])


def _called(call: Any, name: str) -> str:
    arguments = [_literal(value) for value in call.args] + [f"{key}={_literal(v)}" for key, v in call.kwargs.items()]
    return f"{name}({', '.join(arguments)})"


def _literal(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return repr(value)


def _equal(call: Any, name: str, expected: Any) -> str:
    if isinstance(expected, dict):
        parts = [_close(f"result[{key!r}]", value) for key, value in expected.items()]
        return "\n".join([f"result = {_called(call, name)}", *parts])
    if isinstance(expected, list):
        first, second = expected
        return f"result = {_called(call, name)}\nassert result[0] == {first!r}\n{_close('result[1]', second)}"
    return _close(_called(call, name), expected)


def _close(expression: str, value: Any) -> str:
    return (
        f"assert {expression} == {value!r}"
        if isinstance(value, int)
        else f"assert math.isclose({expression}, {value!r})"
    )


def _refusal(call: Any, name: str, argument: str) -> str:
    return (
        f"try:\n    {_called(call, name)}\nexcept ValueError as error:\n    assert {argument!r} in str(error)\n"
        f"else:\n    raise AssertionError('no ValueError')"
    )


@cache
def hidden_numbers() -> frozenset[str]:
    """Return the long numbers among the hidden inputs: what stands in no page by chance."""
    texts = {
        text
        for task in TASKS.values()
        if isinstance(task, FunctionTask)
        for call in request_of(task, SEED).calls
        for text in _long_numbers(call.to_data())
    }
    public = nbformat.writes(released())
    return frozenset(text for text in texts if text not in public)


def _long_numbers(data: Any) -> list[str]:
    if isinstance(data, dict):
        return [text for value in data.values() for text in _long_numbers(value)]
    if isinstance(data, list):
        return [text for value in data for text in _long_numbers(value)]
    return [str(data)] if type(data) is int and data >= 10**8 and data % 10**6 else []

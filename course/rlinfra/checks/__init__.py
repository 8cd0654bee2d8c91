"""Instant checks: `check("function")` runs the public examples and shows a card.

The one line `check("name")` is also the graded cell. In the student's kernel it returns a result whose HTML is the
card and whose text is the points so far, a plain number, which is what nbgrader's `validate` reads. While a notebook
is graded, a probe stands in the check's place (`set_probe`) and meets the hidden inputs.
"""

from __future__ import annotations

import difflib
import sys
from typing import TYPE_CHECKING, Any

from .card import CheckResult, Row
from .choices import run_choices
from .data import TaskData, all_tasks
from .examples import run_examples
from .form import check_form

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..observe import Probe

WRITTEN = ("function", "choice")  # the kinds of tasks for which a function is written
_probe: Probe | None = None


def set_probe(probe: Probe | None) -> None:
    """Put a probe in the place of every check; `None` takes it away. The grader's child calls this, once."""
    global _probe  # noqa: PLW0603 - `check` is called from a notebook with a name and nothing else
    _probe = probe


def check(name: str) -> CheckResult:
    """Return the result of the public examples of a task, looked up by name in the notebook as it is now.

    Raises nothing: a name that is no task, a missing function and a function that raises are results as well.
    """
    namespace = _notebook_namespace()
    if _probe is not None:
        _probe(name, namespace)
        return CheckResult(name, "judged", points=0.0, max_points=0.0)
    task = all_tasks().get(name) if isinstance(name, str) else None
    if task is None:
        return _unknown(name)
    wanted = task.drill.functions if task.drill else (name,)
    for one in wanted:
        if one not in namespace:
            return _missing(task, one, namespace)
    if task.kind not in WRITTEN:
        return check_form(task, namespace[name], namespace)
    for one in wanted:
        if not callable(namespace[one]):
            rows = (Row(problem=f"{one} is not a function: the name now stands for another value."),)
            return CheckResult(name, "not a function", 0.0, task.points, rows)
    return run_choices(task, namespace) if task.kind == "choice" else run_examples(task, namespace)


def _notebook_namespace() -> Mapping[str, Any]:
    """Return the variables of the running notebook, or of the main module where there is no IPython."""
    if "IPython" in sys.modules:
        shell = sys.modules["IPython"].get_ipython()
        if shell is not None:
            namespace: Mapping[str, Any] = shell.user_ns
            return namespace
    return vars(sys.modules["__main__"])


def _unknown(name: object) -> CheckResult:
    close = difflib.get_close_matches(str(name), all_tasks(), n=1)
    suggestion = f" Did you mean {close[0]}?" if close else ""
    rows = (Row(problem=f"There is no task of this name.{suggestion}"),)
    return CheckResult(str(name)[:80], "unknown task", 0.0, 0.0, rows)


def _missing(task: TaskData, name: str, namespace: Mapping[str, Any]) -> CheckResult:
    what = "function" if task.kind in WRITTEN else "answer"
    problem = f"The notebook has no {what} {name} at this point. Run its cell first."
    own = [key for key in namespace if not key.startswith("_")]
    close = difflib.get_close_matches(name, own, n=1, cutoff=0.8)
    if close:
        problem += f" There is a {close[0]}: was it renamed?"
    return CheckResult(task.name, "missing", 0.0, task.points, (Row(problem=problem),))

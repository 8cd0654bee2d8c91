"""`rlinfra-grade explain`: what a grade is made of and what made it, from our record and from the gradebook's rows.

The two are told apart, and where they do not agree, it says so: an assistant's points count, whatever was judged.
"""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from rlinfra.topics import find_topic

from .database import GradebookError
from .entries import GRADED
from .feedback import points_text, verdict_text
from .grade import METADATA_KEY
from .gradebook import existing_gradebook
from .lookup import unknown
from .submissions import Fingerprint, task_parts
from .text import one_line
from .verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from rich.console import Console

    from .entries import Entry
    from .gradebook import GradebookWriter

_BY_NBGRADER = "graded by nbgrader autograde"


class ExplainError(RuntimeError):
    """There is no such grade to explain, and which there are."""


def explained(root: Path, student: str, topic: str, task: str | None = None, *, db_url: str | None = None) -> Any:
    """Return all that is known of a student's grade in a topic, or in one task of it, as JSON data.

    Raises `ExplainError` for a student, topic or task that there is not.
    """
    try:
        topic = find_topic(topic).name
        with existing_gradebook(root, db_url) as gradebook:
            return _explained(root, gradebook, student, topic, task)
    except (LookupError, GradebookError) as error:
        raise ExplainError(str(error)) from error


def _explained(root: Path, gradebook: GradebookWriter, student: str, topic: str, task: str | None) -> dict[str, Any]:
    entries = gradebook.entries()
    students = {name for name, _ in entries} | set(gradebook.students())
    if student not in students:
        raise LookupError(unknown("student", student, students, " in the gradebook"))
    entry, counted = entries.get((student, topic)), gradebook.counted(student, topic)
    if entry is None and counted is None:
        graded = [other for name, other in entries if name == student]
        raise LookupError(unknown("grade", topic, graded, f" of {one_line(student)}"))
    details = entry.details if entry else _details(gradebook, student, topic)
    verdicts = {data["task"]: data for data in details.get("verdicts", [])}
    cells = {cell["task"]: cell for cell in counted["cells"]} if counted else {}
    names = [*verdicts, *(name for name in cells if name not in verdicts)]
    if task is not None:
        if task not in names:
            raise LookupError(unknown("task", task, names, f" in this grade of {topic}"))
        names = [task]
    return {
        "student": student,
        "topic": topic,
        "status": entry.status if entry else _BY_NBGRADER,
        "reason": entry.reason if entry else "",
        "tasks": [{"task": name, "judged": verdicts.get(name), "counted": cells.get(name)} for name in names],
        "score": None if counted is None else {name: counted[name] for name in ("sum", "late_penalty", "score", "of")},
        "notes": list(_notes(verdicts, cells, names, _stale(root, entry), status=entry.status if entry else GRADED)),
        "faults": details.get("faults", []),
        "repairs": details.get("repairs", []),
        "regrades": [one for one in details.get("regrades", []) if task in (None, one["task"])],
        "provenance": details.get("provenance"),
        "seconds": entry.seconds if entry else None,
    }


def _details(gradebook: GradebookWriter, student: str, topic: str) -> Mapping[str, Any]:
    """Return what the graded notebook says of its grade, where the grade has no entry of ours."""
    try:
        found: Mapping[str, Any] = gradebook.graded_notebook(student, topic).metadata.get(METADATA_KEY, {})
    except GradebookError:
        return {}
    return found


def _stale(root: Path, entry: Entry | None) -> set[str]:
    """Return the tasks that are others today than when this was graded."""
    if entry is None or entry.status != GRADED:
        return set()
    made = Fingerprint.parse(entry.fingerprint).tasks
    return {task for task, part in task_parts(root, entry.topic).items() if task in made and made[task] != part}


def _notes(
    verdicts: Mapping[str, Any], cells: Mapping[str, Any], names: Iterable[str], stale: set[str], *, status: str
) -> Iterator[str]:
    """Say where what counts is not what was judged, and why as far as it can be told."""
    if status != GRADED and cells:
        yield f"It is {status}, and the gradebook still counts an earlier grade."
    for name in names:
        cell = cells.get(name, {"auto": None, "by_hand": None, "extra": None, "needs_review": False})
        judged = round(Verdict.from_data(verdicts[name]).earned, 2) if name in verdicts else None
        if judged is not None and cell["auto"] != judged:
            theirs = "none" if cell["auto"] is None else points_text(cell["auto"])
            yield (
                f"{name}: {points_text(judged)} points were judged, and the gradebook's automatic score is {theirs}: "
                "another command graded it since (nbgrader autograde), or somebody edited it."
            )
        if judged is not None and cell["by_hand"] is not None:
            yield f"{name}: an assistant gave {points_text(cell['by_hand'])} points by hand; they count."
        if cell["extra"]:
            yield f"{name}: {points_text(cell['extra'])} points of extra credit count on top."
        if cell["needs_review"]:
            yield f"{name}: is to be marked or looked at by hand (make formgrader)."
        if name in stale:
            yield f"{name}: the task is another one today than in this grade (rlinfra-grade regrade {name})."


def show(data: Mapping[str, Any], console: Console) -> None:
    """Print it for a reader: points first, then why, then what made it."""

    def say(*lines: str) -> None:
        for line in lines:
            text, indent = one_line(line, 4_000), " " * (len(line) - len(line.lstrip(" ")))
            for part in wrap(text, console.width, initial_indent=indent, subsequent_indent=indent + "  ") or [""]:
                console.print(part, markup=False, highlight=False)

    reason = f": {data['reason']}" if data["reason"] else ""
    say(f"{one_line(data['student'])} · {data['topic']} · {data['status']}{reason}")
    if any(line["counted"] for line in data["tasks"]):
        console.print(_table(data))
    say(*data["notes"])
    for line in data["tasks"]:
        if line["judged"]:
            say("", *verdict_text(Verdict.from_data(line["judged"])).splitlines())
    for title, lines in (
        ("Cells that were stopped", data["faults"]),
        ("Repaired before it was graded", [repair["what"] for repair in data["repairs"]]),
        ("Judged again", [_regrade(one) for one in data["regrades"]]),
        ("What made this grade", list(_made(data))),
    ):
        if lines:
            say("", f"{title}:", *(f"  {line}" for line in lines))


def _table(data: Mapping[str, Any]) -> Table:
    table = Table(show_footer=len(data["tasks"]) > 1)
    total = data["score"]
    late = f" − {points_text(total['late_penalty'])} late = {points_text(total['score'])}"
    footer = f"{points_text(total['sum'])}{late if total['late_penalty'] else ''}"
    columns = {"task": "total in the gradebook", "judged": "", "by hand": "", "extra": "", "counts": footer}
    for name, foot in {**columns, "of": points_text(total["of"])}.items():
        table.add_column(name, justify="left" if name == "task" else "right", footer=foot)
    for line in data["tasks"]:
        cell = line["counted"] or {}
        points = [cell.get(name) for name in ("auto", "by_hand", "extra", "score", "of")]
        table.add_row(Text(line["task"]), *("" if value is None else points_text(value) for value in points))
    return table


def _regrade(regrade: Mapping[str, Any]) -> str:
    points = f"{points_text(regrade['points_before'])} → {points_text(regrade['points_after'])}"
    unconfined = "" if regrade.get("confined", True) else ", NOT confined"
    return (
        f"{regrade['task']}: {points} points, from {regrade['judged']}{unconfined}, at {regrade['regraded_at']} "
        f"(task {regrade['task_sha256'][:12]}, inputs {regrade['inputs_sha256'][:12]})"
    )


def _made(data: Mapping[str, Any]) -> Iterator[str]:
    made = data["provenance"]
    if not made:
        return
    yield f"graded at {made['graded_at']}" + (f", in {data['seconds']:g} seconds" if data["seconds"] else "")
    yield f"submission {made['submission_sha256'][:12]}, tasks and reference {made['tasks_and_reference_sha256'][:12]}"
    yield f"course seed {made['course_seed']}"
    yield "student code was confined" if made["confined"] else "student code was NOT confined"
    yield "limits: " + ", ".join(f"{name} {value}" for name, value in made["limits"].items())
    for kind in ("grader", "student_environment"):
        versions = ", ".join(f"{name} {version}" for name, version in made[kind].items())
        yield f"{kind.replace('_', ' ')}: {versions}"

"""The grades for a spreadsheet, Canvas or Moodle: what is ungraded stays empty, and is listed apart with its reason."""

from __future__ import annotations

import csv
import html
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .entries import FAILED, GRADED, UNGRADED
from .feedback import points_text
from .standings import MISSING, NEEDS_MANUAL_GRADE, StandingsError, by_topic, read_standings
from .text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rich.console import Console

    from .standings import Standing, Student

STATUSES = (GRADED, NEEDS_MANUAL_GRADE, UNGRADED, FAILED, MISSING)
NOT_FINAL = (NEEDS_MANUAL_GRADE, UNGRADED, FAILED)
NO_GRADE = "-"  # Moodle's; no formula, though it begins like one
_LONGEST = 500  # characters of a cell: a reason of a few sentences is shorter

Row = list[str]
Map = dict[str, dict[str, str]]


class ExportError(RuntimeError):
    """The grades cannot be exported, and what to do."""


@dataclass(frozen=True)
class Format:
    """A kind of file: its usual name, the columns that tell who a student is, and its rows."""

    file: str
    identity: tuple[str, ...]
    rows: Callable[[Sequence[Standing], Map, str], Iterable[Row]]


def run_export(
    root: Path,
    topics: Sequence[str] | None,
    console: Console,
    *,
    kind: str,
    to: Path | None = None,
    db_url: str | None = None,
    missing_as_zero: bool = False,
    student_map: Path | None = None,
) -> Path:
    """Write the grades and the list of those that are not final, say so, and return the file of the grades.

    Raises `ExportError` where the gradebook cannot be read or a file not be written.
    """
    if kind not in FORMATS:
        raise ExportError(f"there is no format {one_line(kind)!r}; the formats are {', '.join(FORMATS)}")
    form = FORMATS[kind]
    try:
        standings = read_standings(root, topics, db_url)
    except StandingsError as error:
        raise ExportError(str(error)) from error
    students = _read_map(student_map, form) if student_map else {}
    path = _destination(to or root / "build", form.file)
    beside = path.with_name(f"{path.stem}-ungraded{path.suffix or '.csv'}")
    _write(path, form.rows(standings, students, "0" if missing_as_zero else ""))
    _write(beside, _not_final(standings))
    _say(standings, path, beside, console)
    if student_map:
        strangers = sorted({standing.student.id for standing in standings} - set(students))
        if strangers:
            names = ", ".join(one_line(name, 40) for name in strangers)
            console.print(f"Not in {student_map}: {names}", markup=False, highlight=False)
    return path


def _destination(to: Path, usual: str) -> Path:
    return to / usual if to.is_dir() or not to.suffix else to


def _write(path: Path, rows: Iterable[Row]) -> None:
    """Write a CSV file: quoted as the csv module does, UTF-8 without a byte order mark, no cell a formula.

    Canvas and Moodle take UTF-8 as it is, and a byte order mark would become a part of the first column's name.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([_plain(cell) for cell in row] for row in rows)
    except OSError as error:
        raise ExportError(f"{path} cannot be written: {error.strerror}") from error


def _plain(cell: str) -> str:
    return cell if cell == NO_GRADE else one_line(cell, _LONGEST)


def _not_final(standings: Sequence[Standing]) -> Iterable[Row]:
    yield ["student_id", "assignment", "status", "reason"]
    for standing in standings:
        if standing.status in NOT_FINAL:
            yield [standing.student.id, standing.topic, standing.status, standing.reason]


def _say(standings: Sequence[Standing], path: Path, beside: Path, console: Console) -> None:
    """Say how many of each there are, then whoever has no grade and why, then where it stands."""
    for topic, found in by_topic(standings).items():
        counts = Counter(standing.status for standing in found)
        words = [f"{counts[GRADED] + counts[NEEDS_MANUAL_GRADE]} graded"]
        if counts[NEEDS_MANUAL_GRADE]:
            words[0] += f" ({counts[NEEDS_MANUAL_GRADE]} of them to be marked by hand)"
        words += [f"{counts[status]} {status}" for status in (UNGRADED, FAILED, MISSING) if counts[status]]
        console.print(f"{topic}: {', '.join(words)}", markup=False, highlight=False)
    empty = [standing for standing in standings if standing.status in (UNGRADED, FAILED)]
    for standing in empty:
        line = f"{one_line(standing.student.id)} {standing.topic}: {standing.status}: "
        console.print(line + one_line(standing.reason, _LONGEST), markup=False, highlight=False)
    why = "; what has no grade is empty there, and stands" if empty else "; what is not final stands"
    console.print(f"Grades in {path}{why} with its reason in {beside}.", markup=False, highlight=False)


# --- a spreadsheet -----------------------------------------------------------------------------------------------

NBGRADER_COLUMNS = (
    "assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email", "raw_score",
    "late_submission_penalty", "score", "max_score",
)  # fmt: skip


def _csv_rows(standings: Sequence[Standing], _students: Map, missing: str) -> Iterable[Row]:
    """Yield a row a student and topic: the columns of nbgrader's `CsvExportPlugin`, then status and reason."""
    yield [*NBGRADER_COLUMNS, "status", "reason"]
    for standing in standings:
        student, marks = standing.student, standing.marks
        absent = str(float(missing)) if missing and standing.status == MISSING else ""
        points = [str(marks.raw_score), str(marks.penalty), str(marks.score)] if marks else [absent] * 3
        yield [
            standing.topic, standing.duedate, marks.timestamp if marks else "",
            student.id, student.last_name, student.first_name, student.email,
            *points, str(standing.max_score), standing.status, standing.reason,
        ]  # fmt: skip


# --- Canvas and Moodle -------------------------------------------------------------------------------------------


def _canvas_rows(standings: Sequence[Standing], students: Map, missing: str) -> Iterable[Row]:
    """Yield Canvas's gradebook as its import reads it: a column a topic, and a row with the points possible.

    Canvas finds a student by ID, else by SIS User ID, SIS Login ID, name; an assignment by its title, else it offers a
    new one; an empty cell is no grade. (canvas-lms, lib/gradebook_importer.rb; Instructor Guide, "How do I import
    grades in the Gradebook?")
    """
    topics = by_topic(standings)
    yield [*FORMATS["canvas"].identity, *topics]
    yield ["Points Possible", "", "", "", "", *(points_text(found[0].max_score) for found in topics.values())]
    for student, found in _by_student(standings):
        identity = [student.name, student.lms_user_id, "", student.id, ""]
        yield _identified(identity, student, students, FORMATS["canvas"]) + [
            _cell(standing, empty="", missing=missing) for standing in found
        ]


def _moodle_rows(standings: Sequence[Standing], students: Map, missing: str) -> Iterable[Row]:
    """Yield what Moodle's *Import > CSV file* reads: who, then a grade and a feedback column a topic.

    A grade that is not there is `-`: Moodle takes an empty cell of a new grade item for 0. Feedback is HTML. One
    student whom Moodle does not know ends the import. (moodle, grade/import/csv/classes/load_data.php, and
    normalise_value of lib/dml; https://docs.moodle.org/en/Grade_import)
    """
    topics = by_topic(standings)
    columns = [column for topic in topics for column in (topic, f"{topic} feedback")]
    yield [*FORMATS["moodle"].identity, *columns]
    for student, found in _by_student(standings):
        identity = [student.id, "", student.first_name, student.last_name, student.email]
        row = _identified(identity, student, students, FORMATS["moodle"])
        for standing in found:
            row += [_cell(standing, empty=NO_GRADE, missing=missing), html.escape(_comment(standing), quote=False)]
        yield row


def _by_student(standings: Sequence[Standing]) -> Iterable[tuple[Student, list[Standing]]]:
    found: dict[Student, list[Standing]] = {}
    for standing in standings:
        found.setdefault(standing.student, []).append(standing)
    return found.items()


def _cell(standing: Standing, *, empty: str, missing: str) -> str:
    if standing.marks:
        return points_text(standing.marks.score)
    return missing or empty if standing.status == MISSING else empty


def _comment(standing: Standing) -> str:
    """Return what a student reads beside the grade."""
    marks = standing.marks
    if marks is None:
        return "" if standing.status == MISSING else f"Not graded: {standing.reason}"
    late = f" {points_text(marks.penalty)} points were taken off for being late." if marks.penalty else ""
    waits = " A part is still to be marked by hand." if marks.waiting else ""
    return f"{points_text(marks.score)} of {points_text(standing.max_score)} points.{late}{waits}"


def _identified(usual: Row, student: Student, students: Map, form: Format) -> Row:
    said = students.get(student.id, {})
    return [said.get(column, value) for column, value in zip(form.identity, usual, strict=True)]


def _read_map(path: Path, form: Format) -> Map:
    """Return what a file says of who is who: a CSV file with a column `student_id` and identity columns."""
    if not form.identity:
        raise ExportError("--student-map is for the formats canvas and moodle")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            columns = [column or "" for column in reader.fieldnames or ()]
            rows = list(reader)
    except (OSError, UnicodeError, csv.Error) as error:
        raise ExportError(f"{path} cannot be read as a CSV file in UTF-8: {error}") from error
    strange = [column for column in columns if column not in ("student_id", *form.identity)]
    if "student_id" not in columns or strange:
        wanted = ", ".join(("student_id", *form.identity))
        raise ExportError(f"{path} has the columns {one_line(', '.join(columns), 200)}; it may have {wanted}")
    known = [column for column in form.identity if column in columns]
    return {row["student_id"]: {column: row[column] or "" for column in known} for row in rows}


FORMATS: Mapping[str, Format] = {
    "csv": Format("grades.csv", (), _csv_rows),
    "canvas": Format("grades-canvas.csv", ("Student", "ID", "SIS User ID", "SIS Login ID", "Section"), _canvas_rows),
    "moodle": Format(
        "grades-moodle.csv", ("Username", "ID number", "First name", "Last name", "Email address"), _moodle_rows
    ),
}

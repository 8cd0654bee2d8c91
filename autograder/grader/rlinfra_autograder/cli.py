"""The command line of the staff: `rlinfra-grade`. Each command imports what it needs, so that `--help` is quick."""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from rlinfra.topics import TOPICS, find_topic

if TYPE_CHECKING:
    from collections.abc import Iterator

app = typer.Typer(no_args_is_help=True, add_completion=False)

Topics = Annotated[list[str] | None, typer.Argument(help="Topics by name; all where none is given.")]
Course = Annotated[Path, typer.Option("--course", help="The course root.", file_okay=False, exists=True)]
UnsafeNoSandbox = Annotated[
    bool, typer.Option("--unsafe-no-sandbox", help="Run students' code without confinement, and mark every grade.")
]
Submissions = Annotated[
    Path | None, typer.Option(help="Where submissions lie, as STUDENT/TOPIC/; the course's submitted/ by default.")
]
Workers = Annotated[int, typer.Option(min=1, help="How many processes work at a time.")]
Students = Annotated[str, typer.Option("--student", metavar="GLOB", help="Only students whose id matches.")]
DbUrl = Annotated[
    str | None,
    typer.Option(help="The gradebook's database; by default as in nbgrader_config.py, or gradebook.db.", metavar="URL"),
]
DEFAULT_WORKERS = min(os.cpu_count() or 1, 8)


@app.callback()
def main() -> None:
    """Release, audit and grade the rlinfra course."""


def _console() -> Console:
    """Return a console that is wide enough for the tables where there is no terminal."""
    return Console(width=None if sys.stdout.isatty() else 165)


@contextmanager
def _told(kind: type[Exception]) -> Iterator[None]:
    """End the command with one line and exit code 1 where it cannot do its work."""
    try:
        yield
    except kind as error:
        typer.echo(str(error), err=True)
        sys.exit(1)


def _chosen(topics: list[str] | None) -> list[str]:
    try:
        return [find_topic(name).name for name in topics or [topic.name for topic in TOPICS]]
    except LookupError as error:
        raise typer.BadParameter(str(error)) from error


def _asked_for(topics: list[str] | None) -> list[str] | None:
    """Return the topics that were named; None where all that are in the gradebook are meant."""
    return _chosen(topics) if topics else None


@app.command()
def release(
    topics: Topics = None,
    course: Course = Path(),
    check: Annotated[bool, typer.Option("--check", help="Change nothing; fail if what is there is stale.")] = False,
    db_url: DbUrl = None,
) -> None:
    """Write the students' notebooks, the check data and nbgrader's database from the sources and the tasks."""
    from .release import ReleaseError, stale, write_release

    root, names = course.resolve(), _chosen(topics)
    problems: list[str] = []
    try:
        if check:
            problems = stale(root, names)
        else:
            write_release(root, names, db_url)
    except ReleaseError as error:
        problems = str(error).splitlines()
    for problem in problems:
        typer.echo(problem, err=True)
    if problems:
        sys.exit(1)
    typer.echo(f"{', '.join(names)}: {'fresh' if check else 'released'}.")


@app.command()
def audit(
    topics: Topics = None,
    seeds: Annotated[int, typer.Option(min=1, help="How many course seeds to draw hidden cases from.")] = 20,
) -> None:
    """Audit the hidden cases: misconceptions told, correct variants accepted, mutants killed, nothing for free."""
    from .audit import audit_task
    from .tasks import load_tasks

    reports = [audit_task(task, seeds) for topic in _chosen(topics) for task in load_tasks(topic)]
    table = Table(title=f"Audit over {seeds} seeds")
    table.add_column("task", no_wrap=True)
    for column in ("told", "by examples", "variants", "mutants", "equiv.", "free"):
        table.add_column(column, justify="right", no_wrap=True)
    for report in reports:
        counts = (
            (report.told_by_hidden, report.misconceptions),
            (report.told_by_examples, report.misconceptions),
            (report.variants_full, report.variants),
            (report.killed, report.mutants),
        )
        shares = [f"{part}/{whole}" if whole else "" for part, whole in counts]
        table.add_row(report.task, *shares, str(report.equivalent or ""), f"{report.free_points:g}")
    console = _console()
    console.print(table)
    console.print(
        "told: misconceptions told from the right answer by the hidden cases; by examples: also by the public ones.\n"
        "variants: correct variants at full marks. mutants: changed references that the hidden cases notice.\n"
        "equiv.: mutants that no case can notice. free: points that a constant or an always-raising function earns."
    )
    faults = [f"{report.task}: {fault}" for report in reports for fault in report.faults]
    lines = [f"equivalent: {mutant}" for report in reports for mutant in report.equivalents]
    lines += [f"survives: {survivor}" for report in reports for survivor in report.survivors]
    for line in [*lines, *(f"FAULT {fault}" for fault in faults)]:
        console.print(line, markup=False, highlight=False)
    mutants, killed = sum(report.mutants for report in reports), sum(report.killed for report in reports)
    console.print(f"{killed} of {mutants} mutants killed ({killed / max(mutants, 1):.1%}), {len(faults)} faults.")
    sys.exit(1 if faults else 0)


@app.command()
def batch(
    topics: Topics = None,
    *,
    course: Course = Path(),
    submissions: Submissions = None,
    workers: Workers = DEFAULT_WORKERS,
    dask: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Grade on the workers of this Dask scheduler instead.")
    ] = None,
    student: Students = "*",
    db_url: DbUrl = None,
    force: Annotated[bool, typer.Option("--force", help="Grade also what is graded and unchanged.")] = False,
    unsafe_no_sandbox: UnsafeNoSandbox = False,
) -> None:
    """Grade all new and changed submissions; exit 0: all graded, 3: some ungraded, 1: some failed, 130: interrupted."""
    from .runners import STUDENT_PYTHON, Nursery

    root = course.resolve()
    with Nursery(root, root / STUDENT_PYTHON, not unsafe_no_sandbox) as nursery:  # begins while the rest is imported
        from .batchrun import BatchError, run_batch

        with _told(BatchError):
            tally = run_batch(
                root,
                _chosen(topics),
                _console(),
                submissions=submissions,
                workers=workers,
                students=student,
                db_url=db_url,
                dask=dask,
                force=force,
                confined=not unsafe_no_sandbox,
                nursery=nursery,
            )
    sys.exit(tally.exit_code)


@app.command()
def regrade(
    task: Annotated[str, typer.Argument(help="The task by its name, which is unique over all topics.")],
    *,
    apply: Annotated[bool, typer.Option("--apply", help="Write it; without, it is only shown.")] = False,
    course: Course = Path(),
    submissions: Submissions = None,
    workers: Workers = DEFAULT_WORKERS,
    student: Students = "*",
    db_url: DbUrl = None,
    unsafe_no_sandbox: UnsafeNoSandbox = False,
) -> None:
    """Judge one task again for all who were graded, after it was mended; exit 0: all, 3: some could not be."""
    from .regraderun import RegradeError, run_regrade

    with _told(RegradeError):
        report = run_regrade(
            course.resolve(),
            task,
            _console(),
            apply=apply,
            submissions=submissions,
            workers=workers,
            students=student,
            db_url=db_url,
            confined=not unsafe_no_sandbox,
        )
    sys.exit(report.exit_code)


@app.command()
def explain(
    student: Annotated[str, typer.Argument(help="The student's id, as in submitted/.")],
    topic: Annotated[str, typer.Argument(help="The topic by name.")],
    task: Annotated[str | None, typer.Argument(help="Only this task.")] = None,
    *,
    course: Course = Path(),
    db_url: DbUrl = None,
    as_json: Annotated[bool, typer.Option("--json", help="The data, for a script.")] = False,
) -> None:
    """Say of a grade what it is made of: points, criteria, hints, repairs, and all that made it."""
    from .explain import ExplainError, explained, show

    with _told(ExplainError):
        data = explained(course.resolve(), student, topic, task, db_url=db_url)
    if as_json:
        typer.echo(json.dumps(data, indent=2))
    else:
        show(data, _console())


@app.command()
def feedback(
    topics: Topics = None,
    *,
    course: Course = Path(),
    student: Students = "*",
    workers: Workers = DEFAULT_WORKERS,
    db_url: DbUrl = None,
    force: Annotated[bool, typer.Option("--force", help="Write also what is unchanged.")] = False,
) -> None:
    """Write what students get back, to feedback/STUDENT/TOPIC/TOPIC.html; exit codes as of batch."""
    from .pages.run import FeedbackError, run_feedback

    with _told(FeedbackError):
        tally = run_feedback(
            course.resolve(),
            _chosen(topics),
            _console(),
            workers=workers,
            students=student,
            db_url=db_url,
            force=force,
            all_topics=not topics,
        )
    sys.exit(tally.exit_code)


@app.command()
def export(
    topics: Topics = None,
    *,
    kind: Annotated[str, typer.Option("--format", help="csv, canvas or moodle.")] = "csv",
    to: Annotated[Path | None, typer.Option(help="A file, or a folder for it; build/ by default.")] = None,
    course: Course = Path(),
    db_url: DbUrl = None,
    missing_as_zero: Annotated[
        bool, typer.Option("--missing-as-zero", help="0 for those who handed in nothing; empty without it.")
    ] = False,
    student_map: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A CSV file: student_id, and who that is in Canvas or Moodle.")
    ] = None,
) -> None:
    """Write the grades for a spreadsheet, Canvas or Moodle; what is ungraded stays empty and is listed apart."""
    from .exports import ExportError, run_export

    with _told(ExportError):
        run_export(
            course.resolve(),
            _asked_for(topics),
            _console(),
            kind=kind,
            to=to,
            db_url=db_url,
            missing_as_zero=missing_as_zero,
            student_map=student_map,
        )


@app.command()
def report(
    topics: Topics = None,
    *,
    to: Annotated[Path | None, typer.Option(help="The page to write; build/report.html by default.")] = None,
    course: Course = Path(),
    db_url: DbUrl = None,
) -> None:
    """Write one page on the class: scores, tasks, misconceptions, repairs, faults, and what waits for whom."""
    from .report import ReportError, write_report

    with _told(ReportError):
        path = write_report(course.resolve(), _asked_for(topics), to=to, db_url=db_url)
    typer.echo(f"The report is in {path}: open it in a browser. It holds names and grades.")


@app.command()
def forget(
    student: Annotated[str, typer.Argument(help="The student's id.")],
    *,
    course: Course = Path(),
    db_url: DbUrl = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Delete all that the course keeps of one student: submissions, grades, feedback, rows of the gradebook."""
    from .forget import ForgetError, Forgetting
    from .text import one_line

    try:
        found = Forgetting(course.resolve(), student, db_url)
        for place in found.places:
            typer.echo(one_line(str(place), 500))
        if found.rows:
            typer.echo("the rows in the gradebook, with grades, marks by hand and comments")
        if not yes:
            typer.confirm(f"Delete all this of {one_line(student)}?", abort=True)
        found.delete()
    except ForgetError as error:
        typer.echo(f"{one_line(student)}: {error}", err=True)
        sys.exit(1)
    typer.echo("Deleted. Exports, reports and logs that were written before are not: they lie in build/.")


@app.command()
def demo(
    course: Course = Path(),
    unsafe_no_sandbox: UnsafeNoSandbox = False,
) -> None:
    """Grade a synthetic class of 24 from release to feedback, through nbgrader."""
    from .demo import DemoError, run_demo

    with _told(DemoError):
        run_demo(course.resolve(), _console(), confine=not unsafe_no_sandbox)


if __name__ == "__main__":
    app()

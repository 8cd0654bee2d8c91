"""The command line of the course: `rlinfra measure`. Typer and Rich come with the extra `model`."""

# No `from __future__ import annotations`: Typer reads the annotations of functions that are made inside another.
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from .realmodel import ModelProblem, Report, Settings, measure
from .realmodel.problem import INSTALL
from .realmodel.settings import DEVICES, DTYPES, HUB_ID
from .realmodel.terminal import show

if TYPE_CHECKING:
    from .realmodel.run import Step

FAILED = 2
INTERRUPTED = 130


def main() -> None:
    """Run the command; without Typer or Rich, say in one sentence how to install them."""
    try:
        app = _app()
    except ImportError as error:
        _fail(f"{error.name} is missing: {INSTALL}.")
    app()


def _app() -> Any:
    import typer
    from rich import get_console  # noqa: F401 - told to be missing before a measurement begins

    app = typer.Typer(no_args_is_help=True, add_completion=False)

    @app.callback()
    def course() -> None:  # a second command may come: without this, the first would lose its name
        """Tools of the rlinfra course."""

    @app.command("measure")
    def measure_command(
        *,
        model: Annotated[
            Path | None, typer.Option(help="A checkpoint's folder; by default $RL_LLM_MODEL_PATH.")
        ] = None,
        revision: Annotated[
            str | None, typer.Option(help="A commit of the hub's repository; by default $RL_LLM_MODEL_REVISION.")
        ] = None,
        hub_id: Annotated[str, typer.Option(help="The hub's repository.")] = HUB_ID,
        random_weights: Annotated[
            bool, typer.Option("--random-weights", help="The shape of Qwen3-0.6B with random weights; no download.")
        ] = False,
        tiny: Annotated[bool, typer.Option("--tiny", help="With --random-weights: a small model, in seconds.")] = False,
        device: Annotated[str, typer.Option(help=f"One of {', '.join(DEVICES)}.")] = "auto",
        dtype: Annotated[str, typer.Option(help=f"One of {', '.join(DTYPES)}.")] = "auto",
        batches: Annotated[str | None, typer.Option(help="Sequences at a time, such as 1,2,4,8.")] = None,
        new_tokens: Annotated[int, typer.Option(help="Tokens a completion.")] = 64,
        repeats: Annotated[int, typer.Option(help="How often each timing is taken.")] = 3,
        temperature: Annotated[float, typer.Option(help="The decoding temperature.")] = 0.8,
        weight_change: Annotated[
            float, typer.Option(help="Size of the weight change, relative to the weights.")
        ] = 0.01,
        seed: Annotated[int, typer.Option(help="Of weights, samples and the weight change.")] = 12016,
        out: Annotated[
            Path, typer.Option(file_okay=False, help="Where report.json and report.png are written.")
        ] = Path("rlinfra-measure"),
        as_json: Annotated[bool, typer.Option("--json", help="Write the report as JSON to standard output.")] = False,
    ) -> None:
        """Measure a real model: log-probabilities at zero lag and with each mistake, timings, bytes."""
        # Torch's threads wait for each other after every product. Where cores are shared, waiting awake takes one from
        # the thread that is waited for, and a decode step takes three times as long. OpenMP reads this as torch loads.
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        try:
            settings = Settings(
                random_weights=random_weights,
                tiny=tiny,
                model=model,
                hub_id=hub_id,
                revision=revision,
                device=device,
                dtype=dtype,
                batches=_numbers(batches),
                new_tokens=new_tokens,
                repeats=repeats,
                temperature=temperature,
                weight_change=weight_change,
                seed=seed,
            )
            with _progress() as progress:
                report = measure(settings, progress=progress)
            written = _written(report, out)
        except (ModelProblem, ValueError) as error:
            _fail(str(error))
        except OSError as error:
            _fail(f"The report cannot be written to {out} ({error.strerror}): name another folder with --out.")
        except KeyboardInterrupt:
            print("Stopped before anything was measured.", file=sys.stderr)
            sys.exit(INTERRUPTED)
        if as_json:
            sys.stdout.write(report.to_json())
        else:
            _show(report, written)
        sys.exit(0 if report.complete else INTERRUPTED)

    return app


def _fail(sentence: str) -> Any:
    print(sentence, file=sys.stderr)
    sys.exit(FAILED)


def _numbers(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise ValueError(f"--batches must be whole numbers with commas between, such as 1,2,4, not {text!r}") from None


@contextmanager
def _progress() -> Iterator[Callable[["Step"], None]]:
    """Give what is to be told of each step: a line that moves on a terminal, plain lines elsewhere, to stderr."""
    if not sys.stderr.isatty():
        yield lambda step: print(step, file=sys.stderr, flush=True)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.progress import TimeRemainingColumn as LeftColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), LeftColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("")
        yield lambda step: bar.update(task, completed=step.done, total=step.total, description=step.what)


def _written(report: Report, out: Path) -> list[Path]:
    """Write the report and, where matplotlib is there, its figure; return the files."""
    text = report.to_json()
    out.mkdir(parents=True, exist_ok=True)
    files = [out / "report.json"]
    files[0].write_text(text, encoding="utf-8")
    try:
        figure = report.figure()
    except ImportError as error:
        print(f"No figure: {error.name} is missing; {INSTALL}.", file=sys.stderr)
        return files
    figure.savefig(out / "report.png", dpi=120)
    return [*files, out / "report.png"]


def _show(report: Report, written: list[Path]) -> None:
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else 150)
    show(report, console)
    files = " and ".join(map(str, written))
    console.print(f"Written: {files}. Report.from_json reads the first again.", markup=False, highlight=False)


if __name__ == "__main__":
    main()

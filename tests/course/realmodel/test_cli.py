"""`rlinfra measure`: tables, files, JSON, and one sentence with exit code 2 where something is wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import rlinfra
from rlinfra import cli
from rlinfra.realmodel import Report

TINY = ("measure", "--random-weights", "--tiny", "--device", "cpu", "--new-tokens", "8", "--repeats", "1")
COURSE = str(Path(rlinfra.__file__).parents[1])


def run(*arguments):
    return CliRunner().invoke(cli._app(), [str(argument) for argument in arguments])


def test_it_shows_tables_and_writes_report_and_figure(tmp_path):
    result = run(*TINY, "--batches", "1,2", "--out", tmp_path / "new" / "folder")
    assert result.exit_code == 0
    report = Report.from_json((tmp_path / "new" / "folder" / "report.json").read_text(encoding="utf-8"))
    assert [point.batch for point in report.sweep] == [1, 2]
    assert (tmp_path / "new" / "folder" / "report.png").read_bytes().startswith(b"\x89PNG")
    assert result.stdout.count("random weights") >= 2  # in the title of each table
    assert "\x1b" not in result.stdout  # plain text where there is no terminal
    assert "temperature 0.8 forgotten" in result.stdout
    assert "= formula" in result.stdout
    assert "8/10 done after" in result.stderr


def test_threads_do_not_wait_awake_for_each_other_unless_that_is_asked_for(monkeypatch, tmp_path):
    """OpenMP reads its variable as torch loads, which is in `measure` at the earliest."""
    for before, after in ((None, "PASSIVE"), ("ACTIVE", "ACTIVE")):
        monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
        if before:
            monkeypatch.setenv("OMP_WAIT_POLICY", before)
        seen = []

        def at_import(*_, seen=seen, **__):
            seen.append(os.environ.get("OMP_WAIT_POLICY"))
            raise ValueError("stopped here")

        monkeypatch.setattr("rlinfra.cli.measure", at_import)
        assert run(*TINY, "--out", tmp_path).exit_code == 2
        assert seen == [after]


def test_json_is_all_that_standard_output_has(tmp_path):
    result = run(*TINY, "--batches", "1", "--json", "--out", tmp_path)
    assert json.loads(result.stdout) == json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--tiny",), "tiny needs random_weights"),
        (("--random-weights", "--batches", "1,x"), "--batches must be whole numbers with commas between"),
        (("--random-weights", "--batches", "2,1"), "batches must rise"),
        (("--model", "nowhere"), "There is no folder nowhere"),
        (("--revision", "main"), "'main' is no commit"),
        (("--random-weights", "--revision", "main"), "random_weights excludes model and revision"),
        ((), "No model is named. Give a folder (--model DIR or $RL_LLM_MODEL_PATH)"),
    ],
)
def test_what_is_wrong_is_one_sentence_and_exit_code_2(arguments, said, monkeypatch, tmp_path):
    monkeypatch.delenv("RL_LLM_MODEL_PATH", raising=False)
    monkeypatch.delenv("RL_LLM_MODEL_REVISION", raising=False)
    result = run("measure", *arguments, "--out", tmp_path)
    assert result.exit_code == 2
    sentence = result.stderr.splitlines()[-1]
    assert said in sentence
    assert "Traceback" not in result.output
    assert list(tmp_path.iterdir()) == []


def test_a_report_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    result = run(*TINY, "--batches", "1", "--out", tmp_path / "file" / "below")
    assert result.exit_code == 2
    assert "The report cannot be written to" in result.stderr.splitlines()[-1]
    assert result.stderr.splitlines()[-1].endswith("name another folder with --out.")


def test_without_matplotlib_there_is_no_figure_and_it_says_so(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result = run(*TINY, "--batches", "1", "--out", tmp_path)
    assert result.exit_code == 0
    assert "No figure: matplotlib" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_without_typer_it_says_in_one_sentence_how_to_install_it():
    source = f"import sys; sys.path.insert(0, {COURSE!r}); from rlinfra.cli import main; main()"
    result = subprocess.run([sys.executable, "-I", "-S", "-c", source], capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stderr.startswith("typer is missing: install the extra: pip install 'rlinfra[model]'")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(("at", "code", "written"), [("loading", 130, False), ("timing a batch of 2", 130, True)])
def test_ctrl_c_at_the_command_line_keeps_what_is_done(at, code, written, tmp_path):
    command = [sys.executable, "-m", "rlinfra.cli", *TINY, "--batches", "1,2,4096", "--out", str(tmp_path)]
    environ = {**os.environ, "PYTHONPATH": COURSE, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    told = []
    for line in process.stderr:
        told.append(line)
        if at in line:
            process.send_signal(signal.SIGINT)
            break
    stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == code, stderr
    assert "Traceback" not in stderr
    assert (tmp_path / "report.json").exists() == written
    if written:
        report = Report.from_json((tmp_path / "report.json").read_text(encoding="utf-8"))
        assert not report.complete
        assert len(report.control) == 10
        assert "Stopped by an interrupt" in stdout
    else:
        assert "Stopped before anything was measured." in stderr

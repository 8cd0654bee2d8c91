"""The three distributions build as wheels, and the student's holds nothing that it must not."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile

import pytest

import rlinfra
from rlinfra.chart import bundle
from tests.conftest import ROOT

PROJECTS = {
    "rlinfra": ROOT,
    "rlinfra_reference": ROOT / "autograder" / "reference",
    "rlinfra_autograder": ROOT / "autograder" / "grader",
}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheels")
    for project in PROJECTS.values():
        subprocess.run(
            [
                sys.executable,
                "-m",
                "pip",
                "wheel",
                "--quiet",
                "--no-deps",
                "--no-build-isolation",
                "-w",
                folder,
                project,
            ],
            check=True,
        )
    return {path.name.split("-")[0]: path for path in folder.glob("*.whl")}


def test_each_distribution_builds_as_one_wheel_of_its_own_package(wheels):
    assert set(wheels) == set(PROJECTS)
    for name, path in wheels.items():
        files = zipfile.ZipFile(path).namelist()
        assert {file.split("/")[0] for file in files if not re.search(r"\.(dist-info|data)/", file)} == {name}
        assert f"{name}/py.typed" in files


def test_the_reports_template_is_in_the_staffs_wheel(wheels):
    assert "rlinfra_autograder/report/page.html.jinja" in zipfile.ZipFile(wheels["rlinfra_autograder"]).namelist()


def test_the_recorded_run_and_its_schema_are_in_the_students_wheel(wheels):
    files = set(zipfile.ZipFile(wheels["rlinfra"]).namelist())
    assert {"rlinfra/realmodel/recorded.json", "rlinfra/realmodel/report.schema.json"} <= files


def test_the_students_wheel_brings_the_charts_script_for_the_kernel_and_for_jupyterlab_with_its_licences(wheels):
    script = bundle().name
    wheel = zipfile.ZipFile(wheels["rlinfra"])
    served = f"rlinfra-{rlinfra.__version__}.data/data/share/jupyter/labextensions/rlinfra/{script}"
    assert wheel.read(f"rlinfra/chart/static/{script}") == wheel.read(served) == bundle().read_bytes()
    assert {"rlinfra/chart/stub.js", f"rlinfra/chart/static/{bundle().stem}.licences.txt"} <= set(wheel.namelist())


def test_the_wheel_alone_in_an_empty_environment_imports_without_numpy_and_without_answers(wheels, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "empty"], check=True)
    (site,) = (tmp_path / "empty").glob("lib/python*/site-packages")
    zipfile.ZipFile(wheels["rlinfra"]).extractall(site)
    source = (
        "import importlib.util as util, sys, rlinfra\n"
        "print(rlinfra.check('nothing').summary())\n"
        "print(rlinfra.variant('memory', 'ada')['ranks'])\n"
        "others = ('numpy', 'IPython', 'rlinfra_reference', 'rlinfra_autograder')\n"
        "print([name for name in others if util.find_spec(name)])"
    )
    python = tmp_path / "empty" / "bin" / "python"
    said = subprocess.run([python, "-I", "-c", source], capture_output=True, text=True, check=True).stdout
    assert "There is no task of this name" in said
    assert said.splitlines()[-1] == "[]"

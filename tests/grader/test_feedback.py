"""The card of a verdict: every text in it is escaped, whoever chose it, and state is told in words."""

import html
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from rlinfra_autograder.feedback import points_text, summary_html, verdict_html, verdict_text
from rlinfra_autograder.verdicts import CriterionVerdict, Verdict

from .seen import VARIANTS, answer_of, by_name, verdict_on_answer

SCRIPT = "<script>alert('seen')</script>"
HALF = Verdict(
    "parcel_cost",
    3,
    (
        CriterionVerdict("a few parcels", 2, 2, 6, 6),
        CriterionVerdict("no parcels", 1, 0, 1, 2, "raises KeyError in line 3 of the cell"),
    ),
    hint="Who collects the parcels?",
    remark="It is late.",
)


def as_read(page):
    """Return the text of a page, as a browser shows it."""
    return html.unescape(re.sub(r"<[^>]*>", " ", page))


@pytest.mark.parametrize(
    ("points", "text"), [(2, "2"), (2.0, "2"), (1.5, "1.5"), (2 / 3, "0.67"), (0, "0"), (0.1 + 0.2, "0.3"), (20, "20")]
)
def test_points_are_written_without_needless_digits(points, text):
    assert points_text(points) == text


@pytest.mark.parametrize("card", [verdict_text, lambda verdict: as_read(verdict_html(verdict))], ids=["text", "html"])
def test_a_card_says_points_criteria_remark_and_hint(card):
    text = " ".join(card(HALF).split())
    assert text.startswith("parcel_cost")
    for part in (
        "2 of 3 points",
        "✓ met a few parcels 2 of 2 6 of 6 right",
        "✗ not met no parcels 0 of 1 1 of 2 right: raises KeyError in line 3 of the cell",
        "It is late.",
        "Who collects the parcels?",
    ):
        assert part in text


def test_a_criterion_of_which_nothing_was_seen_does_not_count_cases():
    unseen = Verdict("parcel_cost", 1, (CriterionVerdict("a few parcels", 1, 0, 0, 0),))
    assert "✗ not met a few parcels 0 of 1 nothing to judge" in verdict_text(unseen)


def test_a_card_without_hint_and_remark_has_no_empty_place_for_them():
    plain = Verdict("parcel_cost", 2, HALF.criteria[:1])
    assert "Hint" not in verdict_html(plain)
    assert "Note" not in verdict_html(plain)
    assert len(verdict_text(plain).splitlines()) == 2


def test_full_marks_some_points_and_none_have_three_colours():
    colours = {
        re.search(r"border-left:5px solid (#\w+)", verdict_html(Verdict("f", 2, (one,))))[1]
        for one in (
            CriterionVerdict("t", 2, 2, 1, 1),
            CriterionVerdict("t", 2, 1, 1, 1),
            CriterionVerdict("t", 2, 0, 0, 1),
        )
    }
    assert len(colours) == 3


def test_every_text_of_a_verdict_is_escaped():
    verdict = Verdict(SCRIPT, 1, (CriterionVerdict(SCRIPT, 1, 0, 0, 1, SCRIPT),), hint=SCRIPT, remark=SCRIPT)
    page = verdict_html(verdict)
    assert "<script" not in page
    assert page.count(html.escape(SCRIPT)) == 5


# --- the top of a graded notebook ---------------------------------------------------------------------------------

FULL = Verdict("post_cost", 2, (CriterionVerdict("a few parcels", 2, 2, 6, 6),))
UNMET = Verdict("box_cost", 2, (HALF.criteria[1], CriterionVerdict("boxes", 1, 0, 0, 1, "a wrong value")))


def told(verdict):
    """Return what the summary says of one task."""
    return " ".join(as_read(summary_html([verdict], [])).split()).partition("what to know ")[2]


def test_a_summary_adds_up_the_points_of_all_tasks():
    assert "Result: 4 of 5 points judged" in as_read(summary_html([HALF, FULL], []))
    assert "Result: 0 of 0 points judged" in as_read(summary_html([], []))


def test_a_summary_tells_of_a_task_its_hint_else_its_remark_else_the_first_criterion_that_is_not_met():
    assert told(HALF) == "parcel_cost 2 of 3 Who collects the parcels?"
    assert told(replace(HALF, hint="")) == "parcel_cost 2 of 3 It is late."
    assert told(UNMET) == "box_cost 0 of 2 Not met: no parcels (raises KeyError in line 3 of the cell)."
    assert told(FULL) == "post_cost 2 of 2"


def test_a_summary_lists_the_cells_that_were_stopped():
    page = as_read(summary_html([FULL], ["while True:: stopped after 10 seconds", "exit(): ended the Python process"]))
    assert "These cells were stopped" in page
    assert "while True:: stopped after 10 seconds" in page
    assert "exit(): ended the Python process" in page
    assert "stopped" not in as_read(summary_html([FULL], []))


def test_a_summary_says_when_the_grade_was_made_without_a_sandbox():
    assert "Graded without a sandbox" in as_read(summary_html([FULL], [], confined=False))
    assert "sandbox" not in as_read(summary_html([FULL], []))


def test_every_text_of_a_summary_is_escaped():
    """A stopped cell is named by its first line, which the student wrote."""
    verdict = Verdict(SCRIPT, 1, (CriterionVerdict(SCRIPT, 1, 0, 0, 1, SCRIPT),))
    page = summary_html([verdict, replace(verdict, hint=SCRIPT), replace(verdict, remark=SCRIPT)], [SCRIPT])
    assert "<script" not in page
    assert page.count(html.escape(SCRIPT)) == 8


# --- what a student can choose ------------------------------------------------------------------------------------


class _Tags(HTMLParser):
    """Collects the tags and attributes that a browser finds in a page."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes = set(), set()
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attributes}


@pytest.mark.parametrize("typed", [SCRIPT, "ada'\"><img src=x onerror=alert(1)>"])
@pytest.mark.parametrize("task", VARIANTS, ids=by_name)
def test_an_id_that_a_student_typed_puts_no_markup_in_the_page(task, typed):
    """The one text of a verdict that a student can choose: the id for which an answer is right."""
    verdict = verdict_on_answer(task, answer_of(task, typed), typed=typed)
    assert "right for the id" in verdict.hint
    page = _Tags(verdict_html(verdict))
    assert page.tags == {"div", "code", "table", "tr", "td", "p", "b"}
    assert page.attributes == {"style"}

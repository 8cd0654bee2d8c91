"""`rlinfra-grade feedback`: nbgrader's scores and comments, offline, written again only where something changed."""

from __future__ import annotations

import io
import re
from html.parser import HTMLParser

import nbformat
import pytest
from nbgrader.api import Gradebook
from rich.console import Console

from rlinfra_autograder.batchrun import run_batch
from rlinfra_autograder.classroom import synthetic_class
from rlinfra_autograder.course import course_config, notebook_path
from rlinfra_autograder.entries import FAILED, Entry
from rlinfra_autograder.pages.grades import refusal_of
from rlinfra_autograder.pages.run import FeedbackError, run_feedback
from rlinfra_autograder.pages.worker import page_path
from rlinfra_autograder.release import nbgrader_api, write_release
from tests.e2e.course import copy_course

pytestmark = pytest.mark.filterwarnings("ignore")  # nbgrader 0.9.6 under SQLAlchemy 2.1
TOPIC = "ess"
SECRET = "a secret of the course"


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course in which paul did half and is marked by hand, ada is flawless, and zora's file is empty."""
    root = copy_course(tmp_path_factory.mktemp("pages"))
    write_release(root, [TOPIC])
    released = nbformat.read(notebook_path(root / "release", TOPIC), as_version=4)
    for student in (student for student in synthetic_class() if student.id in ("ada", "paul")):
        hand_in(root, student.id, nbformat.writes(student.submission(released, TOPIC)))
    hand_in(root, "zora", "")
    grade(root)
    with Gradebook(f"sqlite:///{root / 'gradebook.db'}") as gradebook:
        mark(gradebook, "decoded_logprobs", 3.5)
        mark(gradebook, "ess_limits", 2, extra=0.25)
        gradebook.find_comment("ess_limits", TOPIC, TOPIC, "paul").manual_comment = r"Nearly: see $\frac{a}{2}$."
        gradebook.db.commit()
    (root / "secret.txt").write_text(SECRET)
    (root / "submitted" / "ada" / TOPIC / "timestamp.txt").write_text("2026-11-20 12:00:00 UTC")
    (root / "submitted" / "ada" / TOPIC / "submission_secret.txt").symlink_to(root / "secret.txt")
    give_back(root)
    return root


def hand_in(root, student, text):
    path = notebook_path(root / "submitted" / student, TOPIC)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def mark(gradebook, task, points, extra=None):
    found = gradebook.find_grade(task, TOPIC, TOPIC, "paul")
    found.manual_score, found.extra_credit, found.needs_manual_grade = points, extra, False


def grade(root):
    return run_batch(root, [TOPIC], Console(file=io.StringIO()))


def give_back(root, topics=(TOPIC,), **options):
    said = io.StringIO()
    run_feedback(root, list(topics), Console(file=said, width=200), **options)
    return said.getvalue()


def page(root, student):
    return page_path(root, student, TOPIC).read_text()


def rows(html):
    """Return the points of each task in the table on top, by its name."""
    table = html[html.index('<div id="toc">') : html.index("</table>")]
    return dict(re.findall(r'<a href="#(\w+)">[^<]+</a>.*?<td>([^<]*)</td>', table, re.DOTALL))


def test_scores_and_comments_are_those_of_nbgraders_own_page(course, tmp_path):
    config = course_config(course, feedback_directory=str(tmp_path))
    del config["GenerateFeedback"]
    assert nbgrader_api(config).generate_feedback(TOPIC, "paul")["success"]
    theirs = (tmp_path / "paul" / TOPIC / f"{TOPIC}.html").read_text()
    scores = re.findall(r'<a href="#(\w+)">[^<]+</a> \(Score: ([\d.]+) / ([\d.]+)\)', theirs)
    assert len(scores) == 11
    assert {name: tuple(map(float, points.split(" of "))) for name, points in rows(page(course, "paul")).items()} == {
        name: (float(score), float(most)) for name, score, most in scores
    }
    total = re.search(r"\(Score: ([\d.]+) / ([\d.]+)\)</h4>", theirs)
    assert f"Result: {float(total[1]):g} of {float(total[2]):g} points" in page(course, "paul")
    assert theirs.count("<b>Comments:</b>") == page(course, "paul").count("<b>Comment:</b>") > 1


def test_nbgraders_own_command_writes_the_same_page(course, tmp_path):
    config = course_config(course, feedback_directory=str(tmp_path))
    assert nbgrader_api(config).generate_feedback(TOPIC, "paul")["success"]
    theirs = (tmp_path / "paul" / TOPIC / f"{TOPIC}.html").read_text()
    assert page(course, "paul").partition("\n<!-- made of")[0] == theirs.rstrip()


def test_a_page_names_each_task_and_says_what_a_person_changed_and_what_is_open(course):
    html = page(course, "paul")
    assert ">What a token is sampled with</a>" in html
    assert "Set by hand; the autograder gave 0." in html
    assert "<math><mfrac><mi>a</mi><mn>2</mn></mfrac></math>" in html
    assert rows(page(course, "ada"))["ess_limits"] == "not marked yet, of 4"
    assert "Result: 20 of 24 points so far; 4 are still to be marked by hand" in page(course, "ada")
    assert "judged by the autograder" not in html  # one list, not two


def test_who_was_refused_reads_why_and_is_given_no_zero(course):
    html = page(course, "zora")
    assert "Ungraded: “ess.ipynb” is empty" in html
    assert "hand in again" in html
    assert not re.search(r"\b0(\.0)? (of|/)", html.partition("</head>")[2])


def test_where_the_grader_failed_the_page_says_whose_fault_it_is_and_nothing_of_the_exception():
    told = refusal_of(Entry("ada", TOPIC, "", FAILED, "the grader itself failed (KeyError: 'hidden')"))
    assert "not your fault" in " ".join(told.lines)
    assert "hidden" not in told.headline + " ".join(told.lines)


class _Loads(HTMLParser):
    """Collects what a browser would load for a page."""

    def __init__(self, html):
        super().__init__()
        self.loads, self.scripts = [], 0
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.scripts += tag == "script"
        given = dict(attributes)
        self.loads += [given[name] for name in ("src", "srcset", "data", "poster", "action") if name in given]
        self.loads += [given["href"]] if tag in ("link", "base", "image", "use") else []


@pytest.mark.parametrize("student", ["ada", "paul", "zora"])
def test_a_page_runs_no_script_and_loads_nothing(course, student):
    found = _Loads(page(course, student))
    assert found.scripts == 0
    assert not [one for one in found.loads if not one.startswith("data:image/")]
    assert "@import" not in page(course, student)


def test_only_what_changed_is_written_again(course):
    assert "0 pages written, 3 unchanged" in give_back(course)
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as gradebook:
        gradebook.find_comment("ess_limits", TOPIC, TOPIC, "paul").manual_comment = "Well done."
        gradebook.db.commit()
    page_path(course, "zora", TOPIC).write_text("by another program")
    assert "2 pages written, 1 unchanged" in give_back(course)
    assert "Well done." in page(course, "paul")
    assert "Ungraded" in page(course, "zora")


def test_what_the_exchange_needs_lies_beside_the_page_but_no_link_is_followed(course):
    folder = page_path(course, "ada", TOPIC).parent
    assert (folder / "timestamp.txt").read_text() == "2026-11-20 12:00:00 UTC"
    assert not (folder / "submission_secret.txt").exists()
    assert SECRET not in page(course, "ada")


def test_a_grade_that_stands_is_shown_below_what_is_said_of_the_submission_after_it(course):
    before = notebook_path(course / "submitted" / "ada", TOPIC).read_text()
    hand_in(course, "ada", "<html>")
    grade(course)
    said = give_back(course, students="a*", force=True)
    assert "ada ess: ungraded:" in said
    assert "1 pages written, 0 unchanged" in said
    html = page(course, "ada")
    assert html.index("Ungraded: “ess.ipynb” is a web page") < html.index("Below is the grade of the submission before")
    assert "Result: 20 of 24 points" in html
    hand_in(course, "ada", before)


def test_where_nothing_is_graded_it_says_what_to_do(course, tmp_path):
    with pytest.raises(FeedbackError, match="nothing is graded in memory: rlinfra-grade batch memory"):
        give_back(course, ["memory"])
    with pytest.raises(FeedbackError, match="whose id matches q"):
        give_back(course, students="q")
    assert "unchanged" in give_back(course, ["memory", TOPIC], all_topics=True)
    with pytest.raises(FeedbackError, match="there is no gradebook"):
        give_back(copy_course(tmp_path))

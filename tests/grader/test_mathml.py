"""Formulas without a script: the course's own become MathML, a student's draw nothing outside their place."""

import re

import nbformat
import pytest

from rlinfra_autograder.pages.exporter import _render_plain
from rlinfra_autograder.pages.mathml import mathml


def test_a_fraction_is_a_fraction():
    assert mathml(r"\frac{a}{2}", block=False) == "<math><mfrac><mi>a</mi><mn>2</mn></mfrac></math>"
    assert mathml("a", block=True) == '<math display="block"><mi>a</mi></math>'


def test_every_formula_of_the_course_is_understood(root):
    for path in root.glob("release/*/*.ipynb"):
        cells = nbformat.read(path, as_version=4).cells
        page = "".join(_render_plain(cell.source) for cell in cells if cell.cell_type == "markdown")
        assert "<code>$" not in page
        assert "<math" in page


@pytest.mark.parametrize(
    "tex", [r"\href{javascript:alert(1)}{x}", r"\unknown", "a_", "{" * 7_000 + "}" * 7_000, r"\def\x{\x\x}\x", "<b>"]
)
def test_what_is_not_understood_is_shown_as_it_was_typed_and_escaped(tex):
    page = mathml(tex, block=False)
    if page.startswith("<math"):
        assert "<b>" not in page
    else:
        assert page.startswith("<code>$")
        assert "<b>" not in page


@pytest.mark.parametrize(
    "tex",
    [
        r"\text{<script>alert(1)</script>}",
        r"\text{</mtext><img src=x onerror=alert(1)>}",
        r"\raisebox{50em}{x}",
        r"\hspace{-50em}x",
        r"\kern-50em x",
        r"\hspace{500em}x",
        r"\color{red}{x}",
        r"\begin{cases}a&b\\c&d\end{cases}",
    ],
)
def test_no_markup_and_no_length_that_moves_anything_comes_through(tex):
    page = mathml(tex, block=True)
    allowed = "math mrow mi mo mn mtext mspace mtable mtr mtd mpadded code"
    assert set(re.findall(r"</?([a-z]+)", page)) <= set(allowed.split())
    assert not re.search(r"50+em|on[a-z]+=|href|voffset|margin", re.sub(r">[^<]*<", "><", page))


def test_a_formula_as_deep_as_is_allowed_ends_no_process():
    assert mathml(r"\sqrt{" * 160 + "}" * 40, block=False)
    assert mathml("{" * 500 + "}" * 500, block=False)
    assert mathml(r"\sqrt" * 199 + " x", block=False)

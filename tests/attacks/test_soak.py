"""Attacks in a row on one runner; `make soak` takes many times as many."""

import pytest

from . import notebooks
from .soak import soak


@pytest.mark.slow
def test_hostile_notebooks_in_a_row_leave_no_process_file_or_descriptor_and_the_next_honest_one_has_full_marks():
    more, earned, _ = soak(18)
    assert not more
    assert earned == notebooks.ALL_POINTS

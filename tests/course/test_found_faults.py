"""Faults that were found once by trying to break the student package, each held down by its test."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rlinfra import check
from rlinfra.given import human_bytes, require_count, require_nonnegative, table
from rlinfra.observe import Call, observe
from rlinfra.wire import Other, decode, encode


def raises(function, *arguments):
    """Whether a call raises; the exception itself is dropped, since pytest cannot print the hostile ones."""
    try:
        function(*arguments)
    except BaseException:
        return True
    return False


def cell(source):
    variables = {"__name__": "__main__"}
    exec(compile(source, "<cell>", "exec"), variables)
    return variables["f"]


@pytest.fixture
def notebook(monkeypatch):
    variables = {}
    monkeypatch.setattr("rlinfra.checks._notebook_namespace", lambda: variables)
    return variables


def test_other_crosses_twice_as_other():
    assert encode(Other("a value of type set")) == {"$other": "a value of type set"}


def test_a_set_is_sent_to_the_grader_as_other():
    assert observe(lambda: {1}, Call()).to_data() == {"value": {"$other": "a value of type set"}}


def test_the_line_of_an_exception_in_generated_code_is_the_cells():
    frozen = "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass S:\n    x: int\n\n\n"
    f = cell(frozen + "def f():\n    s = S(1)\n    s.x = 2")
    assert observe(f, Call()).raised.line == 9


def test_the_line_of_an_exception_in_compiled_code_is_the_cells():
    f = cell("import numpy as np\ndef f():\n    return np.random.default_rng(0).choice([], 5)")
    assert observe(f, Call()).raised.line == 3


def test_the_id_that_was_handed_out_is_no_id(notebook):
    answer = {"adapted_bytes": 14_320_000_000, "full_bytes": 112_000_000_000, "rank_gib": 3.2}
    notebook.update(STUDENT="your-id", memory_variant=answer)
    assert check("memory_variant").points == 0


def test_an_object_that_claims_to_be_a_bool_has_a_json_form():
    liar = type("Liar", (), {"__class__": property(lambda _: bool)})()
    json.dumps(encode(liar))


def test_encode_raises_nothing_at_all():
    def leave(*_):
        raise SystemExit

    encode(type("Hostile", (), {"__index__": leave})())


def test_a_key_that_turns_into_a_tag_stays_a_key():
    word = type("Word", (str,), {"__str__": lambda self: "$float"})
    decode(encode({word("a"): "x"}))


def test_a_check_of_an_answer_raises_nothing(notebook):
    word = type("Word", (str,), {"__str__": lambda self: "$x"})
    notebook["memory_sort"] = {word("a"): 1}
    check("memory_sort")


@pytest.mark.parametrize("data", [{"$dict": [[1]]}, {"$dict": [5]}, {"$dict": [[1, 2, 3]]}])
def test_a_malformed_pair_is_refused(data):
    with pytest.raises(ValueError, match="not a pair"):
        decode(data)


def test_closing_stdout_is_observed_like_anything_else():
    assert observe(cell("import sys\ndef f():\n    sys.stdout.close()\n    return 1"), Call()).value == 1


def test_a_hostile_exception_is_observed_like_any_other():
    f = cell("class E(Exception):\n    __traceback__ = property(lambda self: 1 / 0)\ndef f():\n    raise E")
    assert not raises(observe, f, Call())


def test_a_hostile_metaclass_of_an_exception_is_observed_like_any_other():
    metaclass = "class M(type):\n    __mro__ = property(lambda cls: 1 / 0)\n"
    f = cell(metaclass + "class E(Exception, metaclass=M):\n    pass\ndef f():\n    raise E")
    assert not raises(observe, f, Call())


def test_numbers_stand_right_in_a_tables_text():
    assert repr(table(["rank", "n"], [["a", 1], ["b", 100]])).splitlines() == ["rank    n", "a       1", "b     100"]


def test_an_array_is_no_count():
    with pytest.raises(ValueError, match="ranks must be an integer"):
        require_count("ranks", np.array([1, 2]))


def test_a_huge_integer_is_a_finite_number():
    assert require_nonnegative("size", 10**400) == 10**400


def test_a_huge_number_of_bytes_is_told_or_refused():
    with pytest.raises(ValueError, match="n must be a number of bytes"):
        human_bytes(10**400)


def test_bytes_just_below_a_unit():
    assert human_bytes(2**20 - 1) != "1024.00 KiB"


def test_a_function_that_always_raises_is_told_to_raise(notebook):
    def model_state_bytes(*_, **__):
        raise ValueError("no")

    notebook["model_state_bytes"] = model_state_bytes
    assert check("model_state_bytes").state == "raises"

"""What holds for the explorer of every topic: any setting draws, and whatever a function returns is survived."""

import json
from functools import cache

import altair
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import ValidationError

from rlinfra.explorers import _has_explorer, _reference, explore
from rlinfra.topics import TOPICS

from .solved import solved

EVERY = [topic.name for topic in TOPICS if _has_explorer(topic)]
NONSENSE = (
    *(None, True, -1, 0, 1, 7, 10**30, 0.5, float("nan"), float("inf"), 1e300, "1", b"1", object(), lambda: 1),
    *([], [None], [1, 2], [1e300] * 3, (0, 1), {}, {"total": 1}, {1: 2}, {"a": None}, set(), range(3)),
    *(("rollout", None), {"parameter_bytes": 1}, [{"a": 1}], [(1, 2, 3)], [[1.0], [2.0]]),
)


@pytest.fixture(scope="module", autouse=True)
def _alone():
    """As students have it, without the reference; whoever wants it says so."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rlinfra.explorers._reference", lambda _: {})
        yield


variables = cache(solved)
REFERENCE = _reference  # as it is, before the tests have it away


def any_setting(topic):
    return st.fixed_dictionaries({control.name: st.sampled_from(control.values) for control in topic.controls})


def drawn(explorer, **setting):
    """Return what is drawn at a setting, after a look at what every picture has to have."""
    explorer.set(**setting)
    picture, problems = explorer.draw()
    text = json.dumps(picture.data, allow_nan=False)
    assert {layer["data"]["name"] for layer in picture.spec["layer"]} == set(picture.data)
    assert text.count("{") <= 3000, "too many marks for a page"
    assert picture.title
    assert picture.title[-1] not in ".!"
    assert picture.details.endswith(".")
    return picture, problems


_accepted = set()


def accept(spec):
    """Let Altair's schema look at a spec, once at each."""
    text = json.dumps(spec, sort_keys=True)
    if text not in _accepted:
        altair.LayerChart.from_dict(json.loads(text), validate=True)
        _accepted.add(text)


@pytest.mark.parametrize("name", EVERY)
@given(data=st.data())
def test_every_setting_draws_without_a_problem_and_altairs_schema_accepts_it(name, data):
    explorer = explore(name, variables(name))
    picture, problems = drawn(explorer, **data.draw(any_setting(explorer.topic)))
    assert problems == {}
    accept(picture.spec)


@pytest.mark.parametrize("name", EVERY)
@given(data=st.data())
def test_nonsense_from_any_function_at_any_setting_is_told_and_the_rest_is_drawn(name, data):
    topic = explore(name).topic
    wrong = data.draw(st.dictionaries(st.sampled_from(topic.functions), st.sampled_from(NONSENSE)))
    functions = {function: lambda *_, value=value, **__: value for function, value in wrong.items()}
    explorer = explore(name, variables(name), **functions)
    picture, problems = drawn(explorer, **data.draw(any_setting(topic)))
    assert set(problems) <= set(topic.functions)
    accept(picture.spec)


@pytest.mark.parametrize("name", EVERY)
@given(data=st.data())
def test_any_part_of_the_functions_is_enough_and_the_others_are_named(name, data):
    topic = explore(name).topic
    left_out = data.draw(st.sets(st.sampled_from(topic.functions)))
    written = {key: value for key, value in variables(name).items() if key not in left_out}
    _, problems = drawn(explore(name, written), **data.draw(any_setting(topic)))
    assert set(problems) <= left_out
    assert all(problem.unwritten for problem in problems.values())


@pytest.mark.parametrize("name", EVERY)
@given(data=st.data())
def test_a_control_that_is_not_shown_changes_nothing(name, data):
    explorer = explore(name, variables(name))
    before, _ = drawn(explorer, **data.draw(any_setting(explorer.topic)))
    hidden = [control for control in explorer.topic.controls if control.name not in explorer.used]
    if hidden:
        control = data.draw(st.sampled_from(hidden))
        after, _ = drawn(explorer, **{control.name: data.draw(st.sampled_from(control.values))})
        assert (after.data, after.title, after.facts) == (before.data, before.title, before.facts)


@pytest.mark.parametrize("name", EVERY)
def test_a_preset_is_named_by_a_question_and_draws(name):
    explorer = explore(name, variables(name))
    assert 2 <= len(explorer.topic.presets) <= 4
    titles = set()
    for preset in explorer.topic.presets:
        assert preset.question.endswith("?")
        assert preset.answer.endswith(".")
        explorer.preset(preset.question)
        picture, problems = drawn(explorer)
        assert problems == {}
        titles.add(picture.title)
    assert len(titles) == len(explorer.topic.presets)


@pytest.mark.parametrize("name", EVERY)
def test_no_control_is_dead(name):
    """From some preset, moving it to some value changes what is drawn or told."""
    explorer = explore(name, variables(name))
    dead = {control.name for control in explorer.topic.controls}
    for preset in explorer.topic.presets:
        explorer.preset(preset.question)
        start = explorer.values
        before = explorer.text
        for control in explorer.topic.controls:
            for value in control.values if control.name in dead else ():
                explorer.set(**start)
                explorer.set(**{control.name: value})
                if explorer.text != before:
                    dead.discard(control.name)
                    break
    assert dead == set()


@pytest.mark.parametrize("name", EVERY)
def test_every_function_is_asked_somewhere_and_its_value_is_told(name):
    explorer = explore(name, variables(name))
    told = set()
    listed = [control for control in explorer.topic.controls if control.listed]
    for preset in explorer.topic.presets:
        explorer.preset(preset.question)
        told |= set(explorer.draw()[0].facts)
        start = explorer.values
        for control in listed:
            for value in control.values:
                explorer.set(**{**start, control.name: value})
                told |= set(explorer.draw()[0].facts)
    assert told == set(explorer.topic.functions)


@pytest.mark.parametrize("name", EVERY)
def test_nothing_written_is_a_page_that_says_so_and_lists_the_functions(name):
    explorer = explore(name, {})
    assert explorer.text.startswith("Nothing is written yet")
    lines = explorer.lines(*explorer.draw())
    assert [line[1] for line in lines] == list(explorer.topic.functions)
    assert {line[0] for line in lines} <= {"○", "·"}


@pytest.mark.parametrize("name", EVERY)
def test_the_reference_stands_in_and_says_the_same(name):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rlinfra.explorers._reference", REFERENCE)
        instead = explore(name, {})
    mine = explore(name, variables(name))
    for preset in mine.topic.presets:
        for explorer in (instead, mine):
            explorer.preset(preset.question)
        assert drawn(instead)[0].title == drawn(mine)[0].title


@pytest.mark.parametrize("name", EVERY)
@given(data=st.data())
def test_compared_with_the_reference_a_right_function_agrees_at_any_setting(name, data):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rlinfra.explorers._reference", REFERENCE)
        explorer = explore(name, variables(name))
        explorer.overlay = True
        picture, problems = drawn(explorer, **data.draw(any_setting(explorer.topic)))
    assert problems == {}
    assert all(fact.endswith("; the reference agrees") for fact in picture.facts.values())
    accept(picture.spec)


def test_altairs_schema_refuses_what_is_no_spec():
    """So that the tests above can fail."""
    picture, _ = explore("memory", variables("memory")).draw()
    spec = json.loads(json.dumps(picture.spec))
    spec["layer"][0]["encoding"]["x"]["type"] = "quantitive"
    with pytest.raises(ValidationError, match="'quantitive' is not one of"):
        altair.LayerChart.from_dict(spec, validate=True)

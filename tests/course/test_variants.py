"""Variant numbers are drawn from the id: those pinned here were worked out with Perl's Digest::SHA and Math::BigInt."""

import re

import pytest

from rlinfra import variant
from rlinfra.topics import TOPICS, find_topic
from rlinfra.variants import Variant, normalised_id

PINNED = {
    ("records", "ada-l"): {
        "opening_tokens": 6979,
        "turn": 3,
        "completion_0_tokens": 172,
        "completion_1_tokens": 1370,
        "completion_2_tokens": 1499,
        "completion_3_tokens": 1736,
        "completion_4_tokens": 1743,
        "tool_1_tokens": 2238,
        "tool_2_tokens": 1098,
        "tool_3_tokens": 404,
        "tool_4_tokens": 196,
    },
    ("records", "kira"): {
        "opening_tokens": 7160,
        "turn": 4,
        "completion_0_tokens": 350,
        "completion_1_tokens": 999,
        "completion_2_tokens": 586,
        "completion_3_tokens": 901,
        "completion_4_tokens": 629,
        "tool_1_tokens": 1749,
        "tool_2_tokens": 1583,
        "tool_3_tokens": 1399,
        "tool_4_tokens": 1659,
    },
    ("memory", "ada-l"): {
        "base_parameters": 13_521_616_177,
        "adapter_parameters": 166_750_831,
        "gradient_bytes": 4,
        "ranks": 13,
    },
    ("memory", "kira"): {
        "base_parameters": 34_813_401_927,
        "adapter_parameters": 10_423_044,
        "gradient_bytes": 2,
        "ranks": 3,
    },
    ("kv-cache", "ada-l"): {
        "num_layers": 73,
        "num_kv_heads": 8,
        "head_dim": 96,
        "budget_bytes": 33_325_250_419,
        "tokens_per_sequence": 3410,
        "block_tokens": 32,
    },
    ("kv-cache", "kira"): {
        "num_layers": 90,
        "num_kv_heads": 4,
        "head_dim": 64,
        "budget_bytes": 58_219_205_134,
        "tokens_per_sequence": 2673,
        "block_tokens": 16,
    },
    ("kv-cache", "emil"): {
        "num_layers": 43,
        "num_kv_heads": 2,
        "head_dim": 128,
        "budget_bytes": 47_936_120_254,
        "tokens_per_sequence": 2062,
        "block_tokens": 16,
    },
    ("pipelines", "ada-l"): {
        "rollout_seconds": 48,
        "train_seconds": 184,
        "batches": 75,
        "arrival_per_minute": 10_465_550,
        "service_per_minute": 6_244_953,
        "capacity": 36_012_586,
        "minutes": 50,
    },
    ("pipelines", "kira"): {
        "rollout_seconds": 298,
        "train_seconds": 235,
        "batches": 155,
        "arrival_per_minute": 14_582_579,
        "service_per_minute": 9_554_061,
        "capacity": 28_669_333,
        "minutes": 47,
    },
    ("ess", "ada-l"): {
        "tokens_1": 236,
        "mean_log_ratio_1": 0.0097,
        "tokens_2": 168,
        "mean_log_ratio_2": -0.0018,
        "tokens_3": 219,
        "mean_log_ratio_3": 0.0012,
        "tokens_4": 248,
        "mean_log_ratio_4": -0.0062,
        "ratio_cap": 1.6,
    },
    ("ess", "kira"): {
        "tokens_1": 225,
        "mean_log_ratio_1": 0.0115,
        "tokens_2": 268,
        "mean_log_ratio_2": -0.0053,
        "tokens_3": 146,
        "mean_log_ratio_3": 0.0061,
        "tokens_4": 193,
        "mean_log_ratio_4": -0.0029,
        "ratio_cap": 1.3,
    },
    ("lag", "ada-l"): {
        "parameters": 38_563_824_123,
        "adapter_parameters": 521_594_951,
        "bandwidth_gb_per_s": 12.5,
        "efficiency": 0.95,
        "setup_seconds": 0.311,
        "sync_every": 8,
        "updates": 37,
    },
    ("lag", "kira"): {
        "parameters": 42_008_620_774,
        "adapter_parameters": 763_188_724,
        "bandwidth_gb_per_s": 40,
        "efficiency": 0.7,
        "setup_seconds": 0.151,
        "sync_every": 7,
        "updates": 30,
    },
    ("checkpoints", "ada-l"): {
        "state_bytes": 947_414_838_029,
        "bandwidth_gb_per_s": 4.1,
        "machines": 91,
        "machine_mtbf_days": 300,
        "present_interval_minutes": 106,
    },
    ("checkpoints", "kira"): {
        "state_bytes": 734_884_312_456,
        "bandwidth_gb_per_s": 4.8,
        "machines": 318,
        "machine_mtbf_days": 264,
        "present_interval_minutes": 191,
    },
    ("lab", "ada-l"): {
        "base_parameters": 12_835_044_646,
        "adapter_parameters": 94_921_997,
        "sequences": 79,
        "tokens_per_sequence": 3898,
        "kv_bytes_per_token": 114_688,
        "activation_gib": 24,
        "batch_tokens": 3_976_720,
        "workers": 4,
        "worker_tokens_per_second": 5852,
        "trainer_tokens_per_second": 119_598,
        "bandwidth_gb_per_s": 5,
        "setup_seconds": 1.2,
        "sync_every": 3,
    },
    ("lab", "kira"): {
        "base_parameters": 10_920_335_839,
        "adapter_parameters": 154_544_337,
        "sequences": 67,
        "tokens_per_sequence": 2413,
        "kv_bytes_per_token": 114_688,
        "activation_gib": 11,
        "batch_tokens": 2_193_118,
        "workers": 8,
        "worker_tokens_per_second": 3302,
        "trainer_tokens_per_second": 101_853,
        "bandwidth_gb_per_s": 1.25,
        "setup_seconds": 1.5,
        "sync_every": 4,
    },
}


@pytest.mark.parametrize(("topic", "student"), PINNED)
def test_an_id_gets_the_numbers_that_perl_draws(topic, student):
    assert variant(topic, student).numbers == PINNED[topic, student]


@pytest.mark.parametrize("topic", [topic.name for topic in TOPICS])
def test_every_topic_gives_two_ids_two_problems(topic):
    assert variant(topic, "ada-l").numbers != variant(topic, "kira").numbers


@pytest.mark.parametrize("topic", [topic.name for topic in TOPICS])
def test_a_story_tells_its_numbers(topic):
    problem = variant(topic, "ada-l")
    for name, value in problem.numbers.items():
        forms = "|".join(re.escape(form) for form in (f"{value:,}", f"{value:.0%}", f"{value:.0%}".replace("%", " %")))
        assert re.search(rf"(?<![\d,.])({forms})(?![\d,]*\d)", problem.story), name


@pytest.mark.parametrize("written", [" ada-l ", "ADA-L", "Ada - L", "\tada-l\n", "a d a-l"])
def test_ids_are_compared_without_case_and_blanks(written):
    assert normalised_id(written) == "ada-l"
    assert variant("memory", written) == variant("memory", "ada-l")


def test_ids_are_compared_without_case_beyond_ascii():
    assert normalised_id("STRASSE") == normalised_id("straße")


def test_a_number_is_the_same_id_as_its_text():
    assert normalised_id(4711) == normalised_id("4711") == "4711"


def test_no_separator_of_the_draws_stays_in_an_id():
    assert normalised_id("a\x1fb\x1ec") == "abc"


@pytest.mark.parametrize("student", ["", "  ", "\n\t", None, 3.5, ["ada"], ...])
def test_an_id_that_is_empty_or_no_text_is_refused(student):
    with pytest.raises(ValueError, match="STUDENT must be your id") as caught:
        variant("memory", student)
    assert repr(student) in str(caught.value)


def test_an_unknown_topic_is_refused_with_a_list_of_those_there_are():
    names = ", ".join(topic.name for topic in TOPICS)
    with pytest.raises(LookupError, match=f"^there is no topic 'memroy'; the topics are {names}$"):
        variant("memroy", "ada-l")


def test_a_topics_module_is_its_name_with_underscores():
    assert find_topic("kv-cache").module == "kv_cache"


def test_topic_names_are_unique():
    assert len({topic.name for topic in TOPICS}) == len(TOPICS)


def test_a_variant_is_read_by_name():
    assert variant("memory", "ada-l")["ranks"] == 13


def test_a_variant_shows_its_story_and_numbers_as_text():
    assert repr(Variant("Two cards.", {"cards": 2, "gib": 0.5})) == "Two cards.\n\n  cards = 2\n  gib = 0.5"


def test_a_variants_html_is_escaped():
    html = Variant("<b>a & b</b>", {"<i>": 1})._repr_html_()
    assert "&lt;b&gt;a &amp; b&lt;/b&gt;" in html
    assert "<code>&lt;i&gt;</code></td><td>1</td>" in html
    assert "<b>" not in html
    assert "<i>" not in html

"""The KV cache explorer: its numbers are those of the worked problem and of published configurations."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlinfra.explorers import _reference, explore
from rlinfra.explorers.kv_cache import TOPIC

from .solved import solved

GIB, MIB, KIB = 2**30, 2**20, 2**10
SOLVED = solved("kv-cache")
FITS, MODELS, GROUP, PAGES, SIZES = TOPIC.control("picture").values
settings_of_all = st.fixed_dictionaries({control.name: st.sampled_from(control.values) for control in TOPIC.controls})


REFERENCE = _reference  # as it is, before most tests have it away


@pytest.fixture(scope="module", autouse=True)
def _alone():
    """As students have it, without the reference; whoever wants it says so."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rlinfra.explorers._reference", lambda _: {})
        yield


@pytest.fixture
def with_reference(monkeypatch):
    monkeypatch.setattr("rlinfra.explorers._reference", REFERENCE)


@pytest.fixture
def explorer():
    return explore("kv-cache", SOLVED)


def data_of(explorer):
    picture, problems = explorer.draw()
    assert problems == {}
    return picture.data


def line_of(explorer, name):
    """Return the values of a line by their place."""
    x, y = ("completions", "gib") if explorer.values["picture"] == GROUP else ("tokens", "sequences")
    return {row[x]: row[y] for row in data_of(explorer)["lines"] if row["line"] == name}


def bars_of(explorer, unit):
    """Return the parts of each bar in bytes."""
    bars = {}
    for row in data_of(explorer)["parts"]:
        bars.setdefault(row["row"], {})[row["part"]] = row["value"] * unit
    return bars


# --- the presets ---------------------------------------------------------------------------------------------------


def test_of_64_rollouts_40_fit_and_with_shared_prompts_all(explorer):
    """131,072 bytes × 8,192 tokens are 1 GiB a sequence. A group of 8 holds 256 + 8 × 256 blocks of 2 MiB: 4.5 GiB."""
    assert explorer.topic.presets[0].question == "How many rollouts fit on the card?"
    said = "64 sequences of 8,192 tokens take 64.00 GiB, 24.00 GiB more than the 40 GiB left: 40 fit."
    assert explorer.text.startswith(said)
    assert [point["text"] for point in data_of(explorer)["points"]] == ["64 asked", "40 fit"]
    explorer.set(share=True)
    said = "64 sequences of 8,192 tokens, prompts shared by 8, take 36.00 GiB of the 40 GiB left: 64 fit in whole"
    assert explorer.text.startswith(said)
    assert [(point["kind"], point["text"]) for point in data_of(explorer)["points"]] == [("fits", "64 asked")]


def test_the_bytes_of_a_token_are_those_of_the_published_configurations(explorer):
    """2 × layers × KV heads × 128 × 2 bytes; the first, second and fifth are in the worked text as well."""
    explorer.preset("What did grouped-query attention buy?")
    assert {row: parts.popitem()[1] for row, parts in bars_of(explorer, KIB).items()} == {
        "Llama-2-7B": 524_288,
        "Llama-3-8B": 131_072,
        "Llama-3-70B": 327_680,
        "Qwen2.5-7B": 57_344,
        "Qwen3-0.6B": 114_688,
        "Qwen3-4B": 147_456,
        "the worked example": 65_536,
    }
    said = "One token of Llama-2-7B takes 512.00 KiB: 20 sequences of 4,096 tokens fit in 40 GiB."
    assert explorer.text.startswith(said)
    assert "Llama-3-8B: 128.00 KiB a token, 80 fit." in explorer.text


def test_a_group_of_32_takes_less_than_4_times_one_of_8(explorer):
    """62 of 1,000 tokens' blocks are shared, 8 + 500 tokens take 32 more: 318 blocks for 8, 1,086 for 32, not 3,008."""
    explorer.preset("Why does a group of 32 not take 4 times one of 8?")
    block = 16 * 114_688
    shared, each = (line_of(explorer, name) for name in ("prompt shared", "a prompt each"))
    assert (shared[8] * GIB, shared[32] * GIB) == (318 * block, 1_086 * block)
    assert (each[8] * GIB, each[32] * GIB) == (752 * block, 3_008 * block)
    said = "32 completions of one prompt take 1.86 GiB, the prompt's full blocks shared: 3.42 times what 8 take, 36.1 %"
    assert explorer.text.startswith(said)
    explorer.set(share=False)
    assert explorer.text.startswith("32 completions of one prompt take 5.14 GiB, a copy of it for each: 4.00 times")


def test_pages_save_what_reserving_the_longest_leaves_empty(explorer):
    """Of 8 sequences of 256 + 4,096 × share tokens, 13,517 in all, 848 blocks; reserved are 8 × 4,352 = 34,816."""
    explorer.preset("What do pages save?")
    bars = bars_of(explorer, GIB)
    assert bars["blocks of 16 tokens"]["holds a token"] == 8 * 13_517 * 114_688
    assert bars["blocks of 16 tokens"]["empty"] == 8 * (848 * 16 - 13_517) * 114_688
    assert sum(bars["longest reserved"].values()) == 8 * 34_816 * 114_688
    said = "Blocks of 16 tokens leave 0.4 % of the cache empty; the longest length reserved for each leaves 61.2 %."
    assert explorer.text.startswith(said)
    assert data_of(explorer)["budget"] == [{"value": 24, "text": "left for the cache: 24 GiB"}]


# --- the features --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("control", "value", "expected"),
    [
        ("num_kv_heads", 32, 524_288),  # as Llama-2-7B has them: 4 times 8
        ("num_kv_heads", 1, 16_384),
        ("head_dim", 64, 65_536),
        ("element_bytes", 1, 65_536),
        ("num_layers", 80, 327_680),  # as Llama-3-70B has them: 80 in place of 32
        ("ranks", 4, 32_768),  # two of 8 heads
        ("ranks", 32, 16_384),  # one head, which three other ranks hold as well
    ],
)
def test_a_dimension_sets_the_bytes_of_a_token(explorer, control, value, expected):
    explorer.set(**{control: value})
    assert f": {expected:,} bytes" in explorer.text
    assert line_of(explorer, "the limit")[8_192] == 40 * GIB // (8_192 * expected)


def test_a_model_as_set_has_a_bar_beside_the_published_ones(explorer):
    explorer.set(picture=MODELS, num_kv_heads=1)
    bars = bars_of(explorer, KIB)
    assert next(iter(bars.items())) == ("the model as set", {"chosen": 16_384})
    assert bars["Llama-3-8B"] == {"others": 131_072}
    assert explorer.text.startswith("One token of the model as set takes 16.00 KiB: 320 sequences of 8,192 tokens")


def test_larger_blocks_make_fewer_sequences_fit(explorer):
    """600 tokens take 608 slots in blocks of 16 and 768 in blocks of 256; a slot takes 128 KiB."""
    explorer.set(prompt=100, completion=500, budget=12)
    assert explorer.text.startswith("64 sequences of 600 tokens take 4.75 GiB of the 12 GiB left: 161 fit.")
    explorer.set(block=256)
    assert explorer.text.startswith("64 sequences of 600 tokens take 6.00 GiB of the 12 GiB left: 128 fit.")


def test_a_larger_group_shares_a_prompt_among_more(explorer):
    """64 of one prompt: 256 shared blocks and 64 × 256 of 2 MiB, 32.5 GiB."""
    explorer.set(prompt=4_096, share=True, group=64)
    assert "prompts shared by 64, take 32.50 GiB of the 40 GiB left: 64 fit" in explorer.text
    explorer.set(sequences=2)
    assert "2 sequences of 8,192 tokens, prompts shared by 2, take 1.50 GiB" in explorer.text


def test_pages_are_drawn_with_their_edges(explorer):
    """103, 106, 109, 112, 118, 124, 136 and 160 tokens take 7, 7, 7, 7, 8, 8, 9 and 10 blocks: 968 of 1,008 slots."""
    explorer.set(picture=PAGES, prompt=100, completion=60)
    assert explorer.text.startswith("8 sequences take 63 blocks of 16 tokens: 4.0 % of their bytes hold no token.")
    bars = bars_of(explorer, MIB)
    assert {row: parts["empty"] / (128 * KIB) for row, parts in bars.items() if parts["empty"]} == {
        "1: 103 tokens": 9,
        "2: 106 tokens": 6,
        "3: 109 tokens": 3,
        "5: 118 tokens": 10,
        "6: 124 tokens": 4,
        "7: 136 tokens": 8,
    }
    edges = [row["value"] for row in data_of(explorer)["pages"] if row["row"] == "8: 160 tokens"]
    assert edges == [2 * place for place in range(1, 10)]
    explorer.set(completion=8_192)
    assert max(row["value"] for row in data_of(explorer)["pages"]) < 2 * 40


def test_what_does_not_fit_at_all_is_no_point_on_a_log_axis(explorer):
    """Llama-2-7B, 32,768 + 8,192 tokens: 20 GiB."""
    explorer.set(model="Llama-2-7B", prompt=8_192, completion=32_768, budget=16, sequences=1)
    assert explorer.text.startswith("1 sequence of 40,960 tokens takes 20.00 GiB, 4.00 GiB more than the 16 GiB left:")
    assert explorer.text.split(".\n")[0].endswith(": 0 fit")
    assert [point["text"] for point in data_of(explorer)["points"]] == ["1 asked"]
    assert {row["tokens"]: row["sequences"] for row in data_of(explorer)["over"]}[40_960] == 1


# --- laws ----------------------------------------------------------------------------------------------------------


@given(settings_of_all)
def test_a_batch_takes_more_than_is_left_just_where_fewer_fit(setting):
    """Two functions say so, one of bytes and one of sequences."""
    explorer = explore("kv-cache", SOLVED)
    explorer.set(**setting)
    explorer.set(picture=FITS)
    fit = line_of(explorer, "the limit").get(setting["prompt"] + setting["completion"], 0)
    asked = data_of(explorer)["points"][0]
    assert (asked["kind"] == "out of memory") == (asked["sequences"] > fit)


@given(settings_of_all)
def test_a_longer_context_never_lets_more_sequences_fit(setting):
    explorer = explore("kv-cache", SOLVED)
    explorer.set(**setting)
    explorer.set(picture=FITS)
    over = data_of(explorer)["over"]
    assert all(after["sequences"] <= before["sequences"] for before, after in pairwise(over))


@given(settings_of_all)
def test_sharing_never_takes_more_and_a_group_of_one_shares_with_nobody(setting):
    explorer = explore("kv-cache", SOLVED)
    explorer.set(**setting)
    explorer.set(picture=GROUP)
    each, shared = (line_of(explorer, name) for name in ("a prompt each", "prompt shared"))
    assert all(shared[size] <= each[size] for size in each)
    assert shared[1] == each[1]


@given(settings_of_all)
def test_a_block_twice_as_large_never_leaves_less_empty(setting):
    explorer = explore("kv-cache", SOLVED)
    explorer.set(**setting)
    explorer.set(picture=SIZES)
    empty = [parts["empty"] for parts in bars_of(explorer, GIB).values()][:-1]
    assert empty[0] == 0
    assert all(before <= after * (1 + 1e-9) for before, after in pairwise(empty))


# --- what is missing or wrong --------------------------------------------------------------------------------------


def written(*names):
    return explore("kv-cache", {name: SOLVED[name] for name in names})


@pytest.mark.parametrize("picture", [FITS, MODELS, GROUP, PAGES, SIZES])
def test_with_the_bytes_of_a_token_alone_they_are_told(picture):
    explorer = written("kv_bytes_per_token")
    explorer.set(picture=picture)
    assert explorer.text.startswith("As far as it is written, one token of Llama-3-8B takes 128.00 KiB.")


def test_either_function_tells_the_bytes_of_a_token_on_one_rank():
    explorer = written("kv_bytes_per_rank", "max_concurrent_sequences")
    assert explorer.text.startswith("As far as it is written, 40 sequences of 8,192 tokens fit in the 40 GiB left.")
    explorer.set(ranks=8)
    assert "320 sequences of 8,192 tokens fit in the 40 GiB left on each of 8 ranks." in explorer.text


def test_without_the_limit_what_the_batch_takes_is_told():
    said = "As far as it is written, 64 sequences of 8,192 tokens take 64.00 GiB, 24.00 GiB more"
    assert written("kv_bytes_per_token", "paged_kv_bytes").text.startswith(said)


def test_without_pages_the_payload_is_drawn_and_without_payload_the_pages():
    """160 tokens of 128 KiB are 20 MiB in 10 blocks; 103 are 12.875 MiB, of 14 in 7 blocks."""
    for missing, text in (("paged_kv_bytes", "pages unknown"), ("kv_cache_bytes", "7 blocks, 8.0 % empty")):
        explorer = written(*(name for name in TOPIC.functions if name != missing))
        explorer.set(picture=PAGES, prompt=100, completion=60)
        picture, _ = explorer.draw()
        filled = [row["value"] for row in picture.data["parts"] if row["part"] == "holds a token"]
        assert (filled[0], filled[-1]) == (12.875, 20)
        assert picture.data["totals"][0]["text"] == text


def test_where_the_bytes_of_a_token_fail_it_is_not_called_unwritten():
    explorer = explore("kv-cache", {}, kv_bytes_per_token=lambda **_: 0.5)
    assert explorer.text.startswith("Nothing can be drawn without the bytes of a token, which kv_bytes_per_token tells")
    assert "✗ kv_bytes_per_token: returns 0.5; expected is a whole number of bytes a token, 1 or more." in explorer.text


def test_a_count_may_be_a_float_as_in_the_check():
    explorer = explore("kv-cache", SOLVED, max_concurrent_sequences=lambda *_, **__: 40.0)
    assert ": 40 fit." in explorer.text
    explorer = explore("kv-cache", SOLVED, max_concurrent_sequences=lambda *_, **__: 40.5)
    assert (
        "✗ max_concurrent_sequences: returns 40.5; expected is a whole number of sequences, 0 or more." in explorer.text
    )


# --- compared with the reference -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("with_reference")
def test_the_reference_is_asked_by_the_name_under_which_it_has_the_notebooks_form():
    explorer = explore("kv-cache", {})
    assert "○ kv_bytes_per_token: is not there yet: run its cell. The reference stands in: 131,072" in explorer.text
    assert "○ kv_cache_bytes: is not there yet: run its cell. The reference stands in: 64.00 GiB" in explorer.text


@pytest.mark.usefixtures("with_reference")
def test_where_it_differs_the_reference_is_drawn_beside_what_is_wrong():
    """Keys alone; a limit that leaves one sequence out; a group that is counted twice."""
    explorer = explore(
        "kv-cache",
        SOLVED,
        kv_bytes_per_token=lambda **shape: SOLVED["kv_bytes_per_token"](**shape) // 2,
        max_concurrent_sequences=lambda *args, **sizes: SOLVED["max_concurrent_sequences"](*args, **sizes) - 1,
        group_kv_bytes=lambda *args, **sizes: 2 * SOLVED["group_kv_bytes"](*args, **sizes),
    )
    explorer.overlay = True
    data = explorer.draw()[0].data
    assert data["lines"][0]["sequences"] == data["reference"][0]["sequences"] - 1
    explorer.set(picture=MODELS)
    data = explorer.draw()[0].data
    assert [row["value"] for row in data["marks"]] == [2 * row["value"] for row in data["parts"]]
    assert "65,536 bytes a token; the reference: 131,072 bytes a token" in explorer.text
    explorer.set(picture=GROUP)
    data = explorer.draw()[0].data
    assert [row["gib"] for row in data["lines"]] == [2 * row["gib"] for row in data["reference"]]

"""What can be asked for: a senseless choice names its field, and a source is a folder, a commit or the dice."""

from __future__ import annotations

from pathlib import Path

import pytest

from rlinfra.realmodel import ModelProblem, Settings, describe_plan
from rlinfra.realmodel.settings import Source, source_of, with_batches

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ({"tiny": True}, "tiny needs random_weights"),
        ({"random_weights": True, "model": "x"}, "random_weights excludes model"),
        ({"random_weights": True, "revision": COMMIT}, "random_weights excludes model"),
        ({"device": "tpu"}, "device must be one of auto, cpu, cuda, not 'tpu'"),
        ({"dtype": "int8"}, "dtype must be one of auto, float32, bfloat16, float16, not 'int8'"),
        ({"new_tokens": 1}, "new_tokens must be at least 2"),
        ({"new_tokens": 5000}, "new_tokens must be at most 4096"),
        ({"temperature": 0}, "temperature must be a finite number above 0"),
        ({"temperature": float("nan")}, "temperature must be a finite number above 0"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"repeats": 0}, "repeats must be at least 1"),
        ({"batches": ()}, "batches must rise and hold at least one number"),
        ({"batches": (2, 1)}, "batches must rise"),
        ({"batches": (1, 1)}, "batches must rise"),
        ({"batches": (0, 1)}, "batches must be at least 1"),
        ({"weight_change": -0.1}, "weight_change must be a finite number above 0"),
    ],
)
def test_a_senseless_choice_names_its_field(choice, said):
    with pytest.raises(ValueError, match=said):
        Settings(**choice)


def test_a_source_is_looked_for_in_order():
    environ = {"RL_LLM_MODEL_PATH": "/models/a", "RL_LLM_MODEL_REVISION": COMMIT}
    assert source_of(Settings(random_weights=True), environ) == Source("random")
    assert source_of(Settings(model="/models/b"), environ) == Source("folder", folder=Path("/models/b"))
    assert source_of(Settings(), environ) == Source("folder", folder=Path("/models/a"))
    hub = Source("hub", hub_id="Qwen/Qwen3-0.6B", revision=COMMIT)
    assert source_of(Settings(), {"RL_LLM_MODEL_REVISION": COMMIT}) == hub
    assert source_of(Settings(revision=COMMIT), environ) == hub


@pytest.mark.parametrize(
    ("settings", "environ", "said"),
    [
        (Settings(), {}, r"No model is named. Give a folder \(--model DIR or \$RL_LLM_MODEL_PATH\), a commit"),
        (Settings(revision="main"), {}, "'main' is no commit: give its 40 hexadecimal digits"),
        (Settings(), {"RL_LLM_MODEL_REVISION": COMMIT[:12]}, "is no commit"),
        (Settings(revision=COMMIT.upper()), {}, "is no commit"),
        (Settings(model="a", revision=COMMIT), {}, "give --model, or --revision, but not both"),
    ],
)
def test_a_source_that_is_none_says_what_to_give(settings, environ, said):
    with pytest.raises(ModelProblem, match=said):
        source_of(settings, environ)


def test_batches_are_few_on_a_cpu_and_go_to_512_on_a_gpu():
    assert with_batches(Settings(), "cpu") == (1, 2, 4)
    assert with_batches(Settings(), "cuda") == (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
    assert with_batches(Settings(batches=(5,)), "cuda") == (5,)


def test_the_plan_tells_what_would_be_done_and_what_it_needs():
    plan = describe_plan()
    for said in ("$RL_LLM_MODEL_PATH", "$RL_LLM_MODEL_REVISION", "zero-lag", "114,688 bytes", "rlinfra[model]"):
        assert said in plan
    assert "1 to 512 on a GPU" in plan
    drawn = describe_plan(Settings(random_weights=True, batches=(3,), new_tokens=9))
    assert "random weights" in drawn
    assert "Sample 9 tokens" in drawn
    assert "batches 3, 3 times" in drawn

"""A tiny model with random weights, a checkpoint of it on disk, and one whole measurement: no network, no GPU."""

from __future__ import annotations

import shutil

import pytest

from rlinfra.realmodel import ModelProblem, Settings, measure
from rlinfra.realmodel.loading import load
from rlinfra.realmodel.problem import require_libraries
from rlinfra.realmodel.settings import Source

TINY = Settings(random_weights=True, tiny=True, device="cpu", new_tokens=24, repeats=2, batches=(1, 3))


@pytest.fixture(scope="session", autouse=True)
def extra():
    """What all of these tests need; they are part of `make test`, so they fail where it is missing."""
    problem = None
    try:
        require_libraries()
    except ModelProblem as raised:
        problem = raised
    if problem:
        pytest.fail(f"These tests need the extra `model`, which `make test` installs. {problem}", pytrace=False)
    import torch

    torch.set_num_threads(1)  # beside other tests, threads that wait for each other take ten times as long


@pytest.fixture(scope="session")
def tiny(extra):
    """A tiny Qwen3 with random weights in float32."""
    return load(Source("random"), TINY)


@pytest.fixture(scope="session")
def measured(extra):
    """A whole measurement of such a model, and the steps that were told while it ran."""
    steps = []
    return measure(TINY, progress=steps.append), steps


@pytest.fixture(scope="session")
def saved(tiny, tmp_path_factory):
    """That model as a checkpoint on disk."""
    folder = tmp_path_factory.mktemp("checkpoints") / "tiny"
    tiny.model.save_pretrained(folder)
    tiny.tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def checkpoint(saved, tmp_path):
    """A copy of the checkpoint, to be damaged."""
    return shutil.copytree(saved, tmp_path / "damaged")

"""Loading: what is whole is loaded, and whatever is missing or broken is one sentence with the next step."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import rlinfra
from rlinfra.realmodel import ModelProblem, Settings, measure
from rlinfra.realmodel.devices import chosen_device, chosen_dtype, out_of_memory
from rlinfra.realmodel.loading import hub_folder, load
from rlinfra.realmodel.settings import Source
from rlinfra.realmodel.shapes import random_gpt2, random_qwen3

from .conftest import TINY

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def load_from(folder):
    return load(Source("folder", folder=Path(folder)), Settings(model=folder, device="cpu"))


# --- what is whole -----------------------------------------------------------------------------------------------


def test_a_checkpoint_on_disk_has_the_weights_that_were_saved(saved, tiny):
    loaded = load_from(saved)
    assert (loaded.name, loaded.revision, loaded.has_random_weights) == ("tiny", "local", False)
    pairs = zip(loaded.model.parameters(), tiny.model.parameters(), strict=True)
    assert all((ours == theirs).all() for ours, theirs in pairs)


def test_a_folder_that_is_named_by_a_commit_tells_it(saved, tmp_path):
    """So are the snapshots of the hub's cache."""
    assert load_from(shutil.copytree(saved, tmp_path / COMMIT)).revision == COMMIT


def test_a_tokenizer_without_padding_pads_with_its_end(checkpoint):
    edit(checkpoint / "tokenizer_config.json", lambda data: data.pop("pad_token"))
    edit(checkpoint / "tokenizer.json", lambda data: data.update(padding=None))
    loaded = load_from(checkpoint)
    assert loaded.tokenizer.pad_token_id == loaded.tokenizer.eos_token_id is not None
    assert loaded.tokenizer.padding_side == "left"


# --- what is drawn -----------------------------------------------------------------------------------------------


def test_weights_are_drawn_once_from_the_seed(tiny):
    """The oracle: torch's own generator. The table of tokens comes first and the first layer's queries next, so that
    nothing was drawn for either before; all have the standard deviation that the shape names.
    """
    import torch

    torch.manual_seed(TINY.seed)
    torch.empty(tiny.model.get_input_embeddings().weight.shape).normal_(0, 0.1)
    attention = tiny.model.model.layers[0].self_attn
    assert torch.empty(attention.q_proj.weight.shape).normal_(0, 0.1).equal(attention.q_proj.weight)
    matrices = [parameter for parameter in tiny.model.parameters() if parameter.dim() == 2]
    assert all(matrix.std().item() == pytest.approx(0.1, rel=0.03) for matrix in matrices)
    assert all((parameter == 1).all() for parameter in tiny.model.parameters() if parameter.dim() == 1)


@pytest.mark.parametrize("kind", ["rotary", "absolute"])
def test_a_drawn_model_has_the_tables_and_the_tie_of_one_that_is_built_with_memory(tiny, kind):
    """The oracle: the library's own constructor, where positions and masks are computed as layers are made."""
    import torch
    from transformers import AutoModelForCausalLM

    draw = {"rotary": random_qwen3, "absolute": random_gpt2}[kind]
    model = draw(vocabulary=len(tiny.tokenizer), seed=5, dtype=torch.float32, device="cpu")
    built = dict(AutoModelForCausalLM.from_config(model.config).named_buffers())
    assert {name: buffer.tolist() for name, buffer in model.named_buffers()} == {
        name: buffer.tolist() for name, buffer in built.items()
    }
    assert model.get_output_embeddings().weight is model.get_input_embeddings().weight
    assert not model.training


# --- what is missing or broken -----------------------------------------------------------------------------------


def edit(path, change):
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


def remove(*names):
    def damage(folder):
        for name in names:
            (folder / name).unlink()

    return damage


def as_pickle(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def cut(name, length):
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[:length])


def config(**changes):
    return lambda folder: edit(folder / "config.json", lambda data: data.update(changes))


def without_a_tensor(folder):
    from safetensors.torch import load_file, save_file

    tensors = load_file(folder / "model.safetensors")
    tensors.pop("model.layers.1.mlp.up_proj.weight")
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def without_a_template(folder):
    (folder / "chat_template.jinja").unlink(missing_ok=True)
    edit(folder / "tokenizer_config.json", lambda data: data.pop("chat_template", None))


def without_bytes(folder):
    """A vocabulary of the right size that knows digits alone: every other character is lost."""
    vocabulary = {str(number): number for number in range(400)}
    model = {"type": "WordLevel", "vocab": vocabulary, "unk_token": "0"}
    edit(folder / "tokenizer.json", lambda data: data.update(model=model, added_tokens=[], post_processor=None))


def empty_tokenizer(folder):
    model = {"type": "BPE", "vocab": {}, "merges": []}
    edit(folder / "tokenizer.json", lambda data: data.update(model=model))


DAMAGES = {
    "no config": (remove("config.json"), "has no config.json: give the folder of a Hugging Face checkpoint"),
    "broken config": (cut("config.json", 40), r"config.json cannot be read .*: download it anew"),
    "no weights": (remove("model.safetensors"), r"has a config.json and no weights: download its \*.safetensors"),
    "pickled weights": (as_pickle, r"no weights \(a pickled file may run code, and is not loaded\): download"),
    "cut weights": (cut("model.safetensors", 5000), r"cannot be loaded \(.*\): download its files anew"),
    "a tensor less": (without_a_tensor, r"lack 1 of the model's tensors, such as model.layers.1.mlp.up_proj.weight"),
    "another shape": (config(hidden_size=32), r"cannot be loaded|lack"),
    "unknown kind": (config(model_type="qwen99"), "cannot be|see whether"),
    "no tokenizer": (remove("tokenizer.json"), "has no tokenizer.json: without it an empty tokenizer would be loaded"),
    "broken tokenizer": (cut("tokenizer.json", 300), r"The tokenizer in .* cannot be read"),
    "empty tokenizer": (empty_tokenizer, r"The tokenizer of damaged has \d entries, fewer than 256"),
    "lossy tokenizer": (without_bytes, "The tokenizer of damaged turns .* into .*: it is incomplete"),
    "no template": (without_a_template, "has no chat template: take an instruction-tuned checkpoint"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_checkpoint_says_what_is_wrong_and_what_to_do(checkpoint, name, capfd):
    damage, said = DAMAGES[name]
    damage(checkpoint)
    with pytest.raises(ModelProblem, match=said) as raised:
        load_from(checkpoint)
    assert "\n" not in str(raised.value)
    assert str(raised.value).endswith(".")
    assert capfd.readouterr() == ("", "")  # the sentence is all that is said


def test_a_folder_that_is_none_is_not_taken_for_an_id_of_the_hub(tmp_path):
    with pytest.raises(
        ModelProblem, match=r"There is no folder .*nowhere: give the one that holds config.json; or take --random-w"
    ):
        load_from(tmp_path / "nowhere")


def test_an_id_of_the_hub_in_place_of_a_folder_is_told_where_it_goes():
    with pytest.raises(ModelProblem, match=r"no folder some/model: .* \(--hub-id some/model --revision …\)"):
        load_from("some/model")


def test_a_file_in_place_of_its_folder_is_said(checkpoint):
    with pytest.raises(ModelProblem, match=r"config.json is a file: give the folder that it lies in\."):
        load_from(checkpoint / "config.json")


def test_a_folder_is_looked_at_before_libraries_are_imported(monkeypatch, tmp_path):
    """They take seconds, which a mistyped folder need not cost: without torch it is still the folder that is told."""
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModelProblem, match="There is no folder"):
        load_from(tmp_path / "nowhere")


def test_without_the_extra_it_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(
        ModelProblem, match=r"torch cannot be imported .*: install the extra: pip install 'rlinfra\[mod"
    ):
        measure(TINY)


# --- device, dtype, memory ---------------------------------------------------------------------------------------


def test_cuda_without_a_gpu_is_said(monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.version, "cuda", None)
    with pytest.raises(ModelProblem, match=r"torch .* is a build without CUDA: install a build with it, or take --dev"):
        chosen_device("cuda")
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    with pytest.raises(
        ModelProblem, match=r"torch sees no GPU: see whether nvidia-smi lists one, or take --device cpu"
    ):
        chosen_device("cuda")
    assert chosen_device("auto").type == "cpu"


def test_a_dtype_that_the_device_cannot_compute_in_is_said(monkeypatch):
    """The refusal is planted, in torch's own words: this CPU computes in every dtype."""
    import torch

    def refuse(*_):
        raise RuntimeError("\"addmm_impl_cpu_\" not implemented for 'Half'")

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", refuse)
    with pytest.raises(
        ModelProblem, match=r"cpu cannot compute in float16 here .*not implemented.*: take --dtype float"
    ):
        chosen_dtype("float16", torch.device("cpu"))


def test_the_dtype_of_a_cpu_is_float32_unless_another_is_asked_for():
    import torch

    assert chosen_dtype("auto", torch.device("cpu")) == torch.float32
    assert chosen_dtype("bfloat16", torch.device("cpu")) == torch.bfloat16


def test_memory_that_is_full_is_told_from_other_errors():
    import torch

    with pytest.raises(RuntimeError) as full:
        torch.empty(2**55, dtype=torch.uint8)
    assert out_of_memory(full.value)
    assert out_of_memory(torch.OutOfMemoryError("CUDA out of memory."))
    assert out_of_memory(MemoryError())
    with pytest.raises(RuntimeError) as other:
        torch.ones(2) @ torch.ones(3)
    assert not out_of_memory(other.value)


def test_weights_that_do_not_fit_are_said(monkeypatch):
    import torch

    def too_large(**_):
        return torch.empty(2**55, dtype=torch.uint8)

    monkeypatch.setattr("rlinfra.realmodel.shapes.random_qwen3", too_large)
    with pytest.raises(ModelProblem, match="The weights do not fit into the memory of cpu: take --dtype bfloat16"):
        load(Source("random"), TINY)


# --- the hub -----------------------------------------------------------------------------------------------------


def test_offline_and_not_in_the_cache_it_says_so_at_once(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    began = time.monotonic()
    with pytest.raises(
        ModelProblem, match="is not in the cache, and HF_HUB_OFFLINE forbids the download: unset it, give"
    ):
        hub_folder("nobody/nothing", COMMIT)
    assert time.monotonic() - began < 5


def test_an_id_that_is_none_is_said():
    with pytest.raises(ModelProblem, match="'a/b/c' is no id of the hub: give it as OWNER/NAME"):
        hub_folder("a/b/c", COMMIT)


ASK_THE_HUB = """
import sys, time
from rlinfra.realmodel import ModelProblem, loading
from rlinfra.realmodel.loading import hub_folder
assert loading.SECONDS_FOR_THE_HUB == 5
loading.SECONDS_FOR_THE_HUB = 1  # the test has no longer patience
began = time.monotonic()
try:
    hub_folder("nobody/nothing", sys.argv[1])
except ModelProblem as problem:
    print(problem)
print(time.monotonic() - began)
"""


def asked_hub(endpoint, tmp_path):
    """What is said where the hub is at this address, and after how many seconds; the library reads it at import."""
    environ = {**os.environ, "HF_ENDPOINT": endpoint, "HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "0"}
    environ["PYTHONPATH"] = str(Path(rlinfra.__file__).parents[1])
    run = subprocess.run(
        [sys.executable, "-c", ASK_THE_HUB, COMMIT],
        env=environ,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    said, seconds = run.stdout.splitlines()
    return said, float(seconds)


def test_a_hub_that_refuses_connections_is_said_without_retries(tmp_path):
    said, seconds = asked_hub("http://127.0.0.1:9", tmp_path)
    assert f"nobody/nothing at {COMMIT} is not in the cache, and the hub cannot be asked (Connect" in said
    assert "see to the connection, give a folder (--model DIR), or take --random-weights" in said
    assert seconds < 15


@pytest.fixture
def hub():
    """A hub on this machine that knows no repository, and one address that takes connections and never answers."""
    import socket
    import threading
    from http.server import BaseHTTPRequestHandler, HTTPServer

    class Hub(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(404)
            self.send_header("X-Error-Code", "RevisionNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_HEAD = do_GET  # noqa: N815 - the library's name

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Hub)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        yield f"http://127.0.0.1:{server.server_port}", f"http://127.0.0.1:{silent.getsockname()[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_revision_that_the_hub_does_not_have_is_said(hub, tmp_path):
    said, _ = asked_hub(hub[0], tmp_path)
    assert f"The hub has no nobody/nothing at {COMMIT}" in said
    assert "copy the commit from the repository's history" in said


def test_a_hub_that_never_answers_is_given_up_soon(hub, tmp_path):
    said, seconds = asked_hub(hub[1], tmp_path)
    assert "the hub cannot be asked (" in said
    assert 0.9 < seconds < 15

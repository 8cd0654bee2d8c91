"""From a source to a model and its tokenizer: drawn, from a folder, or from the hub; offline first, never silent."""

from __future__ import annotations

import json
import os
import re
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import shapes, tokens
from .devices import chosen_device, chosen_dtype, out_of_memory
from .problem import ModelProblem, require_libraries

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .settings import Settings, Source

SECONDS_FOR_THE_HUB = 5.0
WANTED_FILES = ("*.json", "*.safetensors", "*.txt", "*.jinja")


@dataclass(frozen=True)
class Loaded:
    """A model, its tokenizer, and where they come from. `end_ids` are the tokens that end a completion."""

    model: Any
    tokenizer: Any
    name: str
    revision: str
    end_ids: tuple[int, ...]

    @property
    def has_random_weights(self) -> bool:
        """Whether its weights were drawn."""
        return self.revision == "random"


def load(source: Source, settings: Settings) -> Loaded:
    """Return the model on its device in its dtype, with greedy defaults of its own taken away.

    Raises `ModelProblem` for whatever is missing or broken, with the next step.
    """
    if source.folder:
        require_complete(source.folder)  # before the libraries, which take seconds to import
    require_libraries()
    device = chosen_device(settings.device)
    dtype = chosen_dtype(settings.dtype, device)
    try:
        with _quiet():
            loaded = _drawn(settings, device, dtype) if source.kind == "random" else _stored(source, device, dtype)
    except Exception as error:
        if out_of_memory(error):
            raise ModelProblem(
                f"The weights do not fit into the memory of {device}: take --dtype bfloat16, a smaller model, or "
                "--random-weights --tiny."
            ) from error
        raise
    _plain_decoding(loaded)
    return loaded


def _drawn(settings: Settings, device: Any, dtype: Any) -> Loaded:
    tokenizer = tokens.made_on_the_spot()
    vocabulary = len(tokenizer) if settings.tiny else None
    model = shapes.random_qwen3(seed=settings.seed, dtype=dtype, device=device, vocabulary=vocabulary)
    name = "a tiny Qwen3" if settings.tiny else "the shape of Qwen3-0.6B"
    return Loaded(model, tokenizer, name, "random", (tokenizer.eos_token_id,))


def _stored(source: Source, device: Any, dtype: Any) -> Loaded:
    import safetensors
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = source.folder or hub_folder(str(source.hub_id), str(source.revision))
    name = source.hub_id or folder.resolve().name
    if not source.folder:
        require_complete(folder)
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, padding_side="left")
    except Exception as error:
        raise ModelProblem(
            f"The tokenizer in {folder} cannot be read ({_first_line(error)}): download its files anew."
        ) from error
    tokens.require_usable(tokenizer, name)
    try:
        model, info = AutoModelForCausalLM.from_pretrained(
            folder, dtype=dtype, local_files_only=True, use_safetensors=True, output_loading_info=True
        )
    except (OSError, ValueError, KeyError, RuntimeError, safetensors.SafetensorError) as error:
        if out_of_memory(error):
            raise
        raise ModelProblem(
            f"The model in {folder} cannot be loaded ({_first_line(error)}): download its files anew, and see whether "
            "this release of transformers knows its architecture."
        ) from error
    if missing := sorted(info["missing_keys"]):
        raise ModelProblem(
            f"The weights in {folder} lack {len(missing)} of the model's tensors, such as {missing[0]}: they would be "
            "drawn at random without a word; download the files anew."
        )
    revision = source.revision or (folder.resolve().name if _is_commit(folder.resolve().name) else "local")
    return Loaded(model.to(device).eval(), tokenizer, name, revision, _end_ids(model, tokenizer))


def require_complete(folder: Path) -> None:
    """Raise `ModelProblem` unless a folder holds a configuration, weights as safetensors, and a tokenizer.json."""
    if folder.is_file():
        raise ModelProblem(f"{folder} is a file: give the folder that it lies in.")
    if not folder.is_dir():
        looks_like_an_id = re.fullmatch(r"[\w.-]+/[\w.-]+", str(folder))
        other = f"; an id of the hub goes with a commit (--hub-id {folder} --revision …)" if looks_like_an_id else ""
        raise ModelProblem(
            f"There is no folder {folder}: give the one that holds config.json{other}; or take --random-weights, which "
            "needs no download."
        )
    config = folder / "config.json"
    if not config.is_file():
        raise ModelProblem(f"{folder} has no config.json: give the folder of a Hugging Face checkpoint.")
    try:
        json.loads(config.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelProblem(f"{config} cannot be read ({_first_line(error)}): download it anew.") from error
    if not any(folder.glob("*.safetensors")):
        pickled = any(folder.glob("*.bin")) or any(folder.glob("*.pt"))
        why = " (a pickled file may run code, and is not loaded)" if pickled else ""
        raise ModelProblem(f"{folder} has a config.json and no weights{why}: download its *.safetensors files.")
    if not (folder / "tokenizer.json").is_file():
        raise ModelProblem(
            f"{folder} has no tokenizer.json: without it an empty tokenizer would be loaded; download the file."
        )


def hub_folder(hub_id: str, revision: str) -> Path:
    """Return the folder of a repository at a commit: from the cache, or where it is not there, downloaded.

    The hub is asked once, for at most five seconds, before anything is downloaded. Raises `ModelProblem` where it
    cannot be reached, may not be, or does not have the commit.
    """
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import (
        HfHubHTTPError,
        HFValidationError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    what = f"{hub_id} at {revision}"
    try:
        return Path(snapshot_download(hub_id, revision=revision, local_files_only=True))
    except HFValidationError as error:
        raise ModelProblem(f"{hub_id!r} is no id of the hub: give it as OWNER/NAME.") from error
    except LocalEntryNotFoundError:
        pass  # asked for below
    elsewhere = "give a folder (--model DIR), or take --random-weights, which needs no download"
    if os.environ.get("HF_HUB_OFFLINE", "").lower() in ("1", "on", "yes", "true"):
        raise ModelProblem(
            f"{what} is not in the cache, and HF_HUB_OFFLINE forbids the download: unset it, {elsewhere}."
        )
    try:
        HfApi().model_info(hub_id, revision=revision, timeout=SECONDS_FOR_THE_HUB)
    except (RepositoryNotFoundError, RevisionNotFoundError) as error:
        raise ModelProblem(
            f"The hub has no {what} ({_first_line(error)}): copy the commit from the repository's history."
        ) from error
    except (HfHubHTTPError, OSError, *_connection_errors()) as error:
        raise ModelProblem(
            f"{what} is not in the cache, and the hub cannot be asked ({type(error).__name__}): see to the connection, "
            f"{elsewhere}."
        ) from error
    try:
        return Path(snapshot_download(hub_id, revision=revision, allow_patterns=list(WANTED_FILES)))
    except (HfHubHTTPError, OSError, *_connection_errors()) as error:
        raise ModelProblem(
            f"The download of {what} stopped ({type(error).__name__}): run the command again, and it goes on."
        ) from error


def _connection_errors() -> tuple[type[Exception], ...]:
    """Return what the hub's HTTP library of this release raises where there is no network."""
    from huggingface_hub.utils import get_session

    library = __import__(type(get_session()).__module__.partition(".")[0])
    return tuple(error for name in ("HTTPError", "RequestError") if (error := getattr(library, name, None)))


def _plain_decoding(loaded: Loaded) -> None:
    """Take the checkpoint's own decoding away: its top-k or penalties would change the policy behind our back."""
    from transformers import GenerationConfig

    loaded.model.generation_config = GenerationConfig(
        eos_token_id=list(loaded.end_ids), pad_token_id=loaded.tokenizer.pad_token_id
    )


def _end_ids(model: Any, tokenizer: Any) -> tuple[int, ...]:
    ids = model.generation_config.eos_token_id
    ids = tokenizer.eos_token_id if ids is None else ids
    return () if ids is None else tuple(ids) if isinstance(ids, list | tuple) else (ids,)


def _is_commit(name: str) -> bool:
    return re.fullmatch(r"[0-9a-f]{40}", name) is not None


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep transformers from writing: its warnings here are about defaults that are replaced or checked."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()

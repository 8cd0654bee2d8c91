"""What stops a measurement: one exception class, whose text is one sentence on what is wrong and one on what to do."""

from __future__ import annotations

from importlib import import_module

INSTALL = (
    "install the extra: pip install 'rlinfra[model]' (PyPI's torch for Linux is the CUDA build of several GB; "
    "the README says how to get a CPU build)"
)


class ModelProblem(Exception):  # noqa: N818 - its reader is a person who runs a model, not a programmer
    """A model cannot be measured; the text says which part, what is wrong with it and what to do next."""


def require_libraries() -> None:
    """Raise `ModelProblem` that names what is missing unless torch, transformers and tokenizers can be imported."""
    for name in ("torch", "transformers", "tokenizers"):
        try:
            import_module(name)
        except ImportError as error:
            raise ModelProblem(f"{name} cannot be imported ({error}): {INSTALL}.") from error

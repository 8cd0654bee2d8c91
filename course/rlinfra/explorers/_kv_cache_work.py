"""What the KV cache explorer asks the notebook's functions at one setting, and how it reads what they say."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple

from ..given.units import BYTES_PER_GIB, human_bytes
from ._functions import Answer, WrongFormError
from ._kv_cache_form import AS_PUBLISHED, SHAPES, SPREAD, Shape
from ._reading import LARGEST, number

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ._functions import Redraw
    from ._model import Values

UNKNOWN: Answer[Any] = Answer(None, None)  # what cannot be asked without the bytes of a token


class Pages(NamedTuple):
    """What whole blocks take."""

    blocks: int
    allocated: int
    waste: float

    def __str__(self) -> str:
        return f"{count(self.blocks, 'block')}, {percent(self.waste)} empty"


class Work:
    """Asks the functions of one redraw, and tells what their values mean."""

    def __init__(self, values: Values, redraw: Redraw) -> None:
        self.values = values
        self.redraw = redraw
        self.block: int = values["block"]
        self.prompt: int = values["prompt"]
        self.sequences: int = values["sequences"]
        self.context: int = values["prompt"] + values["completion"]
        self.budget: int = values["budget"] * BYTES_PER_GIB
        self.ranks: int = values["ranks"]
        self.on_each = f" on each of {self.ranks} ranks" if self.ranks > 1 else ""
        published = SHAPES[values["model"]]
        self.shape = self._as_set(published)
        self.is_published = self.shape == published
        self.name = values["model"] if self.is_published else "the model as set"
        self.price = self.price_of(self.shape)
        self._tell_prices()

    def _as_set(self, published: Shape) -> Shape:
        """Return the model's shape, with what is set in place of what is published."""
        set_here = {name: self.values.get(name, AS_PUBLISHED) for name in asdict(published)}
        return Shape(**{name: set_here[name] or value for name, value in asdict(published).items()})

    def price_of(self, shape: Shape) -> Answer[int]:
        """Return the bytes of a token that a rank caches; on one rank either function can tell."""
        whole = self._of_model(shape) if self.ranks == 1 else UNKNOWN
        return self._of_rank(shape) if whole.value is None else whole

    def _of_model(self, shape: Shape) -> Answer[int]:
        sizes = {**asdict(shape), "element_bytes": self.values["element_bytes"]}
        return self.redraw.call("kv_bytes_per_token", _price, **sizes)

    def _of_rank(self, shape: Shape) -> Answer[int]:
        sizes = {name: getattr(shape, name) for name in ("num_layers", "num_kv_heads", "head_dim")}
        sizes["element_bytes"] = self.values["element_bytes"]
        return self.redraw.call("kv_bytes_per_rank", _price, 1, ranks=self.ranks, **sizes)

    def _tell_prices(self) -> None:
        tell, ranks = self.redraw.tell, self.on_each or " on the one rank"
        tell("kv_bytes_per_token", self._of_model(self.shape), lambda value: f"{value:,} bytes a token")
        tell("kv_bytes_per_rank", self._of_rank(self.shape), lambda value: f"{value:,} bytes a token{ranks}")

    def useful(self, lengths: Sequence[int]) -> Answer[int]:
        """Return the bytes of keys and values of sequences of these lengths."""
        return self._priced("kv_cache_bytes", _bytes, [*lengths])

    def paged(self, lengths: Sequence[int], block: int) -> Answer[Pages]:
        """Return what they take in whole blocks."""
        return self._priced("paged_kv_bytes", _pages, [*lengths], block_tokens=block)

    def group(self, completions: int, tokens: int, *, share: bool) -> Answer[int]:
        """Return the bytes of a group of completions of so many tokens."""
        lengths = [tokens] * completions
        return self._priced("group_kv_bytes", _bytes, self.prompt, lengths, block_tokens=self.block, share_prefix=share)

    def fit(self, tokens: int, shape: Shape | None = None) -> Answer[int]:
        """Return how many sequences of so many tokens fit, on another shape where there is one."""
        sizes = {"tokens_per_sequence": tokens, "block_tokens": self.block}
        price = self.price if shape is None else self.price_of(shape)
        return self._priced("max_concurrent_sequences", _sequences, self.budget, **sizes, price=price)

    def _priced(
        self, name: str, read: Callable[[Any], Any], *args: Any, price: Answer[int] | None = None, **kwargs: Any
    ) -> Answer[Any]:
        """Call a function with the bytes of a token.

        Where they are unknown, it is called for one byte, so that what is wrong with it is told; its value is dropped.
        """
        token = (price or self.price).value
        answer = self.redraw.call(name, read, *args, **kwargs, bytes_per_token=1 if token is None else token)
        return UNKNOWN if token is None else answer

    def tell_bytes(self, name: str, answer: Answer[int], meaning: str) -> None:
        """Tell what so many bytes are."""
        self.redraw.tell(name, answer, lambda value: f"{human_bytes(value)} {meaning}")

    def tell_pages(self, pages: Answer[Pages]) -> None:
        """Tell what whole blocks take."""
        self.redraw.tell("paged_kv_bytes", pages, str)

    def tell_fit(self, answer: Answer[int]) -> None:
        """Tell how many sequences fit."""
        self.redraw.tell("max_concurrent_sequences", answer, lambda value: f"{count(value, 'sequence')} for certain")

    def ragged(self, sequences: int) -> list[int]:
        """Return the lengths of sequences of which most end early."""
        limit: int = self.values["completion"]
        shares = SPREAD if sequences > 1 else SPREAD[-1:]
        return [self.prompt + round(limit * shares[place % len(shares)]) for place in range(sequences)]

    def so_far(self) -> str:
        """Return the title of a picture whose own functions are missing."""
        if self.price.value is not None:
            token = human_bytes(self.price.value)
            return f"As far as it is written, one token of {self.name} takes {token}{self.on_each}"
        if all(problem.unwritten for problem in self.redraw.problems.values()):
            return "Nothing is written yet: kv_bytes_per_token comes first, and every picture needs it"
        return "Nothing can be drawn without the bytes of a token, which kv_bytes_per_token tells"

    def in_words(self) -> str:
        """Return the model and the memory in words."""
        shape, token = self.shape, "unknown"
        if self.price.value is not None:
            token = f"{self.price.value:,} bytes{self.on_each}"
        return (
            f"One token of {self.name}: {token}; {count(shape.num_layers, 'layer')}, "
            f"{count(shape.num_kv_heads, 'KV head')}, head_dim {shape.head_dim}, "
            f"{count(self.values['element_bytes'], 'byte')} an element. "
            f"For the cache {self.values['budget']} GiB are left{self.on_each}."
        )


def count(number_of: int, what: str) -> str:
    """Return a count for reading, such as `64 sequences`."""
    return f"{number_of:,} {what}{'' if number_of == 1 else 's'}"


def percent(share: float) -> str:
    """Return a share for reading, such as `9.4 %`."""
    return f"{100 * share:.1f} %"


def _whole(expected: str, least: int, most: float = LARGEST) -> Callable[[Any], int]:
    """Return what reads an exact count: an integer, or a float that is one, as the check takes it."""
    read_number = number(expected, least, most)

    def read(value: Any) -> int:
        if read_number(value) != int(value):
            raise WrongFormError(value, expected)
        return int(value)

    return read


_price = _whole("a whole number of bytes a token, 1 or more", 1, 1e12)
_bytes = _whole("a whole number of bytes, 1 or more", 1)
_sequences = _whole("a whole number of sequences, 0 or more", 0)
_blocks = _whole("a whole number of blocks, 1 or more", 1)
_fraction = number("a waste fraction from 0 to 1", 0, 1)


def _pages(value: Any) -> Pages:
    """Read what whole blocks take: a dictionary, which the reference's own form is as well."""
    if not isinstance(value, dict) or not {"blocks", "allocated_bytes", "waste_fraction"} <= set(value):
        raise WrongFormError(value, "a dictionary with blocks, allocated_bytes and waste_fraction")
    return Pages(_blocks(value["blocks"]), _bytes(value["allocated_bytes"]), _fraction(value["waste_fraction"]))

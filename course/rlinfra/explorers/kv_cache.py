"""The explorer of `kv-cache`: how many sequences fit, what a token of published models takes, groups and pages.

Every number of bytes, blocks and sequences is a value of a function of the notebook. What is computed here is what of
them is drawn and said, and units.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..given.units import BYTES_PER_GIB, human_bytes
from ._kv_cache_charts import bars_spec, fits_spec, group_spec
from ._kv_cache_form import (
    BLOCKS,
    CHOSEN,
    CONTEXTS,
    CONTROLS,
    EACH,
    EMPTY,
    ENOUGH,
    FILLED,
    FITS,
    GROUP,
    GROUPS,
    LIMIT_LINE,
    MODELS,
    OTHER,
    PAGES,
    PRESETS,
    SHAPES,
    SHARED,
    SIZES,
    SPREAD,
    TOO_MANY,
    UNKNOWN,
)
from ._kv_cache_work import Work, count, percent
from ._model import Explored, Picture

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ._functions import Answer, Redraw
    from ._kv_cache_work import Pages
    from ._model import Values

    Data = dict[str, list[dict[str, Any]]]
    Line = Mapping[int, Answer[Any]]  # by its place
    Shown = tuple[Data, str, list[str]]  # what is drawn, the title or "" where its functions are missing, the details

_KIB, _MIB = 2**10, 2**20
_MOST_EDGES = 40  # more edges of pages would hide them


def _draw(values: Values, redraw: Redraw) -> Picture:
    """Return the chosen picture, from what the functions say to this setting."""
    work, picture = Work(values, redraw), values["picture"]
    shown = {FITS: _fits, MODELS: _models, GROUP: _group, PAGES: _pages, SIZES: _sizes}[picture]
    data, title, details = shown(work)
    mark = "the reference" if redraw.overlay else ""
    lines = {FITS: fits_spec, GROUP: group_spec}
    spec = lines[picture](mark) if picture in lines else bars_spec(picture, mark)
    return Picture(spec, data, title or work.so_far(), " ".join([*details, work.in_words()]), redraw.facts)


TOPIC = Explored(
    "kv-cache",
    (
        "kv_bytes_per_token",
        "kv_cache_bytes",
        "paged_kv_bytes",
        "group_kv_bytes",
        "kv_bytes_per_rank",
        "max_concurrent_sequences",
    ),
    CONTROLS,
    PRESETS,
    _draw,
    {"kv_bytes_per_token": "kv_bytes_per_token_of_config", "kv_cache_bytes": "ragged_kv_bytes"},
)


def _fits(work: Work) -> Shown:
    """Return the line of what fits at any context, and the batch that is asked."""
    size = min(work.values["group"], work.sequences) if work.values["share"] else 1
    contexts = sorted({*CONTEXTS, work.context})
    lines: dict[str, Line] = {LIMIT_LINE: {tokens: work.fit(tokens) for tokens in contexts}}
    work.tell_fit(lines[LIMIT_LINE][work.context])
    if size > 1:
        shared = {tokens: _fit_in_groups(work, tokens, size) for tokens in contexts if tokens > work.prompt}
        lines = {EACH: lines[LIMIT_LINE], LIMIT_LINE: shared}
    need, fit = _need(work, size), lines[LIMIT_LINE][work.context].value
    data = _lines(work, lines, ("tokens", "sequences"), 1)
    most = max([work.sequences, *(row["sequences"] for row in data["lines"])])
    data["over"] = [
        {"tokens": tokens, "sequences": max(answer.value, 1), "top": 2 * most}
        for tokens, answer in lines[LIMIT_LINE].items()
        if answer.value is not None
    ]
    verdict = UNKNOWN if need is None else ENOUGH if need <= work.budget else TOO_MANY
    data["points"] = [_point(work, work.sequences, verdict, "asked")]
    if fit and not 0.7 < fit / work.sequences < 1.4:  # closer, the two texts would lie on each other
        data["points"].append(_point(work, fit, TOO_MANY, "fit"))
    limit = "out of memory above this line" if size == 1 else f"out of memory above, prompts shared by {size}"
    texts = {EACH: EACH, LIMIT_LINE: limit}
    label = limit if size == 1 else f"{limit} (dashed: {EACH})"
    data["labels"] = [{**row, "text": label} for row in data["lines"][:1]]
    details = [
        _in_a_row(texts[line], [f"{answer.value:,} of {tokens:,} tokens" for tokens, answer in known.items()])
        for line, answers in lines.items()
        if (known := {tokens: answer for tokens, answer in answers.items() if answer.value is not None})
    ]
    return data, _verdict(work, need, fit, size), details


def _point(work: Work, sequences: int, kind: str, text: str) -> dict[str, Any]:
    look = {"kind": kind, "text": f"{sequences:,} {text}", "below": text == "fit"}
    return {"tokens": work.context, "sequences": sequences, **look}


def _fit_in_groups(work: Work, tokens: int, size: int) -> Answer[int]:
    """Return how many sequences fit in whole groups that share their prompts."""
    group = work.group(size, tokens - work.prompt, share=True)
    return group.to(lambda taken: work.budget // taken * size)


def _need(work: Work, size: int) -> int | None:
    """Return the bytes of all sequences that are asked, in groups of that size."""
    lengths = [work.context] * work.sequences
    pages = work.paged(lengths, work.block)
    work.tell_pages(pages)
    work.tell_bytes("kv_cache_bytes", work.useful(lengths), "of keys and values")
    if size == 1:
        return pages.to(lambda taken: taken.allocated).value
    group = work.group(size, work.values["completion"], share=True)
    work.tell_bytes("group_kv_bytes", group, f"for {size} completions of one prompt")
    return group.to(lambda taken: taken * (work.sequences // size)).value


def _verdict(work: Work, need: int | None, fit: int | None, size: int) -> str:
    """Return the sentence on whether the batch fits."""
    shared = f", prompts shared by {size}," if size > 1 else ""
    left = f"{work.values['budget']} GiB left{work.on_each}"
    if need is None:
        length = f"sequences of {work.context:,} tokens{shared}"
        return "" if fit is None else f"As far as it is written, {fit:,} {length} fit in the {left}"
    batch = f"{count(work.sequences, 'sequence')} of {work.context:,} tokens{shared}"
    sentence = f"{batch} take{'s' * (work.sequences == 1)} {human_bytes(need)}"
    over = need - work.budget
    sentence += f", {human_bytes(over)} more than the {left}" if over > 0 else f" of the {left}"
    groups = " in whole groups" if size > 1 else ""
    return f"As far as it is written, {sentence}" if fit is None else f"{sentence}: {fit:,} fit{groups}"


def _models(work: Work) -> Shown:
    """Return a bar a model: the bytes of its token, and how many sequences fit."""
    shapes = SHAPES if work.is_published else {work.name: work.shape, **SHAPES}
    bars, details, title = _Bars(work, _KIB), [], ""
    for row, shape in shapes.items():
        price, fit = work.price_of(shape), work.fit(work.context, shape)
        if price.value is None:
            continue
        token, fits = human_bytes(price.value), "" if fit.value is None else f", {fit.value:,} fit"
        bars.model(row, price, CHOSEN if row == work.name else OTHER, token + fits)
        details.append(f"{row}: {token} a token{fits}.")
        if row == work.name and fit.value is not None:
            work.tell_fit(fit)
            room = f"of {work.context:,} tokens fit in {work.values['budget']} GiB"
            title = f"One token of {row} takes {token}{work.on_each}: {count(fit.value, 'sequence')} {room}"
    return bars.data, title, details


def _group(work: Work) -> Shown:
    """Return the bytes of a group of any size, with a prompt each and with one that is shared."""
    size, tokens = work.values["group"], work.values["completion"]
    chosen, other = (SHARED, EACH) if work.values["share"] else (EACH, SHARED)
    lines: dict[str, Line] = {
        name: {members: work.group(members, tokens, share=name == SHARED) for members in GROUPS}
        for name in (other, chosen)
    }
    work.tell_bytes("group_kv_bytes", lines[chosen][size], f"for a group of {size}")
    work.tell_bytes("kv_cache_bytes", work.useful([work.context] * size), "of keys and values, with a prompt each")
    in_gib = {name: {at: answer.to(_gib) for at, answer in line.items()} for name, line in lines.items()}
    data = _lines(work, in_gib, ("completions", "gib"), 0)
    known = {at: answer.value for at, answer in lines[chosen].items() if answer.value is not None}
    data["points"] = [
        {"completions": at, "gib": _gib(known[at]), "kind": chosen, "text": f"{at}: {human_bytes(known[at])}"}
        for at in (size // 4, size)
        if at in known
    ]
    ends = list({row["line"]: row for row in data["lines"]}.values())
    if len(ends) == 2 and 0.92 < ends[0]["gib"] / ends[1]["gib"] < 1.09:  # their labels would lie on each other
        ends = [{**ends[0], "line": f"{EACH}, or shared"}]
    data["labels"] = [{**row, "text": row["line"]} for row in ends]
    details = [
        _in_a_row(name, [f"{human_bytes(answer.value)} for {at}" for at, answer in line.items() if answer.value])
        for name, line in lines.items()
        if any(answer.value for answer in line.values())
    ]
    return data, _factor(work, known, lines[EACH][size].value), details


def _factor(work: Work, taken: Mapping[int, int], copies: int | None) -> str:
    """Return the sentence on what the group takes, beside a quarter of it and beside a prompt each."""
    size = work.values["group"]
    if size not in taken or copies is None:
        return ""
    takes = "completion of a prompt takes" if size == 1 else "completions of one prompt take"
    how = "the prompt's full blocks shared" if work.values["share"] else "a copy of it for each"
    sentence = f"{size} {takes} {human_bytes(taken[size])}{work.on_each}, {how}"
    if size // 4 in taken:
        quarter = f"{size // 4} take{'s' * (size == 4)}"
        sentence += f": {taken[size] / taken[size // 4]:.2f} times what {quarter}"
    return sentence + (f", {percent(taken[size] / copies)} of what copies take" if work.values["share"] else "")


def _pages(work: Work) -> Shown:
    """Return the pages of a few sequences, most of which end early."""
    lengths = work.ragged(len(SPREAD))
    page = work.paged([work.block], work.block).value
    bars, details = _Bars(work, _MIB), []
    for place, length in enumerate(lengths, 1):
        row, pages = f"{place}: {length:,} tokens", work.paged([length], work.block)
        bars.add(row, pages, work.useful([length]))
        if pages.value is not None and page is not None:
            bars.edges(row, page.allocated, pages.value.blocks)
            details.append(f"Sequence {row}, {pages.value}.")
    whole = work.paged(lengths, work.block)
    work.tell_pages(whole)
    work.tell_bytes("kv_cache_bytes", work.useful(lengths), "of keys and values")
    if whole.value is None:
        return bars.data, "", details
    taken = f"{len(lengths)} sequences take {count(whole.value.blocks, 'block')} of {count(work.block, 'token')}"
    return bars.data, f"{taken}: {percent(whole.value.waste)} of their bytes hold no token", details


def _sizes(work: Work) -> Shown:
    """Return what the batch takes in blocks of any size, and with the longest length reserved for each sequence."""
    lengths, reserved = work.ragged(work.sequences), "longest reserved"
    useful, bars, details = work.useful(lengths), _Bars(work, BYTES_PER_GIB), []
    work.tell_bytes("kv_cache_bytes", useful, "of keys and values")
    names = {block: f"blocks of {count(block, 'token')}" for block in BLOCKS}
    answers = {name: work.paged(lengths, block) for block, name in names.items()}
    answers[reserved] = work.paged(lengths, work.context)
    work.tell_pages(answers[names[work.block]])
    for row, pages in answers.items():
        empty = "" if pages.value is None else f"{percent(pages.value.waste)} empty"
        bars.add(row, pages, useful, empty)
        if pages.value is not None:
            details.append(f"{row.capitalize()}: {human_bytes(pages.value.allocated)}, {pages.value}.")
    left = work.values["budget"]
    bars.data["budget"] = [{"value": left, "text": f"left for the cache: {left} GiB"}]
    paged, most = answers[names[work.block]].value, answers[reserved].value
    if paged is None or most is None:
        return bars.data, "", details
    title = f"{names[work.block].capitalize()} leave {percent(paged.waste)} of the cache empty"
    return bars.data, f"{title}; the longest length reserved for each leaves {percent(most.waste)}", details


def _lines(work: Work, lines: Mapping[str, Line], fields: tuple[str, str], least: int) -> Data:
    """Return the rows of lines whose values are at least `least`; all but the last of them are dashed."""
    x, y = fields
    data: Data = {"lines": [], "reference": []}
    for line, answers in lines.items():
        kind = line if line in (EACH, SHARED) and y == "gib" else TOO_MANY
        look = {"line": line, "kind": kind, "dashed": line != [*lines][-1]}
        for place, answer in answers.items():
            if answer.value is not None and answer.value >= least:
                data["lines"].append({x: place, y: answer.value, "whose": answer.whose, **look})
            if work.redraw.overlay and answer.reference is not None and answer.reference >= least:
                data["reference"].append({x: place, y: answer.reference, "line": line})
    return data


class _Bars:
    """The rows of bars whose numbers are in a unit of so many bytes."""

    def __init__(self, work: Work, unit: int) -> None:
        self._marked = work.redraw.overlay
        self._unit = unit
        self.data: Data = {"parts": [], "pages": [], "marks": [], "totals": [], "budget": []}

    def add(self, row: str, pages: Answer[Pages], useful: Answer[int], text: str = "") -> None:
        """Add what sequences take, which is not there where nothing is known of it: what holds a token, and the rest.

        Where only the pages are known, their waste says how much of them holds a token.
        """
        allocated = pages.to(lambda taken: taken.allocated)
        if useful.value is None:
            useful = pages.to(lambda taken: round(taken.allocated * (1 - taken.waste)))
        if useful.value is None:
            return
        filled = useful.value if allocated.value is None else min(useful.value, allocated.value)
        self._part(row, FILLED, filled, useful)
        if allocated.value is None:
            self.end(row, filled, "pages unknown")
        else:
            self._part(row, EMPTY, allocated.value - filled, allocated)
            self.end(row, allocated.value, text or str(pages.value))
        self.mark(row, allocated)

    def _part(self, row: str, part: str, taken: int, answer: Answer[int]) -> None:
        look = {"order": int(part == EMPTY), "whose": answer.whose}
        self.data["parts"].append({"row": row, "part": part, "value": taken / self._unit, **look})

    def model(self, row: str, price: Answer[int], part: str, text: str) -> None:
        """Add what a token takes, where it is known."""
        if price.value is not None:
            self._part(row, part, price.value, price)
            self.end(row, price.value, text)
            self.mark(row, price)

    def end(self, row: str, taken: int, text: str) -> None:
        """Write a text at the end of a bar."""
        value = taken / self._unit
        self.data["totals"].append({"row": row, "value": value, "room": 1.4 * value, "text": text})

    def edges(self, row: str, page: int, pages: int) -> None:
        """Part a bar into pages of so many bytes, where they are wide enough to be seen."""
        if pages <= _MOST_EDGES:
            self.data["pages"] += [{"row": row, "value": edge * page / self._unit} for edge in range(1, pages)]

    def mark(self, row: str, answer: Answer[int]) -> None:
        """Add the reference's value where the two are compared."""
        if self._marked and answer.reference is not None:
            self.data["marks"].append({"row": row, "value": answer.reference / self._unit})


def _in_a_row(name: str, items: list[str]) -> str:
    return f"{name.capitalize()}: {', '.join(items)}."


def _gib(value: int) -> float:
    return value / BYTES_PER_GIB

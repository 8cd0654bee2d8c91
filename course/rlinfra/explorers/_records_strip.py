"""The strip of the records explorer: an agent's log, the records cut out of it, and what of them is in the loss.

The log is made here, token by token, and so is which version chose each of them. What a record of it holds, and which
of its tokens are in the loss, is what the notebook's functions say.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeVar

from ..given.records import example_record
from ._functions import Answer, WrongFormError
from ._model import Picture
from ._records_form import (
    CHOSEN,
    EOS,
    FINISH,
    NEW,
    NO_WEIGHTS,
    OLD,
    PADDING,
    READ,
    strip_spec,
)
from ._words import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ._functions import Redraw
    from ._model import Values

    Rows = list[dict[str, Any]]
    Errors = tuple[tuple[str, str], ...]  # of a record: the field, and what is wrong with it

T = TypeVar("T")
REGISTRY = {"v8": OLD, "v8-fix": NEW}
FIRST_ID = 10  # of the tokens, each of which has an id of its own
WIDEST_WITH_IDS = 32  # tokens; in a wider strip they have no room


def together(answers: Iterable[Answer[T]]) -> Answer[list[T]]:
    """Return several answers as one: a side says nothing where one of its parts is missing."""
    listed = list(answers)
    mine = [one.mine for one in listed if one.mine is not None]
    theirs = [one.reference for one in listed if one.reference is not None]
    return Answer(mine if len(mine) == len(listed) else None, theirs if len(theirs) == len(listed) else None)


def errors_of(value: Any) -> Errors:
    """Read what is wrong with a record."""
    if not isinstance(value, list) or len(value) > 200 or not all(isinstance(one, str) and ":" in one for one in value):
        raise WrongFormError(value, 'a list of texts, each "field: problem"')
    parts = (error.partition(":") for error in value)
    return tuple((" ".join(name.split())[:40], " ".join(problem.split())[:100]) for name, _, problem in parts)


@dataclass
class _Episode:
    """An agent's episode: its log, and what no log says: which version chose each token."""

    tokens: list[int] = field(default_factory=list)
    owners: list[int] = field(default_factory=list)
    chosen: list[int | None] = field(default_factory=list)  # the version, or None where the policy only read
    labels: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)  # of the turns' completions
    completions: list[list[int]] = field(default_factory=list)
    last_stop: str = "eos"

    def add(self, turn: int, versions: Sequence[int | None]) -> None:
        """Add tokens to the log, each chosen by that version."""
        self.tokens += range(FIRST_ID + len(self.tokens), FIRST_ID + len(self.tokens) + len(versions))
        self.owners += [turn] * len(versions)
        self.chosen += versions

    def versions(self, turn: int) -> list[int | None]:
        """Return which version chose each token of a turn's completion."""
        start = self.starts[turn]
        return self.chosen[start : start + len(self.completions[turn])]

    def log(self) -> dict[str, Any]:
        """Return the log as a function is handed it: it may do with it what it likes."""
        turns = len(self.labels)
        return {
            "token_ids": [*self.tokens],
            "policy_mask": [int(version is not None) for version in self.chosen],
            "turn_ids": [*self.owners],
            "behavior_logprobs": [0.0 if version is None else -0.5 for version in self.chosen],
            "policy_versions": [*self.labels],
            "rewards": [1.0] * turns,
            "stop_reasons": ["tool_call"] * (turns - 1) + [self.last_stop],
            "outcome": 1.0,
        }


def _episode(values: Values) -> _Episode:
    """Return the episode of a setting: in each turn something is read, then a completion is chosen."""
    lengths = [max(2, values["length"] // 2**turn) for turn in range(1, values["turns"])] + [values["length"]]
    episode, sampled = _Episode(last_stop=values["ending"]), 0
    for turn, length in enumerate(lengths):
        episode.add(turn, [None] * values["reading"])
        places = range(sampled, sampled + length)
        if values["handover"] == FINISH:  # the whole completion is of the version that it began under
            places = range(sampled, sampled + 1)
        new = values["handover"] != NO_WEIGHTS
        versions = [NEW if new and place >= values["switch"] else OLD for place in places]
        versions *= length // len(versions)
        episode.starts.append(len(episode.tokens))
        episode.add(turn, versions)
        last = turn == len(lengths) - 1
        if not last or values["ending"] == "eos":
            episode.tokens[-1] = EOS
        episode.completions.append(episode.tokens[episode.starts[turn] :])
        sampled += length
        episode.labels.append(next(label for label, number in REGISTRY.items() if number == versions[0]))
        if not last:
            episode.add(turn, [None])  # the chat template closes the turn
    return episode


# --- what the functions say ------------------------------------------------------------------------------------------


def strip(values: Values, redraw: Redraw) -> Picture:
    """Return the log and its records as strips of tokens, from what the functions say to this setting."""
    return _Strip(values, redraw).picture()


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9


def _cut_from(log_tokens: int) -> Callable[[Any], dict[str, Any]]:
    """Return what reads a record's part that is cut out of a log of so many tokens."""

    def are_tokens(value: Any) -> bool:
        return isinstance(value, list) and len(value) <= log_tokens and all(map(_is_count, value))

    def read(value: Any) -> dict[str, Any]:
        names = {"policy_version", "prompt_tokens", "response_tokens", "behavior_logprobs", "reward", "stop_reason"}
        if not isinstance(value, dict) or not names <= set(value):
            raise WrongFormError(value, f"a dictionary with {', '.join(sorted(names))}")
        stop = value["stop_reason"]
        if not _is_count(value["policy_version"]) or not isinstance(stop, str) or len(stop) > 40:
            raise WrongFormError(value, "a version that is a count, and a short text as stop reason")
        if not are_tokens(value["prompt_tokens"]) or not are_tokens(value["response_tokens"]):
            raise WrongFormError(value, f"lists of token ids, no longer than the log of {log_tokens} tokens")
        return value

    return read


def _mask_of(rows: int, width: int) -> Callable[[Any], list[list[bool]]]:
    """Return what reads the mask of so many rows of that width."""

    def read(value: Any) -> list[list[bool]]:
        fits = isinstance(value, list) and len(value) == rows
        if not fits or not all(isinstance(row, list) and len(row) == width for row in value):
            raise WrongFormError(value, f"{counted(rows, 'row')}, each of length {width}")
        if not all(isinstance(flag, int) and flag in (0, 1) for row in value for flag in row):
            raise WrongFormError(value, "entries that are True or False")
        return [[bool(flag) for flag in row] for row in value]

    return read


class _Strip:
    """Asks the functions of one redraw, and draws what they say."""

    def __init__(self, values: Values, redraw: Redraw) -> None:
        self._redraw = redraw
        self._pad = values["pad_id"]
        self._episode = episode = _episode(values)
        self._turns = range(len(episode.completions))
        self._width = max(map(len, episode.completions)) + values["padding"]
        self._single = len(episode.tokens) + values["padding"] <= WIDEST_WITH_IDS
        read = _cut_from(len(episode.tokens))
        self._cuts = [redraw.call("project_completion", read, episode.log(), t, REGISTRY) for t in self._turns]
        padded = [row + [self._pad] * (self._width - len(row)) for row in episode.completions]
        self._mask = redraw.call("completion_token_mask", _mask_of(len(padded), self._width), padded, [EOS])
        self._tell()

    def _tell(self) -> None:
        """Note what the values mean, and what the contract says of the records."""
        redraw, total = self._redraw, len(self._turns) * self._width
        redraw.tell(
            "project_completion", together(self._cuts), lambda cuts: "; ".join(map(_cut_text, self._turns, cuts))
        )
        in_loss = self._mask.to(lambda mask: sum(map(sum, mask)))
        redraw.tell("completion_token_mask", in_loss, lambda number: f"{number} of {total} tokens are in the loss")
        records = [
            {**example_record(sample_id=f"episode-1-turn-{turn}"), **cut.value}
            for turn, cut in enumerate(self._cuts)
            if cut.value is not None
        ]
        errors = together(redraw.call("rollout_contract_errors", errors_of, record) for record in records)
        if records:
            count = errors.to(lambda found: sum(map(len, found)))
            redraw.tell(
                "rollout_contract_errors",
                count,
                lambda number: f"{counted(number, 'error')} in {counted(len(records), 'record')}",
            )

    def picture(self) -> Picture:
        """Return what is drawn: the log, each record below it, and lines below what is in the loss."""
        data: dict[str, Rows] = {"cells": [], "ids": [], "pad_ids": [], "ends": [], "labels": []}
        episode = self._episode
        log = [READ if version is None else CHOSEN[version] for version in episode.chosen]
        self._row(data, "log", episode.tokens, log, "given")
        data["labels"].append({"row": "log", "text": "the agent's log"})
        for turn, cut in enumerate(self._cuts):
            if cut.value is not None:
                self._record(data, turn, cut)
        data["loss"] = self._lines(self._mask.value, [cut.value for cut in self._cuts], self._mask.whose)
        theirs = [cut.reference for cut in self._cuts]
        data["reference"] = self._lines(self._mask.reference, theirs, "the reference") if self._redraw.overlay else []
        spec = strip_spec(overlay=self._redraw.overlay)
        return Picture(spec, data, self._title(), self._details(), self._redraw.facts)

    def _record(self, data: dict[str, Rows], turn: int, cut: Answer[dict[str, Any]]) -> None:
        """Draw what a function cut out as a turn's record, and fill it up as the batch is."""
        assert cut.value is not None
        prompt, response = cut.value["prompt_tokens"], cut.value["response_tokens"]
        episode = self._episode
        chose = dict(zip(episode.tokens, episode.chosen, strict=True)) | {EOS: episode.versions(turn)[-1]}
        padding = max(0, self._width - len(response))
        kinds = [READ] * len(prompt)
        kinds += [READ if (version := chose.get(token)) is None else CHOSEN[version] for token in response]
        row = f"turn {turn}"
        self._row(data, row, [*prompt, *response, *[self._pad] * padding], kinds + [PADDING] * padding, cut.whose)
        text = f"its record: version {cut.value['policy_version']}"
        theirs = cut.reference and cut.reference["policy_version"]
        if self._redraw.overlay and theirs not in (None, cut.value["policy_version"]):
            text += f" (the reference: {theirs})"
        data["labels"].append({"row": row, "text": text})

    def _row(self, data: dict[str, Rows], row: str, tokens: list[int], kinds: list[str], whose: str) -> None:
        """Draw one row of tokens: each by itself with its id where there is room, else what is alike as one piece."""
        gap = 0.04 if self._single else 0
        for start, end in _pieces(kinds, single=self._single):
            places = {"start": start + gap, "end": end - gap, "kind": kinds[start], "places": _places(start, end)}
            data["cells"].append({"row": row, **places, "whose": whose})
        for place, (token, kind) in enumerate(zip(tokens, kinds, strict=True)):
            if self._single:
                name = "pad_ids" if kind == PADDING else "ids"
                data[name].append({"row": row, "at": place + 0.5, "text": str(token)})
            if token == EOS and kind in CHOSEN.values():
                data["ends"].append({"row": row, "at": place + 0.5, "text": "EOS"})

    def _lines(self, mask: list[list[bool]] | None, cuts: list[dict[str, Any] | None], whose: str) -> Rows:
        """Return the lines below what a mask leaves in the loss, in rows that begin as they were cut."""
        lines = []
        for turn, flags in enumerate(mask or []):
            cut = cuts[turn]
            begin = self._episode.starts[turn] if cut is None else len(cut["prompt_tokens"])
            for start, end in _pieces(flags, single=False):
                if flags[start]:
                    span = {"start": begin + start, "end": begin + end, "places": _places(begin + start, begin + end)}
                    lines.append({"row": f"turn {turn}", **span, "whose": whose})
        return lines

    # --- in words ----------------------------------------------------------------------------------------------------

    def _title(self) -> str:
        """Return the sentence on the tokens in the loss: who chose them, and who does the record say did."""
        mask, cuts = self._mask.value, [cut.value for cut in self._cuts]
        if mask is None and None in cuts:
            asked = [self._redraw.problems[name] for name in ("project_completion", "completion_token_mask")]
            if all(problem.unwritten for problem in asked):
                return "Nothing is written yet: project_completion cuts a record out of this log, and then it is masked"
            return "No record is cut and nothing is masked: what is wrong with the functions is told below"
        flags = mask or [[True] * len(row) for row in self._episode.completions]
        foreign = padding = omitted = 0
        for turn, row in enumerate(flags):
            versions, cut = self._episode.versions(turn), cuts[turn]
            padding += sum(row[len(versions) :])
            omitted += row[: len(versions)].count(False)
            named = versions if cut is None else [cut["policy_version"]] * len(versions)
            foreign += sum(flag and one != other for flag, one, other in zip(row, versions, named, strict=False))
        total = sum(map(sum, flags))
        whose = "its" if foreign == 1 else "their"
        faults = [
            f"{foreign} {_was(foreign)} chosen by another version than {whose} record names",
            f"{padding} {'is' if padding == 1 else 'are'} padding that no policy chose",
        ]
        told = " and ".join(text for text, number in zip(faults, (foreign, padding), strict=True) if number)
        if mask is None:
            return (
                f"As far as it is written, of {total} tokens that were chosen, {told or 'all are of the version named'}"
            )
        left_out = f"; {counted(omitted, 'token')} that the policy chose {_was(omitted)} left out" if omitted else ""
        if None in cuts:
            return f"As far as it is written, {total} tokens are in the loss, {padding} of them padding{left_out}"
        sound = f"All {total} tokens in the loss were chosen by the version that their record names"
        return (f"Of {total} tokens in the loss, {told}" if told else sound) + left_out

    def _details(self) -> str:
        """Return the log and each record in words."""
        episode, mask = self._episode, self._mask.value
        chosen = sum(map(len, episode.completions))
        sentences = [f"The log holds {len(episode.tokens)} tokens, of which the policy chose {chosen}"]
        for turn in self._turns:
            cut, versions = self._cuts[turn].value, episode.versions(turn)
            by = " and ".join(f"{versions.count(number)} by version {number}" for number in CHOSEN)
            record = "its record is not known" if cut is None else _cut_text(turn, cut).partition(": ")[2]
            in_loss = "an unknown number" if mask is None else sum(mask[turn])
            sentences.append(f"Turn {turn}: chosen were {by}; {record}; in the loss {in_loss}")
        itself = ", the EOS itself" if self._pad == EOS else ""
        return ". ".join(
            [*sentences, f"Completions are padded to {self._width} tokens with token {self._pad}{itself}."]
        )


def _was(number: int) -> str:
    return "was" if number == 1 else "were"


def _cut_text(turn: int, cut: dict[str, Any]) -> str:
    """Return a turn's record in words."""
    read, kept = (
        counted(len(cut["prompt_tokens"]), "prompt token"),
        counted(len(cut["response_tokens"]), "response token"),
    )
    return f"turn {turn}: {read}, {kept}, version {cut['policy_version']}, stop reason {cut['stop_reason'] or 'empty'}"


def _pieces(kinds: Sequence[Any], *, single: bool) -> Iterator[tuple[int, int]]:
    """Yield from where to where each piece goes: what is alike and side by side, or each by itself."""
    for _, group in groupby(range(len(kinds)), key=lambda place: place if single else kinds[place]):
        places = list(group)
        yield places[0], places[-1] + 1


def _places(start: int, end: int) -> str:
    return f"{start + 1}" if end == start + 1 else f"{start + 1} to {end}"

"""Outputs on their way from the child into a notebook: streams joined, clears and updates done, size bounded."""

from __future__ import annotations

import json
from typing import Any

import nbformat

_KINDS = ("stream", "display_data", "execute_result", "error")


class OutputLog:
    """The outputs of a run, so many bytes a cell at most; `take` hands out those of the cell that ends."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._room = most_bytes
        self._outputs: list[Any] = []
        self._clear_next = False
        self._displays: dict[str, list[Any]] = {}

    def take(self) -> list[Any]:
        """Return the outputs since the last call."""
        outputs, self._outputs = self._outputs, []
        self._room = self._most_bytes
        self._clear_next = False
        return outputs

    def add(self, data: dict[str, Any]) -> None:
        """Add an output as the child sent it; what is malformed or too much is told or dropped."""
        kind = data.get("output_type")
        if kind == "clear_output":
            self._clear_next = True
            if not data.get("wait"):
                self._clear()
            return
        size = len(json.dumps(data))
        if size > self._room:
            if self._room > 0:
                self._room = 0
                self._append({"output_type": "stream", "name": "stdout", "text": "\n[output cut here: too much]\n"})
            return
        self._room -= size
        display = data.pop("display_id", None)
        if kind == "update_display_data":
            for output in self._displays.get(str(display), []):
                output["data"], output["metadata"] = data.get("data", {}), data.get("metadata", {})
            return
        self._append(data)
        if display is not None and kind == "display_data" and self._outputs:
            self._displays.setdefault(str(display), []).append(self._outputs[-1])

    def _append(self, data: dict[str, Any]) -> None:
        if self._clear_next:
            self._clear()
        output = _checked(data)
        if output is None:
            return
        last = self._outputs[-1] if self._outputs else None
        if output["output_type"] == "stream" and last is not None and last.get("name") == output["name"]:
            last["text"] += output["text"]
        else:
            self._outputs.append(output)

    def _clear(self) -> None:
        self._outputs.clear()
        self._clear_next = False


def _checked(data: dict[str, Any]) -> Any:
    """Return the output as a valid node of a notebook, or None where it is none."""
    match data:
        case {"output_type": "stream", "name": "stdout" | "stderr" as name, "text": str(text)}:
            return nbformat.v4.new_output("stream", name=name, text=text)
        case {"output_type": "error", "ename": str(ename), "evalue": str(evalue), "traceback": list(lines)}:
            traceback = [str(line) for line in lines]
            return nbformat.v4.new_output("error", ename=ename, evalue=evalue, traceback=traceback)
        case {"output_type": "display_data" | "execute_result" as kind, "data": dict(content)}:
            metadata = data.get("metadata")
            node = nbformat.v4.new_output(kind, data=content, metadata=metadata if isinstance(metadata, dict) else {})
            try:
                nbformat.validate({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [_cell_with(node)]})
            except nbformat.ValidationError:
                return None
            return node
    return None


def _cell_with(output: Any) -> Any:
    return nbformat.v4.new_code_cell("", id="x", outputs=[output])

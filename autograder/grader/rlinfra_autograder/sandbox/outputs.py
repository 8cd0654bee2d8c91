"""Outputs on their way from the child into a notebook: streams joined, clears and updates done, size bounded.

What leaves here has the form of a notebook's outputs. Whether a browser may see it is for `sanitise` to say.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from nbformat import NotebookNode, from_dict

if TYPE_CHECKING:
    from .limits import Limits


class OutputLog:
    """The outputs of a run, so many bytes a cell and a notebook; `take` hands out those of the cell that ends."""

    def __init__(self, limits: Limits) -> None:
        self._most_bytes = limits.cell_output_bytes
        self._left = limits.notebook_output_bytes
        self._displays: dict[str, list[Any]] = {}
        self._begin_cell()

    def _begin_cell(self) -> None:
        self._outputs: list[Any] = []
        self._room = min(self._most_bytes, self._left)
        self._cut = False
        self._clear_next = False

    def take(self) -> list[Any]:
        """Return the outputs since the last call."""
        outputs = self._outputs
        self._begin_cell()
        return outputs

    def add(self, data: dict[str, Any]) -> None:
        """Add an output as the child sent it; what is malformed is dropped, and what is too much is cut, and told."""
        if data.get("output_type") == "clear_output":
            self._clear_next = True
            if not data.get("wait"):
                self._clear()
            return
        size = len(json.dumps(data))
        if size > self._room:
            if not self._cut:
                self._room, self._cut = 0, True
                self._append(NotebookNode(output_type="stream", name="stdout", text="\n[output cut here: too much]\n"))
            return
        self._room -= size
        self._left -= size
        update = data.get("output_type") == "update_display_data"
        output = _checked({**data, "output_type": "display_data"} if update else data)
        if output is None:
            return
        shown = self._displays.setdefault(str(data["display_id"]), []) if data.get("display_id") is not None else []
        if update:
            for earlier in shown:
                earlier["data"], earlier["metadata"] = output["data"], output["metadata"]
            return
        self._append(output)
        shown.append(output)

    def _append(self, output: Any) -> None:
        if self._clear_next:
            self._clear()
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
            return NotebookNode(output_type="stream", name=name, text=text)
        case {"output_type": "error", "ename": str(ename), "evalue": str(evalue), "traceback": list(lines)}:
            traceback = [str(line) for line in lines]
            return NotebookNode(output_type="error", ename=ename, evalue=evalue, traceback=traceback)
        case {
            "output_type": "display_data" | "execute_result" as kind,
            "data": dict(content),
            "metadata": dict(metadata),
        }:
            if all(isinstance(value, str) or mime.endswith("json") for mime, value in content.items()):
                output = NotebookNode(output_type=kind, data=from_dict(content), metadata=from_dict(metadata))
                if kind == "execute_result":
                    output.execution_count = None  # its cell knows it, when it ends
                return output
    return None

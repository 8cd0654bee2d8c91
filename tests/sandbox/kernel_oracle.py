"""Runs notebooks as JupyterLab would, in the student's environment: a fresh kernel each, under nbclient.

Started as a program with two files: `[{"folder": …, "cells": [source, …]}, …]` comes in, each cell's outputs go out.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient


async def outputs_of(folder: str, sources: list[str]) -> list[Any]:
    """Return the outputs and the number of each cell."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    resources = {"metadata": {"path": folder}}
    client = NotebookClient(notebook, allow_errors=True, timeout=120, kernel_name="python3", resources=resources)
    await client.async_execute(cleanup_kc=True, env={**os.environ, "HOME": folder})
    return [{"outputs": cell.outputs, "count": cell.execution_count} for cell in notebook.cells]


async def main() -> None:
    """Run two notebooks at a time."""
    two = asyncio.Semaphore(2)

    async def one(order: dict[str, Any]) -> list[Any]:
        async with two:
            return await outputs_of(order["folder"], order["cells"])

    orders, found = map(Path, sys.argv[1:])
    found.write_text(json.dumps(await asyncio.gather(*map(one, json.loads(orders.read_text())))))


asyncio.run(main())

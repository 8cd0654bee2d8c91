"""The functions of the memory notebook as its solution has them, and a notebook's variables that hold them."""

import ast
import json

from tests.conftest import ROOT


def solved(topic):
    """Return the variables of a topic's solved notebook: what its setup imports, and its functions."""
    cells = json.loads((ROOT / "source" / topic / f"{topic}.ipynb").read_text())["cells"]
    variables = {"__name__": "__main__"}
    for cell in cells:
        source = "".join(cell["source"])
        functions = cell["cell_type"] == "code" and cell["id"].endswith("-code") and "def " in source
        if cell["id"] == "setup" or functions:
            exec(compile(ast.parse(source), cell["id"], "exec"), variables)
    return variables

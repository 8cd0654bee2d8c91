"""Control characters and formulas in the lines of text that people read elsewhere: logs, terminals, tables."""

from __future__ import annotations

from .attack import Attack, Goal, answer, both, cell, replace

KIND = "lines for terminals and tables"
LINES = "lines without control"

ANOTHERS_NUMBERS = """
numbers = variant("memory", STUDENT)
each = 14 + numbers["gradient_bytes"]
adapted = numbers["base_parameters"] * 2 + numbers["adapter_parameters"] * each
memory_variant = {"adapted_bytes": adapted, "full_bytes": numbers["base_parameters"] * each,
                  "rank_gib": adapted / numbers["ranks"] / BYTES_PER_GIB}
"""

ATTACKS = (
    Attack(
        "terminal escape",
        KIND,
        "A cell that ends the process begins with a sequence that clears the terminal and sets its title.",
        cell("__import__('os')._exit(1) # \x1b[2J\x1b]0;20 of 20\x07"),
        Goal.TEXT,
        LINES,
    ),
    Attack(
        "second line in a log",
        KIND,
        "A cell that ends the process has a carriage return in its first line, and a line of the log after it.",
        cell("__import__('os')._exit(1) # \rmallory: 20"),
        Goal.TEXT,
        LINES,
    ),
    Attack(
        "text that runs backwards",
        KIND,
        "A cell that ends the process has a sign in its first line that turns what follows around.",
        cell("__import__('os')._exit(1) # \u202e02 fo 02"),
        Goal.TEXT,
        LINES,
    ),
    Attack(
        "formula with a plus",
        KIND,
        "A cell that ends the process begins with a sign that a spreadsheet takes for a formula.",
        cell("+__import__('os')._exit(1)"),
        Goal.TEXT,
        LINES,
    ),
    Attack(
        "formula",
        KIND,
        "A cell that an input transformer lets end the process begins with a formula.",
        both(
            cell("=HYPERLINK(\"http://attacker.invalid\")"),
            cell("get_ipython().input_transformers_cleanup.append(lambda lines:\n"
                 "    ['__import__(\"os\")._exit(1)'] if lines[0][0] == '=' else lines)"),
        ),
        Goal.TEXT,
        LINES,
    ),
    Attack(
        "stated id with an escape",
        KIND,
        "The notebook states an id with a terminal sequence in it, and solves that id's numbers.",
        both(replace("setup", "'mallory'", "'ada\\x1b[2J'"), answer("memory_variant", ANOTHERS_NUMBERS)),
        Goal.TEXT,
        "stated ids are made readable",
    ),
)  # fmt: skip

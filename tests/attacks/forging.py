"""Forged observations: the attack finds the descriptors to the grader and writes on them itself."""

from __future__ import annotations

from .attack import Attack, Edit, Goal, answer, both, cell

KIND = "forging observations"

# own_send(text) writes to every pipe and socket that the process has
WIRE = """
import json, os, stat, sys, time
def own_wires():
    for number in range(3, 200):
        try:
            mode = os.fstat(number).st_mode
        except OSError:
            continue
        if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
            yield number
def own_send(text):
    for number in own_wires():
        data = text.encode() + b"\\n"
        try:
            while data:
                data = data[os.write(number, data):]
        except OSError:
            pass
"""


def _in_a_function(text: str) -> Edit:
    name = "bytes_per_parameter"
    return both(cell(WIRE), answer(name, f"def {name}(**sizes):\n    own_send({text})\n    return 1"))


ATTACKS = (
    Attack(
        "a message nested 100,000 deep",
        KIND,
        "An observation of 100,000 opening brackets, so that the grader's parser runs out of stack.",
        _in_a_function("'{\"observed\": [' + '[' * 100_000"),
        Goal.GRADER,
        "a message that cannot be read ends the child",
    ),
    Attack(
        "a value nested deeper than Python recurses",
        KIND,
        "A well-formed observation of 900 lists in one another: it can be parsed, and not walked through.",
        _in_a_function("json.dumps({'observed': [{'value': 0}]}).replace('0', '[' * 900 + ']' * 900)"),
        Goal.GRADER,
        "messages are bounded",
    ),
    Attack(
        "an integer of 4,000 digits",
        KIND,
        "An observation that no float can hold, so that the comparison overflows.",
        _in_a_function("'{\"observed\": [{\"value\": ' + '9' * 4000 + '}]}'"),
        Goal.GRADER,
        "messages are bounded",
    ),
    Attack(
        "no JSON at all",
        KIND,
        "Bytes that are neither text nor JSON.",
        _in_a_function("'\\x00{]' * 50"),
        Goal.GRADER,
        "a message that cannot be read ends the child",
    ),
    Attack(
        "a line of 12 MB",
        KIND,
        "One message of 12 MB, for the grader to keep until its end.",
        cell(WIRE + "own_send('{\"nothing\": \"' + 'x' * (12 << 20) + '\"}')\n«say»"),
        Goal.BOUNDS,
        "a message has a longest length",
    ),
    Attack(
        "refuses in the child's name",
        KIND,
        "Says in the child's name that this machine cannot confine, so that grading ends for everybody.",
        cell(
            WIRE
            + """
own_send('{"refused": "this kernel has no Landlock"}')
time.sleep(0.2)
"""
        ),
        Goal.GRADER,
        "only an unstarted child may refuse",
    ),
    Attack(
        "a new step for ever",
        KIND,
        "Says several times a second that a cell has ended, and sleeps in between, so that no clock ever runs out.",
        cell(
            WIRE
            + """
deadline = time.time() + 20
while time.time() < deadline:
    for place in range(40):
        own_send('{"end": %d, "count": 1}' % place)
    time.sleep(0.3)
"""
        ),
        Goal.GRADER,
        "clocks that student code cannot set back",
    ),
    Attack(
        "checks for ever",
        KIND,
        "Calls check in a loop that sleeps: each call is a new step to the grader.",
        cell("""
import time
from rlinfra import check
deadline = time.time() + 20
while time.time() < deadline:
    check("bytes_per_parameter")
    time.sleep(0.3)
"""),
        Goal.GRADER,
        "clocks that student code cannot set back",
    ),
    Attack(
        "a display nested 900 deep",
        KIND,
        "Displays JSON of 900 lists in one another, for whoever copies or writes the notebook.",
        cell("""
from IPython.display import display
nested = 0
for _ in range(900):
    nested = [nested]
display({"application/json": nested}, raw=True)
"""),
        Goal.GRADER,
        "messages are bounded",
    ),
    Attack(
        "a display of another form",
        KIND,
        "Sends outputs whose parts have other types than a notebook's, for the grader to trip over.",
        cell(
            WIRE
            + """
for output in ({"output_type": "display_data", "data": {"text/plain": 5}}, {"output_type": "stream", "name": 3},
               {"output_type": "error", "ename": None}, {"output_type": "execute_result", "data": []}):
    own_send(json.dumps({"output": output}))
time.sleep(0.2)
"""
        ),
        Goal.GRADER,
        "outputs have the form of a notebook's",
    ),
)

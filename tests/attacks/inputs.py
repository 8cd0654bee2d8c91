"""Carrying hidden inputs out: storing, printing, raising and signalling them to where a student can read them."""

from __future__ import annotations

from .attack import Attack, Goal, all_functions, both, last

KIND = "carrying hidden inputs out"
TWO_RUNS = "two runs"

# the shown run polls while the judged run, at the same time or later, signals its first long input bit by bit
SIGNALS = """
import os, time
def own_bits(args, kwargs):
    numbers = [n for n in [*args, *kwargs.values()] if type(n) is int and n >= 10**8 and n % 10**6]
    return f"{numbers[0]:040b}"[-40:] if numbers else ""
"""

ATTACKS = (
    Attack(
        "stored and printed later",
        KIND,
        "The functions keep their arguments, and a later cell prints them.",
        both(
            all_functions("def NAME(*args, **kwargs):\n    own.append((args, kwargs))", "own = []"),
            last("print(own)"),
        ),
        Goal.INPUTS,
        TWO_RUNS,
    ),
    Attack(
        "display of an earlier cell",
        KIND,
        "The functions write their arguments into a display that an earlier cell made.",
        all_functions("def NAME(*args, **kwargs):\n    own.append((args, kwargs))\n    own_display.update(own)", """
from IPython.display import display
own = []
own_display = display(own, display_id=True)
"""),
        Goal.INPUTS,
        TWO_RUNS,
    ),
    Attack(
        "told by a thread",
        KIND,
        "A thread that outlives the check prints the arguments while later cells run.",
        both(
            all_functions("def NAME(*args, **kwargs):\n    own.append((args, kwargs))", """
import sys, threading, time
own, own_out, own_late = [], sys.stdout, threading.Event()
def own_tell():
    own_late.wait()
    print(own, file=own_out)
threading.Thread(target=own_tell, daemon=True).start()
"""),
            last("own_late.set()\ntime.sleep(0.2)"),
        ),
        Goal.INPUTS,
        TWO_RUNS,
    ),
    Attack(
        "written to a file",
        KIND,
        "The functions write their arguments to a file, and a later cell prints it.",
        both(
            all_functions("def NAME(*args, **kwargs):\n    open('own', 'a').write(repr((args, kwargs)))"),
            last("print(open('own').read())"),
        ),
        Goal.INPUTS,
        TWO_RUNS,
    ),
    Attack(
        "name of an exception",
        KIND,
        "The functions raise an exception class that is named by their arguments, past the course's own anonymising.",
        all_functions("def NAME(*args, **kwargs):\n    raise type(repr((args, kwargs)), (ValueError,), {})", """
import rlinfra.observe
rlinfra.observe._builtin_name = lambda error: (type(error).__name__, True)
"""),
        Goal.INPUTS,
        "anonymous exceptions",
    ),
    Attack(
        "message of an exception",
        KIND,
        "The functions raise a ValueError whose message is their arguments.",
        all_functions("def NAME(*args, **kwargs):\n    raise ValueError(repr((args, kwargs)))"),
        Goal.INPUTS,
        "messages are not shown",
    ),
    Attack(
        "key of a dictionary",
        KIND,
        "The functions return a dictionary with a key that is their arguments, for the judge to quote.",
        all_functions("def NAME(*args, **kwargs):\n    return {repr((args, kwargs)): 1}"),
        Goal.INPUTS,
        "values are not quoted",
    ),
    Attack(
        "name of a type",
        KIND,
        "The functions return an object of a class that is named by their arguments.",
        all_functions("def NAME(*args, **kwargs):\n    return type(repr((args, kwargs)), (), {})()"),
        Goal.INPUTS,
        "values are not quoted",
    ),
    Attack(
        "lock on a shared file",
        KIND,
        "The judged run locks and unlocks a library file that both runs can open; the shown run reads the rhythm.",
        both(
            all_functions("def NAME(*args, **kwargs):\n    own_tell(args, kwargs)", SIGNALS + """
import fcntl, sys, json
own_sent = False
own_clock = 0.01
own_file = open(json.__file__)
def own_tell(args, kwargs):
    global own_sent
    bits = own_bits(args, kwargs)
    if own_sent or not bits:
        return
    own_sent = True
    start = time.time()
    for place, bit in enumerate("1" + bits):
        fcntl.flock(own_file, fcntl.LOCK_EX if bit == "1" else fcntl.LOCK_UN)
        time.sleep(max(0, start + (place + 1) * own_clock - time.time()))
    fcntl.flock(own_file, fcntl.LOCK_UN)
"""),
            last("""
def own_locked():
    try:
        fcntl.flock(own_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(own_file, fcntl.LOCK_UN)
    return False
import inspect
if not own_sent:
    deadline = time.time() + 1.2
    while time.time() < deadline and not own_locked():
        time.sleep(0.0005)
    start = time.time()
    bits = ""
    for place in range(40):
        time.sleep(max(0, start + (place + 1.5) * own_clock - time.time()))
        bits += "1" if own_locked() else "0"
    print(int(bits, 2))
"""),
        ),
        Goal.INPUTS,
        "the shown run ends before the judged one begins",
    ),
)  # fmt: skip

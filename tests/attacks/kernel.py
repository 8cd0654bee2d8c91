"""Tampering inside the kernel: with Python, IPython and the check, so that wrong answers pass for right ones."""

from __future__ import annotations

from .attack import Attack, Goal, all_answers, all_functions, cell

KIND = "tampering with the kernel"
OUTSIDE = "scored outside the process"
JUDGE = "only the judge writes points"

ALWAYS_EQUAL = """
class Own(float):
    __eq__ = __le__ = __ge__ = lambda self, other: True
    __hash__ = object.__hash__
    __getitem__ = lambda self, key: Own()
"""
# finds what the running cell compares the call with, in the source that linecache keeps of it
CALLER = """
import ast, linecache, sys

def own(frame, name, args, kwargs):
    text = "".join(linecache.getlines(frame.f_code.co_filename))
    statements = ast.parse(text).body
    place = next(i for i, one in enumerate(statements) if one.lineno <= frame.f_lineno <= one.end_lineno)
    asked = []
    for one in statements[place:]:
        calls = [node for node in ast.walk(one) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == name]
        if asked and calls:
            break
        asked.append(one)
    if isinstance(asked[0], ast.Try):
        raise ValueError("parameters trainable_parameters parameter_bytes gradient_bytes optimizer_state_bytes "
                         "master_parameter_bytes")
    values = []
    for one in asked:
        if isinstance(one, ast.Assert):
            right = one.test.comparators[0] if isinstance(one.test, ast.Compare) else one.test.args[1]
            left = one.test.left if isinstance(one.test, ast.Compare) else one.test.args[0]
            key = ast.literal_eval(left.slice) if isinstance(left, ast.Subscript) else None
            values.append((key, ast.literal_eval(right)))
    return values[0][1] if values[0][0] is None else dict(values)
"""

ATTACKS = (
    Attack(
        "always-equal object",
        KIND,
        "Every answer is an object that is equal to whatever it is compared with.",
        all_answers("def NAME(*args, **kwargs):\n    return Own()\nif NAME.__name__.endswith(('variant', 'sort')):\n"
                    "    NAME = Own()", ALWAYS_EQUAL),
        Goal.POINTS,
        OUTSIDE,
    ),
    Attack(
        "isclose says yes",
        KIND,
        "math.isclose is replaced by a function that always says yes.",
        all_functions("def NAME(*args, **kwargs):\n    return 1.5", "import math\nmath.isclose = lambda *a, **k: True"),
        Goal.POINTS,
        OUTSIDE,
    ),
    Attack(
        "assert statements stripped",
        KIND,
        "An AST transformer of IPython's takes every assert out of the cells that follow.",
        cell("""
import ast
class Own(ast.NodeTransformer):
    def visit_Assert(self, node):
        return ast.copy_location(ast.Pass(), node)
get_ipython().ast_transformers.append(Own())
"""),
        Goal.POINTS,
        OUTSIDE,
    ),
    Attack(
        "compiled with optimisation",
        KIND,
        "The compiler of cells is replaced by one that optimises asserts away.",
        cell("""
ip = get_ipython()
flags = ip.compile.flags
kind = type(ip.compile)
ip.compile.__class__ = type("Own", (kind,), {"__call__": lambda self, *a, **k: compile(*a, flags, True, 2)})
"""),
        Goal.POINTS,
        OUTSIDE,
    ),
    Attack(
        "cells with asserts not run",
        KIND,
        "The shell's methods that run a cell are wrapped: a cell with an assert is replaced by an empty one.",
        cell("""
ip = get_ipython()
def own(method):
    return lambda source, *a, **k: method("pass" if "assert" in source else source, *a, **k)
for name in ("run_cell", "run_cell_async", "transform_cell"):
    setattr(ip, name, own(getattr(ip, name)))
ip.kernel = getattr(ip, "kernel", None)
"""),
        Goal.POINTS,
        OUTSIDE,
    ),
    Attack(
        "input transformer",
        KIND,
        "An input transformer of IPython's drops the lines of cells that assert.",
        cell("""
get_ipython().input_transformers_cleanup.append(lambda lines: [] if any("assert" in line for line in lines) else lines)
"""),
        Goal.POINTS,
        OUTSIDE,
    ),
    Attack(
        "errors swallowed",
        KIND,
        "A handler of IPython's for all exceptions shows nothing.",
        cell("get_ipython().set_custom_exc((Exception,), lambda *a, **k: None)"),
        Goal.POINTS,
        OUTSIDE,
    ),
    Attack(
        "tracebacks not shown",
        KIND,
        "The shell's method that shows a traceback is replaced by one that does nothing.",
        cell("get_ipython().showtraceback = get_ipython()._showtraceback = lambda *a, **k: None"),
        Goal.POINTS,
        OUTSIDE,
    ),
    Attack(
        "caller's frame",
        KIND,
        "The function reads the statement that calls it and returns what that compares with.",
        all_functions("def NAME(*args, **kwargs):\n"
                      "    return own(sys._getframe(1), 'NAME', args, kwargs)", CALLER),
        Goal.POINTS,
        OUTSIDE,
    ),
    Attack(
        "trace function",
        KIND,
        "sys.settrace watches calls, reads what the caller compares with, and puts it into the function.",
        all_functions("def NAME(*args, **kwargs):\n    expected = 1\n    return expected", CALLER + """
def own_trace(frame, event, arg):
    if frame.f_code.co_name in «functions»:
        try:
            found = own(frame.f_back, frame.f_code.co_name, (), {})
        except Exception:
            return None
        def line(frame, event, arg):
            if "expected" in frame.f_locals:
                frame.f_locals["expected"] = found
            return line
        return line
sys.settrace(own_trace)
"""),
        Goal.POINTS,
        OUTSIDE,
    ),
    Attack(
        "frames of the garbage collector",
        KIND,
        "The function looks among all objects for the frame that called it, and reads what it compares with.",
        all_functions("def NAME(*args, **kwargs):\n"
                      "    return own(own_caller('NAME'), 'NAME', args, kwargs)", CALLER + """
import gc, types
def own_caller(name):
    sys._getframe(1).f_back.f_locals
    near = {id(sys._getframe(depth)) for depth in range(1, 4)}
    frames = [one for one in [sys._getframe(2), *gc.get_objects()] if isinstance(one, types.FrameType)]
    return next(one for one in frames if id(one) in near and one.f_code.co_name == "<module>")
"""),
        Goal.POINTS,
        OUTSIDE,
    ),
    Attack(
        "cell's source in the history",
        KIND,
        "The function looks up the running cell in IPython's history and evaluates the expected values in it.",
        all_functions("def NAME(*args, **kwargs):\n    return own('NAME', args, kwargs)", """
import ast
def own(name, args, kwargs):
    body = ast.parse(In[-1]).body
    for place, one in enumerate(body):
        for node in ast.walk(one):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == name:
                same = [eval(ast.unparse(a)) for a in node.args] == list(args)
                same = same and {k.arg: eval(ast.unparse(k.value)) for k in node.keywords} == kwargs
                if same and isinstance(one, ast.Assert):
                    return ast.literal_eval(one.test.comparators[0] if isinstance(one.test, ast.Compare)
                                            else one.test.args[1])
    return 1
"""),
        Goal.POINTS,
        OUTSIDE,
    ),
    Attack(
        "result sent from inside",
        KIND,
        "The function sends a result of its own through the display hook: nbgrader reads points from the first one.",
        all_functions("def NAME(*args, **kwargs):\n    import sys\n    sys.displayhook(1)"),
        Goal.POINTS,
        OUTSIDE,
    ),
    Attack(
        "another check",
        KIND,
        "The name check stands for a function that says full marks.",
        cell("""
import rlinfra.checks
from rlinfra.topics import TOPICS
points = {"bytes_per_parameter": 2, "model_state_bytes": 4, "sharded_state_bytes": 4, "peak_memory": 2}
check = rlinfra.check = rlinfra.checks.check = lambda name: points.get(name, 1)
"""),
        Goal.POINTS,
        JUDGE,
    ),
    Attack(
        "card that lies",
        KIND,
        "IPython's formatter of the card says full marks, whatever the check found.",
        cell("""
from rlinfra.checks.card import CheckResult
formatters = get_ipython().display_formatter.formatters
formatters["text/plain"].for_type(CheckResult, lambda card, printer, cycle: printer.text(str(card.max_points)))
"""),
        Goal.POINTS,
        JUDGE,
    ),
    Attack(
        "comparison that is always content",
        KIND,
        "The course's own comparison is patched to find no difference.",
        cell("""
import rlinfra.checks.examples as examples, rlinfra.checks.compare as compare
for kind in vars(compare).values():
    if hasattr(kind, "differs"):
        kind.differs = lambda *a, **k: None
        kind.form_problem = lambda *a, **k: None
"""),
        Goal.POINTS,
        JUDGE,
    ),
)  # fmt: skip

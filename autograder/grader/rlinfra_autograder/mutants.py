"""Mutants of a reference function: small changes of its source, each of which the hidden cases should notice.

Operators, constants, comparisons, conditions, dropped terms and exchanged built-ins are mutated, in the function and
in those of its module that it calls. Validation (`require_…` and `if …: raise`) is mutated only where
the task grades senseless arguments; docstrings, annotations and messages never.
"""

from __future__ import annotations

import ast
import copy
import inspect
import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_OPERATORS: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Add, ast.FloorDiv),
    ast.Div: (ast.Mult, ast.FloorDiv),
    ast.FloorDiv: (ast.Div, ast.Mult),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
}
_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_EXCHANGED = {"max": "min", "min": "max", "sum": "max", "ceil": "floor", "floor": "ceil", "any": "all", "all": "any"}


@dataclass(frozen=True)
class Mutant:
    """A changed reference: what was changed, and the function with the change in it."""

    description: str
    function: Callable[..., Any]

    @property
    def change(self) -> str:
        """The description without the line, which moves: by this a task lists an equivalent mutant."""
        return re.sub(r": line \d+: ", ": ", self.description, count=1)


def mutants_of(reference: Callable[..., Any], *, validation: bool) -> list[Mutant]:
    """Return the mutants of a module-level function; `validation` says whether its validation is mutated too."""
    module = sys.modules[reference.__module__]
    tree = ast.parse(inspect.getsource(module))
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    mutants = []
    for name in _reached(reference.__name__, functions):
        for place, (description, _) in enumerate(_mutations(copy.deepcopy(functions[name]), validation)):
            mutated = copy.deepcopy(functions[name])
            _, apply = next(item for at, item in enumerate(_mutations(mutated, validation)) if at == place)
            apply()
            mutants.append(Mutant(f"{name}: {description}", _compiled(reference, module.__dict__, mutated)))
    return mutants


def _reached(start: str, functions: dict[str, ast.FunctionDef]) -> list[str]:
    """Return the function and the functions of its module that it calls, directly or not."""
    reached = [start]
    for name in reached:
        for node in ast.walk(functions[name]):
            if isinstance(node, ast.Name) and node.id in functions and node.id not in reached:
                reached.append(node.id)
    return reached


def _compiled(reference: Callable[..., Any], names: dict[str, Any], mutated: ast.FunctionDef) -> Callable[..., Any]:
    """Return the reference as it is with one function of its module exchanged."""
    scope = dict(names)
    source = ast.fix_missing_locations(ast.Module([*_own_functions(reference, mutated)], []))
    exec(compile(source, "<mutant>", "exec", dont_inherit=True, flags=_FUTURE), scope)  # noqa: S102 - our own source
    function: Callable[..., Any] = scope[reference.__name__]
    return function


_FUTURE = __import__("__future__").annotations.compiler_flag


def _own_functions(reference: Callable[..., Any], mutated: ast.FunctionDef) -> Iterator[ast.FunctionDef]:
    """Yield every function of the module, the mutated one in its place, so that they call each other."""
    tree = ast.parse(inspect.getsource(sys.modules[reference.__module__]))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield mutated if node.name == mutated.name else node


def _mutations(function: ast.FunctionDef, validation: bool) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield each possible change: what it says, and the call that makes it in the tree."""
    body = function.body
    for place, statement in enumerate(body):
        if _is_docstring(statement):
            continue
        if _is_validation(statement):
            if validation:
                yield f"line {statement.lineno}: dropped {_short(statement)}", _dropper(body, place)
                yield from _expression_mutations(_without_messages(statement))
            continue
        yield from _expression_mutations([statement])


def _expression_mutations(roots: list[Any]) -> Iterator[tuple[str, Callable[[], None]]]:
    for root in roots:
        for parent in ast.walk(root):
            for name, value in ast.iter_fields(parent):
                if name in ("annotation", "returns") or isinstance(parent, (ast.JoinedStr, ast.FormattedValue)):
                    continue
                children = value if isinstance(value, list) else [value]
                for place, child in enumerate(children):
                    if isinstance(child, ast.expr):
                        for text, replacement in _replacements(child):
                            where = f"line {child.lineno}: {_short(child)} → {text}"
                            yield where, _replacer(parent, name, place, replacement)


def _replacements(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Yield what an expression could be exchanged for."""
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            for other in _OPERATORS.get(type(op), ()):
                yield _named(ast.BinOp(left, other(), right))
            yield _named(left)
            yield _named(right)
        case ast.Compare(left=left, ops=[op], comparators=comparators):
            for kind in _COMPARISONS[type(op)]:
                yield _named(ast.Compare(left, [kind()], comparators))
        case ast.BoolOp(op=op, values=values):
            yield _named(ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values))
            for value in values:
                yield _named(value)
        case ast.UnaryOp(op=ast.USub() | ast.Not(), operand=operand):
            yield _named(operand)
        case ast.IfExp(body=body, orelse=orelse):
            yield _named(body)
            yield _named(orelse)
        case ast.Constant(value=bool(value)):
            yield _named(ast.Constant(not value))
        case ast.Constant(value=int() | float() as value):
            yield _named(ast.Constant(value + 1))
            yield _named(ast.Constant(value - 1))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords) if name in _EXCHANGED:
            yield _named(ast.Call(ast.Name(_EXCHANGED[name], ast.Load()), args, keywords))
        case ast.Call(func=ast.Attribute(value=ast.Name(id="math") as module, attr=name), args=args) if (
            name in _EXCHANGED
        ):
            yield _named(ast.Call(ast.Attribute(module, _EXCHANGED[name], ast.Load()), args, []))


def _named(node: ast.expr) -> tuple[str, ast.expr]:
    return _short(node), node


def _replacer(parent: ast.AST, name: str, place: int, replacement: ast.expr) -> Callable[[], None]:
    def replace() -> None:
        value = getattr(parent, name)
        if isinstance(value, list):
            value[place] = replacement
        else:
            setattr(parent, name, replacement)

    return replace


def _dropper(body: list[ast.stmt], place: int) -> Callable[[], None]:
    def drop() -> None:
        body[place] = ast.Pass()

    return drop


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _is_validation(statement: ast.stmt) -> bool:
    """Tell `require_…(…)`, `if …: raise …` and a loop that holds nothing but such statements."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Name(id=name))):
            return name.startswith("require_")
        case ast.If(body=body, orelse=[]):
            return all(isinstance(inner, ast.Raise) or _is_validation(inner) for inner in body)
        case ast.For(body=body, orelse=[]):
            return all(_is_validation(inner) for inner in body)
    return False


def _without_messages(statement: ast.stmt) -> list[Any]:
    """Return the parts of a validating statement that decide: conditions and arguments, not what is raised."""
    match statement:
        case ast.If(body=body):
            inner = [part for child in body if not isinstance(child, ast.Raise) for part in _without_messages(child)]
            return [_Holder(statement), *inner]
        case ast.For(body=body):
            return [part for child in body for part in _without_messages(child)]
    return [statement]


class _Holder(ast.AST):
    """Stands for an `if` of which only the test is walked, and writes a change through to it."""

    _fields = ("test",)

    def __init__(self, statement: ast.If) -> None:
        object.__setattr__(self, "statement", statement)

    def __getattr__(self, name: str) -> Any:
        if name == "test":
            return self.__dict__["statement"].test
        raise AttributeError(name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self.__dict__["statement"], name, value)


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 60 else f"{text[:57]}…"

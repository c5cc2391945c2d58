"""Functions that their row of the table describes whole: ``= stream(hStream).flags``.

What a row does is the name of another function of CUDA's, or an expression: words and functions of
CUDA's that are called, parameters, numbers, texts, what is behind a dot, tuples, one or the other
by a condition, and a lambda for what is done later. A name before "(" is never a parameter; one
whose name is a word of Python's has a "_" behind it. Before the expression there may be others,
each with a ";", whose results nobody has: checks, mostly. ``words.py`` has the words.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from keyword import iskeyword
from typing import Any, NoReturn

from gridlane.abi.calls.words import WORDS, word
from gridlane.core.cuda_table import Function

Call = Callable[..., Any]
_CALLED = "called "
"""The prefix of what is called, in the compiled text: a parameter may have the same name."""


def call_of(name: str, row: Function, other: Callable[[str], Call | None]) -> Call:
    """Compile what a row does.

    Args:
        name: the key of the row: ``cuMemAlloc_v2``, ``cudaMemAdvise@12``.
        other: finds a function of CUDA's by its name.

    Raises:
        ValueError: it names what is neither a word, a function nor a parameter, leaves out a
            parameter, or is no such expression.
    """
    if row.does.replace("@", "").isidentifier() and (same := other(row.does)) is not None:
        return same
    returned = set(row.given) - set(row.both)
    names = [each.name for each in row.parameters if each.name not in returned]
    taken = [f"{each}_" if iskeyword(each) else each for each in names]
    reader = _Reader(name, taken, other)
    *checks, body = map(reader.step, ast.parse(row.does).body)
    if reader.unread:
        reader.refuse(f"does not use {', '.join(reader.unread)}")
    has_result = bool(row.given or row.result)
    made = ast.FunctionDef(
        name="call",
        args=ast.arguments([], [ast.arg(each) for each in taken], None, [], [], None, []),
        body=[*map(ast.Expr, checks), ast.Return(body) if has_result else ast.Expr(body)],
        decorator_list=[],
    )
    module = ast.fix_missing_locations(ast.Module([made], []))
    exec(compile(module, f"<the row of {name}>", "exec"), reader.known)
    call = reader.known["call"]
    call.__name__ = call.__qualname__ = name
    call.__doc__ = row.about
    return call


class _Reader:
    """Reads what a row does: every name is replaced by what the table allows, or refused.

    Attributes:
        known: the values of names in the compiled text.
        unread: the parameters that it has not met.
    """

    def __init__(self, name: str, taken: list[str], other: Callable[[str], Call | None]) -> None:
        self.name = name
        self.taken = taken
        self.other = other
        self.known: dict[str, Any] = {"__builtins__": {}}
        self.unread = dict.fromkeys(taken)

    def step(self, node: ast.stmt) -> ast.expr:
        """What is compiled for one of the expressions between ";"."""
        if not isinstance(node, ast.Expr):
            self.refuse("is a statement")
        return self.read(node.value)

    def read(self, node: ast.expr) -> ast.expr:
        """The expression that is compiled for one of a row."""
        match node:
            case ast.Constant(value=int() | str() | None):
                return node
            case ast.Name(name) if name in self.taken:
                self.unread.pop(name, None)
                return node
            case ast.Name(name):
                return self._named(name, name)
            case ast.Attribute(of, name) if not name.startswith("_"):
                return ast.Attribute(self.read(of), name, ast.Load())
            case ast.Call(ast.Name(name), args, []):
                return ast.Call(self._named(name, _CALLED + name), [*map(self.read, args)], [])
            case ast.Call(ast.Attribute() as method, args, []):
                return ast.Call(self.read(method), [*map(self.read, args)], [])
            case ast.Tuple(parts):
                return ast.Tuple([*map(self.read, parts)], ast.Load())
            case ast.IfExp(test, then, other):
                return ast.IfExp(self.read(test), self.read(then), self.read(other))
            case ast.Lambda(ast.arguments(args=[ast.arg(name)]) as given, result) if (
                ast.unparse(given) == name
            ):
                of_result = _Reader(self.name, [*self.taken, name], self.other)
                of_result.known, of_result.unread = self.known, self.unread
                return ast.Lambda(given, of_result.read(result))
            case _:
                self.refuse(f"has {ast.unparse(node)}")

    def _named(self, name: str, as_name: str) -> ast.Name:
        value = word(name) if name in WORDS else self.other(name)
        if value is None:
            self.refuse(f"has {name}, which is no parameter, no word and no function of CUDA's")
        self.known[as_name] = value
        return ast.Name(as_name, ast.Load())

    def refuse(self, what: str) -> NoReturn:
        """Raise for what a row may not have."""
        raise ValueError(f"what the row of {self.name} does {what}")

"""Functions that their row of the table describes whole: ``= stream(hStream).flags``.

What a row does is the name of another function of CUDA's, or an expression: words and functions of
CUDA's that are called, parameters, numbers, texts, and what is behind a dot. A name before "(" is
never a parameter. ``words.py`` and ``runtime/words.py`` have the words.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, NoReturn

from gridlane.core.cuda_table import Function

Call = Callable[..., Any]
words: dict[str, Any] = {}
"""What rows may name: functions, classes and numbers."""
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
    taken = [each.name for each in row.parameters if each.name not in returned]
    reader = _Reader(name, taken, other)
    body = reader.read(ast.parse(row.does, mode="eval").body)
    if reader.unread:
        reader.refuse(f"does not use {', '.join(reader.unread)}")
    has_result = bool(row.given or row.result)
    made = ast.FunctionDef(
        name="call",
        args=ast.arguments([], [ast.arg(each) for each in taken], None, [], [], None, []),
        body=[ast.Return(body) if has_result else ast.Expr(body)],
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

    def read(self, node: ast.expr) -> ast.expr:
        """The expression that is compiled for one of a row."""
        match node:
            case ast.Constant(value=int() | str()):
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
            case _:
                self.refuse(f"has {ast.unparse(node)}")

    def _named(self, name: str, as_name: str) -> ast.Name:
        value = words[name] if name in words else self.other(name)
        if value is None:
            self.refuse(f"has {name}, which is no parameter, no word and no function of CUDA's")
        self.known[as_name] = value
        return ast.Name(as_name, ast.Load())

    def refuse(self, what: str) -> NoReturn:
        """Raise for what a row may not have."""
        raise ValueError(f"what the row of {self.name} does {what}")

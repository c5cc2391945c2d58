"""Functions as text: what another process needs to compile a function from source.

The text is parsed where it lands, and nothing of it is run: the function's code is taken out of the
compiled text, and its globals and the variables of functions around it are filled in. Lines and
columns stay those of the user's file.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
import types
from functools import lru_cache
from hashlib import sha256
from typing import Any

from gridlane.core.frozen import frozen
from gridlane.frontends.python.lexical import read_around
from gridlane.frontends.python.mangling import class_around
from gridlane.frontends.python.source import FUTURES, FunctionSource, nested, source_of

MAINS = ("__main__", "__mp_main__")
"""The module of a program, and what multiprocessing calls it in processes that it starts."""


@frozen
class FunctionText:
    """A function without the values that it reads.

    Attributes:
        text: from its ``def`` on, as its file has it; of a lambda the expression alone.
        line, column: where the text begins in its file; lines from 1, columns in bytes from 0.
        file: its file, for errors.
        name, qualname, module: as of the function.
        free: the variables of functions around it that it reads.
        is_lambda: whether the text is an expression.
        futures: the flags of its file's ``from __future__ import``.
    """

    text: str
    line: int
    column: int
    file: str
    name: str
    qualname: str
    module: str
    free: tuple[str, ...]
    is_lambda: bool
    futures: int

    @property
    def place(self) -> str:
        """The name under which linecache has the text: the same in all processes, and another one
        for another text."""
        known = f"{self.line}\0{self.column}\0{self.text}"
        mark = sha256(known.encode()).hexdigest()[:12]
        file = self.file.removeprefix("<").removesuffix(">").removesuffix(f" {mark}")
        return f"<{file} {mark}>"


def text_of(function: types.FunctionType) -> FunctionText:
    """The text of a function.

    Raises:
        UnsupportedError: it has no source, or one that has changed.
    """
    source, code = source_of(function), function.__code__
    node, text, column = source.node, source.text, 0
    is_lambda = isinstance(node, ast.Lambda)
    if is_lambda:
        text, column = _segment(text, node), node.col_offset
    module = function.__module__
    return FunctionText(
        text, node.lineno + source.line_offset, column, code.co_filename, function.__name__,
        code.co_qualname, MAINS[0] if module in MAINS else module, code.co_freevars,
        is_lambda, code.co_flags & FUTURES,
    )  # fmt: skip


def _segment(text: str, node: ast.Lambda) -> str:
    """The text of a lambda, in the lines that have it."""
    lines = [line.encode() for line in text.splitlines(keepends=True)]
    lines[-1] = lines[-1][: node.end_col_offset]  # in front of the start, which moves columns
    lines[0] = lines[0][node.col_offset :]
    return b"".join(lines).decode()


def read_of(function: types.FunctionType) -> dict[str, Any]:
    """The values that a function reads from around it now, by name."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    values: dict[str, Any] = {}
    for name, cell in cells:
        try:
            values[name] = cell.cell_contents
        except ValueError:  # not assigned to yet
            continue
    scope = function.__globals__
    for name in _names_of(source_of(function)):
        if name in scope and name not in values:
            values[name] = scope[name]
    return values


@lru_cache(maxsize=1024)
def _names_of(source: FunctionSource) -> tuple[str, ...]:
    """The names that a function reads from around it."""
    return tuple(sorted(read_around(source.node)))


def function_of(
    text: FunctionText,
    defaults: tuple[Any, ...] | None = None,
    keywords: dict[str, Any] | None = None,
    annotations: dict[str, Any] | None = None,
) -> types.FunctionType:
    """The function of a text, which reads nothing until ``fill``."""
    scope = {"__name__": text.module, "__builtins__": builtins}
    code = _code_of(text)
    cells = tuple([types.CellType() for _ in code.co_freevars])
    function = types.FunctionType(code, scope, text.name, defaults, cells)
    function.__kwdefaults__ = keywords
    function.__qualname__, function.__module__ = text.qualname, text.module
    function.__annotations__ = annotations or {}
    return function


def fill(function: types.FunctionType, values: dict[str, Any]) -> None:
    """Assign the values that a function reads from around it."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    for name, value in values.items():
        if name in cells:
            cells[name].cell_contents = value
        else:
            function.__globals__[name] = value


@lru_cache(maxsize=1024)
def _code_of(text: FunctionText) -> types.CodeType:
    """The code of a text, whose lines linecache has."""
    file = text.place
    shown = _enclosed(text) if text.is_lambda else "\n" * (text.line - 1) + text.text
    # No modification time, so that linecache.checkcache leaves the entry alone.
    linecache.cache[file] = len(shown), None, shown.splitlines(keepends=True), file
    inner = _lambda(shown) if text.is_lambda else _definition(text)
    owner = class_around(text.qualname)  # it gives names like __x their spelling
    around: Any = ast.parse(
        f"def around({', '.join(text.free)}):\n {f'class {owner}: pass' if owner else 'pass'}"
    )
    place = around.body[0].body[0] if owner else around.body[0]
    place.body = [inner]
    around.body[0].name = "<around>"
    whole = compile(ast.fix_missing_locations(around), file, "exec", text.futures, True)
    name = inner.name if isinstance(inner, ast.FunctionDef) else "<lambda>"
    codes = [each for each in nested(whole) if each.co_flags & inspect.CO_OPTIMIZED]
    code = next(each for each in codes if each.co_name == name)
    return code.replace(co_qualname=text.qualname)


def _definition(text: FunctionText) -> ast.FunctionDef:
    """The ast of a ``def``, with the lines of its file."""
    is_indented = text.text[:1] in " \t"
    body = ast.parse(("if 1:\n" if is_indented else "\n") + text.text).body
    node = body[0].body[0] if isinstance(body[0], ast.If) else body[0]
    assert isinstance(node, ast.FunctionDef)
    node.decorator_list, node.returns = [], None
    for each in ast.walk(node.args):
        if isinstance(each, ast.arg):
            each.annotation = None  # evaluated where it was defined
    node.args.defaults = [ast.Constant(None) for _ in node.args.defaults]
    node.args.kw_defaults = [each and ast.Constant(None) for each in node.args.kw_defaults]
    ast.increment_lineno(node, text.line - 2)
    return node


def _enclosed(text: FunctionText) -> str:
    """A lambda in parentheses, which stand where its line or the one above has room."""
    if text.column:
        return "\n" * (text.line - 1) + "(" + " " * (text.column - 1) + text.text + ")\n"
    above = "\n" * (text.line - 2) + "(\n" if text.line > 1 else ""
    return above + text.text + (")\n" if above else "\n")


def _lambda(shown: str) -> ast.Expr:
    """The statement of a lambda."""
    statement = ast.parse(shown).body[0]
    assert isinstance(statement, ast.Expr)
    return statement

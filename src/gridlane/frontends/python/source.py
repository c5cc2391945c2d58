"""From a Python function to its ast, with the true lines and columns of its file."""

from __future__ import annotations
import __future__

import ast
import dis
import inspect
import linecache
import os
import time
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from weakref import WeakKeyDictionary

from gridlane.core.errors import UnsupportedError
from gridlane.core.source import UNKNOWN, Loc
from gridlane.frontends.python.liveness import Flow, analyse
from gridlane.frontends.python.mangling import mangle, mangled
from gridlane.frontends.python.matching import without_matches
from gridlane.frontends.python.reads import Reads

Definition = ast.FunctionDef | ast.Lambda
_STARTED = time.time()
_STRING = "<string>"
"""The name of all texts that exec and ``python -c`` run; linecache has the latter's, from Python
3.13 on."""
FUTURES = reduce(
    or_, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
)
"""The flags of code for the statements ``from __future__ import``."""


@dataclass(slots=True, eq=False)
class FunctionSource:
    """The parsed source of one function; shared by all translations of it.

    ``line_offset`` is added to a line of ``node`` to get the line in ``file``. ``reads`` caches its
    reads from around it.
    """

    node: Definition
    file: str
    name: str
    line_offset: int
    text: str
    flows: dict[ast.AST, Flow] = field(default_factory=dict)
    locations: dict[ast.AST, Loc] = field(default_factory=dict)
    reads: Reads | None = None

    def locate(self, node: ast.AST) -> Loc:
        """The place of a node in the user's file."""
        location = self.locations.get(node)
        if location is None:
            location = self.locations[node] = self._place(node)
        return location

    def _place(self, node: ast.AST) -> Loc:
        line = getattr(node, "lineno", None)
        if line is None:
            return Loc(self.file, self.node.lineno + self.line_offset, function=self.name)
        column = node.col_offset + 1  # type: ignore[attr-defined]  # it has a line
        if node.end_lineno == line:  # type: ignore[attr-defined]
            end = node.end_col_offset + 1  # type: ignore[attr-defined]
        else:
            end = len(linecache.getline(self.file, line + self.line_offset).rstrip()) + 1
        return Loc(self.file, line + self.line_offset, column, end, self.name)

    @property
    def body(self) -> list[ast.stmt]:
        """The statements; a lambda's is the return of its expression."""
        if isinstance(self.node, ast.FunctionDef):
            return self.node.body
        return [ast.copy_location(ast.Return(self.node.body), self.node.body)]


_CACHE: WeakKeyDictionary[types.CodeType, dict[str, FunctionSource]] = WeakKeyDictionary()
"""By the code, as long as it lives, and by its file: codes of two files may be equal."""


def source_of(function: types.FunctionType) -> FunctionSource:
    """The parsed source of a function, parsed once.

    Raises:
        UnsupportedError: there is no source, as for functions typed at a prompt or made by exec.
    """
    code = function.__code__
    of_files = _CACHE.get(code)
    function_source = None if of_files is None else of_files.get(code.co_filename)
    if function_source is None:
        function_source = _parse(function)
        _CACHE.setdefault(code, {})[code.co_filename] = function_source
    return function_source


def _parse(function: types.FunctionType) -> FunctionSource:
    """Read and parse the function's lines."""
    code = function.__code__
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if code.co_filename == _STRING and not _holds(lines, code):
        lines = []
    if not lines or code.co_firstlineno > len(lines):
        raise UnsupportedError(
            f"the source of {function.__name__}() is not available: it was typed at a prompt, made "
            "by exec, or comes from a .pyc without its .py; kernels are compiled from source, so "
            "put it in a file, or give the text of one of cuda.jit: @cuda.jit(source=text)",
            Loc(code.co_filename, code.co_firstlineno, function=function.__name__),
        )
    if _has_changed(lines, code):
        raise _changed(code)
    node, offset = _block(lines, code) or _whole_file(lines, code)
    text = "".join(lines[node.lineno + offset - 1 : (node.end_lineno or 0) + offset])
    source = FunctionSource(node, code.co_filename, _display_name(function), offset, text)
    without_matches(source.node, source.locate)
    mangle(source.node, code)
    source.flows = analyse(source.body, source.node)
    return source


def nested(outer: types.CodeType) -> Iterator[types.CodeType]:
    """The code of all functions nested in some code."""
    for item in outer.co_consts:
        if isinstance(item, types.CodeType):
            yield item
            yield from nested(item)


def _has_changed(lines: list[str], code: types.CodeType) -> bool:
    """Whether a file that was written while this process ran no longer holds a function's code."""
    try:
        if os.stat(code.co_filename).st_mtime < _STARTED:
            return False
    except OSError:
        return False
    return not _holds(lines, code)


def _holds(lines: list[str], code: types.CodeType) -> bool:
    """Whether a text has a function with this code, in its place."""
    try:
        whole = compile(
            "".join(lines), code.co_filename, "exec", code.co_flags & FUTURES, dont_inherit=True
        )
    except (SyntaxError, ValueError):
        return False
    return code in nested(whole)


def _changed(code: types.CodeType) -> UnsupportedError:
    return UnsupportedError(
        f"the source of {code.co_name} was not found in {code.co_filename} at line "
        f"{code.co_firstlineno}: the file has changed since it was imported; import it again, or "
        "start the program again",
        Loc(code.co_filename, code.co_firstlineno) if code.co_filename else UNKNOWN,
    )


def _display_name(function: types.FunctionType) -> str:
    return "lambda" if function.__name__ == "<lambda>" else function.__name__


def _block(lines: list[str], code: types.CodeType) -> tuple[Definition, int] | None:
    """Parse only the function's own lines, found by indentation; None when that fails."""
    if code.co_name == "<lambda>":
        return None
    first = code.co_firstlineno - 1
    indent = len(lines[first]) - len(lines[first].lstrip())
    end = _block_end(lines, first, indent)
    try:
        tree = ast.parse(
            "if 1:\n" + "".join(lines[first:end]) if indent else "\n" + "".join(lines[first:end])
        )
    except SyntaxError:
        return None
    body = tree.body[0].body if indent else tree.body  # type: ignore[attr-defined]  # an If
    node = body[0] if body else None
    if not isinstance(node, ast.FunctionDef) or node.name != code.co_name:
        return None
    return node, first - 1


def _block_end(lines: list[str], first: int, indent: int) -> int:
    """The line after a function that starts with its decorators at ``first``."""
    number_of_line = first
    while number_of_line < len(lines) and not lines[number_of_line].lstrip().startswith(
        ("def ", "async def ")
    ):
        number_of_line += 1
    for number in range(number_of_line + 1, len(lines)):
        stripped = lines[number].lstrip()
        if not stripped or stripped[0] in ")]}#\n":
            continue
        if len(lines[number]) - len(stripped) <= indent:
            return number
    return len(lines)


def _whole_file(lines: list[str], code: types.CodeType) -> tuple[Definition, int]:
    """Parse the file and find the function, by the places of its instructions for a lambda."""
    try:
        tree = ast.parse("".join(lines))
    except SyntaxError:
        tree = ast.Module([], [])
    wanted = ast.Lambda if code.co_name == "<lambda>" else ast.FunctionDef
    nodes = [node for node in ast.walk(tree) if isinstance(node, wanted) and fits(node, code)]
    if nodes:
        # Of nested lambdas the innermost that holds all of the code.
        return max(nodes, key=lambda node: (node.lineno, node.col_offset)), 0
    raise _changed(code)


def fits(node: Definition, code: types.CodeType, offset: int = 0) -> bool:
    """Whether the code may be compiled from this function of the file, or from one inside of it;
    ``offset`` is added to the node's lines to get the file's."""
    names = [item.arg for item in (*node.args.posonlyargs, *node.args.args)]
    if tuple([mangled(name, code) for name in names]) != code.co_varnames[: code.co_argcount]:
        return False
    if isinstance(node, ast.FunctionDef):
        first = min([node.lineno, *[item.lineno for item in node.decorator_list]])
        return first + offset == code.co_firstlineno and node.name == code.co_name
    positions = [
        place for place in code.co_positions() if None not in place and place[2:] != (0, 0)
    ]
    if not positions:
        return node.lineno + offset == code.co_firstlineno and _returns_constant(node, code)
    start = node.lineno + offset, node.col_offset
    end = (node.end_lineno or 0) + offset, node.end_col_offset
    return start[0] == code.co_firstlineno and all(
        start <= (line, column) and (end_line, end_column) <= end  # type: ignore[operator]  # no None
        for line, end_line, column, end_column in positions
    )


# The instructions that return a constant, in any version of Python.
_OF_CONSTANTS = {"RESUME", "LOAD_CONST", "LOAD_SMALL_INT", "RETURN_CONST", "RETURN_VALUE"}


def _returns_constant(node: ast.Lambda, code: types.CodeType) -> bool:
    """Whether code without places returns the constant that a lambda's expression is; Python 3.12
    omits the places of such lambdas.

    Raises:
        UnsupportedError: the code does more, so all places were omitted by an option of Python.
    """
    wanted = _instructions(code)
    if any(name not in _OF_CONSTANTS for name, *_ in wanted):
        raise UnsupportedError(
            "lambdas are told apart by their columns, and this process runs without them: leave "
            "out -X no_debug_ranges and PYTHONNODEBUGRANGES, or write a def",
            Loc(code.co_filename, code.co_firstlineno),
        )
    expression = compile(ast.Expression(node.body), code.co_filename, "eval", dont_inherit=True)
    return _instructions(expression) == wanted


def _instructions(code: types.CodeType) -> list[tuple[str, type, str]]:
    """What code does; constants by their text, which has the sign of zero."""
    return [(item.opname, type(item.argval), item.argrepr) for item in dis.get_instructions(code)]


def parameter_names(function: types.FunctionType) -> list[str]:
    """The names of the parameters, in order; *args is refused where it is called."""
    code = function.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    names = list(code.co_varnames[:count])
    if code.co_flags & inspect.CO_VARARGS:
        names.insert(code.co_argcount, code.co_varnames[count])
    if code.co_flags & inspect.CO_VARKEYWORDS:
        source = source_of(function)
        raise UnsupportedError(
            "**keywords cannot be compiled; name the parameters", source.locate(source.node)
        )
    return names

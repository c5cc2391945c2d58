"""Texts that may be the source of a function for which Python has none: strings of its callers, and
lines typed at a prompt. Users of a text compile it and compare the code."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

from gridlane.frontends.python.source import nested

_MOST_FRAMES = 32
_MOST_LINES = 2000


def held_by_callers(function: FunctionType) -> Iterator[str]:
    """Strings in variables and constants of the callers, as of one that has called exec."""
    marks = ("lambda",) if function.__name__ == "<lambda>" else (f"def {function.__name__}",)
    frame, seen = sys._getframe(1), set[int]()  # pyright: ignore[reportPrivateUsage]
    for _ in range(_MOST_FRAMES):
        for value in (*frame.f_code.co_consts, *frame.f_locals.values()):
            if isinstance(value, str) and id(value) not in seen:
                seen.add(id(value))
                if any(mark in value for mark in marks):
                    yield value
        if frame.f_back is None:
            return
        frame = frame.f_back


def typed_at_prompt(function: FunctionType) -> Iterator[str]:
    """What readline has of the lines that were typed last and hold a function."""
    history = sys.modules.get("readline")
    if history is None or function.__code__.co_filename != "<stdin>":
        return
    count = history.get_current_history_length()
    first = max(1, count - _MOST_LINES)
    lines = [history.get_history_item(n) or "" for n in range(first, count + 1)]
    mark = "lambda" if function.__name__ == "<lambda>" else f"def {function.__name__}"
    for index in range(len(lines) - 1, -1, -1):
        if mark not in lines[index]:
            continue
        start = index
        while start and lines[start - 1].lstrip().startswith("@"):
            start -= 1
        end = index + 1
        while end < len(lines) and (not lines[end].strip() or lines[end][0] in " \t"):
            end += 1
        yield "\n".join(lines[start:end]) + "\n"


def code_in(text: str, file: str, flags: int, fits: Callable[[CodeType], bool]) -> CodeType | None:
    """The code of a function in a text, which need not compile; None where it has no such code."""
    try:
        module_code = compile(text, file, "exec", flags, dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
    return next(filter(fits, nested(module_code)), None)


def same_code(one: CodeType, other: CodeType) -> bool:
    """Whether the code of two functions is the same, apart from their lines."""
    return _meaning(one) == _meaning(other)


def _meaning(code: CodeType) -> tuple[Any, ...]:
    constants = tuple(
        _meaning(each) if isinstance(each, CodeType) else (type(each), repr(each))
        for each in code.co_consts
    )
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    return code.co_name, counts, names, code.co_code, constants


def enclosed(text: str, free: tuple[str, ...]) -> str:
    """A function's text in one that has its free variables, with its first line as the second."""
    parameters = ", ".join(free)
    return f"def _({parameters}):\n{textwrap.indent(text, ' ', lambda line: True)}"

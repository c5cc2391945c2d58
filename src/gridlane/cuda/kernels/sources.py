"""The source of functions that Python keeps none of: from exec, or from ``python -c``.

Such code has the file name ``<string>``. If its text is known, a copy of the function is compiled,
with a file name of its own, under which linecache has the text.
"""

from __future__ import annotations
import __future__

import itertools
import linecache
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

_STRING = "<string>"
_numbers = itertools.count(1)
_last = threading.local()
# Executed code by its id, for its lifetime. Libraries also execute text, hundreds of times when
# they are imported (each dataclass does), so no fixed number of texts would do.
_executed: dict[int, tuple[weakref.ref[CodeType], str]] = {}
_FUTURES = 0
for _name in __future__.all_feature_names:
    _FUTURES |= getattr(__future__, _name).compiler_flag
_renamed: dict[CodeType, CodeType] = {}
_watching = False


def watch_exec() -> None:
    """Remember the text of all code executed from now on. There is no way to stop."""
    global _watching
    if not _watching:
        _watching = True
        sys.addaudithook(_audit)


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "compile" and arguments[1] == _STRING:
        _last.text = arguments[0]
    elif event == "exec" and arguments[0].co_filename == _STRING:
        text = getattr(_last, "text", None)
        if isinstance(text, bytes):
            text = text.decode(errors="replace")
        if isinstance(text, str):
            for code in _inside(arguments[0]):
                _executed[id(code)] = (weakref.ref(code, _forgetting(id(code))), text)


def _forgetting(number: int) -> Callable[[weakref.ref[CodeType]], None]:
    def forget(reference: weakref.ref[CodeType]) -> None:
        # Other code may have the id by now.
        if _executed.get(number, (None,))[0] is reference:
            del _executed[number]

    return forget


def with_source(function: Any) -> Any:
    """``function``, or a copy of it whose source linecache has."""
    code = getattr(function, "__code__", None)
    if not isinstance(function, FunctionType) or code is None or code.co_filename != _STRING:
        return function
    renamed = _renamed.get(code)
    if renamed is None:
        text = _text_of(function)
        if text is None:
            return function
        file = f"<string {next(_numbers)}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        renamed = _renamed[code] = code.replace(co_filename=file)
    copy = FunctionType(
        renamed,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__module__ = function.__module__
    copy.__qualname__ = function.__qualname__
    copy.__dict__.update(function.__dict__)
    return copy


def _text_of(function: FunctionType) -> str | None:
    """The text of a function; None if it is uncertain."""
    code = function.__code__
    reference, text = _executed.get(id(code), (None, ""))
    arguments = sys.orig_argv
    if reference is None or reference() is not code:
        # The program of `python -c TEXT`, which ran before anything could watch it.
        if function.__globals__.get("__name__") != "__main__" or "-c" not in arguments[:-1]:
            return None
        text = arguments[arguments.index("-c") + 1]
    # The last text compiled need not be the text executed.
    try:
        made = compile(text, _STRING, "exec", code.co_flags & _FUTURES, dont_inherit=True)
    except SyntaxError:
        return None
    return text if code in _inside(made) else None


def _inside(outer: CodeType) -> Iterator[CodeType]:
    """The code of all functions nested in some code."""
    for item in outer.co_consts:
        if isinstance(item, CodeType):
            yield item
            yield from _inside(item)

"""The source of functions that Python keeps none of: made by exec, or given with ``python -c``.

Such code says it comes from ``<string>``. Where its text is known, the function to compile is a
copy under a file name of its own, under which linecache has the text.
"""

from __future__ import annotations

import itertools
import linecache
import sys
import threading
from collections import deque
from types import CodeType, FunctionType
from typing import Any

_STRING = "<string>"
_numbers = itertools.count(1)
_last = threading.local()
_executed: deque[tuple[CodeType, str]] = deque(maxlen=512)
_renamed: dict[CodeType, CodeType] = {}
_watching = False


def watch_exec() -> None:
    """Remember the text of what is executed from now on. There is no way to stop."""
    global _watching
    if not _watching:
        _watching = True
        sys.addaudithook(_audit)


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "compile":
        _last.text = arguments[0]
    elif event == "exec" and arguments[0].co_filename == _STRING:
        text = getattr(_last, "text", None)
        if isinstance(text, bytes):
            text = text.decode(errors="replace")
        if isinstance(text, str):
            _executed.append((arguments[0], text))


def with_source(function: Any) -> Any:
    """``function``, or a copy of it that linecache has the source of."""
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
    for top, text in reversed(_executed):
        if _holds(top, function.__code__):
            return text
    # The program of `python -c TEXT`, which ran before anything could watch it.
    arguments = sys.orig_argv
    if function.__globals__.get("__name__") == "__main__" and "-c" in arguments[:-1]:
        text = arguments[arguments.index("-c") + 1]
        compiled = compile(text, _STRING, "exec", dont_inherit=True)
        return text if _holds(compiled, function.__code__, same=False) else None
    return None


def _holds(outer: CodeType, code: CodeType, same: bool = True) -> bool:
    """Whether ``code`` is inside ``outer``: itself, or with ``same=False`` one that is equal."""
    for item in outer.co_consts:
        if not isinstance(item, CodeType):
            continue
        if item is code if same else item == code:
            return True
        if _holds(item, code, same):
            return True
    return False

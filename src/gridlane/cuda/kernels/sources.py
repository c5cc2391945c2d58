"""The source of functions that Python keeps none of: from exec, ``python -c``, a prompt, or code
without its file.

If the text is known, a copy of the function is compiled, with a file name of its own, under which
linecache has the text.
"""

from __future__ import annotations

import itertools
import linecache
import sys
import textwrap
import threading
import weakref
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

from gridlane.cuda.kernels import source_candidates
from gridlane.frontends.python.source import FUTURES, nested

_STRING = "<string>"
_numbers = itertools.count(1)
_last = threading.local()
# Executed code by its id, for its lifetime. Libraries also execute text, hundreds of times when
# they are imported (each dataclass does), so no fixed number of texts would do.
_executed: dict[int, tuple[weakref.ref[CodeType], str]] = {}
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
            for code in nested(arguments[0]):
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
    if not isinstance(function, FunctionType) or code is None or not _has_no_file(function):
        return function
    renamed = _renamed.get(code)
    if renamed is None:
        text = _text_of(function)
        if text is None:
            return function
        renamed = _renamed[code] = _in_file(code, _named("string", text))
    return _copy(function, renamed)


def with_text(function: Any, text: str) -> Any:
    """A copy of ``function`` whose source is a text: that of the function, or one that holds it.

    Raises:
        TypeError: it is no Python function.
        ValueError: the text has no function with the same code.
    """
    if not isinstance(function, FunctionType):
        raise TypeError(f"source= is for Python functions, got {function!r}")
    code, whole = function.__code__, textwrap.dedent(text)
    name, flags = code.co_name, code.co_flags & FUTURES
    file = _named(f"source of {name}", whole)

    def fits(code_type: CodeType) -> bool:
        return source_candidates.same_code(code_type, code)

    copied_code = source_candidates.code_in(whole, file, flags, fits)
    if copied_code is None and code.co_freevars:
        copied_code = source_candidates.code_in(
            source_candidates.enclosed(whole, code.co_freevars), file, flags, fits
        )
        copied_code = copied_code and copied_code.replace(
            co_firstlineno=copied_code.co_firstlineno - 1
        )
    if copied_code is None:
        raise ValueError(
            f"cuda.jit: source= has no function {name} whose code is that of {function!r}: give "
            "the text from its decorators or its def to its end, as it is"
        )
    return _copy(function, copied_code)


def _has_no_file(function: FunctionType) -> bool:
    file = function.__code__.co_filename
    if file == _STRING:
        return True
    return file.startswith("<") and not linecache.getlines(file, function.__globals__)


def _named(what: str, text: str) -> str:
    """A new name of a file, under which linecache has a text."""
    file = f"<{what} {next(_numbers)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    return file


def _in_file(code: CodeType, file: str) -> CodeType:
    """The same code, and that of the functions in it, with another file name."""
    constants = tuple(
        _in_file(each, file) if isinstance(each, CodeType) else each for each in code.co_consts
    )
    return code.replace(co_filename=file, co_consts=constants)


def _copy(function: FunctionType, code: CodeType) -> FunctionType:
    """A function like another one, with other code."""
    copy = FunctionType(
        code,
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
    candidates = itertools.chain(
        _executed_text(function),
        source_candidates.held_by_callers(function),
        source_candidates.typed_at_prompt(function),
    )
    # The last text compiled need not be the text executed, nor one that a caller holds: the code
    # has to be equal, with its lines.
    flags, file = code.co_flags & FUTURES, code.co_filename
    for text in candidates:
        if source_candidates.code_in(text, file, flags, code.__eq__) is not None:
            return text
    return None


def _executed_text(function: FunctionType) -> tuple[str, ...]:
    """What was executed last with this code, or is the program of ``python -c``, which ran before
    anything could watch it."""
    code, arguments = function.__code__, sys.orig_argv
    reference, text = _executed.get(id(code), (None, ""))
    if reference is not None and reference() is code:
        return (text,)
    if function.__globals__.get("__name__") == "__main__" and "-c" in arguments[:-1]:
        # Python 3.14 removes the indentation that all lines have.
        return (textwrap.dedent(arguments[arguments.index("-c") + 1]),)
    return ()

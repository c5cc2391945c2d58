"""Functions of tile programs: of the language, and of Python at compile time."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import re
import textwrap
import types
from collections.abc import Callable
from typing import Any

from gridlane.frontends.foreign.python import FunctionSource, lookup, source_of
from gridlane.frontends.triton.constants import const, constexpr, unwrapped

_CONSTANT = ("constexpr",)
updates = 0
"""How often the text of a function was exchanged: what was compiled before may be of another."""


class TileFunction:
    """A function that is written in the language.

    Attributes:
        fn: the Python function.
        is_exchanged: whether its text is not that of its file any more.
        noinline: whether the program asks for a function of its own; it may be inlined.
    """

    def __init__(self, fn: Callable[..., Any], noinline: bool = False) -> None:
        assert isinstance(fn, types.FunctionType)
        self.fn = fn
        self.noinline = noinline
        self.__name__, self.__qualname__ = fn.__name__, fn.__qualname__
        self.__module__, self.__doc__, self.__wrapped__ = fn.__module__, fn.__doc__, fn
        self.__globals__ = fn.__globals__
        self.signature = inspect.signature(fn)
        self.arg_names = [*self.signature.parameters]
        self._source: FunctionSource | None = None
        self.is_exchanged = False

    def __gridlane_name__(self) -> tuple[str, str]:
        """The module and the qualified name by which other processes may find it."""
        return self.fn.__module__, self.fn.__qualname__

    def __gridlane_parts__(self) -> tuple[Any, ...]:
        """What another process makes it of, in the form of ``__reduce__``."""
        from gridlane.frontends.foreign.sending import parts_of

        return parts_of(self, self._options())

    def _options(self) -> tuple[Any, ...]:
        """The arguments behind the function that it was made of."""
        return (self.noinline,)

    def __reduce__(self) -> Any:
        from gridlane.frontends.foreign.sending import reduced  # few programs need it

        return reduced(self, *self.__gridlane_name__())

    def check(self) -> None:
        """Raise CompilationError if its parameters contradict each other: a face's may."""

    @property
    def source(self) -> FunctionSource:
        """The function's ast with the places of its nodes."""
        if self._source is None:
            self._source = source_of(self.fn)
        return self._source

    @property
    def src(self) -> str:
        """The text from ``def`` on, without the indentation of the file."""
        text = textwrap.dedent(self.source.text)
        return text[re.search(r"^def\s", text, re.MULTILINE).start() :]  # type: ignore[union-attr]  # a def

    def update_text(self, text: str) -> None:
        """Translate another text under the function's name, with the names around the function."""
        global updates
        updates += 1
        self.is_exchanged = True
        node = next(each for each in ast.parse(text).body if isinstance(each, ast.FunctionDef))
        file = f"<{self.fn.__qualname__}>"
        linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
        self._source = FunctionSource(node, file, node.name, 0, text)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Not for the host."""
        raise RuntimeError("Cannot call @triton.jit'd outside of the scope of a kernel")

    def is_constant(self, name: str) -> bool:
        """Whether a parameter's annotation is ``tl.constexpr``."""
        annotation = self.signature.parameters[name].annotation
        if isinstance(annotation, str):
            return annotation.rpartition(".")[2] in _CONSTANT
        return annotation is constexpr

    def is_readonly(self, name: str) -> bool:
        """Whether a parameter's annotation is ``tl.const``: a pointer that is not written."""
        annotation = self.signature.parameters[name].annotation
        return annotation is const or annotation in ("tl.const", "const")

    def lookup(self, name: str) -> tuple[bool, Any]:
        """Whether a name is bound in the closure or module around the function, and its value."""
        known, value = lookup(self.fn, name)
        is_global = name in self.fn.__code__.co_freevars or name in self.fn.__globals__
        return known and is_global, value


class ConstexprFunction:
    """A Python function that runs when a program is compiled, on plain values."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn
        functools.update_wrapper(self, fn, updated=())

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """The function's result."""
        plain = {name: unwrapped(value) for name, value in keywords.items()}
        return unwrapped(self.fn(*[unwrapped(each) for each in args], **plain))

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        bound = functools.partial(self, instance)
        bound._must_use_result = getattr(self, "_must_use_result", "")  # type: ignore[attr-defined]
        return bound


def constexpr_function(fn: Callable[..., Any]) -> ConstexprFunction:
    """Let programs call a Python function when they are compiled."""
    return ConstexprFunction(fn)

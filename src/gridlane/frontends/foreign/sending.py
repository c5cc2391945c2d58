"""Functions of other languages in Python for other processes: their source and options."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from gridlane.core.errors import UnsupportedError
from gridlane.frontends.python.function_text import (
    FunctionText,
    fill,
    function_of,
    read_of,
    text_of,
)
from gridlane.frontends.python.pickled import reduced as reduced

_Values = tuple[tuple[Any, ...] | None, dict[str, Any] | None, dict[str, Any]]


def parts_of(program: Any, options: tuple[Any, ...]) -> tuple[Any, ...]:
    """A program in the form of ``__reduce__``. What it reads comes behind it, as programs may call
    themselves.

    Raises:
        UnsupportedError: its text was exchanged, or it has none.
    """
    function = program.fn
    assert isinstance(function, FunctionType)
    if program.is_exchanged:
        raise UnsupportedError("its text was exchanged after it was defined")
    known, made = text_of(function), (type(program), values_of(function), options)
    return program_of, (known, *made), read_of(function), None, None, fill_program


def values_of(function: FunctionType) -> _Values:
    """The defaults of parameters, those of keywords, and annotations."""
    annotations = {
        name: each for name, each in function.__annotations__.items() if name != "return"
    }
    return function.__defaults__, function.__kwdefaults__, annotations


def program_of(text: FunctionText, cls: Any, values: _Values, options: tuple[Any, ...]) -> Any:
    """The program of a text, which reads nothing until ``fill_program``."""
    return cls(function_of(text, *values), *options)


def fill_program(program: Any, values: dict[str, Any]) -> None:
    """Assign what the program reads."""
    fill(program.fn, values)

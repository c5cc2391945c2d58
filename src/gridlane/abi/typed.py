"""A result whose type the call decides: that of an attribute, behind a ``void *``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Typed:
    """A value with its type.

    Attributes:
        type: as in C; that of an element where the value is a tuple.
        value: a number, or an array of numbers.
    """

    type: str
    value: int | tuple[int, ...]

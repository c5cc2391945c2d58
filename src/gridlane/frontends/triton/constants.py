"""Values that are known when a tile program is translated.

The translator works on plain Python values; ``constexpr`` is what programs wrap them in outside of
functions, and name in annotations.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any, cast


class constexpr:
    """A value that a program knows at compile time, with the operators of the value."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = unwrapped(value)

    def __repr__(self) -> str:
        return f"constexpr[{self.value}]"

    def __hash__(self) -> int:
        return hash(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __index__(self) -> int:
        return operator.index(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.value)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self.value(*args, **keywords)

    def __getitem__(self, index: Any) -> Any:
        return self.value[unwrapped(index)]


class constexpr_type:
    """The type of a value that is known at compile time: the value itself."""

    def __init__(self, value: Any) -> None:
        self.value = unwrapped(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, constexpr_type) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return f"constexpr_type[{self.value}]"


class const:
    """The annotation of pointers to memory that a program does not write."""


def unwrapped(value: Any) -> Any:
    """The plain value of a constant, also of the items of tuples and lists.

    >>> unwrapped((constexpr(4), 5))
    (4, 5)
    """
    if isinstance(value, constexpr):
        return value.value
    if type(value) is list:
        return [unwrapped(item) for item in cast("list[Any]", value)]
    if type(value) is tuple:
        return tuple([unwrapped(item) for item in cast("tuple[Any, ...]", value)])
    return value


def _define(name: str, function: Callable[..., Any], reflected: bool) -> None:
    def compute(self: constexpr, other: Any) -> constexpr:
        return constexpr(function(self.value, unwrapped(other)))

    def compute_reflected(self: constexpr, other: Any) -> constexpr:
        return constexpr(function(unwrapped(other), self.value))

    setattr(constexpr, f"__{name}__", compute)
    if reflected:
        setattr(constexpr, f"__r{name}__", compute_reflected)


_BINARY = "add sub mul truediv floordiv mod pow lshift rshift and or xor"
_COMPARISONS = "eq ne lt le gt ge"

for _name in _BINARY.split():
    _define(_name, getattr(operator, f"__{_name}__"), reflected=True)
for _name in _COMPARISONS.split():
    _define(_name, getattr(operator, _name), reflected=False)
for _name in ("neg", "pos", "invert"):
    _function = getattr(operator, _name)
    setattr(constexpr, f"__{_name}__", lambda self, f=_function: constexpr(f(self.value)))  # type: ignore[misc]

"""Members of Enums, as kernels and launches number them."""

from __future__ import annotations

import enum
from functools import lru_cache
from typing import Any

_BY_VALUE = (str, bytes)


def is_plain(value: Any) -> bool:
    """Whether a value is a member of an Enum whose members are no numbers."""
    return isinstance(value, enum.Enum) and not isinstance(value, (int, float, complex))


def is_int_enum(value: Any) -> bool:
    """Whether a value is a member of an IntEnum. Combinations of an IntFlag are none, but ints."""
    return isinstance(value, enum.Enum) and isinstance(value, int) and not _is_flag(type(value))


def _is_flag(cls: type) -> bool:
    return issubclass(cls, enum.Flag)


def index_of(member: enum.Enum) -> int | None:
    """The index of a member in its class, by identity; None for a combination of flags."""
    return _places(type(member)).get(id(member))


@lru_cache(maxsize=256)
def _places(cls: type[enum.Enum]) -> dict[int, int]:
    """The indices of members by their ids; the class, which the cache holds, keeps them alive."""
    return {id(member): number for number, member in enumerate(cls)}


def equality(cls: type[enum.Enum]) -> str:
    """How members of a class compare: by ``identity``, by ``value``, or by a method of their
    ``own``.

    A class with its own hash has its own comparison, so the hash is not checked.
    """
    compare: Any = cls.__eq__
    if compare in (enum.Enum.__eq__, object.__eq__):
        return "identity"
    return "value" if compare in [each.__eq__ for each in _BY_VALUE] else "own"


def has_own_truth(cls: type[enum.Enum]) -> bool:
    """Whether members of a class can be false."""
    return any({"__bool__", "__len__"} & vars(base).keys() for base in cls.__mro__)

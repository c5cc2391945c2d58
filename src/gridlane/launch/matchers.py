"""Build the matchers of a native launch: the test of each argument, and its bytes of the block; see
launcher.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from gridlane.core.artifact import ParamSlot
from gridlane.core.compact import LIMIT
from gridlane.core.dtypes import f32, f64, i64
from gridlane.launch import launcher_external_arrays
from gridlane.launch.geometry import scalar_dtype
from gridlane.launch.launcher import ARRAY, BOOLEAN, FOREIGN, INTEGER, NOTHING, NUMBER, REAL
from gridlane.launch.launcher_external_arrays import Wanted
from gridlane.launch.parameters import Packed, Parameters


class Matcher(NamedTuple):
    """The matcher of an argument in a profile; see launcher.py."""

    kind: int
    cls: type | None = None
    wanted: Any = None
    offset: int = 0
    size: int = 0


def matcher(parameters: Parameters, number: int, value: Any, compact: bool) -> Matcher | None:
    """A matcher of arguments like an example; None if the parameter's bytes are no copy of its own.

    Args:
        number: the index of the argument.
        compact: whether the code is for compact launches, so that an integer of 64 bits is bounded.
    """
    if value is None:
        return Matcher(NOTHING)
    pieces = parameters.of(number)
    if len(pieces) != 1 or pieces[0].items:
        return None
    (piece,) = pieces
    if isinstance(value, Packed):
        layout = piece.array
        if layout is None or len(value.__gridlane_packed__) != layout.size:
            return None
        return Matcher(ARRAY, type(value), value.__gridlane_launch__[0], piece.offset, layout.size)
    if len(piece.slots) != 1 or piece.slots[0].path:
        return None
    return matcher_of_number(piece.slots[0], value, LIMIT if compact else None)


def matcher_of_number(slot: ParamSlot, value: Any, limit: int | None = None) -> Matcher | None:
    """The matcher of a scalar, if its bytes are the parameter's."""
    dtype, place = slot.dtype, (slot.offset, slot.size)
    if dtype is None:
        return None
    bound = limit if dtype is i64 else None
    if type(value) is bool:
        plain = dtype.is_bool or dtype.is_integer
        return Matcher(BOOLEAN, None, None, *place) if plain else None
    if type(value) is int:
        plain = dtype.is_integer and -(2**63) <= value < 2**63
        return Matcher(INTEGER, None, bound, *place) if plain else None
    if type(value) is float:
        return Matcher(REAL, None, None, *place) if dtype in (f32, f64) else None
    have = scalar_dtype(value)
    if have is not None and have == dtype.numpy:
        return Matcher(NUMBER, type(value), bound, *place)
    return None


def foreign_matcher(
    own: Matcher, array: Packed, theirs: Any, ways: Sequence[Wanted]
) -> Matcher | None:
    """The matcher of another library's array, with ``own``, its bytes as ``array``; None if no way
    of reading it gives the same bytes.

    Args:
        ways: the conditions for each way to read it.
    """
    if own.kind != ARRAY or array.ndim > launcher_external_arrays.MOST_AXES:
        return None
    for wanted in ways:
        # A protocol that reads an array of this class differently from the launch is no way to read
        # it.
        if launcher_external_arrays.octets(wanted, theirs) == array.__gridlane_packed__:
            return Matcher(FOREIGN, type(theirs), wanted, own.offset, own.size)
    return None

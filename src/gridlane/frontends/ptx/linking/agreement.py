"""Whether what one unit declares is what another one defines."""

from __future__ import annotations

from gridlane.frontends.ptx.module import Declared, PtxFunction
from gridlane.frontends.ptx.types import TYPES

Made = PtxFunction | Declared | None
"""A function or a variable; None of a sampler."""


_CLANG = (
    "; clang keeps a __device__ variable that is const in .const where it knows the value: leave "
    "out const, or say __constant__ in both units"
)


def disagreement(declared: Made, defined: Made) -> str:
    """What differs so that they are not one symbol; "" if nothing does. Alignment does not count:
    what is linked has the largest. A definition may have a size where a declaration has none."""
    if isinstance(declared, PtxFunction) and isinstance(defined, PtxFunction):
        if declared.is_entry != defined.is_entry:
            return "one is a kernel"
        sides = (
            ("parameters", declared.params, defined.params),
            ("results", declared.results, defined.results),
        )
        for what, given, wanted in sides:
            if [_shape(each) for each in given] != [_shape(each) for each in wanted]:
                return f"{_listed(given)} and {_listed(wanted)} are other {what}"
        return ""
    if isinstance(declared, Declared) and isinstance(defined, Declared):
        if declared.space != defined.space:
            message = f"one is in .{declared.space} memory, the other in .{defined.space}"
            return message + _CLANG * ({declared.space, defined.space} == {"global", "const"})
        if declared.reference != defined.reference:
            return "one is a reference to a texture or surface of another kind"
        if declared.is_managed != defined.is_managed:
            return "one is .managed, the other not"
        if None not in (declared.count, defined.count) and declared.size != defined.size:
            return f"one has {declared.size} bytes, the other {defined.size}"
        return ""
    return "" if declared is defined else "they are of different kinds"


def _shape(param: Declared) -> tuple[object, ...]:
    """What callers and callees must agree on."""
    count = None if param.is_open else param.count  # the linked text closes it anew
    return param.space, _kind(param), count, param.is_array, param.align


def _kind(param: Declared) -> str:
    """Integers and bits of one size are one kind, as linkers have it."""
    dtype = TYPES[param.type]
    return f"{'f' if dtype.is_float else 'b'}{dtype.bits}"


def _listed(params: tuple[Declared, ...]) -> str:
    return f"({', '.join(map(_spelled, params))})"


def _spelled(param: Declared) -> str:
    align = f".align {param.align} " if param.is_array else ""
    return f".{param.space} {align}.{param.type}{f'[{param.count}]' if param.is_array else ''}"

"""Conversions of bfloat16 in kernels, by the names of numba.cuda.bf16."""

# pyright: reportMissingParameterType=false
# Kernels: their arguments have the types of each launch.

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gridlane.cuda import libdevice
from gridlane.cuda import types as _types
from gridlane.cuda.kernels.decorators import jit
from gridlane.cuda.types import bfloat16, float32, int16, int32, uint16, uint32
from gridlane.frontends.python.volatile_stubs import bits_of, from_bits

# --- bits


@jit(device=True)
def bfloat16_as_uint16(a):
    """The bits of a bfloat16."""
    return uint16(bits_of(bfloat16(a)))


@jit(device=True)
def bfloat16_as_int16(a):
    """The bits of a bfloat16, as a signed number."""
    return int16(bits_of(bfloat16(a)))


@jit(device=True)
def uint16_as_bfloat16(a):
    """The bfloat16 of these bits."""
    return from_bits(uint16(a), bfloat16)


int16_as_bfloat16 = uint16_as_bfloat16


# --- from float32 and float64


@jit(device=True)
def float32_to_bfloat16(a):
    """The nearest bfloat16."""
    return bfloat16(float32(a))


float32_to_bfloat16_rn = float32_to_bfloat16


@jit(device=True)
def float64_to_bfloat16(a):
    """The nearest bfloat16."""
    return bfloat16(a)


@jit(device=True)
def float32_to_bfloat16_rz(a):
    """The bfloat16 at or beside a float32 towards zero."""
    a = float32(a)
    if a != a:
        return bfloat16(a)
    return from_bits(uint16(bits_of(a) >> uint32(16)), bfloat16)


@jit(device=True)
def _away(a):
    """The bfloat16 at or beside a float32 away from zero."""
    bits = bits_of(a)
    upper = bits >> uint32(16)
    if bits & uint32(0xFFFF):
        upper += uint32(1)
    return from_bits(uint16(upper), bfloat16)


@jit(device=True)
def float32_to_bfloat16_rd(a):
    """The largest bfloat16 that is no larger."""
    a = float32(a)
    if a < float32(0):
        return _away(a)
    return float32_to_bfloat16_rz(a)


@jit(device=True)
def float32_to_bfloat16_ru(a):
    """The smallest bfloat16 that is no smaller."""
    a = float32(a)
    if a > float32(0):
        return _away(a)
    return float32_to_bfloat16_rz(a)


@jit(device=True)
def bfloat16_to_float32(a):
    """The same number as a float32."""
    return float32(bfloat16(a))


# --- integers

_TOWARDS = {
    "rz": float32_to_bfloat16_rz,
    "rd": float32_to_bfloat16_rd,
    "ru": float32_to_bfloat16_ru,
}
_LIBDEVICE = {"int32": "int", "uint32": "uint", "int64": "ll", "uint64": "ull"}


def named(function: Callable[..., Any], name: str, text: str) -> Any:
    """A device function under the name that errors show."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return jit(device=True)(function)


def _from_integer(kind: str, mode: str) -> Any:
    name, type_ = f"{kind}_to_bfloat16_{mode}", getattr(_types, kind)
    if mode == "rn":

        def nearest(a):  # type: ignore[no-untyped-def]  # its types are those of a call
            return bfloat16(type_(a))

        return named(nearest, name, f"The bfloat16 nearest to an {kind}.")
    wide = kind if kind in _LIBDEVICE else "int32"
    first = getattr(libdevice, f"{_LIBDEVICE[wide]}2float_{mode}")
    then, wider = _TOWARDS[mode], getattr(_types, wide)

    def directed(a):  # type: ignore[no-untyped-def]
        return then(first(wider(type_(a))))

    return named(directed, name, f"The bfloat16 at or beside an {kind}, rounded by {mode}.")


def _to_integer(kind: str, mode: str) -> Any:
    name, type_ = f"bfloat16_to_{kind}_{mode}", getattr(_types, kind)
    wide = kind if kind in _LIBDEVICE else "int32"
    convert = getattr(libdevice, f"float2{_LIBDEVICE[wide]}_{mode}")
    text = f"An {kind} of a bfloat16, rounded by {mode}, saturated."
    if kind in _LIBDEVICE:

        def whole(a):  # type: ignore[no-untyped-def]
            return type_(convert(float32(bfloat16(a))))

        return named(whole, name, text)
    bits = int(kind.lstrip("uint"))
    low, high = (0, 2**bits - 1) if kind[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)

    def narrow(a):  # type: ignore[no-untyped-def]
        return type_(min(max(convert(float32(bfloat16(a))), int32(low)), int32(high)))

    return named(narrow, name, text)


_INTEGERS = "int16", "uint16", "int32", "uint32", "int64", "uint64"
_MADE: dict[str, Any] = {
    "bfloat16_to_int8_rz": _to_integer("int8", "rz"),
    "bfloat16_to_uint8_rz": _to_integer("uint8", "rz"),
}
for _kind in _INTEGERS:
    for _mode in ("rn", *_TOWARDS):
        _MADE[f"{_kind}_to_bfloat16_{_mode}"] = _from_integer(_kind, _mode)
        _MADE[f"bfloat16_to_{_kind}_{_mode}"] = _to_integer(_kind, _mode)
globals().update(_MADE)

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


int16_to_bfloat16_rn = _from_integer("int16", "rn")
int16_to_bfloat16_rz = _from_integer("int16", "rz")
int16_to_bfloat16_rd = _from_integer("int16", "rd")
int16_to_bfloat16_ru = _from_integer("int16", "ru")
bfloat16_to_int16_rn = _to_integer("int16", "rn")
bfloat16_to_int16_rz = _to_integer("int16", "rz")
bfloat16_to_int16_rd = _to_integer("int16", "rd")
bfloat16_to_int16_ru = _to_integer("int16", "ru")
uint16_to_bfloat16_rn = _from_integer("uint16", "rn")
uint16_to_bfloat16_rz = _from_integer("uint16", "rz")
uint16_to_bfloat16_rd = _from_integer("uint16", "rd")
uint16_to_bfloat16_ru = _from_integer("uint16", "ru")
bfloat16_to_uint16_rn = _to_integer("uint16", "rn")
bfloat16_to_uint16_rz = _to_integer("uint16", "rz")
bfloat16_to_uint16_rd = _to_integer("uint16", "rd")
bfloat16_to_uint16_ru = _to_integer("uint16", "ru")
int32_to_bfloat16_rn = _from_integer("int32", "rn")
int32_to_bfloat16_rz = _from_integer("int32", "rz")
int32_to_bfloat16_rd = _from_integer("int32", "rd")
int32_to_bfloat16_ru = _from_integer("int32", "ru")
bfloat16_to_int32_rn = _to_integer("int32", "rn")
bfloat16_to_int32_rz = _to_integer("int32", "rz")
bfloat16_to_int32_rd = _to_integer("int32", "rd")
bfloat16_to_int32_ru = _to_integer("int32", "ru")
uint32_to_bfloat16_rn = _from_integer("uint32", "rn")
uint32_to_bfloat16_rz = _from_integer("uint32", "rz")
uint32_to_bfloat16_rd = _from_integer("uint32", "rd")
uint32_to_bfloat16_ru = _from_integer("uint32", "ru")
bfloat16_to_uint32_rn = _to_integer("uint32", "rn")
bfloat16_to_uint32_rz = _to_integer("uint32", "rz")
bfloat16_to_uint32_rd = _to_integer("uint32", "rd")
bfloat16_to_uint32_ru = _to_integer("uint32", "ru")
int64_to_bfloat16_rn = _from_integer("int64", "rn")
int64_to_bfloat16_rz = _from_integer("int64", "rz")
int64_to_bfloat16_rd = _from_integer("int64", "rd")
int64_to_bfloat16_ru = _from_integer("int64", "ru")
bfloat16_to_int64_rn = _to_integer("int64", "rn")
bfloat16_to_int64_rz = _to_integer("int64", "rz")
bfloat16_to_int64_rd = _to_integer("int64", "rd")
bfloat16_to_int64_ru = _to_integer("int64", "ru")
uint64_to_bfloat16_rn = _from_integer("uint64", "rn")
uint64_to_bfloat16_rz = _from_integer("uint64", "rz")
uint64_to_bfloat16_rd = _from_integer("uint64", "rd")
uint64_to_bfloat16_ru = _from_integer("uint64", "ru")
bfloat16_to_uint64_rn = _to_integer("uint64", "rn")
bfloat16_to_uint64_rz = _to_integer("uint64", "rz")
bfloat16_to_uint64_rd = _to_integer("uint64", "rd")
bfloat16_to_uint64_ru = _to_integer("uint64", "ru")
bfloat16_to_int8_rz = _to_integer("int8", "rz")
bfloat16_to_uint8_rz = _to_integer("uint8", "rz")

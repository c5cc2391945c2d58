"""Arithmetic of bfloat16 in kernels, by the names of numba.cuda.bf16: ``bf16.hadd(a, b)``.

A result is that of real numbers, rounded once to bfloat16, to the nearest unless the name has
another mode: ``_rz`` towards zero, ``_rd`` down, ``_ru`` up. float32 has over twice bfloat16's
digits, so that one operation of float32, rounded again, is right; a fused sum is rounded to odd
before. Conversions to integers saturate. ``cuda_bf16.h`` defines the same functions for C++.
"""

# pyright: reportMissingParameterType=false
# Kernels: their arguments have the types of each launch.

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gridlane.cuda import libdevice
from gridlane.cuda.bf16_conversions import *  # noqa: F403  # the names of one namespace in two files
from gridlane.cuda.bf16_conversions import bfloat16_as_uint16, named, uint16_as_bfloat16
from gridlane.cuda.kernels.decorators import jit
from gridlane.cuda.types import bfloat16, float32, int32, uint16, uint32
from gridlane.frontends.python.volatile_stubs import bits_of

nv_bfloat16 = bfloat16


# --- arithmetic


@jit(device=True)
def hadd(a, b):
    """``a + b``."""
    return bfloat16(float32(bfloat16(a)) + float32(bfloat16(b)))


@jit(device=True)
def hsub(a, b):
    """``a - b``."""
    return bfloat16(float32(bfloat16(a)) - float32(bfloat16(b)))


@jit(device=True)
def hmul(a, b):
    """``a * b``."""
    return bfloat16(libdevice.fmul_rn(float32(bfloat16(a)), float32(bfloat16(b))))


@jit(device=True)
def hdiv(a, b):
    """``a / b``."""
    return bfloat16(float32(bfloat16(a)) / float32(bfloat16(b)))


hadd_rn, hsub_rn, hmul_rn = hadd, hsub, hmul


@jit(device=True)
def habs(a):
    """``abs(a)``."""
    return uint16_as_bfloat16(bfloat16_as_uint16(a) & uint16(0x7FFF))


@jit(device=True)
def hneg(a):
    """``-a``."""
    return uint16_as_bfloat16(bfloat16_as_uint16(a) ^ uint16(0x8000))


@jit(device=True)
def hfma(a, b, c):
    """``a * b + c``, rounded once."""
    x, y, z = float32(bfloat16(a)), float32(bfloat16(b)), float32(bfloat16(c))
    low, high = libdevice.fmaf_rd(x, y, z), libdevice.fmaf_ru(x, y, z)
    if low == high or low != low:
        return bfloat16(libdevice.fmaf_rn(x, y, z))
    odd = low if bits_of(low) & uint32(1) else high  # neighbours: one of them is odd
    return bfloat16(odd)


@jit(device=True)
def _saturated(a):
    """A number between 0 and 1; 0 for NaN."""
    value = float32(a)
    if not value > float32(0):
        return bfloat16(float32(0))
    return bfloat16(min(value, float32(1)))


@jit(device=True)
def hadd_sat(a, b):
    """``a + b`` between 0 and 1; 0 for NaN."""
    return _saturated(hadd(a, b))


@jit(device=True)
def hsub_sat(a, b):
    """``a - b`` between 0 and 1; 0 for NaN."""
    return _saturated(hsub(a, b))


@jit(device=True)
def hmul_sat(a, b):
    """``a * b`` between 0 and 1; 0 for NaN."""
    return _saturated(hmul(a, b))


@jit(device=True)
def hfma_sat(a, b, c):
    """``a * b + c`` between 0 and 1; 0 for NaN."""
    return _saturated(hfma(a, b, c))


@jit(device=True)
def hfma_relu(a, b, c):
    """``a * b + c``, 0 where that is negative; NaN stays."""
    value = hfma(a, b, c)
    return bfloat16(float32(0)) if float32(value) < float32(0) else value


# --- comparison


@jit(device=True)
def heq(a, b):
    """Whether ``a == b``, of numbers."""
    return float32(bfloat16(a)) == float32(bfloat16(b))


@jit(device=True)
def hlt(a, b):
    """Whether ``a < b``, of numbers."""
    return float32(bfloat16(a)) < float32(bfloat16(b))


@jit(device=True)
def hle(a, b):
    """Whether ``a <= b``, of numbers."""
    return float32(bfloat16(a)) <= float32(bfloat16(b))


@jit(device=True)
def hgt(a, b):
    """Whether ``a > b``, of numbers."""
    return float32(bfloat16(a)) > float32(bfloat16(b))


@jit(device=True)
def hge(a, b):
    """Whether ``a >= b``, of numbers."""
    return float32(bfloat16(a)) >= float32(bfloat16(b))


@jit(device=True)
def hisnan(a):
    """Whether this is NaN."""
    value = float32(bfloat16(a))
    return value != value


@jit(device=True)
def hisinf(a):
    """1 for infinity, -1 for its negative, else 0."""
    bits = bfloat16_as_uint16(a)
    if bits == uint16(0x7F80):
        return int32(1)
    return int32(-1) if bits == uint16(0xFF80) else int32(0)


@jit(device=True)
def hne(a, b):
    """Whether ``a != b``, of numbers: false where one is NaN."""
    return float32(bfloat16(a)) < float32(bfloat16(b)) or float32(bfloat16(a)) > float32(
        bfloat16(b)
    )


@jit(device=True)
def hequ(a, b):
    """Whether ``a == b``, or one is NaN."""
    return not hne(a, b)


@jit(device=True)
def hneu(a, b):
    """Whether ``a != b``, or one is NaN."""
    return not heq(a, b)


@jit(device=True)
def hltu(a, b):
    """Whether ``a < b``, or one is NaN."""
    return not hge(a, b)


@jit(device=True)
def hleu(a, b):
    """Whether ``a <= b``, or one is NaN."""
    return not hgt(a, b)


@jit(device=True)
def hgtu(a, b):
    """Whether ``a > b``, or one is NaN."""
    return not hle(a, b)


@jit(device=True)
def hgeu(a, b):
    """Whether ``a >= b``, or one is NaN."""
    return not hlt(a, b)


@jit(device=True)
def hmax(a, b):
    """The larger number; the other one where one is NaN; 0 rather than -0."""
    return bfloat16(libdevice.fmaxf(float32(bfloat16(a)), float32(bfloat16(b))))


@jit(device=True)
def hmin(a, b):
    """The smaller number; the other one where one is NaN; -0 rather than 0."""
    return bfloat16(libdevice.fminf(float32(bfloat16(a)), float32(bfloat16(b))))


@jit(device=True)
def hmax_nan(a, b):
    """The larger number; NaN where one is NaN."""
    if hisnan(a) or hisnan(b):
        return uint16_as_bfloat16(uint16(0x7FFF))
    return hmax(a, b)


@jit(device=True)
def hmin_nan(a, b):
    """The smaller number; NaN where one is NaN."""
    if hisnan(a) or hisnan(b):
        return uint16_as_bfloat16(uint16(0x7FFF))
    return hmin(a, b)


# --- mathematics: of float32, rounded to bfloat16


def _rounded(name: str, function: Any) -> Any:
    def compute(a):  # type: ignore[no-untyped-def]
        return bfloat16(function(float32(bfloat16(a))))

    return named(compute, name, f"{name[1:]} of a bfloat16, from that of float32.")


hceil = _rounded("hceil", libdevice.ceilf)
hcos = _rounded("hcos", libdevice.cosf)
hexp = _rounded("hexp", libdevice.expf)
hexp10 = _rounded("hexp10", libdevice.exp10f)
hexp2 = _rounded("hexp2", libdevice.exp2f)
hfloor = _rounded("hfloor", libdevice.floorf)
hlog = _rounded("hlog", libdevice.logf)
hlog10 = _rounded("hlog10", libdevice.log10f)
hlog2 = _rounded("hlog2", libdevice.log2f)
hrint = _rounded("hrint", libdevice.rintf)
hrsqrt = _rounded("hrsqrt", libdevice.rsqrtf)
hsin = _rounded("hsin", libdevice.sinf)
hsqrt = _rounded("hsqrt", libdevice.sqrtf)
htanh = _rounded("htanh", libdevice.tanhf)
htrunc = _rounded("htrunc", libdevice.truncf)
htanh_approx = htanh


@jit(device=True)
def hrcp(a):
    """``1 / a``."""
    return bfloat16(float32(1) / float32(bfloat16(a)))


# --- CUDA's names of the conversions

_TYPES = {
    "char": "int8",
    "double": "float64",
    "float": "float32",
    "int": "int32",
    "ll": "int64",
    "short": "int16",
    "uchar": "uint8",
    "uint": "uint32",
    "ull": "uint64",
    "ushort": "uint16",
}
_NAMES = {
    name: numba
    for short, kind in _TYPES.items()
    for tail in ("", "_rn", "_rz", "_rd", "_ru")
    for name, numba in (
        (f"{short}2bfloat16{tail}", f"{kind}_to_bfloat16{tail}"),
        (f"bfloat162{short}{tail}", f"bfloat16_to_{kind}{tail}"),
        (f"{short}_as_bfloat16", f"{kind}_as_bfloat16"),
        (f"bfloat16_as_{short}", f"bfloat16_as_{kind}"),
    )
}
globals().update({name: globals()[numba] for name, numba in _NAMES.items() if numba in globals()})

if TYPE_CHECKING:  # names that are made, not written

    def __getattr__(name: str) -> Any: ...

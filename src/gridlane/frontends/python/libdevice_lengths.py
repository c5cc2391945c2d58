"""Lengths of vectors and their reciprocals, functions of NVIDIA's libdevice, as device functions of
the dialect. They are of the type that their names say."""

# pyright: basic, reportPossiblyUnboundVariable=false
# Kernels' code: its types are those of a call.

from __future__ import annotations

import math

from gridlane.core.argtypes import float32
from gridlane.frontends.python.device_function import DeviceFunction
from gridlane.frontends.python.libdevice_stubs import libdevice


def norm(a, b, c, d):
    """A length times a scale, and the scale, by which no square overflows or vanishes. The length
    itself may overflow, and its reciprocal is a number then."""
    if math.isinf(a) or math.isinf(b) or math.isinf(c) or math.isinf(d):
        return math.inf, 1.0
    largest = max(max(abs(a), abs(b)), max(abs(c), abs(d)))
    scale = 2.0**-600 if largest > 2.0**400 else 2.0**600 if largest < 2.0**-400 else 1.0
    w, x, y, z = a * scale, b * scale, c * scale, d * scale
    squares = libdevice.fma(w, w, libdevice.fma(x, x, libdevice.fma(y, y, z * z)))
    return math.sqrt(squares), scale


length = DeviceFunction(norm, floats="float64")


def norm3d(a, b, c):
    root, scale = length(a, b, c, 0.0)
    return root / scale


def norm4d(a, b, c, d):
    root, scale = length(a, b, c, d)
    return root / scale


def rhypot(a, b):
    root, scale = length(a, b, 0.0, 0.0)
    return scale / root


def rnorm3d(a, b, c):
    root, scale = length(a, b, c, 0.0)
    return scale / root


def rnorm4d(a, b, c, d):
    root, scale = length(a, b, c, d)
    return scale / root


def normf(a, b, c, d):
    if math.isinf(a) or math.isinf(b) or math.isinf(c) or math.isinf(d):
        return float32(math.inf), float32(1.0)
    largest = max(max(abs(a), abs(b)), max(abs(c), abs(d)))
    scale = float32(1.0)
    if largest > float32(2.0**50):
        scale = float32(2.0**-80)
    elif largest < float32(2.0**-40):
        scale = float32(2.0**80)
    w, x, y, z = a * scale, b * scale, c * scale, d * scale
    squares = libdevice.fmaf(w, w, libdevice.fmaf(x, x, libdevice.fmaf(y, y, z * z)))
    return libdevice.sqrtf(squares), scale


lengthf = DeviceFunction(normf, floats="float64")


def norm3df(a, b, c):
    root, scale = lengthf(a, b, c, float32(0.0))
    return root / scale


def norm4df(a, b, c, d):
    root, scale = lengthf(a, b, c, d)
    return root / scale


def rhypotf(a, b):
    root, scale = lengthf(a, b, float32(0.0), float32(0.0))
    return scale / root


def rnorm3df(a, b, c):
    root, scale = lengthf(a, b, c, float32(0.0))
    return scale / root


def rnorm4df(a, b, c, d):
    root, scale = lengthf(a, b, c, d)
    return scale / root


LENGTHS = (
    *(rhypot, norm3d, rnorm3d, norm4d, rnorm4d),
    *(rhypotf, norm3df, rnorm3df, norm4df, rnorm4df),
)

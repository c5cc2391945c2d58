"""Layouts as C++, for the host and for CUDA.

No header is needed but CUDA's for a float16. 64-bit integers are ``long long``, as in CUDA's
atomics. Assertions hold each compiler to the size and the offsets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gridlane.actors.layouts import c_structs
from gridlane.actors.layouts.names import Scope, joined
from gridlane.actors.layouts.reserved import CUDA_CPP, VECTORS
from gridlane.actors.layouts.schema import Layout

_HALF = "gridlane_float16"
SCALARS = {
    "bool": "bool",
    "int8": "signed char",
    "int16": "short",
    "int32": "int",
    "int64": "long long",
    "uint8": "unsigned char",
    "uint16": "unsigned short",
    "uint32": "unsigned int",
    "uint64": "unsigned long long",
    "float16": _HALF,
    "float32": "float",
    "float64": "double",
}
_HEAD = """\
// Messages of gridlane: made from their layouts, not by hand.
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "gridlane's messages are little-endian"
#endif
"""
_OFFSET = "GRIDLANE_OFFSET"
# NVRTC has the usual builtin since 13.4; this one is of the compiler that is its front end.
_OFFSETS = f"""\
#ifndef {_OFFSET}
#if defined(__CUDACC_RTC__) && __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ < 1304
#define {_OFFSET}(type, field) __INTADDR__(&((type*)0)->field)
#else
#define {_OFFSET}(type, field) __builtin_offsetof(type, field)
#endif
#endif
"""
_HALVES = f"""\
#ifndef GRIDLANE_FLOAT16
#define GRIDLANE_FLOAT16
#if defined(__CUDACC__)
#include <cuda_fp16.h>
typedef __half {_HALF};
#elif defined(__FLT16_MANT_DIG__)
typedef _Float16 {_HALF};
#else
typedef unsigned short {_HALF}; // its bits
#endif
#endif
"""


def scope_of(layouts: Sequence[Layout]) -> Scope:
    """The structures of a text, and the names that they and their members have there.

    Raises:
        ArgumentError: two different layouts have one name.
    """
    return Scope(layouts, CUDA_CPP, VECTORS | {_HALF, "half", "dim3"})


def text(layouts: Sequence[Layout]) -> str:
    """The declarations of layouts, inner ones first. A header may repeat those of another.

    Raises:
        ArgumentError: two different layouts have one name.
    """
    scope = scope_of(layouts)
    halves = any(c_structs.uses(each, "float16") for each in scope.layouts)
    parts = [_HEAD + _OFFSETS + (_HALVES if halves else "")]
    parts += ["\n".join(_guarded(each, scope)) + "\n" for each in scope.layouts]
    return "\n".join(parts)


def _guarded(layout: Layout, scope: Scope) -> Iterator[str]:
    guard = f"GRIDLANE_LAYOUT_{layout.type_id:016X}"
    constant = scope.names.take(joined(scope.struct(layout), "type_id"))
    yield f"#ifndef {guard}"
    yield f"#define {guard}"
    yield from c_structs.struct(layout, SCALARS, scope, _OFFSET)
    yield f"static constexpr unsigned long long {constant} = 0x{layout.type_id:016x}ull;"
    yield "#endif"

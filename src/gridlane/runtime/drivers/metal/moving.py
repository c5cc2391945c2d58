"""Copies and fills within a Metal device, by kernels: they stay in order with other kernels, and
accept any address and size."""

from __future__ import annotations

import struct

from gridlane.runtime.drivers.metal.pipelines import Pipeline, Pipelines, Prepared

BLOCK, MOST_BLOCKS = 256, 1024

_WIDTHS = {16: "uint4", 4: "uint", 1: "uchar"}
_HEAD = """\
#include <metal_stdlib>
using namespace metal;
struct Move {
    device uchar* target;
    device uchar* source;
    ulong count;
    ulong step;
    uint value;
};
"""
_KERNEL = """\
kernel void {name}(
    constant Move& move [[buffer(0)]],
    uint3 thread_index [[thread_position_in_threadgroup]],
    uint3 block_index [[threadgroup_position_in_grid]],
    uint3 block_shape [[threads_per_threadgroup]]) {{
    ulong first = ulong(block_index.x) * ulong(block_shape.x) + ulong(thread_index.x);
    for (ulong n = first; n < move.count; n += move.step)
        ((device {type}*)move.target)[n] = {value};
}}
"""
_SET = {
    "uint4": "uint4(move.value, move.value, move.value, move.value)",
    "uint": "move.value",
    "uchar": "uchar(move.value)",
}
_MOVE = struct.Struct("<QQQQI4x")

Move = tuple[Prepared, bytes, tuple[int, int, int]]
"""What is launched, its parameters, and its blocks along each axis."""


def _text() -> str:
    parts = [_HEAD]
    for width, type_ in _WIDTHS.items():
        loaded = f"((device {type_}*)move.source)[n]"
        parts.append(_KERNEL.format(name=f"copy{width}", type=type_, value=loaded))
        parts.append(_KERNEL.format(name=f"fill{width}", type=type_, value=_SET[type_]))
    return "\n".join(parts)


class Mover:
    """The copy and fill kernels, compiled at their first use."""

    def __init__(self, pipelines: Pipelines) -> None:
        self._pipelines = pipelines
        self._made: dict[str, Pipeline] = {}

    def launch(
        self, kind: str, target: int, source: int, size: int, byte: int = 0, keep: object = None
    ) -> Move:
        """The launch of a ``copy``, of bytes that do not overlap, or of a ``fill``."""
        width = next(each for each in _WIDTHS if not (target | source | size) % each)
        name = f"{kind}{width}"
        pipeline = self._made.get(name)
        if pipeline is None:
            pipeline = self._made[name] = self._pipelines.get(_text().encode(), name)
        count = size // width
        blocks = min(MOST_BLOCKS, -(-count // BLOCK))
        params = _MOVE.pack(target, source, count, blocks * BLOCK, byte * 0x01010101)
        return Prepared(pipeline, (BLOCK, 1, 1), keep), params, (blocks, 1, 1)

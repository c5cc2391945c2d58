"""The meaning of ``ir.ops.warpgroups``: a warp multiplies its rows at once, as whole matrices."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gridlane.interp.matrix import warps_of
from gridlane.interp.memory import Fault
from gridlane.interp.products import elements_of, finished, sums_of
from gridlane.interp.state import WARP, Frame
from gridlane.interp.values import ADDRESS, Array, Lanes
from gridlane.ir.op import Op
from gridlane.ir.ops import warpgroups
from gridlane.ir.ops.products import Factor, left_place
from gridlane.ir.ops.shared_matrix import BASE, LEADING, OFFSET_BITS, STRIDE, SWIZZLE

_ROWS = warpgroups.ROWS // warpgroups.WARPS
_WIDTHS = (0, 128, 64, 32)
"""Bytes of a swizzle, by its number."""


def _offset(layout: int, place: int) -> int:
    return (layout >> place & (1 << OFFSET_BITS) - 1) << 4


def places(start: int, layout: int, lines: Array, items: Array, size: int, across: bool) -> Array:
    """The addresses of items of ``size`` bytes, over (lines, items)."""
    leading, stride = _offset(layout, LEADING), _offset(layout, STRIDE)
    width, base = _WIDTHS[layout >> SWIZZLE], layout >> BASE & 7
    line, item = lines[:, None], items[None, :]
    if across:
        in_row = max(width, 16) // size
        steps = (leading, stride) if width else (stride, leading)
        linear = line % in_row * size + line // in_row * steps[0]
        linear = linear + item % 8 * max(width, 16) + item // 8 * steps[1]
    else:
        byte = item * size
        chunk = 16 if width else leading
        linear = line % 8 * max(width, 16) + line // 8 * stride + byte // 16 * chunk + byte % 16
    address = start + linear.astype(np.int64)
    if width:
        row = ((address >> 7) - base) & (width // 16 - 1)
        address = address ^ row << 4
    return address.astype(ADDRESS)


def _matrix(
    frame: Frame,
    start: int,
    layout: int,
    lines: Array,
    depth: int,
    factor: Factor,
    across: bool,
) -> Array:
    """A factor in shared memory, over (lines, items)."""
    size = factor.bits // 8
    where = places(start, layout, lines, np.arange(depth), size, across)
    kind = np.dtype(f"u{size}")
    bits = frame.block.launch.memory.gather(where.reshape(-1), kind).astype(np.uint32)
    return elements_of(bits, factor, 0).reshape(len(lines), depth)


def _of_registers(op: warpgroups.WarpgroupMma, words: list[Array], lanes: slice) -> Array:
    """A warp's rows of A."""
    first = elements_of(words[0][lanes], op.left, 0)
    array = np.zeros((_ROWS, op.depth), first.dtype)
    for number, word in enumerate(words):
        for part in range(op.left.in_word):
            values = elements_of(word[lanes], op.left, part)
            for lane in range(WARP):
                array[left_place(lane, number, part, _ROWS, op.left)] = values[lane]
    return array


def _warp_numbers(frame: Frame) -> Array:
    """The number in its warpgroup of each warp here."""
    (x, y, z), (wide, high, _) = frame.block.thread_index, frame.block.launch.shape
    return (x + wide * (y + high * z))[::WARP] // WARP % warpgroups.WARPS


def _mma(
    frame: Frame, op: warpgroups.WarpgroupMma, mask: Array, *operands: Array
) -> tuple[Array, ...]:
    b, layout, scale, *words = operands
    a, c = words[: len(op.a)], words[len(op.a) :]
    warps = warps_of(mask, b, layout, scale, *(a if op.in_memory else ()))
    sums = [np.array(each) for each in sums_of(op, c)]
    columns = np.arange(op.columns)
    numbers = _warp_numbers(frame)
    with np.errstate(all="ignore"):
        for warp in warps:
            lanes = slice(warp * WARP, (warp + 1) * WARP)
            first = lanes.start
            if op.in_memory:
                lines = np.arange(_ROWS) + _ROWS * int(numbers[warp])
                start, how = int(a[0][first]), int(a[1][first])
                left = _matrix(frame, start, how, lines, op.depth, op.left, op.left_across)
            else:
                left = _of_registers(op, a, lanes)
            start, how = int(b[first]), int(layout[first])
            right = _matrix(frame, start, how, columns, op.depth, op.right, op.right_across)
            total = _gathered(op, sums, lanes)
            total = total if scale[first] else np.zeros_like(total)
            left = -left if op.negated else left
            for k in range(op.depth):
                total = left[:, k, None] * right[None, :, k] + total
            _scattered(sums, lanes, total)
        return tuple(finished(op, sums))


def _sum_places(count: int) -> list[tuple[Array, Array]]:
    """The rows and the columns of each sum, over the lanes."""
    lane = np.arange(WARP)
    return [
        (lane // 4 + 8 * (n // 2 % 2), 8 * (n // 4) + lane % 4 * 2 + n % 2) for n in range(count)
    ]


def _gathered(op: warpgroups.WarpgroupMma, sums: list[Array], lanes: slice) -> Array:
    """The sums of a warp as a matrix."""
    array = np.zeros((_ROWS, op.columns), sums[0].dtype)
    for (rows, columns), each in zip(_sum_places(len(sums)), sums, strict=True):
        array[rows, columns] = each[lanes]
    return array


def _scattered(sums: list[Array], lanes: slice, array: Array) -> None:
    for (rows, columns), each in zip(_sum_places(len(sums)), sums, strict=True):
        each[lanes] = array[rows, columns]


def _nothing(frame: Frame, op: Op, mask: Array) -> None:
    """Products are done at once."""
    warps_of(mask)


def _wait(
    frame: Frame, op: warpgroups.WarpgroupWait, mask: Array, *values: Array
) -> Array | tuple[Array, ...] | None:
    """In lockstep, warps are done together. Where they take turns, ``expand_waits`` has replaced
    the op."""
    size = WARP * warpgroups.WARPS
    lanes = np.append(mask, np.zeros(-len(mask) % size, np.bool_)).reshape(-1, size)
    if (lanes.any(axis=1) & ~lanes.all(axis=1)).any():
        raise Fault(0, "not all 128 threads of a warpgroup are here")
    return values[0] if len(values) == 1 else values or None


OBSERVE: dict[type[Op], Callable[..., Lanes | None]] = {
    warpgroups.WarpgroupMma: _mma,
    warpgroups.WarpgroupFence: _nothing,
    warpgroups.WarpgroupCommit: _nothing,
    warpgroups.WarpgroupWait: _wait,
    warpgroups.RegisterLimit: _nothing,
}

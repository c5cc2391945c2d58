"""The meaning of ``ir.ops.matrix``. A fragment is one array (warps of the block, rows, columns)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gridlane.core.dtypes import f32
from gridlane.interp.arith import cast
from gridlane.interp.memory import Fault
from gridlane.interp.state import WARP, Frame
from gridlane.interp.values import ADDRESS, Array, Lanes, fragments, narrowed, numpy_of
from gridlane.ir.op import Op
from gridlane.ir.ops import matrix
from gridlane.ir.types import FragmentType, Role


def warps_of(mask: Array, *same: Array) -> Array:
    """The active warps, as indices. All lanes of a warp are active, and agree on ``same``.

    Raises:
        Fault: not all lanes of a warp are active, or they differ.
    """
    lanes = mask.reshape(-1, WARP)
    some = lanes.any(axis=1)
    broken = some & ~lanes.all(axis=1)
    if broken.any():
        raise Fault(_position(mask, int(broken.argmax())), "not all 32 lanes of a warp are here")
    for value in same:
        rows = value.reshape(-1, WARP)
        differ = some & (rows != rows[:, :1]).any(axis=1)
        if differ.any():
            warp = int(differ.argmax())
            raise Fault(_position(mask, warp), "the lanes of a warp give different operands")
    return np.flatnonzero(some)


def _position(mask: Array, warp: int) -> int:
    """The position of a warp's first lane among the active lanes."""
    return int(mask[: warp * WARP].sum())


def _first(value: Array, warps: Array) -> Array:
    """The value in the first lane of each of the warps."""
    return value.reshape(-1, WARP)[warps, 0]


def _fill(frame: Frame, op: matrix.FragmentFill, mask: Array, value: Array) -> Array:
    warps = warps_of(mask, value.view(f"u{value.dtype.itemsize}"))
    array = fragments(op.type, frame.block.lanes)
    array[warps] = _first(value, warps)[:, None, None]
    return array


def _places(
    mask: Array, warps: Array, op: matrix.FragmentLoad | matrix.FragmentStore, *where: Array
) -> Array:
    """The addresses of the elements, (active warps, rows, columns); ``where`` is pointer and
    stride.

    Raises:
        Fault: a line does not start at a multiple of 16 bytes.
    """
    type_ = op.type if isinstance(op, matrix.FragmentLoad) else op.fragment.type
    assert isinstance(type_, FragmentType)
    start, stride = (_first(value, warps)[:, None, None] for value in where)
    line, item = np.arange(type_.rows)[:, None], np.arange(type_.cols)
    if op.by_columns:
        line, item = item, line
    lines = start + (line * stride * type_.element.size).astype(np.int64).view(ADDRESS)
    crooked = (lines % ADDRESS.type(matrix.LINE_ALIGN) != 0).any(axis=(1, 2))
    if crooked.any():
        warp = int(warps[crooked.argmax()])
        raise Fault(
            _position(mask, warp),
            f"a line does not start at a multiple of {matrix.LINE_ALIGN} bytes",
        )
    return lines + (item * type_.element.size).astype(ADDRESS)


def _load(
    frame: Frame, op: matrix.FragmentLoad, mask: Array, pointer: Array, stride: Array
) -> Array:
    warps = warps_of(mask, pointer, stride)
    addresses = _places(mask, warps, op, pointer, stride)
    memory, dtype = frame.block.launch.memory, numpy_of(op.type.element)
    try:
        values = memory.gather(addresses.reshape(-1), dtype).reshape(addresses.shape)
    except Fault as fault:
        raise _of_warp(fault, mask, warps, addresses) from None
    array = fragments(op.type, frame.block.lanes)
    is_tf32 = op.type.role is not Role.ACC and op.type.element is f32
    array[warps] = tf32(values) if is_tf32 else values
    return array


def _store(
    frame: Frame,
    op: matrix.FragmentStore,
    mask: Array,
    pointer: Array,
    stride: Array,
    fragment: Array,
) -> None:
    warps = warps_of(mask, pointer, stride)
    addresses = _places(mask, warps, op, pointer, stride)
    try:
        frame.block.launch.memory.scatter(addresses.reshape(-1), fragment[warps].reshape(-1))
    except Fault as fault:
        raise _of_warp(fault, mask, warps, addresses) from None


def _of_warp(fault: Fault, mask: Array, warps: Array, addresses: Array) -> Fault:
    """The fault of an element, reported for its warp."""
    warp = int(warps[fault.position // (addresses.shape[1] * addresses.shape[2])])
    return Fault(_position(mask, warp), fault.reason)


def tf32(values: Array) -> Array:
    """f32 rounded to 10 mantissa bits, ties away from zero; infinities and NaN unchanged."""
    bits = np.ascontiguousarray(values).view(np.uint32)
    rounded = ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)
    return np.where(np.isfinite(values), rounded, values)


def _mma(frame: Frame, op: matrix.FragmentMma, mask: Array, a: Array, b: Array, c: Array) -> Array:
    warps_of(mask)
    if c.dtype.kind == "i":
        return (a.astype(np.int64) @ b.astype(np.int64) + c).astype(c.dtype)
    assert isinstance(op.a.type, FragmentType)
    step = matrix.DEPTHS[op.a.type.element]
    with np.errstate(all="ignore"):
        for start in range(0, a.shape[2], step):
            total = c.astype(np.float64)
            for k in range(start, start + step):
                left, right = a[:, :, k, None], b[:, k, None, :]
                total += left.astype(np.float64) * right.astype(np.float64)
            c = total.astype(np.float32).astype(c.dtype)
    return c


def _scale(
    frame: Frame, op: matrix.FragmentScale, mask: Array, fragment: Array, factor: Array
) -> Array:
    warps_of(mask, factor.view(f"u{factor.dtype.itemsize}"))
    by = factor.reshape(-1, WARP)[:, :1, None]
    if fragment.dtype.kind == "i":
        return fragment * by
    return narrowed(fragment.astype(np.float64) * by.astype(np.float64), fragment.dtype)


def _convert(frame: Frame, op: matrix.FragmentConvert, mask: Array, fragment: Array) -> Array:
    warps_of(mask)
    return cast(fragment, op.type.element.numpy)


OBSERVE: dict[type[Op], Callable[..., Lanes | None]] = {
    matrix.FragmentFill: _fill,
    matrix.FragmentLoad: _load,
    matrix.FragmentStore: _store,
    matrix.FragmentMma: _mma,
    matrix.FragmentScale: _scale,
    matrix.FragmentConvert: _convert,
}

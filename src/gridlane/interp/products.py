"""The meaning of ``ir.ops.products``, over arrays (warps of the block, rows, columns)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import ml_dtypes
import numpy as np

from gridlane.interp.arith import fused
from gridlane.interp.matrix import warps_of
from gridlane.interp.memory import Fault
from gridlane.interp.state import WARP, Frame
from gridlane.interp.values import ADDRESS, Array, Lanes, numpy_of
from gridlane.ir.op import Op
from gridlane.ir.ops import mma_memory, products
from gridlane.ir.ops.products import COLUMNS, Factor
from gridlane.ir.ops.warpgroups import WarpgroupMma

Place = Callable[[int, int, int], tuple[int, int]]


def elements_of(word: Array, factor: Factor, part: int) -> Array:
    """The elements of registers, as binary64 or as 64-bit integers."""
    if factor is Factor.F64:
        return word
    if factor is Factor.TF32:
        return (word & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)
    bits = (word >> np.uint32(part * factor.bits)) & np.uint32((1 << factor.bits) - 1)
    if factor.is_integer:
        integers = bits.astype(np.int64)
        sign = 1 << factor.bits - 1
        return (integers ^ sign) - sign if factor.is_signed else integers
    narrow = bits.astype(np.uint8 if factor.bits == 8 else np.uint16)
    return narrow.view(_FLOATS[factor]).astype(np.float64)


_FLOATS = {
    Factor.F16: np.float16,
    Factor.BF16: ml_dtypes.bfloat16,
    Factor.E4M3: ml_dtypes.float8_e4m3fn,
    Factor.E5M2: ml_dtypes.float8_e5m2,
}


def _matrix(words: Sequence[Array], factor: Factor, shape: tuple[int, int], place: Place) -> Array:
    array = np.zeros((len(words[0]) // WARP, *shape), np.int64 if factor.is_integer else np.float64)
    for number, word in enumerate(words):
        for part in range(factor.in_word):
            values = elements_of(word, factor, part).reshape(-1, WARP)
            for lane in range(WARP):
                row, column = place(lane, number, part)
                array[:, row, column] = values[:, lane]
    return array


def sums_of(op: products.Mma | WarpgroupMma, words: Sequence[Array]) -> list[Array]:
    """The sums by number, as binary64 or 64-bit integers."""
    if not op.has_halves:
        wide = np.int64 if op.left.is_integer else np.float64
        return [word.astype(wide) for word in words]
    return [elements_of(word, Factor.F16, part) for word in words for part in (0, 1)]


def _mma(frame: Frame, op: products.Mma, mask: Array, *operands: Array) -> tuple[Array, ...]:
    warps_of(mask)
    a, b = operands[: len(op.a)], operands[len(op.a) : len(op.a) + len(op.b)]
    left = _matrix(
        a,
        op.left,
        (op.rows, op.depth),
        lambda lane, word, part: products.left_place(lane, word, part, op.rows, op.left),
    )
    right = _matrix(
        b,
        op.right,
        (op.depth, COLUMNS),
        lambda lane, word, part: products.right_place(lane, word, part, op.right),
    )
    arrays: list[Array] = []
    with np.errstate(all="ignore"):
        for number, total in enumerate(sums_of(op, operands[len(a) + len(b) :])):
            rows, columns = zip(*(products.sum_place(lane, number) for lane in range(WARP)))
            for k in range(op.depth):
                first = left[:, list(rows), k].reshape(-1)
                second = right[:, k, list(columns)].reshape(-1)
                if op.left is Factor.F64:
                    total = fused(first, second, total)
                else:
                    total = first * second + total
            arrays.append(total)
        return tuple(finished(op, arrays))


def finished(op: products.Mma | WarpgroupMma, sums: list[Array]) -> list[Array]:
    """The registers of sums."""
    if op.left.is_integer:
        if op.limited:
            sums = [np.clip(each, -(1 << 31), (1 << 31) - 1) for each in sums]
        return [each.astype(np.int32) for each in sums]
    if op.left is Factor.F64:
        return sums
    sums = [each.astype(np.float32) for each in sums]
    if not op.has_halves:
        return sums
    halves = [each.astype(np.float16).view(np.uint16).astype(np.uint32) for each in sums]
    return [low | high << np.uint32(16) for low, high in zip(halves[::2], halves[1::2])]


def _addresses(
    op: mma_memory.MmaLoad | mma_memory.MmaStore, pointer: Array, stride: Array
) -> list[list[Array]]:
    """The addresses of the elements of each register, in every lane."""
    lane = np.arange(len(pointer)) % WARP
    group, thread = (np.array(step)[:, None] for step in mma_memory.steps(op.matrix))
    rows, columns = group * (lane // 4) + thread * (lane % 4)
    results: list[list[Array]] = []
    for register in mma_memory.places(op.matrix):
        elements: list[Array] = []
        for row, column in register:
            line, item = rows + row, columns + column
            if op.by_columns:
                line, item = item, line
            index = line * stride.astype(np.int64) + item
            elements.append(pointer + (index * op.matrix.element.size).view(ADDRESS))
        results.append(elements)
    return results


def _load(
    frame: Frame, op: mma_memory.MmaLoad, mask: Array, pointer: Array, stride: Array
) -> Lanes:
    warps_of(mask, pointer, stride)
    if op.aligned:
        step = stride * np.uint32(op.matrix.element.size)
        crooked = mask & ((pointer % ADDRESS.type(16) != 0) | (step % np.uint32(16) != 0))
        if crooked.any():
            position = int(np.flatnonzero(mask).searchsorted(crooked.argmax()))
            raise Fault(position, "a line does not start at a multiple of 16 bytes")
    memory, dtype = frame.block.launch.memory, numpy_of(op.matrix.element)
    arrays: list[Array] = []
    for result, register in zip(op.results, _addresses(op, pointer, stride), strict=True):
        elements = np.zeros((len(mask), len(register)), dtype)
        for place, each in enumerate(register):
            elements[mask, place] = memory.gather(each[mask], dtype)
        arrays.append(elements.view(numpy_of(result.type))[:, 0])
    return tuple(arrays) if len(arrays) > 1 else arrays[0]


def _store(
    frame: Frame,
    op: mma_memory.MmaStore,
    mask: Array,
    pointer: Array,
    stride: Array,
    *values: Array,
) -> None:
    warps_of(mask, pointer, stride)
    memory, dtype = frame.block.launch.memory, numpy_of(op.matrix.element)
    for value, register in zip(values, _addresses(op, pointer, stride), strict=True):
        elements = np.ascontiguousarray(value)[:, None].view(dtype)
        for place, each in enumerate(register):
            memory.scatter(each[mask], np.ascontiguousarray(elements[mask, place]))


OBSERVE: dict[type[Op], Callable[..., Lanes | None]] = {
    products.Mma: _mma,
    mma_memory.MmaLoad: _load,
    mma_memory.MmaStore: _store,
}

"""The meaning of ``ir.ops.atomic``: lanes run one after the other, in ascending order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gridlane.interp.arith import NUMBERS
from gridlane.interp.state import Frame
from gridlane.interp.values import Array, Lanes, widened
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, atomic

Kind = atomic.AtomicKind


def _update(
    frame: Frame,
    mask: Array,
    pointer: Array,
    change: Callable[[Array, Array], Array],
    dtype: np.dtype[Any],
) -> Array:
    """Replace memory at the lanes' addresses by ``change(old, positions)``; return the old values.

    Step n does the n-th access of each address, so that within a step addresses differ.
    """
    memory = frame.block.launch.memory
    addresses = pointer[mask]
    memory.check(addresses, dtype.itemsize, dtype.itemsize)
    old = np.zeros(len(addresses), dtype)
    ranks = _ranks(addresses)
    for rank in range(int(ranks.max()) + 1):
        positions = np.flatnonzero(ranks == rank)
        old[positions] = memory.gather(addresses[positions], dtype)
        memory.scatter(addresses[positions], change(old[positions], positions))
    result = np.zeros(len(mask), dtype)
    result[mask] = old
    return result


def _ranks(addresses: Array) -> Array:
    """The number of earlier equal elements, for each element."""
    order = np.argsort(addresses, kind="stable")
    ordered = addresses[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    sizes = np.diff(np.append(starts, len(ordered)))
    ranks = np.empty(len(ordered), np.int64)
    ranks[order] = np.arange(len(ordered)) - np.repeat(starts, sizes)
    return ranks


def _atomic(frame: Frame, op: atomic.Atomic, mask: Array, pointer: Array, value: Array) -> Array:
    return read_modify_write(frame, op.kind, mask, pointer, value)


def read_modify_write(frame: Frame, kind: Kind, mask: Array, pointer: Array, value: Array) -> Array:
    """Update the scalars at addresses where the mask holds; return the old ones."""
    operands = value[mask]
    combine = STORED[kind]

    def change(old: Array, positions: Array) -> Array:
        return combine(old, operands[positions])

    return _update(frame, mask, pointer, change, value.dtype)


def compare_and_swap(
    frame: Frame, op: Op, mask: Array, pointer: Array, expected: Array, desired: Array
) -> Array:
    """Store the desired bits where memory has the expected ones; return the old scalars."""
    bits = f"u{desired.dtype.itemsize}"
    wanted, new = expected[mask].view(bits), desired[mask].view(bits)

    def change(old: Array, positions: Array) -> Array:
        same = old.view(bits) == wanted[positions]
        return np.where(same, new[positions], old.view(bits)).view(desired.dtype)

    return _update(frame, mask, pointer, change, desired.dtype)


def _cas_pair(
    frame: Frame,
    op: Op,
    mask: Array,
    pointer: Array,
    *words: Array,
) -> tuple[Array, Array]:
    """One lane after the other."""
    memory = frame.block.launch.memory
    memory.check(pointer[mask], 16, 16)
    results = np.zeros((2, len(mask)), np.uint64)
    for lane in np.flatnonzero(mask):
        pointers = pointer[lane] + np.array([0, 8], pointer.dtype)
        old = memory.gather(pointers, np.dtype(np.uint64))
        results[:, lane] = old
        expected, desired = np.array([word[lane] for word in words]).reshape(2, 2)
        memory.scatter(pointers, desired if (old == expected).all() else old)
    return results[0], results[1]


def _exchange(old: Array, operand: Array) -> Array:
    return operand


def _min(old: Array, operand: Array) -> Array:
    return np.where(widened(operand) < widened(old), operand, old)


def _max(old: Array, operand: Array) -> Array:
    return np.where(widened(operand) > widened(old), operand, old)


def _inc(old: Array, operand: Array) -> Array:
    return np.where(old >= operand, 0, old + 1).astype(old.dtype)


def _dec(old: Array, operand: Array) -> Array:
    return np.where((old == 0) | (old > operand), operand, old - 1).astype(old.dtype)


STORED: dict[Kind, Callable[[Array, Array], Array]] = {
    Kind.ADD: NUMBERS[arith.Add],
    Kind.SUB: NUMBERS[arith.Sub],
    Kind.AND: NUMBERS[arith.And],
    Kind.OR: NUMBERS[arith.Or],
    Kind.XOR: NUMBERS[arith.Xor],
    Kind.EXCHANGE: _exchange,
    Kind.MIN: _min,
    Kind.MAX: _max,
    Kind.NANMIN: NUMBERS[arith.Min],
    Kind.NANMAX: NUMBERS[arith.Max],
    Kind.INC: _inc,
    Kind.DEC: _dec,
}
"""The stored value, from the old value and the operand."""

OBSERVE: dict[type[Op], Callable[..., Lanes | None]] = {
    atomic.Atomic: _atomic,
    atomic.AtomicCas: compare_and_swap,
    atomic.AtomicCasPair: _cas_pair,
}

"""The meaning of ``ir.ops.tile_memory``: elements in row-major order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gridlane.core.errors import KernelError
from gridlane.core.source import describe
from gridlane.interp import atomic, control
from gridlane.interp.memory import Fault
from gridlane.interp.naming import array_at
from gridlane.interp.state import Frame
from gridlane.interp.tiles import scalar, type_of
from gridlane.interp.values import ADDRESS, Array, Lanes, Tile, numpy_of
from gridlane.ir.op import Op
from gridlane.ir.ops import tile_memory as ops
from gridlane.ir.values import Value

Index = tuple[int, ...]


def _where(mask: tuple[Tile, ...], shape: Index) -> Array:
    return mask[0].elements if mask else np.ones(shape, np.bool_)


def _access(
    frame: Frame, op: Op, base: Value, addresses: Array, where: Array, run: Callable[[Array], Any]
) -> Any:
    """Run an access for the addresses where it happens; a fault names the element."""
    if not where.any():
        return ()
    try:
        return run(addresses[where])
    except Fault as fault:
        index = tuple([int(axis[fault.position]) for axis in np.nonzero(where)])
        place = f"program {frame.block.index}, element {index}"
        array = array_at(frame, base, int(addresses[index]))
        text = f"{op.name}: {fault.reason}{array} (at {op.loc}; {place})"
        raise KernelError("\n".join(filter(None, (text, describe(op.loc))))) from None


def _load(frame: Frame, op: ops.TileLoad, mask: Array, pointers: Tile, *others: Tile) -> Tile:
    memory, type_ = frame.block.launch.memory, type_of(op.result.type)
    where = _where(others[:1], type_.shape)
    dtype = numpy_of(type_.element)
    result = others[1].elements.copy() if others[1:] else np.zeros(type_.shape, dtype)
    result[where] = _access(
        frame, op, op.pointers, pointers.elements, where, lambda at: memory.gather(at, dtype)
    )
    return Tile.of(result)


def _store(
    frame: Frame, op: ops.TileStore, mask: Array, pointers: Tile, value: Tile, *others: Tile
) -> None:
    where = _where(others, value.elements.shape)
    memory, values = frame.block.launch.memory, value.elements[where]
    _access(frame, op, op.pointers, pointers.elements, where, lambda at: memory.scatter(at, values))


# ---- blocks of arrays


def _block_of(
    frame: Frame, op: ops.TileLoadBlock | ops.TileStoreBlock, shape: Index, size: int, mask: Array
) -> tuple[Array, Array]:
    """The addresses of a block's elements, and which of them are in the array."""

    def number(value: Value) -> int:
        return int(scalar(frame.values[value], mask))

    addresses = np.full(shape, number(op.base), ADDRESS)
    inside = np.ones(shape, np.bool_)
    for axis, extent in enumerate(shape):
        position = np.arange(extent, dtype=np.int64) + number(op.starts[axis])
        position = position.reshape([-1 if each == axis else 1 for each in range(len(shape))])
        step = np.int64(number(op.strides[axis]) * size)
        addresses = addresses + (position * step).astype(ADDRESS)
        if axis in op.checked:
            inside &= (position >= 0) & (position < number(op.extents[axis]))
    return addresses, inside


def _load_block(frame: Frame, op: ops.TileLoadBlock, mask: Array, *_: Lanes) -> Tile:
    type_, memory = op.type, frame.block.launch.memory
    addresses, inside = _block_of(frame, op, type_.shape, type_.element.size, mask)
    dtype = numpy_of(type_.element)
    beyond = float("nan") if op.padding is ops.Padding.NANS else 0
    result = np.full(type_.shape, beyond, dtype)
    result[inside] = _access(
        frame, op, op.base, addresses, inside, lambda at: memory.gather(at, dtype)
    )
    return Tile.of(result)


def _store_block(frame: Frame, op: ops.TileStoreBlock, mask: Array, *_: Lanes) -> None:
    value = frame.values[op.value]
    assert isinstance(value, Tile)
    elements, memory = value.elements, frame.block.launch.memory
    addresses, inside = _block_of(frame, op, elements.shape, elements.dtype.itemsize, mask)
    values = elements[inside]
    _access(frame, op, op.base, addresses, inside, lambda at: memory.scatter(at, values))


# ---- atomics


def _updated(frame: Frame, op: Op, pointers: Tile, where: Array, run: Callable[..., Array]) -> Tile:
    """The old values, where ``run`` takes the addresses and makes them; 0 elsewhere."""
    base: Value = op.pointers  # type: ignore[attr-defined]  # of both atomics
    flat = where.reshape(-1)

    def change(addresses: Array) -> Array:
        return run(pointers.elements.reshape(-1), flat)

    if not flat.any():
        return Tile.of(np.zeros(where.shape, numpy_of(type_of(op.result.type).element)))
    return Tile.of(_access(frame, op, base, pointers.elements, where, change).reshape(where.shape))


def _atomic(
    frame: Frame, op: ops.TileAtomic, mask: Array, pointers: Tile, value: Tile, *others: Tile
) -> Tile:
    where = _where(others, value.elements.shape)
    operands = value.elements.reshape(-1)

    def run(addresses: Array, flat: Array) -> Array:
        return atomic.read_modify_write(frame, op.kind, flat, addresses, operands)

    return _updated(frame, op, pointers, where, run)


def _cas(
    frame: Frame, op: ops.TileAtomicCas, mask: Array, pointers: Tile, expected: Tile, desired: Tile
) -> Tile:
    where = np.ones(desired.elements.shape, np.bool_)
    words = expected.elements.reshape(-1), desired.elements.reshape(-1)

    def run(addresses: Array, flat: Array) -> Array:
        return atomic.compare_and_swap(frame, op, flat, addresses, *words)

    return _updated(frame, op, pointers, where, run)


# ---- reports


def _print(frame: Frame, op: ops.TilePrint, mask: Array, value: Tile) -> None:
    program = ", ".join(map(str, frame.block.index))
    elements = value.elements
    widths = [len(str(extent - 1)) for extent in elements.shape]
    bits = elements.view(f"u{elements.dtype.itemsize}") if op.hexadecimal else elements
    for index in np.ndindex(elements.shape):
        element = (
            f"{int(bits[index]):#0{2 + 2 * bits.itemsize}x}" if op.hexadecimal else bits[index]
        )
        place = ", ".join([f"{n:{width}}" for n, width in zip(index, widths, strict=True)])
        line = f"pid ({program}) idx ({place}){op.prefix}{element}\n"
        frame.block.launch.prints.append(line)


def _stop_if(frame: Frame, op: ops.TileStopIf, mask: Array) -> Array:
    condition = frame.values[op.condition]
    assert isinstance(condition, Tile)
    if not condition.elements.any():
        return mask
    control.report(frame, op, mask)
    frame.block.end(mask)
    return np.zeros_like(mask)


OBSERVE: dict[type[Op], Callable[..., Lanes | None]] = {
    ops.TileLoad: _load,
    ops.TileStore: _store,
    ops.TileLoadBlock: _load_block,
    ops.TileStoreBlock: _store_block,
    ops.TileAtomic: _atomic,
    ops.TileAtomicCas: _cas,
    ops.TilePrint: _print,
}

CONTROL: dict[type[Op], Callable[[Any, Any, Array], Array]] = {ops.TileStopIf: _stop_if}

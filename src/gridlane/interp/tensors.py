"""The meaning of ``ir.ops.tensors``: a thread copies all elements of a box at once."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gridlane.core.frozen import frozen
from gridlane.core.tensor_map import ALIGN, SIZE, Element, TensorMap
from gridlane.interp.atomic import read_modify_write
from gridlane.interp.mbarriers import complete
from gridlane.interp.memory import Fault
from gridlane.interp.state import Frame
from gridlane.interp.values import ADDRESS, Array, Lanes, numpy_of
from gridlane.ir.op import Op
from gridlane.ir.ops import tensors

_BITS: dict[int, np.dtype[Any]] = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}


@frozen
class _Box:
    """A box of elements: their places in shared and in global memory, and which of these are in
    the tensor; arrays of one dimension, in the order of the box."""

    of: TensorMap
    shared: Array
    there: Array
    inside: Array

    @property
    def bits(self) -> np.dtype[Any]:
        """Elements as integers."""
        return _BITS[self.of.element.size]


def _boxes(
    frame: Frame, mask: Array, start: Array, map_: Array, coordinates: tuple[Array, ...],
    chunks: bool,
) -> Iterator[tuple[int, _Box]]:  # fmt: skip
    """The box of each active lane, one after the other; see ``_box``."""
    for lane in np.flatnonzero(mask):
        data = frame.block.launch.memory.bytes_at(int(map_[lane]), SIZE).tobytes()
        try:
            of = TensorMap.decode(data)
        except ValueError as error:
            raise Fault(int(mask[:lane].sum()), str(error)) from None
        if len(of.extents) != len(coordinates):
            text = f"the tensor has {len(of.extents)} dimensions, not {len(coordinates)}"
            raise Fault(int(mask[:lane].sum()), text)
        if int(start[lane]) % tensors.BOX_ALIGN:
            text = f"a box begins at a multiple of {tensors.BOX_ALIGN} bytes of shared memory"
            raise Fault(int(mask[:lane].sum()), text)
        corner = [int(each[lane]) for each in coordinates]
        if corner[0] * of.element.size % ALIGN:
            text = f"a box begins at a multiple of {ALIGN} bytes of a line, not at {corner[0]}"
            raise Fault(int(mask[:lane].sum()), text)
        if chunks and min(corner) < 0:
            text = f"a box is stored at a corner of no negative coordinate, not at {tuple(corner)}"
            raise Fault(int(mask[:lane].sum()), text)
        yield int(lane), _box(of, int(start[lane]), corner, chunks)


@contextmanager
def _by(mask: Array, lane: int) -> Generator[None]:
    """Accesses of many elements by one lane, which faults are of."""
    try:
        yield
    except Fault as fault:
        raise Fault(int(mask[:lane].sum()), str(fault)) from None


def _box(of: TensorMap, start: int, corner: list[int], chunks: bool) -> _Box:
    """The elements of a box.

    Args:
        chunks: what follows a line that ends inside of a chunk of ``ALIGN`` bytes is in the tensor.
    """
    chunk = ALIGN // of.element.size if chunks else 1
    extents = -(-of.extents[0] // chunk) * chunk, *of.extents[1:]
    steps = (1, *of.steps[1:])
    counts = [-(-span // step) for span, step in zip(of.box, steps, strict=True)]
    index = np.indices(counts[::-1]).reshape(len(counts), -1)[::-1]
    inside, there = np.ones(index.shape[1], np.bool_), np.full(index.shape[1], of.address)
    strides = (of.element.size, *of.strides)
    for n, (place, step) in enumerate(zip(index, steps, strict=True)):
        moved = corner[n] + place * step
        inside &= (moved >= 0) & (moved < extents[n])
        there = there + moved * strides[n]
    inner = counts[0] * of.element.size
    pitch = 16 << of.swizzle if of.swizzle else inner
    row = np.arange(index.shape[1]) // max(1, counts[0])
    shared = start + row * pitch + index[0] * of.element.size
    shared = shared ^ ((shared >> 7) & (1 << of.swizzle) - 1) << 4
    return _Box(of, shared.astype(ADDRESS), there.astype(np.int64).view(ADDRESS), inside)


def _load(
    frame: Frame,
    op: tensors.TensorLoad,
    mask: Array,
    start: Array,
    map_: Array,
    barrier: Array,
    *coordinates: Array,
) -> None:
    memory, bytes_ = frame.block.launch.memory, np.zeros(len(mask), np.uint32)
    for lane, places, values in loaded(frame, mask, start, map_, coordinates):
        memory.scatter(places, values)
        bytes_[lane] = values.nbytes
    complete(frame, mask, barrier, bytes_)


def loaded(
    frame: Frame, mask: Array, start: Array, map_: Array, coordinates: tuple[Array, ...]
) -> Iterator[tuple[int, Array, Array]]:
    """Each active lane, with the places of its box in shared memory and the elements for them."""
    memory = frame.block.launch.memory
    for lane, box in _boxes(frame, mask, start, map_, coordinates, False):
        fill = np.iinfo(box.bits).max if box.of.nan else 0
        values = np.full(len(box.there), fill, box.bits)
        if box.inside.any():
            with _by(mask, lane):
                values[box.inside] = memory.gather(box.there[box.inside], box.bits)
        if box.of.element is Element.TF32:
            finite = (values & np.uint32(0x7F800000)) != 0x7F800000
            nearest = (values + np.uint32(0x1000)) & np.uint32(0xFFFFE000)
            values = np.where(finite & box.inside, nearest, values)
        yield lane, box.shared, values


def _store(
    frame: Frame,
    op: tensors.TensorStore,
    mask: Array,
    start: Array,
    map_: Array,
    *coordinates: Array,
) -> None:
    memory = frame.block.launch.memory
    for lane, box in _boxes(frame, mask, start, map_, coordinates, True):
        if not box.inside.any():
            continue
        with _by(mask, lane):
            values = memory.gather(box.shared[box.inside], box.bits)
            memory.scatter(box.there[box.inside], values)


def _reduce(
    frame: Frame,
    op: tensors.TensorReduce,
    mask: Array,
    start: Array,
    map_: Array,
    *coordinates: Array,
) -> None:
    memory = frame.block.launch.memory
    for lane, box in _boxes(frame, mask, start, map_, coordinates, True):
        kind = dict(tensors.REDUCTIONS[op.kind]).get(box.of.element)
        if kind is None:
            text = f"elements {box.of.element.name} have no reduction {op.kind.value}"
            raise Fault(int(mask[:lane].sum()), text)
        where = box.there[box.inside]
        with _by(mask, lane):
            values = memory.gather(box.shared[box.inside], numpy_of(kind))
            if len(where):
                read_modify_write(frame, op.kind, np.ones(len(where), np.bool_), where, values)


def _nothing(frame: Frame, op: Op, mask: Array) -> None:
    """Copies are done at once."""


OBSERVE: dict[type[Op], Callable[..., Lanes | None]] = {
    tensors.TensorLoad: _load,
    tensors.TensorStore: _store,
    tensors.TensorReduce: _reduce,
    tensors.BulkCommit: _nothing,
    tensors.BulkWait: _nothing,
    tensors.ProxyFence: _nothing,
}

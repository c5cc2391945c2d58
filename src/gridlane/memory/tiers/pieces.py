"""Views of a row of blocks: layouts, what indexing makes of them, their pieces in one block."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from gridlane.core.frozen import frozen


@frozen
class Layout:
    """Where the elements of a view are.

    Attributes:
        offset: of the element with all indices 0, in bytes from the first block's begin.
        shape: elements along each axis.
        strides: bytes from an element to the next one along each axis.
    """

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of elements."""
        size = 1
        for length in self.shape:
            size *= length
        return size

    def extent(self, itemsize: int) -> tuple[int, int]:
        """(first, end) of the bytes between which the elements lie; (0, 0) for no elements."""
        if not self.size:
            return 0, 0
        spans = [(n - 1) * step for n, step in zip(self.shape, self.strides, strict=True)]
        low = self.offset + sum(span for span in spans if span < 0)
        high = self.offset + sum(span for span in spans if span > 0)
        return low, high + itemsize

    def is_contiguous(self, itemsize: int) -> bool:
        """Whether the elements follow each other in C's order."""
        expected = itemsize
        for length, step in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if length > 1 and step != expected:
                return False
            expected *= max(length, 1)
        return True


def contiguous(shape: tuple[int, ...], itemsize: int, offset: int = 0) -> Layout:
    """The layout of a whole array in C's order."""
    strides: list[int] = []
    step = itemsize
    for length in reversed(shape):
        strides.append(step)
        step *= max(length, 1)
    return Layout(offset, shape, tuple(reversed(strides)))


def index(layout: Layout, key: Any) -> Layout:
    """The layout of ``view[key]``, for basic indices: integers, slices, ``...``, ``None``.

    Raises:
        IndexError: an index is out of bounds, of another kind, or there are too many.
    """
    keys = key if isinstance(key, tuple) else (key,)
    given: tuple[Any, ...] = tuple(keys)  # pyright: ignore[reportUnknownArgumentType]
    dots = sum(each is Ellipsis for each in given)
    used = sum(each is not None and each is not Ellipsis for each in given)
    if dots > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    axes = len(layout.shape)
    if used > axes:
        raise IndexError(f"too many indices: the array has {axes} axes, and {used} were indexed")
    rest = [slice(None)] * (axes - used)
    place = next((i for i, each in enumerate(given) if each is Ellipsis), len(given))
    full = (*given[:place], *rest, *given[place + dots :])
    offset, axis = layout.offset, 0
    shape: list[int] = []
    strides: list[int] = []
    for each in full:
        if each is None:
            shape.append(1)
            strides.append(0)
            continue
        length, step = layout.shape[axis], layout.strides[axis]
        if isinstance(each, slice):
            start, stop, stride = each.indices(length)
            count = len(range(start, stop, stride))
            offset += start * step if count else 0
            shape.append(count)
            strides.append(step * stride)
        else:
            offset += _position(each, length, axis) * step
        axis += 1
    return Layout(offset, tuple(shape), tuple(strides))


def _position(given: Any, length: int, axis: int) -> int:
    if isinstance(given, (bool, np.bool_)):
        raise IndexError("masks are not basic indices: copy the array to NumPy")
    try:
        place = operator.index(given)
    except TypeError:
        raise IndexError(
            f"only integers, slices, '...' and None are indices, not {type(given).__name__}: copy "
            "the array to NumPy"
        ) from None
    if not -length <= place < length:
        raise IndexError(f"index {place} is out of bounds for axis {axis} with size {length}")
    return place % length


@frozen
class Piece:
    """A part of a view that lies in one block.

    Attributes:
        block: its number.
        layout: of the part, with its offset in the block.
        where: the slices of the view's axes that are the part.
    """

    block: int
    layout: Layout
    where: tuple[slice, ...]


def pieces(layout: Layout, itemsize: int, block_bytes: int) -> Iterator[Piece]:
    """Split a view into parts that lie in one block each. No element may cross two blocks."""
    if not layout.size:
        return
    # Strides are made positive; `flipped` turns the slices of the parts back.
    flipped = tuple(step < 0 for step in layout.strides)
    low, _ = layout.extent(itemsize)
    steps = tuple(map(abs, layout.strides))
    begins = (0,) * len(steps)
    for offset, starts, shape in _split(low, begins, layout.shape, steps, itemsize, block_bytes):
        block, within = divmod(offset, block_bytes)
        where: list[slice] = []
        strides: list[int] = []
        axes = zip(starts, shape, steps, flipped, layout.shape, strict=True)
        for start, length, step, flip, whole in axes:
            if flip:
                within += (length - 1) * step
                where.append(slice(whole - start - length, whole - start))
            else:
                where.append(slice(start, start + length))
            strides.append(-step if flip else step)
        yield Piece(block, Layout(within, shape, tuple(strides)), tuple(where))


_Box = tuple[int, tuple[int, ...], tuple[int, ...]]


def _split(
    offset: int,
    starts: tuple[int, ...],
    shape: tuple[int, ...],
    steps: tuple[int, ...],
    itemsize: int,
    block_bytes: int,
) -> Iterator[_Box]:
    """(offset, starts, shape) of boxes in one block each, for strides that are not negative."""
    while True:
        span = sum((n - 1) * step for n, step in zip(shape, steps, strict=True)) + itemsize
        end = (offset // block_bytes + 1) * block_bytes
        if offset + span <= end:
            yield offset, starts, shape
            return
        axis = max((i for i, n in enumerate(shape) if n > 1), key=steps.__getitem__)
        step, length = steps[axis], shape[axis]
        inner = span - (length - 1) * step
        # As many as lie in the first block, or one that crosses its end.
        count = (end - offset - inner) // step + 1 if offset + inner <= end else 1
        first = _with(shape, axis, count)
        if offset + inner <= end:
            yield offset, starts, first
        else:
            yield from _split(offset, starts, first, steps, itemsize, block_bytes)
        if count == length:
            return
        offset += count * step
        starts = _with(starts, axis, starts[axis] + count)
        shape = _with(shape, axis, length - count)


def _with(values: tuple[int, ...], axis: int, value: int) -> tuple[int, ...]:
    return (*values[:axis], value, *values[axis + 1 :])

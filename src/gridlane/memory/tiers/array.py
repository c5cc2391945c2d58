"""Tiered arrays: arrays that may be larger than a device's memory, and than the host's."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from gridlane.core.byte_sizes import byte_size
from gridlane.core.process_bound import ProcessBound
from gridlane.memory.tiers.copies import read, read_file, write
from gridlane.memory.tiers.defaults import default_tiers, settings
from gridlane.memory.tiers.pieces import Layout, contiguous, index
from gridlane.memory.tiers.pins import ArrayBlock, all_blocks
from gridlane.memory.tiers.rows import Row
from gridlane.memory.tiers.tiers import Tiers


def tiered(
    shape: int | Sequence[int],
    dtype: Any = np.float64,
    tiers: Tiers | None = None,
    block_bytes: int | str | None = None,
) -> TieredArray:
    """An array of zeros whose blocks move between the tiers. Zeros take no memory.

    Args:
        shape: elements along each axis.
        dtype: of NumPy, records included; not objects.
        tiers: that hold it; by default those of GRIDLANE_TIERS_*, one object for all arrays.
        block_bytes: bytes of a block, 1 to 4 MiB for large arrays; by default GRIDLANE_TIERS_BLOCK,
            1 MiB.

    Raises:
        ValueError: a negative length, or a size that is none.
        TypeError: a dtype that has objects or no bytes.
        TierError: the tiers are closed.

    >>> tiers = Tiers(host="1MiB")
    >>> array = tiered((1000, 4), np.int32, tiers)
    >>> array[10:20] = 7
    >>> int(np.asarray(array[8:12]).sum())
    56
    >>> array.close()
    """
    tiers = default_tiers() if tiers is None else tiers
    lengths = _lengths(shape)
    kind = np.dtype(dtype)
    if kind.subdtype is not None:
        kind, inner = kind.subdtype
        lengths = (*lengths, *inner)
    if kind.hasobject or not kind.itemsize:
        raise TypeError(f"{kind} has objects or no bytes, which tiered arrays do not hold")
    size = settings().block if block_bytes is None else byte_size(block_bytes)
    if not size:
        raise ValueError("blocks have at least one byte")
    layout = contiguous(lengths, kind.itemsize)
    row = Row(tiers, layout.size * kind.itemsize, kind.itemsize, size)
    return TieredArray(row, layout, kind)


def _lengths(shape: int | Sequence[int]) -> tuple[int, ...]:
    given: Sequence[Any] = shape if isinstance(shape, Sequence) else (shape,)
    lengths = tuple(map(operator.index, given))
    if any(each < 0 for each in lengths):
        raise ValueError(f"the shape {lengths} has a negative length")
    return lengths


class TieredArray(ProcessBound):
    """An array, or a view of one, whose blocks are in different tiers of memory.

    Basic indices make views, which share the blocks; all integers read an element.
    ``array[...] = value`` writes block by block, and ``np.asarray(array)`` reads all of it into
    host memory. Threads may use different elements at a time.

    Attributes:
        shape: elements along each axis.
        strides: bytes from an element to the next one along each axis.
        dtype: of the elements.
    """

    __slots__ = ("__weakref__", "_layout", "_row", "dtype")
    _instead = "copy its elements to NumPy"
    __hash__ = object.__hash__

    def __init__(self, row: Row, layout: Layout, dtype: np.dtype[Any]) -> None:
        self._row, self._layout, self.dtype = row, layout, dtype

    # --- facts ---

    @property
    def shape(self) -> tuple[int, ...]:
        return self._layout.shape

    @property
    def strides(self) -> tuple[int, ...]:
        return self._layout.strides

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._layout.size

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return self.size * self.dtype.itemsize

    @property
    def tiers(self) -> Tiers:
        """Those that hold the blocks."""
        return self._row.tiers

    @property
    def block_bytes(self) -> int:
        """Bytes of a block; the last one may be smaller."""
        return self._row.block_bytes

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array without axes has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<TieredArray of shape {self.shape} and dtype {self.dtype}>"

    # --- views ---

    def __getitem__(self, key: Any) -> Any:
        """A view; an element where all axes have integers, or the view of a record's fields."""
        view = self._view(key)
        keys: tuple[Any, ...] = key if isinstance(key, tuple) else (key,)
        if view.ndim or any(each is Ellipsis for each in keys) or isinstance(key, (str, list)):
            return view
        return view._read(np.empty((), view.dtype))[()]

    def _view(self, key: Any) -> TieredArray:
        if isinstance(key, str) or (isinstance(key, list) and key and isinstance(key[0], str)):
            return self._field(key)
        return TieredArray(self._row, index(self._layout, key), self.dtype)

    def _field(self, key: Any) -> TieredArray:
        """The view of a field's elements, or of records with some of the fields."""
        fields: Any = self.dtype.fields
        names: list[Any] = [key] if isinstance(key, str) else key
        missing = [each for each in names if fields is None or each not in fields]
        if missing or fields is None:
            raise IndexError(f"{self.dtype} has no field {', '.join(map(repr, missing))}")
        layout = self._layout
        if isinstance(key, list):
            some: Any = np.empty(0, self.dtype)
            return TieredArray(self._row, layout, some[names].dtype)
        kind, offset = fields[key][:2]
        inner = contiguous((), kind.itemsize)
        if kind.subdtype is not None:
            kind, lengths = kind.subdtype
            inner = contiguous(lengths, kind.itemsize)
        shape, strides = (*layout.shape, *inner.shape), (*layout.strides, *inner.strides)
        return TieredArray(self._row, Layout(layout.offset + offset, shape, strides), kind)

    def __iter__(self) -> Iterator[Any]:
        for place in range(len(self)):
            yield self[place]

    @property
    def T(self) -> TieredArray:  # NumPy's name
        """The view with its axes in reverse order."""
        layout = self._layout
        turned = Layout(layout.offset, layout.shape[::-1], layout.strides[::-1])
        return TieredArray(self._row, turned, self.dtype)

    def reshape(self, *shape: Any) -> TieredArray:
        """The view of the same elements in C's order with another shape, where one length may be
        -1.

        Raises:
            ValueError: the elements do not follow each other in memory, or are not so many.
        """
        if not self._layout.is_contiguous(self.dtype.itemsize):
            raise ValueError("views with gaps or another order have no other shape without a copy")
        given = shape[0] if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
        # NumPy checks the lengths, on an array without memory of its own.
        lengths = np.broadcast_to(np.empty((), np.bool_), self.shape).reshape(given).shape
        layout = contiguous(lengths, self.dtype.itemsize, self._layout.offset)
        return TieredArray(self._row, layout, self.dtype)

    # --- elements ---

    def _read(self, out: np.ndarray) -> np.ndarray:
        """Copy the elements to an array of the same shape."""
        read(self._row, self._layout, self.dtype, out)
        return out

    def copy_to_host(self, out: np.ndarray | None = None) -> np.ndarray:
        """A copy of the elements in NumPy.

        Args:
            out: an array of the same shape for them, which no quota counts.

        Raises:
            TierFull: the copy would have more bytes than the host's quota.
            ValueError: ``out`` has another shape.
        """
        if out is not None:
            if out.shape != self.shape:
                raise ValueError(f"out has the shape {out.shape}, the array {self.shape}")
            return self._read(out)
        host = self._row.tiers.manager.host
        if self.nbytes > host.quota:
            raise host.full(self.nbytes, "read it by slices or blocks, or into an array: out=")
        return self._read(np.empty(self.shape, self.dtype))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("a tiered array cannot be read without a copy")
        array = self.copy_to_host()
        return array if dtype is None else array.astype(dtype, copy=False)

    def __setitem__(self, key: Any, value: Any) -> None:
        """Write elements, with NumPy's rules for shapes and types."""
        self._view(key)._write(value)

    def _write(self, value: Any) -> None:
        if isinstance(value, TieredArray):
            if value._row is self._row and self._meets(value):
                value = value._copy()  # as it is before any of it is overwritten
            spread, kind = value._broadcast(self.shape), value.dtype
            write(self._row, self._layout, self.dtype, lambda where: spread._part(where), kind)
            return
        if not isinstance(value, (np.ndarray, np.generic)):
            value = np.array(value, self.dtype)
        array = np.asarray(value)
        while array.ndim > self.ndim and array.shape[0] == 1:
            array = array[0]
        try:
            spread = np.broadcast_to(array, self.shape)
        except ValueError:
            raise _unfit(array.shape, self.shape) from None
        write(self._row, self._layout, self.dtype, spread.__getitem__, array.dtype)

    def _copy(self) -> TieredArray:
        """A copy in the same tiers."""
        copy = tiered(self.shape, self.dtype, self._row.tiers, self._row.block_bytes)
        copy._write(self)
        return copy

    def _part(self, where: tuple[slice, ...]) -> np.ndarray:
        """Some elements of the view, in NumPy."""
        part = self._view(where)
        return part._read(np.empty(part.shape, part.dtype))

    def _meets(self, other: TieredArray) -> bool:
        low, high = self._layout.extent(self.dtype.itemsize)
        first, end = other._layout.extent(other.dtype.itemsize)
        return low < end and first < high

    def _broadcast(self, shape: tuple[int, ...]) -> TieredArray:
        layout = self._layout
        lengths, steps = list(layout.shape), list(layout.strides)
        while len(lengths) > len(shape) and lengths[0] == 1:
            del lengths[0], steps[0]
        added = len(shape) - len(lengths)
        fits = all(a in (1, b) for a, b in zip(lengths, shape[max(added, 0) :], strict=False))
        if added < 0 or not fits:
            raise _unfit(layout.shape, shape)
        strides = [0] * added + [
            0 if length == 1 else step for length, step in zip(lengths, steps, strict=True)
        ]
        return TieredArray(self._row, Layout(layout.offset, shape, tuple(strides)), self.dtype)

    def copy_from(self, source: Any) -> None:
        """Write all elements from an array of the same shape, or from a binary file that has their
        bytes in C's order.

        Raises:
            ValueError: the array has another shape, or the elements of this view do not follow
                each other in memory, which files require.
            EOFError: the file ends too early. What it had is written.
        """
        if hasattr(source, "readinto"):
            if not self._layout.is_contiguous(self.dtype.itemsize):
                raise ValueError("the elements of this view do not follow each other in memory")
            read_file(self._row, self._layout.offset, self.nbytes, source)
            return
        array = source if isinstance(source, TieredArray) else np.asarray(source)
        if array.shape != self.shape:
            raise ValueError(f"the source has the shape {array.shape}, the array {self.shape}")
        self._write(array)

    # --- blocks ---

    def blocks(self, prefetch: int = 1) -> Iterator[ArrayBlock]:
        """The blocks of a whole array, in order.

        Args:
            prefetch: how many blocks behind each one are brought to the host meanwhile, of those
                that were written.

        Raises:
            ValueError: this is a view of a part.
        """
        row = self._row
        if self.nbytes != row.nbytes or not self._layout.is_contiguous(self.dtype.itemsize):
            raise ValueError("views of parts have no blocks of their own: use the whole array's")
        for block in all_blocks(row, self.dtype):
            for ahead in range(block.index + 1, min(block.index + 1 + prefetch, row.count)):
                if not row.is_zero(ahead):
                    row.tiers.prefetch([row.block(ahead)])
            yield block

    def flush(self) -> None:
        """Write all blocks of the array to the disk, and wait until it has them.

        Raises:
            TierError: the tiers have no disk.
            BlockInUse: a block is pinned for writing.
        """
        self._row.tiers.flush(self._row.used())

    def close(self) -> None:
        """Free the blocks of the array, which its other views lose as well.

        Raises:
            BlockInUse: a block is pinned.
        """
        self._row.close()

    # --- what would be wrong in silence ---

    def __eq__(self, other: object) -> NoReturn:
        raise TypeError("tiered arrays are not compared: copy what is compared to NumPy")

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError("the truth value of an array with several elements is ambiguous")
        return bool(self.copy_to_host())


def _unfit(source: tuple[int, ...], target: tuple[int, ...]) -> ValueError:
    return ValueError(f"could not broadcast input array from shape {source} into shape {target}")

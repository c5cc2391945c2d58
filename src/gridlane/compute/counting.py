"""Counts of values in nests, by blocks that count in shared memory.

A nest qualifies that adds one integer to the element of an array of bins whose last place is an
element of another array, for all elements of that, and may store a number in all bins before.
Integers wrap, so that their order is free.
"""

# pyright: reportMissingParameterType=false
# Kernels: their arguments have the types of each launch.

from __future__ import annotations

import ast
from dataclasses import replace
from functools import cache
from math import prod
from typing import Any, ClassVar

import numpy as np

from gridlane import cuda
from gridlane.algorithms.inner.launching import Kernel, kernel
from gridlane.compute.freedom import Freedom
from gridlane.compute.model import Access, Nest, Statement
from gridlane.compute.polyhedra import Polyhedra
from gridlane.compute.scanning import is_whole, number_of, smallest
from gridlane.compute.sums import in_memory
from gridlane.compute.tensors import TensorType
from gridlane.core.dtypes import DType
from gridlane.core.frozen import frozen
from gridlane.cuda.arrays.devicearray import DeviceNDArray
from gridlane.launch import current

_THREADS = 256
_ITEMS = 8
_AT_ONCE = tuple(range(_ITEMS))
"""Elements that a thread loads at once."""
_TILE = _THREADS * _ITEMS
_ROOM = 4096
"""Counters of a block, in 16 KiB of shared memory."""
_COPIES = 8
"""The most counters of a bin: those of a block's warps."""
_BLOCKS = 8
"""Blocks that a multiprocessor holds at once."""
_MOST = 1 << 31


@frozen
class Counts:
    """Counts of the values of each row.

    Attributes:
        source: the tensor of values.
        target: the tensor of bins, along its last axis.
        weight: what each value adds.
        rows: axes of the source that are axes of the bins.
        start: what bins have before; None for what they have at the call.
    """

    is_of_algorithms: ClassVar[bool] = True

    source: str
    target: str
    weight: int
    rows: int
    start: int | None
    sums: tuple[str, TensorType]
    rest: Nest | None = None

    @property
    def call(self) -> str:
        """What counts, for ``explain``."""
        return f"counts of {self.source} in shared memory -> {self.target}"

    def is_large(self, given: dict[str, Any], extents: dict[str, int]) -> bool:
        """Whether rows are long, and a block has counters for their bins."""
        x, bins = given[self.source], given[self.target]
        is_long = smallest() <= prod(x.shape[self.rows :]) < _MOST
        is_known = 0 < bins.shape[-1] <= _ROOM and _is_dense(x) and _is_dense(bins)
        return is_long and is_known and not current.device().host_visible

    def run(self, given: dict[str, Any], out: Any) -> None:
        """Add the counts to the bins."""
        x, bins = (_on_device(given[each]) for each in (self.source, self.target))
        rows, size = prod(x.shape[: self.rows]), bins.shape[-1]
        columns = prod(x.shape[self.rows :])
        if not rows:
            return
        copies = max(1, min(_COPIES, _ROOM // size))
        resident = current.device().limits.multiprocessors * _BLOCKS
        parts = max(1, min(resident // rows, -(-columns // _TILE)))
        weight, start = (
            np.int64(each).astype(_dtype(bins))[()] for each in (self.weight, self.start or 0)
        )
        if self.start is not None:
            blocks = min(resident, -(-rows * size // _THREADS))
            fill_bins[blocks, _THREADS](bins.reshape((rows * size,)), start)
        _adding(_dtype(x))[(rows, parts), _THREADS](
            x.reshape((rows, columns)), bins.reshape((rows, size)), np.int32(columns),
            np.int32(size), np.int32(copies), weight,
        )  # fmt: skip


@kernel
def fill_bins(bins, start):
    """Store a number in all bins."""
    for k in range(cuda.grid(1), bins.size, cuda.gridsize(1)):
        bins[k] = start


@cache
def _adding(dtype: Any) -> Kernel:
    """The kernel for values of a type."""

    @kernel
    def add_counts(x, bins, columns, size, copies, weight):
        """Add ``weight`` to the bin of each element of a row, for a row of blocks along y."""
        own = cuda.shared.array(_ROOM, np.uint32)
        values = cuda.local.array(_ITEMS, dtype)
        t = np.int32(cuda.threadIdx.x)
        row, step = cuda.blockIdx.x, np.int32(cuda.gridDim.y * _TILE)
        for k in range(t, copies * size, _THREADS):
            own[k] = 0
        cuda.syncthreads()
        first = np.uint32(np.int32((t // 32) % copies) * size)
        start = np.int32(cuda.blockIdx.y * _TILE)
        while start < columns:
            inside = np.int32(columns - start)
            # All reads come before all sums: no sum then delays a read.
            if inside >= _TILE:
                for k in _AT_ONCE:
                    values[k] = x[row, np.uint32(start + (k * _THREADS + t))]
            else:
                for k in _AT_ONCE:
                    if k * _THREADS + t < inside:
                        values[k] = x[row, np.uint32(start + (k * _THREADS + t))]
            for k in _AT_ONCE:
                if k * _THREADS + t < inside:
                    value = values[k]
                    if 0 <= value < size:
                        cuda.atomic.add(own, np.uint32(first + np.uint32(value)), np.uint32(1))
                    else:
                        cuda.atomic.add(bins, (row, value), weight)
            if inside <= step:
                break
            start = np.int32(start + step)
        cuda.syncthreads()
        for b in range(t, size, _THREADS):
            number = np.uint32(0)
            for k in range(copies):
                number = np.uint32(number + own[k * size + b])
            if number != 0:
                cuda.atomic.add(bins, (row, b), number * weight)

    return add_counts


def counts_of(polyhedra: Polyhedra, types: dict[str, DType], freedom: Freedom) -> Counts | str:
    """The counts that a nest is, or why it is loops; see ``libraries.Recogniser``."""
    nest = polyhedra.nest
    is_plain = not (nest.variables or polyhedra.same or any(s.tests for s in nest.statements))
    if not is_plain or len(nest.statements) not in (1, 2):
        return ""
    *starts, adder = nest.statements
    found = _counts(polyhedra, adder)
    if found is None:
        return ""
    if starts:
        start = _start(polyhedra, starts[0], adder, found)
        if start is None:
            return ""
        found = replace(found, start=start)
    kinds = [nest.tensors[each].dtype for each in (found.source, found.target)]
    if not all(each.is_integer for each in kinds):
        return "loops: the order of sums of floats is that of the loops"
    if kinds[1].size < 4:
        return f"loops: devices have no atomic sums of {kinds[1]}"
    return found


def _counts(polyhedra: Polyhedra, adder: Statement) -> Counts | None:
    """``bins[r, x[r, j]] += weight`` for all ``r`` and ``j``."""
    nest, write = polyhedra.nest, adder.write
    weight = _weight(nest, adder)
    if adder.operator != "+" or write.indices is not None or weight is None:
        return None
    node = adder.node
    target = node.target if isinstance(node, ast.AugAssign) else node.targets[0]
    if not isinstance(target, ast.Subscript) or write.name not in nest.tensors:
        return None
    places = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
    *rows, last = places
    source = _read(nest, adder, last)
    names = [each.id if isinstance(each, ast.Name) else "" for each in rows]
    loops = tuple([each.name for each in adder.loops])
    is_of_rows = names == [each.text for each in adder.loops[: len(rows)]]
    if source is None or source.name == write.name or not is_of_rows:
        return None
    if source.indices != loops or len(loops) == len(rows) or not is_whole(polyhedra, adder, source):
        return None
    kinds = [nest.tensors[each].extents for each in (source.name, write.name)]
    if [str(each) for each in kinds[0][: len(rows)]] != [str(each) for each in kinds[1][:-1]]:
        return None
    sums = write.name, nest.tensors[write.name]
    return Counts(source.name, write.name, weight, len(rows), None, sums)


def _start(polyhedra: Polyhedra, start: Statement, adder: Statement, found: Counts) -> int | None:
    """The number that a statement stores in all bins before anything is added to them."""
    number = number_of(polyhedra.nest, start.node.value)
    is_stored = isinstance(start.node, ast.Assign) and start.place < adder.place
    loops = tuple([each.name for each in start.loops])
    if not is_stored or start.write.name != found.target or start.write.indices != loops:
        return None
    counted = {each.name for each in adder.loops[found.rows :]}
    if counted & {*loops} or not is_whole(polyhedra, start, start.write):
        return None
    return number if isinstance(number, int) and abs(number) < _MOST else None


def _weight(nest: Nest, adder: Statement) -> int | None:
    """The integer that a statement adds."""
    value = adder.node.value
    if isinstance(adder.node, ast.AugAssign):
        found = number_of(nest, value) if isinstance(adder.node.op, ast.Add) else None
    elif isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        both = [number_of(nest, each) for each in (value.left, value.right)]
        found = next((each for each in both if each is not None), None)
    else:
        found = None
    return found if isinstance(found, int) and abs(found) < _MOST else None


def _read(nest: Nest, adder: Statement, node: ast.expr) -> Access | None:
    """The element of a tensor that an expression is."""
    if not isinstance(node, ast.Subscript):
        return None
    loc = nest.place(node)
    return next((each for each in adder.reads if each.loc == loc), None)


def _on_device(array: Any) -> Any:
    """An array of the device: a tensor of torch's too, so that its launches can be repeated."""
    known = in_memory(array)
    return known if isinstance(known, DeviceNDArray) else cuda.as_cuda_array(known)


def _dtype(array: Any) -> np.dtype[Any]:
    return np.dtype(str(array.dtype).removeprefix("torch."))


def _is_dense(array: Any) -> bool:
    """Whether the elements of an array follow each other in memory."""
    size, steps = _dtype(array).itemsize, getattr(array, "strides", None)
    if hasattr(array, "stride"):  # torch counts elements
        steps, size = array.stride(), 1
    for extent, step in zip(reversed(array.shape), reversed(steps or ()), strict=True):
        if extent != 1 and step != size:
            return False
        size *= extent
    return True

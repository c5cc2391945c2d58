"""Stable sorts of segments, as one merge sort of keys behind the number of their segment.

The number is twice the segment's start: an item stays in its segment. An item outside of all
segments has one more than twice its place, so that it stays there, and it is not written.
"""

# pyright: reportMissingParameterType=false
# Kernels: their arguments have the types of each launch.

from __future__ import annotations

from typing import Any

from gridlane import cuda
from gridlane.algorithms.caching import cached
from gridlane.algorithms.inner.launching import Kernel, blocks_for, kernel
from gridlane.algorithms.operators import Operator
from gridlane.algorithms.sequences import Access, Code
from gridlane.cuda.kernels.decorators import jit

_THREADS = 128
_MOST_BLOCKS = 32768


@kernel
def _number_outside(numbers, count):
    for i in range(cuda.grid(1), count, cuda.gridsize(1)):
        numbers[i] = 2 * i + 1


@cached
def _numbering(starts: Code, ends: Code) -> Kernel:
    start_of, end_of = starts.load, ends.load

    @kernel
    def number(numbers, begins, stops, segments):
        for s in range(cuda.blockIdx.x, segments, cuda.gridDim.x):
            begin = start_of(begins, s)
            for i in range(begin + cuda.threadIdx.x, end_of(stops, s), _THREADS):
                numbers[i] = 2 * begin

    return number


def number_items(
    numbers: Access, starts: Access, ends: Access, segments: int, count: int, stream: Any
) -> None:
    """Store the number of each item's segment."""
    if count:
        blocks = blocks_for(count, _THREADS, _MOST_BLOCKS)
        _number_outside[blocks, _THREADS, stream](numbers.state, count)
    if segments:
        numbering = _numbering(starts.code, ends.code)
        blocks = min(segments, _MOST_BLOCKS)
        numbering[blocks, _THREADS, stream](numbers.state, starts.state, ends.state, segments)


@cached
def by_segment(order: Operator, descending: bool) -> Operator:
    """The comparison of pairs of a number and a key's bits; see ``radix_sort.ordered_bits``."""
    ordered = order.function

    def less(a, b):
        if a[0] != b[0]:
            return a[0] < b[0]
        if descending:
            return ordered(b[1]) < ordered(a[1])
        return ordered(a[1]) < ordered(b[1])

    return Operator(("by segment", order, descending), jit(less, device=True))


@cached
def inside_segments(sink: Code) -> Code:
    """An output of pairs of a number and an item, which keeps the items of segments."""
    write = sink.store

    def store(state, i, value):
        if value[0] % 2 == 0:
            write(state, i, value[1])

    return Code(("inside segments", sink), None, jit(store, device=True))

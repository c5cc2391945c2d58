"""Binary searches of many values in a sorted sequence."""

# pyright: reportMissingParameterType=false
# Kernels: their arguments have the types of each launch.

from __future__ import annotations

from typing import Any

from gridlane import cuda
from gridlane.algorithms.caching import cached
from gridlane.algorithms.inner.launching import Kernel, blocks_for, kernel
from gridlane.algorithms.operators import Operator
from gridlane.algorithms.sequences import Access, Code

_THREADS = 128
_MOST_BLOCKS = 32768


@cached
def _kernel(data: Code, values: Code, sink: Code, less: Operator, upper: bool) -> Kernel:
    item_of, value_of, store, before = data.load, values.load, sink.store, less.function

    @kernel
    def search(items, wanted, outs, count, searches):
        for v in range(cuda.grid(1), searches, cuda.gridsize(1)):
            value = value_of(wanted, v)
            low = 0
            high = count
            while low < high:
                middle = low + (high - low) // 2
                if upper:
                    behind = not before(value, item_of(items, middle))
                else:
                    behind = bool(before(item_of(items, middle), value))
                if behind:
                    low = middle + 1
                else:
                    high = middle
            store(outs, v, low)

    return search


def search(
    data: Access,
    values: Access,
    sink: Access,
    less: Operator,
    upper: bool,
    count: int,
    searches: int,
    stream: Any,
) -> None:
    """Store for each value the place of the first item that is not less, or is greater."""
    launched = _kernel(data.code, values.code, sink.code, less, upper)
    if searches:
        blocks = blocks_for(searches, _THREADS, _MOST_BLOCKS)
        states = data.state, values.state, sink.state
        launched[blocks, _THREADS, stream](*states, count, searches)

"""Differences of neighbours, and samples between levels of any distance."""

# pyright: reportMissingParameterType=false
# Kernels: their arguments have the types of each launch.

from __future__ import annotations

from typing import Any

from gridlane import cuda
from gridlane.algorithms.caching import cached
from gridlane.algorithms.inner.launching import Kernel, blocks_for, kernel
from gridlane.algorithms.operators import Operator
from gridlane.algorithms.sequences import Access, Code

_THREADS = 256
_MOST_BLOCKS = 32768


@cached
def _kernel(source: Code, sink: Code, op: Operator) -> Kernel:
    load, store, function = source.load, sink.store, op.function

    @kernel
    def subtract(ins, outs, count):
        for i in range(cuda.grid(1), count, cuda.gridsize(1)):
            if i == 0:
                store(outs, i, load(ins, i))
            else:
                store(outs, i, function(load(ins, i), load(ins, i - 1)))

    return subtract


def adjacent_difference(
    source: Access, sink: Access, op: Operator, count: int, stream: Any
) -> None:
    """Store the first item, and ``op(source[i], source[i - 1])`` of the others."""
    launched = _kernel(source.code, sink.code, op)
    if count:
        blocks = blocks_for(count, _THREADS, _MOST_BLOCKS)
        launched[blocks, _THREADS, stream](source.state, sink.state, count)

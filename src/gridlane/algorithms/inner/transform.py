"""Transformations: a function of the items at each place."""

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
def _unary(source: Code, sink: Code, op: Operator) -> Kernel:
    load, store, function = source.load, sink.store, op.function

    @kernel
    def transform(ins, outs, count):
        for i in range(cuda.grid(1), count, cuda.gridsize(1)):
            store(outs, i, function(load(ins, i)))

    return transform


@cached
def _binary(first: Code, second: Code, sink: Code, op: Operator) -> Kernel:
    load1, load2, store, function = first.load, second.load, sink.store, op.function

    @kernel
    def transform(ins1, ins2, outs, count):
        for i in range(cuda.grid(1), count, cuda.gridsize(1)):
            store(outs, i, function(load1(ins1, i), load2(ins2, i)))

    return transform


def transform(
    sources: tuple[Access, ...], sink: Access, op: Operator, count: int, stream: Any
) -> None:
    """``sink[i] = op(sources[0][i], …)`` for each i below ``count``; one source or two."""
    codes = [each.code for each in sources]
    make: Any = _unary if len(sources) == 1 else _binary
    launched = make(*codes, sink.code, op)
    if count:
        blocks = blocks_for(count, _THREADS, _MOST_BLOCKS)
        states = [each.state for each in sources]
        launched[blocks, _THREADS, stream](*states, sink.state, count)

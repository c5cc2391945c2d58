"""numba-cuda's PTX of scalar expressions, on the interpreter by the PTX frontend.

numba compiles in a process of its own, without a GPU; see ``record_types.by_numba``.
"""

from __future__ import annotations

import warnings
from concurrent.futures import Executor
from types import SimpleNamespace

import numpy as np
from tests.peers.facts import Kinds, compiled
from tests.peers.record_types import CAPABILITY
from tests.peers.values import BLOCK, Fact, grid, kernel_source

from gridlane import cuda
from gridlane.frontends.ptx import parse_ptx
from gridlane.launch import current
from gridlane.launch.devices import get_device


def ptx_by_numba(text: str, kinds: Kinds) -> str:
    """The PTX of a kernel ``f`` of arrays. Raises numba's own errors."""
    from numba import cuda as numba_cuda
    from numba import types

    device = SimpleNamespace(compute_capability=CAPABILITY)
    numba_cuda.dispatcher.get_current_device = lambda: device  # overloads ask for it
    named = [getattr(types, "boolean" if kind == "bool" else kind) for kind in kinds]
    arrays = tuple([types.Array(each, 1, "C") for each in named])
    function = compiled(text, numba_cuda)
    warnings.simplefilter("ignore")
    return numba_cuda.compile_ptx(function, arrays, device=False, cc=CAPABILITY)[0]


def launched(device: str, ptx: str, arrays: list[np.ndarray], blocks: int, threads: int) -> None:
    """Launch the kernel of numba's PTX, which changes the arrays. numba passes an array as its
    owner, its size, the size of an element, its data, shape and strides."""
    current.choose(get_device(device))
    (name,) = parse_ptx(ptx).entries
    args: list[object] = []
    for array in arrays:
        words = array.view(np.uint8)  # of any type
        args += [0, 0, array.size, array.itemsize, words, *array.shape, *array.strides]
    cuda.RawModule(code=ptx).get_function(name)(blocks, threads, tuple(args))


def answers_of_ptx(numba: Executor, facts: list[Fact], device: str = "interp") -> list[np.ndarray]:
    """The results of facts of the same operands by numba's PTX.

    Raises:
        PtxError: the frontend refuses it.
    """
    arrays = grid(facts[0].kinds)
    results = list(dict.fromkeys(fact.result for fact in facts))
    size = arrays[0].size
    counts = [sum(fact.result == result for fact in facts) for result in results]
    arrays += [np.zeros(size * count, result) for result, count in zip(results, counts)]
    kinds = tuple([str(array.dtype) for array in arrays])
    ptx = numba.submit(ptx_by_numba, kernel_source(facts), kinds).result(300)
    launched(device, ptx, arrays, -(-size // BLOCK), BLOCK)
    made = zip(results, arrays[len(facts[0].kinds) :])
    parts = {result: iter(array.reshape(-1, size)) for result, array in made}
    return [next(parts[fact.result]) for fact in facts]

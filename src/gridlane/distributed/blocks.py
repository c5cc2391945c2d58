"""Kernels on the blocks of Dask's arrays: a launch for each block."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gridlane.core.errors import ArgumentError
from gridlane.cuda.kernels.dispatcher import Dispatcher
from gridlane.cuda.raw.module import RawKernel
from gridlane.distributed.clusters import dask

_SHAPES = {1: (256,), 2: (16, 16), 3: (8, 8, 4)}
"""Threads of a block by the axes of an array."""


def map_blocks(
    kernel: Any, *arrays: Any, dtype: Any = None, block: Any = None, **options: Any
) -> Any:
    """Launch a kernel for each block of arrays.

    Args:
        kernel: called with a block of each array, in order, and with an array for the result, of
            zeros, which it fills. Kernels of ``cuda.jit`` and raw ones have a thread for each
            element of it: the first axis is that of ``x``. Other functions are called as they are:
            those of ``compute``, or a Python function that launches what it wants.
        arrays: Dask's arrays, whose blocks are NumPy's and broadcast; or scalars. A kernel may not
            write to their blocks, which other tasks read.
        dtype: of the result; by default what NumPy makes of those of the arrays.
        block: threads of a block, for kernels of one to three axes.
        options: of ``dask.array.map_blocks``.

    Returns:
        Dask's array, of the blocks' shapes. Nothing is computed yet.

    Raises:
        ArgumentError: no array is one of Dask's, or the kernel is of no such kind.
        MissingError: Dask is not installed.

    >>> import dask.array as da
    >>> import numpy as np
    >>> from gridlane import cuda
    >>> from gridlane.distributed import map_blocks
    >>> @cuda.jit
    ... def scaled(x, by, out):
    ...     i = cuda.grid(1)
    ...     if i < out.size:
    ...         out[i] = x[i] * by
    >>> map_blocks(scaled, da.arange(6, chunks=3), 10).compute(scheduler="sync")
    array([ 0, 10, 20, 30, 40, 50])
    """
    module, launch, kind = _prepared(kernel, arrays, dtype, block)
    return module.map_blocks(launch, *arrays, dtype=kind, **_described(options, arrays, kind))


def map_overlap(
    kernel: Any,
    *arrays: Any,
    depth: Any,
    boundary: Any = None,
    dtype: Any = None,
    block: Any = None,
    **options: Any,
) -> Any:
    """Launch a kernel for each block of arrays with elements of its neighbours around it.

    Args:
        kernel: as for ``map_blocks``; its arrays are larger than the blocks by ``depth`` at each
            side, and what it computes there is left out.
        depth, boundary: as for ``dask.array.map_overlap``: how many elements of each axis, and what
            is outside of the array: ``"reflect"``, ``"periodic"``, ``"nearest"``, a number, or
            "none" for no more elements there.
        arrays, dtype, block, options: as for ``map_blocks``.

    Raises:
        ArgumentError: as ``map_blocks``.
        MissingError: Dask is not installed.
    """
    module, launch, kind = _prepared(kernel, arrays, dtype, block)
    described = _described(options, arrays, kind)
    return module.map_overlap(
        launch, *arrays, depth=depth, boundary=boundary, dtype=kind, **described
    )


def _prepared(
    kernel: Any, arrays: tuple[Any, ...], dtype: Any, block: Any
) -> tuple[Any, Any, np.dtype]:
    """Dask's module of arrays, the function of a block, and the dtype of the result."""
    module = dask("dask.array")
    own = [each for each in arrays if isinstance(each, module.Array)]
    if not own:
        raise ArgumentError("map_blocks and map_overlap take at least one array of dask.array")
    if not callable(kernel) or hasattr(kernel, "warmup"):
        raise ArgumentError(
            f"{kernel!r} is no kernel with a thread for each element: pass a Python function of "
            "the arrays and the result, which launches it"
        )
    kind = np.dtype(np.result_type(*[each.dtype for each in own]) if dtype is None else dtype)
    shape = (block,) if isinstance(block, int) else block
    return module, partial(launched, kernel, kind, shape), kind


def _described(options: dict[str, Any], arrays: tuple[Any, ...], kind: np.dtype) -> dict[str, Any]:
    """The options with what an empty result is, so that Dask launches nothing to know it."""
    rank = max(getattr(each, "ndim", 0) for each in arrays)
    return {"meta": np.empty((0,) * rank, kind), **options}


def launched(
    kernel: Any, dtype: np.dtype, block: tuple[int, ...] | None, *values: Any
) -> np.ndarray:
    """The result of a kernel for blocks.

    Raises:
        ArgumentError: an array has more than three axes, and the kernel a thread for each element.
    """
    blocks = [_readonly(each) if isinstance(each, np.ndarray) else each for each in values]
    shape = np.broadcast_shapes(*[each.shape for each in blocks if isinstance(each, np.ndarray)])
    out = np.zeros(shape, dtype)
    if not out.size:
        return out
    if not isinstance(kernel, Dispatcher | RawKernel):
        kernel(*blocks, out)
        return out
    threads = block or _SHAPES.get(out.ndim)
    if threads is None or len(threads) != out.ndim:
        raise ArgumentError(
            f"a kernel has threads along one to three axes, those of block={block!r}, and the "
            f"array has {out.ndim}: pass a Python function that launches it"
        )
    grid = tuple([-(-extent // size) for extent, size in zip(shape, threads, strict=True)])
    if isinstance(kernel, RawKernel):
        kernel(grid, threads, (*blocks, out))
    else:
        kernel[grid, threads](*blocks, out)
    return out


def _readonly(block: np.ndarray) -> np.ndarray:
    """A block that kernels cannot write to: it belongs to other tasks as well."""
    shown = block.view()
    shown.flags.writeable = False
    return shown

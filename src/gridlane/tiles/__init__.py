"""Tile programs: Triton's language and launches, on every device.

    >>> import numpy as np
    >>> from gridlane import tiles
    >>> tl = tiles.language
    >>> @tiles.jit
    ... def add(x, y, out, n, BLOCK: tl.constexpr):
    ...     i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ...     total = tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n)
    ...     tl.store(out + i, total, mask=i < n)
    >>> x, out = np.arange(5, dtype=np.float32), np.zeros(5, np.float32)
    >>> kernel = add[(tiles.cdiv(5, 4),)](x, x, out, 5, BLOCK=4)
    >>> out
    array([0., 2., 4., 6., 8.], dtype=float32)

``install_as_triton`` makes ``import triton`` find this package, as ``gridlane run`` does.
"""

from __future__ import annotations

from gridlane.cuda.triton_compat import install_as_triton
from gridlane.frontends.triton import language
from gridlane.frontends.triton.aggregates import aggregate, must_use_result
from gridlane.frontends.triton.functions import constexpr_function
from gridlane.tiles import compiling as compiler
from gridlane.tiles import errors, knobs, runtime, testing
from gridlane.tiles.autotuning import autotune, heuristics
from gridlane.tiles.compiling import compile, set_allocator
from gridlane.tiles.configs import Config
from gridlane.tiles.errors import (
    CompilationError,
    InterpreterError,
    OutOfResources,
    TritonError,
)
from gridlane.tiles.jit import JITFunction, KernelInterface, jit
from gridlane.tiles.tuning import TunedProgram, tune
from gridlane.tiles.wrappers import MockTensor, TensorWrapper, reinterpret

__version__ = "3.9.0"
"""The release of Triton whose language it is."""

__all__ = [
    "CompilationError",
    "Config",
    "InterpreterError",
    "JITFunction",
    "KernelInterface",
    "MockTensor",
    "OutOfResources",
    "TensorWrapper",
    "TritonError",
    "TunedProgram",
    "aggregate",
    "autotune",
    "cdiv",
    "compile",
    "compiler",
    "constexpr_function",
    "errors",
    "heuristics",
    "install_as_triton",
    "jit",
    "knobs",
    "language",
    "must_use_result",
    "next_power_of_2",
    "reinterpret",
    "runtime",
    "set_allocator",
    "testing",
    "tune",
]


@constexpr_function
def cdiv(x: int, y: int) -> int:
    """The quotient of whole numbers, rounded up.

    >>> cdiv(10, 4)
    3
    """
    return (x + y - 1) // y


@constexpr_function
def next_power_of_2(n: int) -> int:
    """The smallest power of two that is no less than a number.

    >>> next_power_of_2(5), next_power_of_2(8), next_power_of_2(0)
    (8, 8, 0)
    """
    return 1 << (n - 1).bit_length() if n > 0 else 0

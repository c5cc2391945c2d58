"""The cases of the self-test: kernels by types, with values that include the edges."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, cast

import numpy as np

from gridlane.backends import backend
from gridlane.cli.selftest import kernels, tile_kernels
from gridlane.compiler.programs import block_of
from gridlane.core.argtypes import ArrayType, ScalarType
from gridlane.core.frozen import frozen
from gridlane.core.numpy_types import from_numpy
from gridlane.frontends.python.kernel_source import PythonSource
from gridlane.frontends.triton.functions import TileFunction
from gridlane.frontends.triton.source import TileSource
from gridlane.ir.source import KernelSource

SIZE = 192
BLOCK = 64
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float32", "float64")
FUNCTION_ULP = 4
"""The bound in docs/math.md; lgamma is worse near its zeros."""


@frozen
class Case:
    """A kernel with its launch.

    Attributes:
        function: of numba's dialect, or a tile program, which has the block of its device.
        rows: names of the rows of its result.
        types: the element types of its two operands and of its result.
        start: the initial value of its result.
        ulp: the error bound of a float.
    """

    name: str
    function: Callable[..., None] | TileFunction
    rows: tuple[str, ...]
    types: tuple[str, str]
    grid: tuple[int, int, int] = (SIZE // BLOCK, 1, 1)
    block: tuple[int, int, int] = (BLOCK, 1, 1)
    shared: int = 0
    width: int = SIZE
    start: int = 0
    ulp: int = 0

    def arrays(self) -> list[np.ndarray]:
        """The two operands and the result."""
        source, result = self.types
        left, right = operands(source, self.name == "functions")
        return [left, right, np.full((len(self.rows), self.width), self.start, result)]

    @property
    def source(self) -> KernelSource:
        """The kernel's source."""
        if isinstance(self.function, TileFunction):
            return TileSource(self.function, warps=tile_kernels.WARPS)
        return PythonSource(cast("FunctionType", self.function))

    def block_on(self, device: Any) -> tuple[int, int, int]:
        """The shape of blocks on a device."""
        if isinstance(self.function, TileFunction):
            return block_of(backend(device.target((1, 1, 1)).name), tile_kernels.WARPS)
        return self.block

    def arguments(self) -> tuple[ArrayType, ...]:
        """The kernel's argument types."""
        types = []
        for array in self.arrays():
            element = from_numpy(array.dtype)
            assert isinstance(element, ScalarType)
            if isinstance(self.function, TileFunction):
                types.append(ArrayType(element, 1, "A"))
                continue
            types.append(element[(slice(None),) * (array.ndim - 1) + (slice(None, None, 1),)])
        return tuple(types)


def operands(name: str, small: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Two columns of values: all pairs of edges, and random ones."""
    rng = np.random.default_rng(20261121)
    dtype = np.dtype(name)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        edges = np.array([0, 1, 2, 3, info.max, info.max - 1, info.min, info.min + 1], dtype)
        some = rng.integers(info.min, info.max, SIZE, dtype, endpoint=True)
    else:
        info = np.finfo(dtype)
        edges = np.array(
            [0.0, -0.0, 1, -1.5, np.inf, -np.inf, np.nan, info.tiny, info.max, info.tiny / 8], dtype
        )
        some = (rng.standard_normal(SIZE) * 3).astype(dtype)
        if not small:
            some *= np.exp2(rng.integers(-30, 30, SIZE)).astype(dtype)
    left, right = some.copy(), rng.permutation(some)
    count = len(edges)
    left[: count * count] = np.repeat(edges, count)[:SIZE]
    right[: count * count] = np.tile(edges, count)[:SIZE]
    return left, right


def _typed(name: str, types: tuple[str, ...], result: str = "", ulp: int = 0) -> Iterator[Case]:
    for each in types:
        function = getattr(kernels, name)
        yield Case(name, function, kernels.ROWS[name], (each, result or each), ulp=ulp)


def every() -> Iterator[Case]:
    """All cases, in the order of the table."""
    yield from _typed("arithmetic", INTEGERS + FLOATS)
    yield from _typed("division", INTEGERS + FLOATS)
    yield from _typed("quotients", FLOATS)
    yield from _typed("bits", INTEGERS)
    yield from _typed("counts", ("int32", "uint32", "int64", "uint64"))
    yield from _typed("comparisons", INTEGERS + FLOATS, "int32")
    for source in INTEGERS + FLOATS:
        for result in INTEGERS + FLOATS:
            if source != result:
                yield Case("conversion", kernels.conversion, (f"to {result}",), (source, result))
    yield from _typed("functions", ("float32",), ulp=FUNCTION_ULP)
    yield from _typed("atomics", ("int32", "uint32"))
    yield Case("atomics", kernels.atomic_sums, ("add",), ("int32", "float32"))
    yield from _typed("warps", ("int32",))
    for name, types in (("whole_tiles", "int32"), ("float_tiles", "float32")):
        program = getattr(tile_kernels, name)
        yield Case("tiles", program, tile_kernels.ROWS[name], (types, types), (1, 1, 1))
    yield from _effects()


def _effects() -> Iterator[Case]:
    """Cases of effects: memory, control, grids, reports of a kernel."""
    whole = ("int32", "int32")
    yield Case("shared memory", kernels.shared_memory, ("reduction",), whole)
    yield Case("shared memory", kernels.dynamic_memory, ("dynamic",), whole, shared=4 * BLOCK)
    yield Case("control", kernels.divergence, ("loops",), whole)
    yield Case(
        "grid",
        kernels.places,
        ("three axes",),
        whole,
        (2, 3, 4),
        (8, 2, 1),
        width=2 * 3 * 4 * 16,
    )
    yield Case("grid", kernels.many_blocks, ("70000 blocks",), whole, (70000, 1, 1), (1, 1, 1))
    yield Case("report", kernels.raising, ("raise",), whole, width=4)
    yield Case("report", kernels.printing, ("print",), whole)

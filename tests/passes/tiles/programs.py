"""Small programs over tiles, built op by op."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gridlane.backends import backend
from gridlane.compiler.programs import block_of
from gridlane.conformance.module_runner import run_on
from gridlane.core.dtypes import DType, b1, i32
from gridlane.ir.builder import Builder
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, grid, memory, tile_memory, tiles
from gridlane.ir.stages import TILE
from gridlane.ir.types import PointerType, TileType, Type, pointer, tile
from gridlane.ir.values import Function, Module, Param, Value, Var
from gridlane.ir.verifier import verify

Body = Callable[..., Any]


class Program:
    """A kernel over tiles with pointers to ``elements`` as parameters, and i32 ``scalars``."""

    def __init__(self, *elements: DType, scalars: int = 0, warps: int = 4) -> None:
        params = [Param(Value(pointer(e), None, f"p{n}"), n) for n, e in enumerate(elements)]
        count = len(params)
        params += [Param(Value(i32, None, f"n{n}"), count + n) for n in range(scalars)]
        self.kernel = Function("program", params, is_kernel=True)
        self.module = Module({"program": self.kernel}, program_warps=warps)
        self.b = Builder(self.module, self.kernel)
        self.pointers = [p.value for p in params[:count]]
        self.scalars = [p.value for p in params[count:]]

    def emit(self, op: Op) -> Value:
        return self.b.value(op)

    # ---- functions for elements

    def function(self, types: list[Type], body: Body) -> str:
        """A device function of a Python function that builds it."""
        name = f"f{len(self.module.functions)}"
        params = [Param(Value(each, None, f"a{n}"), n) for n, each in enumerate(types)]
        made = Function(name, params)
        self.module.functions[name] = made
        b = Builder(self.module, made)
        results = body(b, *[p.value for p in params])
        results = results if isinstance(results, tuple) else (results,)
        made.results = tuple([value.type for value in results])
        b.return_(results)
        return name

    def map(self, body: Body, *arguments: Value) -> Any:
        """``body(b, ...)`` for each element."""
        types = [tiles.element_type(value.type) for value in arguments]
        name = self.function(types, body)
        shape = next(v.type.shape for v in arguments if isinstance(v.type, TileType))
        results = tuple([tile(shape, r) for r in self.module.functions[name].results])
        op = self.b.emit(tiles.TileMap(name, arguments, results))
        return op.results[0] if len(op.results) == 1 else op.results

    def binary(self, op: type[Op], lhs: Value, rhs: Value) -> Value:
        return self.map(lambda b, x, y: b.value(op(x, y)), lhs, rhs)

    def unary(self, op: type[Op], value: Value) -> Value:
        return self.map(lambda b, x: b.value(op(x)), value)

    def add(self, lhs: Value, rhs: Value) -> Value:
        return self.binary(arith.Add, lhs, rhs)

    def cast(self, value: Value, type_: DType) -> Value:
        return self.map(lambda b, x: b.cast(x, type_), value)

    def reduce(self, body: Body, axis: int, *arguments: Value) -> Any:
        types = [tiles.element_type(value.type) for value in arguments]
        op = self.b.emit(tiles.TileReduce(self.function(types * 2, body), arguments, axis))
        return op.results[0] if len(op.results) == 1 else op.results

    def scan(self, body: Body, axis: int, *arguments: Value, reverse: bool = False) -> Any:
        types = [tiles.element_type(value.type) for value in arguments]
        op = self.b.emit(tiles.TileScan(self.function(types * 2, body), arguments, axis, reverse))
        return op.results[0] if len(op.results) == 1 else op.results

    # ---- tiles

    def full(self, number: float, shape: tuple[int, ...], type_: DType) -> Value:
        return self.emit(tiles.TileSplat(self.b.const(number, type_), tile(shape, type_)))

    def splat(self, value: Value, shape: tuple[int, ...]) -> Value:
        return self.emit(tiles.TileSplat(value, tile(shape, value.type)))  # type: ignore[arg-type]

    def iota(self, count: int, start: int = 0) -> Value:
        return self.emit(tiles.TileIota(start, tile((count,), i32)))

    def reshape(self, value: Value, shape: tuple[int, ...]) -> Value:
        return self.emit(tiles.TileReshape(value, tile(shape, value.type.element)))  # type: ignore[union-attr]

    def broadcast(self, value: Value, shape: tuple[int, ...]) -> Value:
        return self.emit(tiles.TileBroadcast(value, tile(shape, value.type.element)))  # type: ignore[union-attr]

    def numbers(self, shape: tuple[int, ...]) -> Value:
        """The row-major number of each element."""
        total: Value | None = None
        for axis, extent in enumerate(shape):
            one = self.reshape(
                self.iota(extent), tuple([extent if a == axis else 1 for a in range(len(shape))])
            )
            spread = self.broadcast(one, shape)
            if total is None:
                total = spread
            else:
                scaled = self.map(lambda b, x, e=extent: b.mul(x, b.const(e, i32)), total)
                total = self.add(scaled, spread)
        assert total is not None
        return total

    # ---- memory

    def pointers_at(self, base: Value, offsets: Value) -> Value:
        return self.map(lambda b, p, n: b.offset(p, n), base, offsets)

    def load(
        self, base: int, offsets: Value, mask: Value | None = None, other: Value | None = None
    ) -> Value:
        at = self.pointers_at(self.pointers[base], offsets)
        masks = () if mask is None else (mask,)
        return self.emit(tile_memory.TileLoad(at, masks, () if other is None else (other,)))

    def store(self, base: int, offsets: Value, value: Value, mask: Value | None = None) -> None:
        at = self.pointers_at(self.pointers[base], offsets)
        self.b.emit(tile_memory.TileStore(at, value, () if mask is None else (mask,)))

    def below(self, numbers: Value, limit: Value) -> Value:
        return self.map(lambda b, n, m: b.lt(n, m), numbers, limit)

    def block(self) -> Value:
        return self.emit(grid.BlockIdx(grid.Axis.X))

    def var(self, type_: Type, start: Value) -> Var:
        var = self.b.variable("v", type_)
        self.b.write(var, start)
        return var


def run(
    program: Program,
    device: str,
    arrays: list[np.ndarray],
    scalars: tuple[int, ...] = (),
    grid: int = 1,
) -> list[np.ndarray]:
    """The arrays after a launch."""
    verify(program.module, TILE)
    block = block_of(backend(device), program.module.program_warps)
    outcome = run_on(device, program.module, (grid, 1, 1), block, arrays, scalars)
    assert not outcome.raised
    return outcome.arrays


def same(
    program: Program,
    device: str,
    arrays: list[np.ndarray],
    scalars: tuple[int, ...] = (),
    grid: int = 1,
    rtol: float = 0,
    atol: float = 0,
) -> list[np.ndarray]:
    """Require what the interpreter computes of a device; return the arrays."""
    want = run(program, "interp", arrays, scalars, grid)
    got = run(program, device, arrays, scalars, grid)
    for one, other in zip(want, got, strict=True):
        if rtol or atol:
            np.testing.assert_allclose(other.astype(np.float64), one.astype(np.float64), rtol, atol)
        else:
            np.testing.assert_array_equal(other, one)
    return got


__all__ = ["PointerType", "Program", "b1", "memory", "run", "same"]

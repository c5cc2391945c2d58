"""Cases of scopes that are left out of loops and scopes inside them."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager

import numpy as np

from gridlane.conformance.cases import Case
from gridlane.conformance.effects.making import case, out
from gridlane.conformance.kernels import Kernel
from gridlane.core.dtypes import b1, i32
from gridlane.ir.builder import Builder
from gridlane.ir.ops import arith, control, grid
from gridlane.ir.values import Region, Value, Var


def scopes() -> Iterator[Case]:
    yield case("leave", "outer", _outer)
    yield case("leave", "round-a-barrier", _round_a_barrier)
    yield case("leave", "one-by-one", _one_by_one)
    yield case("leave", "behind-others", _behind_others)
    yield case("break", "behind-a-continue", _behind_a_continue)


def _outer(kernel: Kernel) -> list[np.ndarray]:
    """Threads leave scopes out of scopes and loops, each its own way."""
    b = kernel.builder
    way, x = b.rem(kernel.thread, b.const(7, i32)), b.variable("x", i32)

    def goes(number: int) -> Value:
        return b.eq(way, b.const(number, i32))

    with _scope(b, 1):
        _add(b, x, 1)
        with b.loop():
            _add(b, x, 2)
            with _scope(b, 2):
                _leave(b, goes(0), 1)
                with _scope(b, 0):
                    _leave(b, goes(1), 2)
                    _leave(b, goes(2), 1)
                    with b.loop():
                        _add(b, x, 3)
                        _leave(b, goes(3), 2)
                        _leave(b, _exceeds(b, x, 90), 1)
                        _leave(b, b.and_(goes(4), _exceeds(b, x, 30)), 0)
                        b.break_if(b.eq(b.rem(b.read(x), b.const(4, i32)), b.const(0, i32)))
                    _add(b, x, 5)
                _add(b, x, 10)
            b.break_if(_exceeds(b, x, 60))
        _add(b, x, 200)
    _add(b, x, 1000)
    kernel.store(b.read(x))
    return [out(i32)]


def _round_a_barrier(kernel: Kernel) -> list[np.ndarray]:
    """All threads leave at once, by a condition that no compiler knows to be uniform."""
    b = kernel.builder
    last, x = kernel.load(i32), b.variable("x", i32)
    with _scope(b, 1):
        with b.loop():
            _add(b, x, 1)
            b.write(x, b.add(b.read(x), _count(b)))
            with _scope(b, 0):
                _leave(b, b.lt(last, b.read(x)), 1)
                _add(b, x, 3)
        _add(b, x, 5000)
    kernel.store(b.read(x))
    return [np.full(out(i32).size, 1000, np.int32), out(i32)]


def _one_by_one(kernel: Kernel) -> list[np.ndarray]:
    """A thread leaves in each iteration, and does not reach a barrier again."""
    b = kernel.builder
    x, turn = b.variable("x", i32), b.variable("turn", i32)
    with _scope(b, 1), b.loop(), _scope(b, 0):
        _add(b, turn, 1)
        b.write(x, b.add(b.read(x), _count(b)))
        _leave(b, b.lt(kernel.local, b.read(turn)), 1)
        _leave(b, b.eq(b.and_(kernel.local, b.const(1, i32)), b.const(0, i32)), 0)
        _add(b, x, 1000)
    kernel.store(b.read(x))
    return [out(i32)]


def _behind_others(kernel: Kernel) -> list[np.ndarray]:
    """Some threads leave the inner scope, and all the others the outer one without a condition."""
    b = kernel.builder
    x = b.variable("x", i32)
    with _scope(b, 1):
        with _scope(b, 0):
            b.write(x, _count(b))
            _leave(b, b.eq(b.and_(kernel.local, b.const(1, i32)), b.const(0, i32)), 0)
            _add(b, x, 1000)
            b.emit(control.Leave(1))
        _add(b, x, 5000)
    kernel.store(b.read(x))
    return [out(i32)]


def _behind_a_continue(kernel: Kernel) -> list[np.ndarray]:
    """Some threads go on to the next iteration, and all the others out of the loop."""
    b = kernel.builder
    x, turn = b.variable("x", i32), b.variable("turn", i32)
    with b.loop():
        _add(b, turn, 1)
        b.write(x, b.add(b.read(x), _count(b)))
        with b.if_(b.lt(b.read(turn), b.rem(kernel.local, b.const(5, i32)))):
            b.emit(control.Continue())
        _add(b, x, 1000)
        b.emit(control.Break())
    kernel.store(b.read(x))
    return [out(i32)]


@contextmanager
def _scope(b: Builder, label: int) -> Generator[None]:
    with b.inside(Region()) as body:
        yield
    b.emit(control.ScopeOp(body, label))


def _leave(b: Builder, condition: Value, target: int) -> None:
    with b.if_(condition):
        b.emit(control.Leave(target))


def _add(b: Builder, x: Var, number: int) -> None:
    b.write(x, b.add(b.read(x), b.const(number, i32)))


def _exceeds(b: Builder, x: Var, number: int) -> Value:
    return b.value(arith.Gt(b.read(x), b.const(number, i32)))


def _count(b: Builder) -> Value:
    """The number of threads at a barrier."""
    return b.value(grid.BarrierReduce(grid.Reduction.COUNT, b.const(True, b1)))

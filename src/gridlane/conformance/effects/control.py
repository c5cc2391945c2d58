"""Cases of control flow, of errors and of calls."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gridlane.conformance.cases import Case
from gridlane.conformance.effects.making import case, out, stretched
from gridlane.conformance.kernels import Kernel
from gridlane.core.dtypes import f32, i32, i64
from gridlane.ir.builder import Builder
from gridlane.ir.ops import arith, control, memory
from gridlane.ir.types import Type
from gridlane.ir.values import ErrorSite, Function, Module, Param, Region, Value


def branches() -> Iterator[Case]:
    def both(kernel: Kernel) -> list[np.ndarray]:
        b = kernel.builder
        var = b.variable("x", i32)
        value = kernel.load(i32)
        with b.if_(b.lt(value, b.const(0, i32))) as outer:
            with b.if_(b.eq(b.and_(value, b.const(1, i32)), b.const(1, i32))):
                b.write(var, b.const(1, i32))
            with b.inside(outer.orelse):
                b.write(var, b.const(2, i32))
                with b.if_(b.lt(value, b.const(33, i32))):
                    b.write(var, b.add(b.read(var), value))
        kernel.store(b.read(var))
        return [stretched(i32), out(i32)]

    yield case("if", "", both)

    def count(kernel: Kernel) -> list[np.ndarray]:
        """A loop of a different length in every lane, with a continue and an inner loop."""
        b = kernel.builder
        i, j, total = (b.variable(name, i32) for name in "ijt")
        one = b.const(1, i32)
        length = b.rem(kernel.thread, b.const(13, i32))
        with b.loop() as outer:
            b.break_if(b.value(arith.Ge(b.read(i), length)))
            with b.if_(b.eq(b.rem(b.read(i), b.const(4, i32)), one)):
                b.emit(control.Continue())
            b.write(j, b.const(0, i32))
            with b.loop() as inner:
                b.break_if(b.value(arith.Gt(b.read(j), b.read(i))))
                with b.inside(inner.step):
                    b.write(j, b.add(b.read(j), one))
                b.write(total, b.add(b.read(total), b.read(j)))
            with b.inside(outer.step):
                b.write(i, b.add(b.read(i), one))
        kernel.store(b.read(total))
        kernel.store(b.read(i))
        return [out(i32), out(i32)]

    for op in ("loop", "break", "continue"):
        yield case(op, "", count)

    def scoped(kernel: Kernel) -> list[np.ndarray]:
        """Leave a scope from a loop in it, and from a branch."""
        b = kernel.builder
        x = b.variable("x", i32)
        value = kernel.load(i32)
        scope = control.ScopeOp(Region())
        b.emit(scope)
        with b.inside(scope.body):
            with b.if_(b.lt(value, b.const(0, i32))):
                b.write(x, b.const(-7, i32))
                b.emit(control.Leave())
            with b.loop():
                b.write(x, b.add(b.read(x), b.const(1, i32)))
                with b.if_(b.value(arith.Gt(b.read(x), b.rem(value, b.const(9, i32))))):
                    b.emit(control.Leave())
                b.break_if(b.value(arith.Gt(b.read(x), b.const(5, i32))))
            b.write(x, b.const(100, i32))
        kernel.store(b.read(x))
        return [stretched(i32), out(i32)]

    yield case("scope", "", scoped)
    yield case("leave", "", scoped)


def ends() -> Iterator[Case]:
    def returning(kernel: Kernel) -> list[np.ndarray]:
        b = kernel.builder
        value, target = kernel.load(i32), kernel.own(kernel.array(i32))
        b.store(target, b.const(1, i32))
        with b.loop():
            with b.if_(b.lt(value, b.const(0, i32))):
                b.return_()
            b.emit(control.Break())
        b.store(target, b.const(2, i32))
        b.return_()
        return [stretched(i32), out(i32)]

    yield case("return", "", returning)

    def exiting(kernel: Kernel) -> list[np.ndarray]:
        """End some threads in a function and others in the kernel."""
        b = kernel.builder
        value, target = kernel.load(i32), kernel.own(kernel.array(i32))
        ends = function(kernel.module, "ends", (i32,), ())
        inner, (n,) = inside(kernel.module, ends)
        with inner.if_(inner.lt(n, inner.const(0, i32))):
            inner.emit(control.Exit())
        b.store(target, b.const(1, i32))
        b.call(ends, (value,))
        b.store(target, b.const(2, i32))
        with b.if_(b.eq(b.rem(value, b.const(2, i32)), b.const(0, i32))):
            b.emit(control.Exit())
        b.store(target, b.const(3, i32))
        return [stretched(i32), out(i32)]

    yield case("exit", "", exiting)

    def raising(kernel: Kernel) -> list[np.ndarray]:
        """One thread ends with an error; the others continue."""
        b = kernel.builder
        kernel.module.errors.append(ErrorSite("ValueError", "thread 37"))
        target = kernel.own(kernel.array(i32))
        with b.if_(b.eq(kernel.thread, b.const(37, i32))):
            b.emit(control.Raise(0))
        b.store(target, b.const(1, i32))
        return [out(i32)]

    yield case("raise", "", raising)

    def stopping(kernel: Kernel) -> list[np.ndarray]:
        """Tests that no thread fails, of one condition for all and of one for each."""
        b = kernel.builder
        kernel.module.errors.append(ErrorSite("ValueError", "a thread of 256"))
        value, many = kernel.load(i32), b.const(256, i32)
        b.emit(control.StopIf(b.value(arith.Ge(kernel.thread, many)), 0))
        b.emit(control.StopIf(b.not_(b.eq(value, value)), 0))
        kernel.store(value)
        return [stretched(i32), out(i32)]

    yield case("stop_if", "", stopping)

    def stopped(kernel: Kernel) -> list[np.ndarray]:
        """A test that all threads fail, before their stores."""
        b = kernel.builder
        kernel.module.errors.append(ErrorSite("ValueError", "every thread"))
        value = kernel.load(i32)
        b.emit(control.StopIf(b.eq(value, value), 0))
        kernel.store(value)
        return [stretched(i32), out(i32)]

    yield case("stop_if", "all", stopped)

    def checking(kernel: Kernel) -> list[np.ndarray]:
        """Stores to an allocation."""
        b = kernel.builder
        kernel.module.errors.append(ErrorSite("ValueError", "an address"))
        whole = kernel.array(i32)
        target = kernel.own(whole)
        b.emit(control.CheckAccess(target, whole, 4, 0))
        b.emit(control.CheckAccess(target, target, 4, 0))
        b.store(target, b.const(1, i32))
        return [out(i32)]

    yield case("check_access", "", checking)

    def checked(kernel: Kernel) -> list[np.ndarray]:
        """Addresses outside the allocation, in all threads."""
        b = kernel.builder
        kernel.module.errors.append(ErrorSite("ValueError", "an address"))
        whole = kernel.array(i32)
        target = b.offset(kernel.own(whole), b.const(1 << 20, i64))
        b.emit(control.CheckAccess(target, whole, 4, 0))
        b.store(kernel.own(whole), b.const(1, i32))
        return [out(i32)]

    yield case("check_access", "all", checked)

    def reporting(kernel: Kernel) -> list[np.ndarray]:
        """One thread has an error, and continues as the others do."""
        b = kernel.builder
        kernel.module.errors.append(ErrorSite("ValueError", "thread 37"))
        with b.if_(b.eq(kernel.thread, b.const(37, i32))):
            b.emit(control.Report(0))
        b.store(kernel.own(kernel.array(i32)), b.const(1, i32))
        return [out(i32)]

    yield case("report", "", reporting)

    def printing(kernel: Kernel) -> list[np.ndarray]:
        b = kernel.builder
        with b.if_(b.eq(kernel.thread, b.const(3, i32))):
            b.emit(control.Print(("thread ", "", " ", ""), (kernel.thread, b.const(0.5, f32))))
        kernel.store(kernel.thread)
        return [out(i32)]

    yield case("print", "", printing)


def calls() -> Iterator[Case]:
    def calling(kernel: Kernel) -> list[np.ndarray]:
        """A function with two results, an early return, a local array, and a call of its own."""
        b = kernel.builder
        twice = function(kernel.module, "twice", (i32,), (i32,))
        inner, (x,) = inside(kernel.module, twice)
        inner.return_((inner.add(x, x),))
        split = function(kernel.module, "split", (i32, f32), (i32, f32))
        inner, (n, x) = inside(kernel.module, split)
        cell = inner.value(memory.LocalArray(f32, 1))
        inner.store(cell, x)
        with inner.if_(inner.lt(n, inner.const(0, i32))):
            inner.return_((inner.const(0, i32), inner.neg(x)))
        (n2,) = inner.call(twice, (n,))
        inner.return_((n2, inner.load(cell)))
        n, x = kernel.load(i32), kernel.load(f32)
        for result in b.call(split, (n, x)):
            kernel.store(result)
        with b.if_(b.lt(kernel.local, b.const(50, i32))):
            kernel.store(b.call(split, (kernel.local, x))[0])
        return [stretched(i32), stretched(f32), out(i32), out(f32), out(i32)]

    yield case("call", "", calling)


def function(
    module: Module, name: str, params: tuple[Type, ...], results: tuple[Type, ...]
) -> Function:
    new_function = Function(
        name, [Param(Value(t, name=f"a{n}")) for n, t in enumerate(params)], results
    )
    module.functions[name] = new_function
    return new_function


def inside(module: Module, function: Function):

    return Builder(module, function), [param.value for param in function.params]

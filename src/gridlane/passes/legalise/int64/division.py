"""Division of 64-bit integers: shift and subtract, one bit per iteration, in a library function."""

from __future__ import annotations

from gridlane.core.dtypes import f32, i32, u32
from gridlane.ir.builder import Builder
from gridlane.ir.expressions import FORMATS, Local, Writer
from gridlane.ir.ops import control
from gridlane.ir.values import Function, Module, Param, Region, Value
from gridlane.passes.legalise.int64.wide import Wide, choose, constant, low_word
from gridlane.passes.legalise.library import library_function

NAME = "gridlane.divide.u64"


def divide(w: Writer, lhs: Wide, rhs: Wide) -> tuple[Wide, Wide]:
    """(quotient, remainder) of unsigned numbers; by 0 they are (all bits set, lhs)."""
    module = w.builder.module
    function = library_function(module, NAME, lambda: _written(module))
    words = tuple([word.value for word in (lhs.lo, lhs.hi, rhs.lo, rhs.hi)])
    q0, q1, r0, r1 = map(w.wrap, w.builder.call(function, words))
    return Wide(q0, q1), Wide(r0, r1)


def divide_signed(w: Writer, lhs: Wide, rhs: Wide) -> tuple[Wide, Wide]:
    """(quotient, remainder) of signed numbers, towards zero; the remainder has lhs's sign."""
    quotient, rest = divide(w, lhs.magnitude(), rhs.magnitude())
    opposite = lhs.is_negative() ^ rhs.is_negative()
    signed = choose(opposite & ~rhs.is_zero(), -quotient, quotient)
    return signed, choose(lhs.is_negative(), -rest, rest)


def _written(module: Module) -> Function:
    names = ("lhs.lo", "lhs.hi", "rhs.lo", "rhs.hi")
    function = Function(NAME, [Param(Value(u32, None, name)) for name in names])
    function.results = (u32,) * 4
    w = Writer(Builder(module, function), FORMATS[f32])
    n0, n1, d0, d1 = (w.wrap(param.value) for param in function.params)
    n, d = Wide(n0, n1), Wide(d0, d1)
    results = [w.variable(name, w.const(0, u32)) for name in ("q.lo", "q.hi", "r.lo", "r.hi")]
    short = control.If((n1 | d1).equals(0).value, Region(), Region())
    w.builder.emit(short)
    with w.builder.inside(short.then):
        high = w.select(d0.equals(0), w.const(0xFFFFFFFF, u32), 0)
        _set(results, Wide(n0 / d0, high), low_word(n0 % d0))
    with w.builder.inside(short.orelse):
        _long_division(w, n, d, results)
    w.builder.return_(tuple([local.get().value for local in results]))
    function.body.ops[:0] = w.constants.values()
    return function


def _set(variables: list[Local], quotient: Wide, rest: Wide) -> None:
    values = (quotient.lo, quotient.hi, rest.lo, rest.hi)
    for local, value in zip(variables, values, strict=True):
        local.set(value)


def _long_division(w: Writer, n: Wide, d: Wide, variables: list[Local]) -> None:
    """Subtract the divisor where it fits, from its highest position in n down to its own."""
    one = constant(w, 1)
    distance = d.leading_zeros().reread(i32) - n.leading_zeros().reread(i32)
    place = w.variable("place", distance)
    _set(variables, constant(w, 0), n)
    with w.builder.loop() as loop:
        now = place.get()
        w.builder.break_if((now < 0).value)
        by = now.reread(u32)
        q, r = (
            Wide(variables[0].get(), variables[1].get()),
            Wide(variables[2].get(), variables[3].get()),
        )
        shifted = d << by
        fits = ~r.below(shifted, signed=False)
        _set(variables, choose(fits, q | (one << by), q), choose(fits, r - shifted, r))
        with w.builder.inside(loop.step):
            place.set(place.get() - 1)
    zero = d.is_zero()
    ones = constant(w, -1)
    q, r = (
        Wide(variables[0].get(), variables[1].get()),
        Wide(variables[2].get(), variables[3].get()),
    )
    _set(variables, choose(zero, ones, q), choose(zero, n, r))

"""Fixed-width strings in memory: an array of code points or bytes."""

from __future__ import annotations

from gridlane.core.argtypes import CharsType
from gridlane.core.dtypes import i64
from gridlane.frontends.python.cells import read, write
from gridlane.frontends.python.chars import require_narrow
from gridlane.frontends.python.operands import Chars
from gridlane.frontends.python.translator import Translator
from gridlane.ir.ops import arith, control, memory
from gridlane.ir.values import Region, Value

UNROLLED = 16
"""The width up to which bytes are written without a loop."""


def load_chars(t: Translator, address: Value, kind: CharsType) -> Chars:
    """The present string at an address."""
    require_narrow(t, kind)
    places = _places(t, address, kind)
    return Chars(kind, tuple([read(t, place) for place in places]))


def store_chars(t: Translator, address: Value, chars: Chars) -> None:
    """Write a string of the width that the address has.

    Long bytes are written by a loop, from a copy in the thread's own memory: targets whose memory
    has words of 32 bits alone need an atomic operation, and a loop around it, for each byte.
    """
    if chars.type.is_bytes and len(chars.units) > UNROLLED:
        _store_in_loop(t, address, chars)
        return
    places = _places(t, address, chars.type)
    for place, unit in zip(places, chars.units, strict=True):
        write(t, place, unit)


def _store_in_loop(t: Translator, address: Value, chars: Chars) -> None:
    b, kind = t.b, chars.type
    own = b.value(memory.LocalArray(kind.unit, kind.count))
    for number, unit in enumerate(chars.units):
        b.store(b.offset(own, b.const(number, i64)), unit)
    first, counter = b.field_pointer(address, 0), b.variable("unit", i64)
    b.write(counter, b.const(0, i64))
    loop = control.Loop(Region(), Region())
    b.emit(loop)
    with b.inside(loop.body):
        now = b.read(counter)
        b.break_if(b.binary(arith.Ge, now, b.const(kind.count, i64)))
        write(t, b.offset(first, now), b.load(b.offset(own, now)))
    with b.inside(loop.step):
        b.write(counter, b.add(b.read(counter), b.const(1, i64)))


def _places(t: Translator, address: Value, kind: CharsType) -> list[Value]:
    """The addresses of the units."""
    first = t.b.field_pointer(address, 0)
    rest = [t.b.offset(first, t.b.const(number, i64)) for number in range(1, kind.count)]
    return [first, *rest]

"""``vprintf`` and ``__assertfail``, which CUDA C++'s printf and assert call.

CUDA C++ Programming Guide, "Formatted Output" and "Assertion". The arguments of printf lie in local
memory, each at a multiple of its size; formats are constants of the module. A text is one of them
where it is a literal; else its bytes are read when the line is printed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeAlias

from gridlane.core.c_formats import BYTES, STAR, Conversion, conversions
from gridlane.core.dtypes import DType, f64, i32, i64, u8, u32, u64
from gridlane.frontends.ptx.addresses import Place
from gridlane.frontends.ptx.forms.functions import function
from gridlane.frontends.ptx.values import Values
from gridlane.ir.builder import constant
from gridlane.ir.ops import arith, control, memory
from gridlane.ir.types import PointerType, Space, pointer
from gridlane.ir.values import Value

Format: TypeAlias = "str | tuple[Value, Format, Format]"
_MOST_ARGUMENTS = 32
_MOST_WORDS = 16
"""Arguments for the bytes of a text, at most."""
_LITERAL = re.compile(r"(?:\$|_\$_|\.)str\b|(?:\$|_\$_|\.)str(?:\$|_\$_|\.)?\d|__unnamed_\d")
"""The names that compilers give to literals, which nothing writes."""


@function("vprintf")
def vprintf(t: Values, arguments: Sequence[Value]) -> Sequence[Value]:
    """Print by a format; the result is the number of arguments."""
    text, where = arguments
    return [_printed(t, _formats(t, text), where)]


def _printed(t: Values, format_: Format, where: Value) -> Value:
    """Print by the format that is chosen; the number of its arguments."""
    if isinstance(format_, str):
        parts = _parts(t, format_)
        wanted = [part for part in parts if isinstance(part, Conversion)]
        count = sum(1 + part.stars for part in wanted)
        if count > _MOST_ARGUMENTS:
            t.fail(f"vprintf prints {count} values, and at most {_MOST_ARGUMENTS} are possible")
        _Line(t, where if wanted else None).print(parts)
        return t.b.const(count, u32)
    condition, yes, no = format_
    variable = t.b.variable("printed", u32)
    with t.b.if_(condition) as op:
        t.b.write(variable, _printed(t, yes, where))
    with t.b.inside(op.orelse):
        t.b.write(variable, _printed(t, no, where))
    return t.b.read(variable)


def _formats(t: Values, address: Value) -> Format:
    """The text of the module at an address, or several among which a condition chooses."""
    base, offset = _resolved(t, address)
    if offset or not isinstance(base.op, arith.Select):
        return _text(t, address, "the format of vprintf")
    chosen = base.op
    return chosen.condition, _formats(t, chosen.on_true), _formats(t, chosen.on_false)


def _parts(t: Values, text: str) -> list[str | Conversion]:
    try:
        return list(conversions(text))
    except ValueError as error:
        t.fail(f"vprintf: {str(error)!r} is no conversion of a format")


class _Line:
    """The parts of a print op, from those of a format."""

    def __init__(self, t: Values, where: Value | None) -> None:
        self.t = t
        self.buffer = None if where is None else t.local(where)
        self.at = 0
        self.parts: list[str] = []
        self.arguments: list[Value] = []
        self.formats: list[str] = []

    def print(self, parts: Sequence[str | Conversion]) -> None:
        """Emit the op."""
        texts_by_number = self._texts(parts)
        free = _MOST_ARGUMENTS - sum(1 + part.stars for part in parts if not isinstance(part, str))
        read = [number for number, text in texts_by_number.items() if not isinstance(text, str)]
        most_words = min(_MOST_WORDS, 1 + free // max(1, len(read)))
        for number, part in enumerate(parts):
            if isinstance(part, str):
                self._text(part)
                continue
            for _ in range(part.stars):
                self._argument(i32, STAR)
            text = texts_by_number.get(number)
            if isinstance(text, str):
                self._next(8)
                self._text(part.of(text))
            elif part.kind == "s":
                self._bytes(part, text, most_words)
            else:
                self._argument(_type(part), part.text)
        texts_and_arguments = tuple(self.parts), tuple(self.arguments), tuple(self.formats)
        self.t.b.emit(control.Print(*texts_and_arguments, end=""))

    def _texts(self, parts: Sequence[str | Conversion]) -> dict[int, str | Value | None]:
        """What each ``%s`` prints, by the number of its part: a literal, or the text at an address,
        which is stored among the arguments before the call; None where that is not known here."""
        printed: dict[int, str | Value | None] = {}
        for number, part in enumerate(parts):
            if isinstance(part, str):
                continue
            for _ in range(part.stars):
                self._next(i32.size)
            offset = self._next(8 if part.kind == "s" else _type(part).size)
            if part.kind == "s" and self.buffer is not None:
                stored = _stored(self.t, self.buffer, offset)
                literal = None if stored is None or part.stars else _literal(self.t, stored)
                printed[number] = stored if literal is None else literal
        self.at = 0
        return printed

    def _text(self, text: str) -> None:
        if text and self.parts and self.parts[-1]:
            self.parts[-1] += text
        elif text:
            self.parts.append(text)

    def _argument(self, dtype: DType, format_: str) -> None:
        self._add(self._load(dtype), format_)

    def _load(self, dtype: DType) -> Value:
        """The next argument in memory."""
        b, offset = self.t.b, self._next(dtype.size)
        assert self.buffer is not None
        place = self.t.offset(self.buffer, offset)
        return b.load(b.recast(place, memory.pointer_beside(place, dtype)))

    def _add(self, value: Value, format_: str) -> None:
        self.parts.append("")
        self.formats.append(format_)
        self.arguments.append(value)

    def _next(self, size: int) -> int:
        offset = -(-self.at // size) * size
        self.at = offset + size
        return offset

    def _bytes(self, part: Conversion, address: Value | None, most: int) -> None:
        """A text in memory: its bytes up to a zero, eight in each argument.

        A longer one than fits is an error, not printed in part.
        """
        t, b = self.t, self.t.b
        loaded = self._load(u64)
        address = loaded if address is None else address
        end = b.const(2**31 - 1, u32)
        if part.precision == STAR:  # where negative, as if there were none
            end = b.cast(self.arguments[-1], u32)
        elif part.precision is not None:
            end = b.const(int(part.precision or 0), u32)
        array = b.value(memory.LocalArray(u64, most))
        words = [b.offset(array, b.const(number, i64)) for number in range(most)]
        for word in words:
            b.store(word, b.zero(u64))
        with b.if_(b.eq(t.bits(loaded), b.zero(u64))) as op:
            b.store(words[0], b.const(int.from_bytes(b"(null)", "little"), u64))
        with b.inside(op.orelse):
            self._read(part, address, end, array, most)
        for word in words[:-1]:
            self._add(b.load(word), BYTES)
        self._add(b.load(words[-1]), part.text)

    def _read(self, part: Conversion, address: Value, end: Value, words: Value, most: int) -> None:
        """Read a text into words of eight bytes, up to a zero or a number of bytes."""
        t, b = self.t, self.t.b
        index = b.variable("at", u32)
        b.write(index, b.zero(u32))
        limit, three = b.const(8 * most, u32), b.const(3, u32)
        with b.loop():
            place = b.read(index)
            b.break_if(b.not_(b.lt(place, limit)))
            b.break_if(b.not_(b.lt(place, end)))
            byte = _byte(t, address, place)
            b.break_if(b.eq(byte, b.zero(u32)))
            word = b.offset(words, b.cast(b.binary(arith.Shr, place, three), i64))
            bits = b.binary(arith.Shl, b.and_(place, b.const(7, u32)), three)
            shifted = b.binary(arith.Shl, b.cast(byte, u64), b.cast(bits, u64))
            b.store(word, b.or_(b.load(word), shifted))
            b.write(index, b.add(place, b.const(1, u32)))
        with b.if_(b.and_(b.eq(b.read(index), limit), b.lt(limit, end))):
            more = b.binary(arith.Ne, _byte(t, address, limit), b.zero(u32))
            with b.if_(more):
                t.raise_(
                    "RuntimeError",
                    f"printf: a text for {part.text} is longer than {8 * most} bytes, the "
                    "most of one that is no literal: print it in parts, or by characters",
                )


def _type(part: Conversion) -> DType:
    """The type of an argument, as C's rules of variable arguments promote it."""
    if part.kind in "eEfFgGaA":
        return f64
    if part.kind in "di":
        return i64 if part.is_wide else i32
    return u64 if part.is_wide else u32


# --- what is known of an address


def _resolved(t: Values, value: Value) -> tuple[Value, int]:
    """The address that another one is a number of bytes behind."""
    offset = 0
    while True:
        op = value.op
        if isinstance(op, memory.ReadVar):
            written = _written(t, op)
            if written is None:
                return value, offset
            value = written
        elif isinstance(op, memory.Recast | memory.Address | memory.FromAddress):
            value = next(iter(op.operands()))
        elif isinstance(op, arith.Cast | arith.Bitcast):
            value = op.value
        elif isinstance(op, arith.Add) and (known := constant(op.rhs)) is not None:
            value = op.lhs
            offset += int(known)
        elif isinstance(op, memory.Offset):
            count = constant(op.index)
            if count is None:
                return value, offset
            value = op.pointer
            assert isinstance(value.type, PointerType)
            offset += int(count) * value.type.element.size
        else:
            return value, offset


def _written(t: Values, read: memory.ReadVar) -> Value | None:
    """What the block has written last into a register that has several values."""
    is_before = False
    for op in reversed(t.b.region.ops):
        if not is_before:
            is_before = op is read
        elif op.REGION_FIELDS:
            return None
        elif isinstance(op, memory.WriteVar) and op.var is read.var:
            return op.value
    return None


def _offset(t: Values, address: Value) -> int | None:
    """Where in the module's memory an address is; None of other memory."""
    base, offset = _resolved(t, address)
    data = t.variables.whole.data
    if isinstance(base.op, memory.GlobalAddress):
        name = t.variables.whole.segments.constants.get(base.op.symbol)
        if name is None:
            return None
        offset += data.offsets[name]
    elif base is not t.variables.data:
        return None
    return offset if 0 <= offset < data.size else None


def _text(t: Values, address: Value, what: str) -> str:
    """The text at an address of the module's memory."""
    offset = _offset(t, address)
    if offset is None:
        t.fail(f"{what} is not a constant of the module")
    raw = t.variables.whole.data.initial(0)[offset:].tobytes().partition(b"\0")[0]
    return raw.decode("utf-8", "replace")


def _literal(t: Values, address: Value) -> str | None:
    """The text of a literal at an address; None where that is of other memory."""
    offset, data = _offset(t, address), t.variables.whole.data
    if offset is None:
        return None
    name, start = max(
        ((name, at) for name, at in data.offsets.items() if at <= offset), key=lambda each: each[1]
    )
    is_one = _LITERAL.match(name) and offset < start + data.size_of(name)
    return _text(t, address, "") if is_one else None


def _byte(t: Values, address: Value, index: Value) -> Value:
    """A byte of memory behind an address, which may be a number."""
    b = t.b
    if isinstance(address.type, PointerType):
        return b.cast(_load_byte(t, address, index), u32)
    variable = b.variable("byte", u32)
    number = t.bits(address)

    def choose(candidates: Sequence[Place]) -> None:
        place, *rest = candidates
        if not rest:
            b.write(variable, b.cast(_load_byte(t, t.at(number, place), index), u32))
            return
        with b.if_(t.is_at(number, place)) as op:
            choose([place])
        with b.inside(op.orelse):
            choose(rest)

    choose(t.places(Space.GENERIC))
    return b.read(variable)


def _load_byte(t: Values, address: Value, index: Value) -> Value:
    assert isinstance(address.type, PointerType)
    bytes_ = t.b.recast(address, pointer(u8, address.type.space))
    return t.b.load(t.b.offset(bytes_, index))


def _stored(t: Values, buffer: Value, start_offset: int) -> Value | None:
    """What the block has stored at an offset of local memory, last."""
    base, start = _resolved(t, buffer)
    for op in reversed(t.b.region.ops):
        if op.REGION_FIELDS or isinstance(op, control.Call):
            return None
        if not isinstance(op, memory.Store):
            continue
        where, offset = _resolved(t, op.pointer)
        size = op.value.type.size
        if where is base and offset == start + start_offset and size == 8:
            return op.value
        apart = where is base and (
            offset >= start + start_offset + 8 or offset + size <= start + start_offset
        )
        if not apart and where.type != base.type:
            continue
        if not apart:
            return None
    return None


@function("__assertfail")
def assertfail(t: Values, arguments: Sequence[Value]) -> Sequence[Value]:
    """End the thread, and report the assertion with its place."""
    arguments_known = [_known(t, arguments[n]) for n in (0, 1, 3)]
    line = constant(arguments[2])
    message, file, name = arguments_known
    place = "" if file is None else f"{file}:{'?' if line is None else int(line)}: "
    place += "" if name is None else f"{name}: "
    t.raise_("AssertionError", f"{place}Assertion `{message or '?'}` failed")
    return []


def _known(t: Values, address: Value) -> str | None:
    return None if _offset(t, address) is None else _text(t, address, "")

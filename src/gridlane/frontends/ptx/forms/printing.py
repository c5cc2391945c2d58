"""``vprintf`` and ``__assertfail``, which CUDA C++'s printf and assert call.

CUDA C++ Programming Guide, "Formatted Output" and "Assertion". The arguments of printf lie in local
memory, each at a multiple of its size; formats and texts are constants of the module.
"""

from __future__ import annotations

from collections.abc import Sequence

from gridlane.core.c_formats import STAR, Conversion, conversions
from gridlane.core.dtypes import DType, f64, i32, i64, u32, u64
from gridlane.frontends.ptx.forms.functions import function
from gridlane.frontends.ptx.values import Values
from gridlane.ir.builder import constant
from gridlane.ir.ops import arith, control, memory
from gridlane.ir.types import PointerType
from gridlane.ir.values import Value

_MOST_ARGUMENTS = 32


@function("vprintf")
def vprintf(t: Values, arguments: Sequence[Value]) -> Sequence[Value]:
    """Print by a format; the result is the number of arguments."""
    text, where = arguments
    parts = _parts(t, _text(t, text, "the format of vprintf"))
    wanted = [part for part in parts if isinstance(part, Conversion)]
    count = sum(1 + part.stars for part in wanted)
    if count > _MOST_ARGUMENTS:
        t.fail(f"vprintf prints {count} values, and at most {_MOST_ARGUMENTS} are possible")
    _Line(t, where if wanted else None).print(parts)
    return [t.b.const(count, u32)]


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
        for part in parts:
            if isinstance(part, str):
                self._text(part)
                continue
            for _ in range(part.stars):
                self._argument(i32, STAR)
            if part.kind == "s":
                self._string(part)
            else:
                self._argument(_type(part), part.text)
        made = tuple(self.parts), tuple(self.arguments), tuple(self.formats)
        self.t.b.emit(control.Print(*made, end=""))

    def _text(self, text: str) -> None:
        if text and self.parts and self.parts[-1]:
            self.parts[-1] += text
        elif text:
            self.parts.append(text)

    def _argument(self, dtype: DType, format_: str) -> None:
        b, at = self.t.b, self._next(dtype.size)
        assert self.buffer is not None
        place = self.t.offset(self.buffer, at)
        self.parts.append("")
        self.formats.append(format_)
        self.arguments.append(b.load(b.recast(place, memory.pointer_beside(place, dtype))))

    def _next(self, size: int) -> int:
        at = -(-self.at // size) * size
        self.at = at + size
        return at

    def _string(self, part: Conversion) -> None:
        """A text that is stored among the arguments before the call."""
        at = self._next(8)
        assert self.buffer is not None
        stored = _stored(self.t, self.buffer, at)
        if stored is None:
            self.t.fail(f"the text that {part.text} prints is not known here")
        if part.stars:
            self.t.fail(f"the width of a text is a number in the format, not {part.text}")
        self._text(part.of(_text(self.t, stored, f"the text that {part.text} prints")))


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


def _text(t: Values, address: Value, what: str) -> str:
    """The text at an address of the module's memory."""
    base, offset = _resolved(t, address)
    data = t.variables.whole.data
    if base is not t.variables.data or not 0 <= offset < data.size:
        t.fail(f"{what} is not a constant of the module")
    raw = data.initial(0)[offset:].tobytes().partition(b"\0")[0]
    return raw.decode("utf-8", "replace")


def _stored(t: Values, buffer: Value, at: int) -> Value | None:
    """What the block has stored at an offset of local memory, last."""
    base, start = _resolved(t, buffer)
    for op in reversed(t.b.region.ops):
        if op.REGION_FIELDS or isinstance(op, control.Call):
            return None
        if not isinstance(op, memory.Store):
            continue
        where, offset = _resolved(t, op.pointer)
        size = op.value.type.size
        if where is base and offset == start + at and size == 8:
            return op.value
        apart = where is base and (offset >= start + at + 8 or offset + size <= start + at)
        if not apart and where.type != base.type:
            continue
        if not apart:
            return None
    return None


@function("__assertfail")
def assertfail(t: Values, arguments: Sequence[Value]) -> Sequence[Value]:
    """End the thread, and report the assertion with its place."""
    texts = [_known(t, arguments[n]) for n in (0, 1, 3)]
    line = constant(arguments[2])
    message, file, name = texts
    place = "" if file is None else f"{file}:{'?' if line is None else int(line)}: "
    place += "" if name is None else f"{name}: "
    t.raise_("AssertionError", f"{place}Assertion `{message or '?'}` failed")
    return []


def _known(t: Values, address: Value) -> str | None:
    base, offset = _resolved(t, address)
    if base is not t.variables.data or not 0 <= offset < t.variables.whole.data.size:
        return None
    return _text(t, address, "")

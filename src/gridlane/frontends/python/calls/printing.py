"""``print`` in a kernel, and f-strings, which it takes."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

import numpy as np

from gridlane.core.dtypes import DType, i64
from gridlane.core.errors import TypingError, UnsupportedError
from gridlane.frontends.python import stubs
from gridlane.frontends.python.calls.registry import VALUES
from gridlane.frontends.python.element_addresses import address, load
from gridlane.frontends.python.operands import (
    NONE,
    ArrayView,
    Chars,
    ComplexNumber,
    FormattedText,
    Operand,
    OptionalOperand,
    Scalar,
    Static,
    TupleOperand,
)
from gridlane.frontends.python.translator import Translator
from gridlane.ir.builder import constant
from gridlane.ir.ops import arith, control
from gridlane.ir.values import Value

WHOLE = 64
"""The most items of an array of a known shape that are printed."""
SHORT, EDGE = 6, 3
"""Of other arrays those of up to SHORT items are printed whole, longer ones from both ends."""


@dataclass(slots=True)
class _Line:
    """A line in the making: texts, and "" for each number."""

    parts: list[str] = field(default_factory=list[str])
    arguments: list[Value] = field(default_factory=list[Value])
    formats: list[str] = field(default_factory=list[str])

    def copy(self) -> _Line:
        """The line, to be ended in another way."""
        return _Line(list(self.parts), list(self.arguments), list(self.formats))

    def text(self, text: str) -> None:
        """Append text, merged with text before it."""
        if self.parts and self.parts[-1]:
            self.parts[-1] += text
        elif text:
            self.parts.append(text)

    def number(self, value: Value, format_: str = "") -> None:
        """Append a number."""
        self.parts.append("")
        self.arguments.append(value)
        self.formats.append(format_)

    def chars(self, value: Chars, format_: str = "{!s}") -> None:
        """Append a string: its units in order, the last one with the format of all."""
        kind = "b" if value.type.is_bytes else "u"
        for unit in value.units[:-1]:
            self.number(unit, kind)
        self.number(value.units[-1], kind + format_)

    def complex_number(self, value: ComplexNumber, format_: str = "{!s}") -> None:
        """Append a complex number: its real part, and the other with the format of both."""
        self.number(value.real, "c")
        self.number(value.imag, "c" + format_)

    def emit(self, t: Translator) -> None:
        """Emit the print."""
        formats = tuple(self.formats) if any(self.formats) else ()
        t.b.emit(control.Print(tuple(self.parts), tuple(self.arguments), formats))


def print_parts(t: Translator, operands: tuple[Operand, ...]) -> Operand:
    """Emit a print of operands separated by spaces."""
    _print(t, _Line(), list(operands), first=True)
    return NONE


def _print(t: Translator, line: _Line, waiting: list[Operand], first: bool = False) -> None:
    """Append operands to a line and emit it; once for each length that an array may have."""
    while waiting:
        operand = waiting.pop(0)
        if not first:
            line.text(" ")
        first = False
        if isinstance(operand, OptionalOperand):
            _of_optional(t, line, operand, waiting)
            return
        if isinstance(operand, ArrayView) and _items(operand) is None:
            _of_any_length(t, line, operand, waiting)
            return
        _append(t, line, operand)
    line.emit(t)


def _of_optional(
    t: Translator, line: _Line, operand: OptionalOperand, waiting: list[Operand]
) -> None:
    """A print of the value, and one of None."""
    with t.b.if_(operand.present) as op:
        _print(t, line.copy(), [operand.inner, *waiting], first=True)
    with t.b.inside(op.orelse):
        _print(t, line.copy(), [NONE, *waiting], first=True)


def _append(t: Translator, line: _Line, operand: Operand) -> None:
    if isinstance(operand, Scalar):
        line.number(operand.value)
    elif isinstance(operand, Chars):
        line.chars(operand)
    elif isinstance(operand, FormattedText):
        for part in operand.parts:
            if isinstance(part, str):
                line.text(part)
            else:
                _formatted(t, line, *part)
    elif isinstance(operand, TupleOperand):
        _sequence(t, line, operand.items)
    elif isinstance(operand, Static) and isinstance(operand.object, stubs.Dim3Stub):
        place = operand.object
        _sequence(t, line, tuple([VALUES[axis](t) for axis in (place.x, place.y, place.z)]))
    elif isinstance(operand, ComplexNumber):
        line.complex_number(operand)
    elif isinstance(operand, ArrayView) and _items(operand) is not None:
        _array(t, line, operand, ())
    elif isinstance(operand, Static):
        line.text(str(operand.object))
    else:
        raise t.fail(
            TypingError, f"{operand.type_name} cannot be printed; print numbers, one by one"
        )


def _append_item(t: Translator, line: _Line, item: Operand) -> None:
    """Append an item of a sequence, where strings have quotes."""
    if isinstance(item, Chars):
        line.chars(item, "{!r}")
    else:
        _append(t, line, item)


def _sequence(t: Translator, line: _Line, items: tuple[Operand, ...]) -> None:
    line.text("(")
    for number, item in enumerate(items):
        if number:
            line.text(", ")
        _append_item(t, line, item)
    line.text(",)" if len(items) == 1 else ")")


# ---- arrays


def _items(array: ArrayView) -> int | None:
    """The number of an array's items, if it is known and not too large."""
    count = 1
    for extent in array.shape:
        known = constant(extent)
        if known is None:
            return None
        count *= int(known)
    return count if count <= WHOLE else None


def _item(t: Translator, array: ArrayView, indices: tuple[Value, ...]) -> Operand:
    return load(t, address(t, array, list(indices)), array.type.element)


def _array(t: Translator, line: _Line, array: ArrayView, outer: tuple[Value, ...]) -> None:
    """Append all items of an array, axis by axis, in brackets as numpy has them."""
    if len(outer) == len(array.shape):
        _append_item(t, line, _item(t, array, outer))
        return
    extent = constant(array.shape[len(outer)])
    assert extent is not None
    line.text("[")
    for index in range(int(extent)):
        line.text(" " if index else "")
        _array(t, line, array, (*outer, t.b.const(index, i64)))
    line.text("]")


def _of_any_length(t: Translator, line: _Line, array: ArrayView, waiting: list[Operand]) -> None:
    """One print for each length up to SHORT, and one for longer arrays."""
    if array.type.ndim != 1:
        raise t.fail(
            TypingError,
            f"{array.type} cannot be printed, as its shape is not known when the kernel is "
            "compiled; print its rows in a loop",
        )
    if any(isinstance(item, ArrayView) and _items(item) is None for item in waiting):
        raise t.fail(TypingError, "print takes one array of any length; print the others alone")
    b, (extent,) = t.b, array.shape
    for count in range(SHORT + 1):
        with b.if_(b.eq(extent, b.const(count, i64))):
            _with_items(t, line, array, [b.const(n, i64) for n in range(count)], waiting)
    with b.if_(b.binary(arith.Gt, extent, b.const(SHORT, i64))):
        start = [b.const(n, i64) for n in range(EDGE)]
        end = [b.sub(extent, b.const(EDGE - n, i64)) for n in range(EDGE)]
        _with_items(t, line, array, [*start, None, *end], waiting)


def _with_items(
    t: Translator,
    line: _Line,
    array: ArrayView,
    indices: list[Value] | list[Value | None],
    waiting: list[Operand],
) -> None:
    own = line.copy()
    own.text("[")
    for number, index in enumerate(indices):
        own.text(" " if number else "")
        if index is None:
            own.text("...")
        else:
            _append_item(t, own, _item(t, array, (index,)))
    own.text("]")
    _print(t, own, list(waiting))


# ---- f-strings


def formatted(t: Translator, node: ast.JoinedStr) -> Operand:
    """An f-string: a text where all of it is known, else what ``print`` takes."""
    parts: list[str | tuple[Operand, str]] = []
    for item in node.values:
        if isinstance(item, ast.Constant):
            parts.append(str(item.value))
            continue
        assert isinstance(item, ast.FormattedValue)
        if item.conversion not in (-1, ord("s"), ord("r")):
            raise t.fail(UnsupportedError, "!a is not known in a kernel's f-strings")
        spec = "" if item.format_spec is None else _spec(t, item.format_spec)
        operand = t.expr(item.value)
        if isinstance(operand, Static) and isinstance(operand.object, str):
            text = repr(operand.object) if item.conversion == ord("r") else operand.object
            parts.append(format(text, spec))
        elif isinstance(operand, Chars) and item.conversion == ord("r"):
            parts.append((operand, f"!r:{spec}"))
        elif isinstance(operand, FormattedText) and not spec:
            parts += operand.parts
        elif isinstance(operand, Scalar | ComplexNumber) and item.conversion != -1 and spec:
            parts.append((operand, f"!s:{spec}"))
        else:
            parts.append((operand, spec))
    literals = [part for part in parts if isinstance(part, str)]
    if len(literals) == len(parts):
        return Static("".join(literals))
    return FormattedText(tuple(parts))


def _spec(t: Translator, node: ast.expr) -> str:
    """The text of a format, which may have constant numbers in it: ``{x:{8}.{3}f}``."""
    format_text = t.expr(node)
    if isinstance(format_text, Static) and isinstance(format_text.object, str):
        return format_text.object
    if isinstance(format_text, FormattedText):
        literals = [
            part if isinstance(part, str) else _constant(*part) for part in format_text.parts
        ]
        if None not in literals:
            return "".join(map(str, literals))
    raise t.fail(UnsupportedError, "the format of a number must be constant in a kernel")


def _constant(operand: Operand, spec: str) -> str | None:
    """The text of a constant integer."""
    known = constant(operand.value) if isinstance(operand, Scalar) else None
    return format(known, spec) if type(known) is int and not spec.startswith("!") else None


def _formatted(t: Translator, line: _Line, operand: Operand, spec: str) -> None:
    if isinstance(operand, Chars):
        _formatted_chars(t, line, operand, spec)
        return
    if not spec:
        if isinstance(operand, ArrayView) and _items(operand) is None:
            raise t.fail(
                TypingError,
                f"{operand.type} in an f-string: its shape is not known when the kernel is "
                "compiled; write print(text, array)",
            )
        _append(t, line, operand)
        return
    if not isinstance(operand, Scalar | ComplexNumber):
        raise t.fail(TypingError, f"{operand.type_name} has no format {spec!r}; format numbers")
    form = "{" + spec + "}" if spec.startswith("!s:") else "{:" + spec + "}"
    try:
        form.format(_sample(operand.dtype) if isinstance(operand, Scalar) else 0j)
    except (ValueError, TypeError) as error:
        raise t.fail(TypingError, f"format {spec!r} of {operand.type_name}: {error}") from None
    if isinstance(operand, ComplexNumber):
        line.complex_number(operand, form)
    else:
        line.number(operand.value, form)


def _formatted_chars(t: Translator, line: _Line, operand: Chars, spec: str) -> None:
    """A string by a format of Python, which ``!r:`` precedes for the text in quotes."""
    is_repr = spec.startswith("!r:")
    form = "{" + spec + "}" if is_repr else "{:" + spec + "}"
    try:
        form.format(b"" if operand.type.is_bytes else "")
    except (ValueError, TypeError) as error:
        raise t.fail(TypingError, f"format {spec!r} of {operand.type_name}: {error}") from None
    line.chars(operand, form)


def _sample(dtype: DType) -> object:
    return np.zeros(1, dtype.numpy)[0].item()

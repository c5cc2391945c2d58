"""``print`` in a kernel."""

from __future__ import annotations

from gridlane.core.errors import TypingError
from gridlane.frontends.python import stubs
from gridlane.frontends.python.calls.registry import VALUES
from gridlane.frontends.python.operands import (
    NONE,
    ComplexNumber,
    Operand,
    Scalar,
    Static,
    TupleOperand,
)
from gridlane.frontends.python.translator import Translator
from gridlane.ir.ops import control
from gridlane.ir.values import Value


def print_parts(t: Translator, operands: tuple[Operand, ...]) -> Operand:
    """Emit a print of operands separated by spaces."""
    parts: list[str] = []
    arguments: list[Value] = []
    for number, operand in enumerate(operands):
        if number:
            _text(parts, " ")
        _append(t, operand, parts, arguments)
    t.b.emit(control.Print(tuple(parts), tuple(arguments)))
    return NONE


def _text(parts: list[str], text: str) -> None:
    """Append text, merged with text before it."""
    if parts and parts[-1]:
        parts[-1] += text
    elif text:
        parts.append(text)


def _append(t: Translator, operand: Operand, parts: list[str], arguments: list[Value]) -> None:
    if isinstance(operand, Scalar):
        parts.append("")
        arguments.append(operand.value)
    elif isinstance(operand, TupleOperand):
        _sequence(t, operand.items, parts, arguments)
    elif isinstance(operand, Static) and isinstance(operand.object, stubs.Dim3Stub):
        place = operand.object
        axes = tuple([VALUES[axis](t) for axis in (place.x, place.y, place.z)])
        _sequence(t, axes, parts, arguments)
    elif isinstance(operand, ComplexNumber):
        _sequence(t, (Scalar(operand.real), Scalar(operand.imag)), parts, arguments)
    elif isinstance(operand, Static):
        _text(parts, str(operand.object))
    else:
        raise t.fail(
            TypingError, f"{operand.type_name} cannot be printed; print numbers, one by one"
        )


def _sequence(
    t: Translator, items: tuple[Operand, ...], parts: list[str], arguments: list[Value]
) -> None:
    _text(parts, "(")
    for number, item in enumerate(items):
        if number:
            _text(parts, ", ")
        _append(t, item, parts, arguments)
    _text(parts, ",)" if len(items) == 1 else ")")

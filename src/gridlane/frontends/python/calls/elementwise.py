"""numpy's functions on whole arrays: ``np.sin(x, out)`` fills ``out`` element by element."""

from __future__ import annotations

from gridlane.frontends.python.calls.registry import Handler
from gridlane.frontends.python.operands import ArrayExpression, ArrayView, Operand
from gridlane.frontends.python.stores import fill_view
from gridlane.frontends.python.translator import Translator
from gridlane.frontends.python.unchanged import settle


def fills_array(handler: Handler, arguments: list[Operand], keywords: dict[str, Operand]) -> bool:
    """Whether a call passes an array to fill after the operands."""
    full = len(arguments) == len(handler.params) + 1
    return full and not keywords and isinstance(arguments[-1], ArrayView)


def elementwise(t: Translator, handler: Handler, arguments: list[Operand]) -> Operand:
    """Apply a function of numbers to every element; operands broadcast to the shape of the last
    argument, which is filled and is the result."""
    *operands, out = arguments
    assert isinstance(out, ArrayView)
    for each in operands:
        if isinstance(each, ArrayExpression):
            settle(t, each)
    fill_view(t, out, operands, lambda values: handler.emit(t, *values))
    return out

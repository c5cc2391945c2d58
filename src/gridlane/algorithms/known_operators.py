"""The device functions of ``OpKind``."""

# pyright: reportMissingParameterType=false
# Device functions: their arguments have the types of each call.

from __future__ import annotations

from typing import Any

from gridlane.cuda.kernels.decorators import jit
from gridlane.cuda.kernels.dispatcher import Dispatcher


@jit(device=True)
def _divides(a: Any, b: Any) -> Any:
    return a / b


@jit(device=True)
def _divides_integers(a: Any, b: Any) -> Any:
    quotient = a // b
    return quotient + 1 if quotient < 0 and quotient * b != a else quotient


@jit(device=True)
def _modulus(a: Any, b: Any) -> Any:
    return a - _divides_integers(a, b) * b


_SIMPLE: dict[str, Any] = {
    "PLUS": lambda a, b: a + b,
    "MINUS": lambda a, b: a - b,
    "MULTIPLIES": lambda a, b: a * b,
    "EQUAL_TO": lambda a, b: a == b,
    "NOT_EQUAL_TO": lambda a, b: a != b,
    "GREATER": lambda a, b: a > b,
    "LESS": lambda a, b: a < b,
    "GREATER_EQUAL": lambda a, b: a >= b,
    "LESS_EQUAL": lambda a, b: a <= b,
    "LOGICAL_AND": lambda a, b: bool(a) and bool(b),
    "LOGICAL_OR": lambda a, b: bool(a) or bool(b),
    "BIT_AND": lambda a, b: a & b,
    "BIT_OR": lambda a, b: a | b,
    "BIT_XOR": lambda a, b: a ^ b,
    "MINIMUM": lambda a, b: b if b < a else a,
    "MAXIMUM": lambda a, b: b if a < b else a,
    "LOGICAL_NOT": lambda a: not a,
    "BIT_NOT": lambda a: ~a,
    "IDENTITY": lambda a: a,
    "NEGATE": lambda a: -a,
}


_UNARY = ("LOGICAL_NOT", "BIT_NOT", "IDENTITY", "NEGATE")
_BINARY = (
    *("PLUS", "MINUS", "MULTIPLIES", "DIVIDES", "MODULUS", "EQUAL_TO", "NOT_EQUAL_TO", "GREATER"),
    *("LESS", "GREATER_EQUAL", "LESS_EQUAL", "LOGICAL_AND", "LOGICAL_OR", "BIT_AND", "BIT_OR"),
    *("BIT_XOR", "MINIMUM", "MAXIMUM"),
)
ARITY = dict.fromkeys(_UNARY, 1) | dict.fromkeys(_BINARY, 2)
"""How many values each operator takes."""
_made: dict[str, Any] = {}


def known(name: str, integral: bool) -> Dispatcher:
    """The device function of an operator.

    Args:
        integral: whether the values are integers.
    """
    if name == "DIVIDES":
        return _divides_integers if integral else _divides
    if name == "MODULUS":
        return _modulus
    if name not in _made:
        _made[name] = jit(_SIMPLE[name], device=True)
    return _made[name]

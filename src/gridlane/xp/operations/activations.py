"""Activations of neural networks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import pi, sqrt

from gridlane.ir.expressions import Expression, Writer
from gridlane.ir.ops import math
from gridlane.xp.operations.loops import numbers, reals
from gridlane.xp.operations.record import Operand, Operation
from gridlane.xp.operations.writing import (
    binary,
    clamped,
    decayed,
    finite_or,
    fused,
    is_infinite,
    number,
    of_floats,
    product,
    signed,
    unary,
)

ACTIVATIONS = "Activations"


def sigmoid(w: Writer, a: Expression) -> Expression:
    """1 / (1 + exp(-a)), without overflow."""
    fall = unary(math.Exp, -abs(a))
    return w.select(a < 0.0, fall, number(a, 1.0)) / (1.0 + fall)


def _halved(a: Expression) -> tuple[Expression, Expression]:
    """exp(-|a| / 2) and its square: a factor of a that keeps its digits where the square, of which
    subnormal numbers have few, is multiplied by a."""
    root = unary(math.Exp, abs(a) * -0.5)
    return root, root * root


def _swish(w: Writer, a: Expression) -> Expression:
    root, fall = _halved(a)
    small = a * root * root / (1.0 + fall)
    small = w.select(is_infinite(w, a), number(a, 0.0), small)
    return w.select(a < 0.0, small, a / (1.0 + fall))


def softplus(w: Writer, a: Expression) -> Expression:
    """log(1 + exp(a)), without overflow."""
    rest = unary(math.Log1p, unary(math.Exp, -abs(a)))
    return w.select(a > 0.0, a + rest, rest)


def _mish(w: Writer, a: Expression) -> Expression:
    """a * tanh(softplus(a)) as a quotient of polynomials of exp(-|a|)."""
    root, fall = _halved(a)
    rising = (1.0 + 2.0 * fall) / (1.0 + 2.0 * fall + 2.0 * fall * fall)
    falling = a * root * (root * (fall + 2.0)) / (fall * (fall + 2.0) + 2.0)
    zero = w.select(is_infinite(w, a), number(a, 0.0), falling)
    return w.select(a < 0.0, zero, a * rising)


def _gelu(w: Writer, a: Expression) -> Expression:
    """a / 2 * erfc(-a / sqrt(2)). The error of that quotient would be magnified where erfc falls
    steeply, so what the quotient lacks is made up for by the derivative."""
    root = sqrt(0.5)
    high = number(a, root)
    lost = root - _rounded_root(a) - 4.833646656726457e-17
    place = a * high
    lacking = finite_or(w, fused(w, a, high, -place) + a * lost)
    slope = 2 / sqrt(pi) * unary(math.Exp, -place * place)
    tail = unary(math.Erfc, -place) + slope * lacking
    return w.select(is_infinite(w, a) & (a < 0.0), number(a, 0.0), a * 0.5 * tail)


def _rounded_root(like: Expression) -> float:
    """1 / sqrt(2) as a type has it."""
    return float(like.dtype.numpy.type(sqrt(0.5)))


def _softsign(w: Writer, a: Expression) -> Expression:
    return w.select(is_infinite(w, a), signed(1.0, a), a / (1.0 + abs(a)))


def _bent_identity(w: Writer, a: Expression) -> Expression:
    half = a / (binary(math.Hypot, a, 1.0) + 1.0) * 0.5
    far = abs(a) > 2.0**60
    return a * (1.0 + w.select(far, signed(0.5, a), half))


def _gaussian(w: Writer, a: Expression) -> Expression:
    return decayed(w, *product(w, a, a))


def _step(below: float) -> Callable[[Writer, Expression], Expression]:
    def build(w: Writer, a: Expression) -> Expression:
        step = w.select(a < 0.0, number(a, below), number(a, 1.0))
        return w.select(a.is_nan(), a, step)

    return build


def _relu(w: Writer, a: Expression) -> Expression:
    return w.select(a < number(a, 0), number(a, 0), a)


def _negative_side(w: Writer, a: Expression, below: Expression) -> Expression:
    return w.select(a < 0.0, below, a)


def _elu(w: Writer, a: Expression, b: Expression) -> Expression:
    return _negative_side(w, a, b * unary(math.Expm1, a))


def _celu(w: Writer, a: Expression, b: Expression) -> Expression:
    return _negative_side(w, a, b * unary(math.Expm1, a / b))


_ALPHA, _SCALE = 1.6732632423543772, 1.0507009873554805
"""Constants of selu: Klambauer and others, "Self-Normalizing Neural Networks" (2017)."""


def _selu(w: Writer, a: Expression) -> Expression:
    return w.select(a < 0.0, unary(math.Expm1, a) * (_ALPHA * _SCALE), a * _SCALE)


def _softclip(w: Writer, a: Expression, b: Expression) -> Expression:
    share = a / b
    return w.select(abs(share) < 2.0**-30, a, b * unary(math.Tanh, share))


def _linear(w: Writer, a: Operand) -> Operand:
    return a


def _hard_sigmoid(w: Writer, a: Expression) -> Expression:
    return clamped(w, (a + 3.0) / 6.0, 0.0, 1.0)


_activations = partial(of_floats, ACTIVATIONS)

ROWS = (
    Operation(
        "linear",
        1,
        _linear,
        numbers(),
        "a, of any dtype",
        ACTIVATIONS,
        ("identity",),
        "identity is its name in the table; xp.identity(n) is NumPy's matrix",
        gradient=("g",),
    ),
    Operation(
        "relu",
        1,
        _relu,
        reals("relu"),
        "a, or 0 below 0; also of integers",
        ACTIVATIONS,
        special="NaN of NaN; -0 of -0; bools and complex numbers are refused",
        gradient=("where(a > 0, g, 0)",),
    ),
    _activations(
        "sigmoid",
        sigmoid,
        "1 / (1 + exp(-a))",
        ulp=8,
        aliases=("expit",),
        gradient=("g * y * sigmoid(-a)",),
    ),
    _activations(
        "swish",
        _swish,
        "a * sigmoid(a)",
        ulp=8,
        aliases=("silu",),
        gradient=("g * sigmoid(a) * (1 + a * sigmoid(-a))",),
    ),
    _activations("softplus", softplus, "log(1 + exp(a))", ulp=8, gradient=("g * sigmoid(a)",)),
    _activations(
        "mish",
        _mish,
        "a * tanh(softplus(a))",
        ulp=8,
        gradient=("g * (tanh(softplus(a)) + a * sigmoid(a) / square(cosh(softplus(a))))",),
    ),
    _activations(
        "gelu",
        _gelu,
        "a / 2 * (1 + erf(a / sqrt(2)))",
        ulp=16,
        gradient=(
            f"g * (0.5 * erfc(-a * {sqrt(0.5)!r}) + a * {1 / sqrt(2 * pi)!r} * exp(-0.5 * a * a))",
        ),
    ),
    _activations(
        "softsign", _softsign, "a / (1 + abs(a))", ulp=2, gradient=("g / square(1 + abs(a))",)
    ),
    _activations(
        "hard_sigmoid",
        _hard_sigmoid,
        "(a + 3) / 6 between 0 and 1",
        ulp=2,
        gradient=("where((a > -3) & (a < 3), g / 6, 0)",),
    ),
    _activations(
        "hard_tanh",
        lambda w, a: clamped(w, a, -1.0, 1.0),
        "a between -1 and 1",
        ulp=None,
        gradient=("where((a > -1) & (a < 1), g, 0)",),
    ),
    _activations("gaussian", _gaussian, "exp(-a * a)", ulp=6, gradient=("-2 * g * a * y",)),
    _activations(
        "bent_identity",
        _bent_identity,
        "(sqrt(a * a + 1) - 1) / 2 + a",
        ulp=8,
        gradient=("g * (a / (2 * hypot(a, 1)) + 1)",),
    ),
    _activations("binary_step", _step(0.0), "0 below 0, else 1", ulp=None),
    _activations("bipolar_step", _step(-1.0), "-1 below 0, else 1", ulp=None),
    _activations(
        "selu",
        _selu,
        f"{_SCALE} * (a, or {_ALPHA} * (exp(a) - 1) below 0)",
        ulp=8,
        gradient=(f"g * where(a < 0, {_ALPHA * _SCALE!r} * exp(a), {_SCALE!r})",),
    ),
    *[
        _activations(
            name,
            lambda w, a, b: _negative_side(w, a, a * b),
            "a, or a * b below 0",
            ulp=None,
            gradient=("where(a < 0, g * b, g)", "where(a < 0, g * a, 0)"),
        )
        for name in ("leaky_relu", "prelu")
    ],
    _activations(
        "elu",
        _elu,
        "a, or b * (exp(a) - 1) below 0",
        ulp=6,
        gradient=("where(a < 0, g * b * exp(a), g)", "where(a < 0, g * expm1(a), 0)"),
    ),
    _activations(
        "celu",
        _celu,
        "a, or b * (exp(a / b) - 1) below 0",
        ulp=6,
        special="b is above 0",
        gradient=("where(a < 0, g * exp(a / b), g)", ""),
    ),
    _activations(
        "softclip",
        _softclip,
        "b * tanh(a / b): a, smoothly bounded by -b and b",
        ulp=6,
        gradient=("g * (1 - square(tanh(a / b)))", ""),
    ),
)

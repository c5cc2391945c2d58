"""What the language has of functions made of its others."""

from __future__ import annotations

from typing import Any

from gridlane.frontends.triton.arithmetic import (
    add,
    floordiv,
    minimum,
    mod,
    mul,
    negated,
    sub,
    truediv,
)
from gridlane.frontends.triton.constants import unwrapped
from gridlane.frontends.triton.context import builtin
from gridlane.frontends.triton.mathematics import exp, fdiv
from gridlane.frontends.triton.reductions import max, sum
from gridlane.frontends.triton.values import member, tensor


@member
@builtin
def cdiv(x: Any, div: Any) -> Any:
    """The quotient of non-negative integers, rounded up."""
    first, second = unwrapped(x), unwrapped(div)
    if isinstance(first, tensor) or isinstance(second, tensor):
        return floordiv(sub(add(first, second), 1), second)
    return (first + second - 1) // second


@member
@builtin
def sigmoid(x: tensor) -> tensor:
    """1 / (1 + exp(-x))."""
    return truediv(1, add(1, exp(negated(x))))


@member
@builtin
def softmax(
    x: tensor, dim: Any = None, keep_dims: Any = False, ieee_rounding: Any = False
) -> tensor:
    """exp(x) divided by its sum along an axis."""
    axis = 0 if unwrapped(dim) is None else dim
    powers = exp(sub(x, max(x, axis, keep_dims=keep_dims)))
    return fdiv(powers, sum(powers, axis, keep_dims=keep_dims), ieee_rounding)


@builtin
def swizzle2d(i: Any, j: Any, size_i: Any, size_j: Any, size_g: Any) -> tuple[tensor, tensor]:
    """The place of element (i, j) of a row-major matrix where groups of ``size_g`` rows are
    column-major."""
    flat = add(mul(i, size_j), j)
    count = mul(size_g, size_j) if _runs(size_g, size_j) else unwrapped(size_g) * unwrapped(size_j)
    group = floordiv(flat, count)
    first = mul(group, size_g)
    rows = minimum(sub(size_i, first), size_g)
    inner = mod(flat, count)
    return add(first, mod(inner, rows)), floordiv(inner, rows)


def _runs(*values: Any) -> bool:
    return any(isinstance(each, tensor) for each in values)

"""What functions of products take: their factors, biases and options."""

from __future__ import annotations

from typing import Any

from gridlane.core.errors import ArgumentError
from gridlane.tiles.kernels.operands import (
    FLOATS,
    NARROW,
    PRECISIONS,
    Operand,
    expect_shape,
    operand,
)

FACTORS = (*FLOATS, *NARROW, "int8")
ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "silu")


def check_options(
    activation: str | None, split_k: int | None = None, precision: str = "ieee"
) -> None:
    """Raise ArgumentError for an option of ``matmul`` that it does not know."""
    if activation is not None and activation not in ACTIVATIONS:
        raise ArgumentError(f"activation is {activation!r}; it must be {', '.join(ACTIVATIONS)}")
    if split_k is not None and split_k < 1:
        raise ArgumentError(f"split_k is {split_k}; it must be at least 1")
    if precision not in PRECISIONS:
        raise ArgumentError(f"precision is {precision!r}; it must be {' or '.join(PRECISIONS)}")


def bias_of(bias: Any, columns: int) -> Operand | None:
    """The bias of so many columns, if there is one."""
    made = None if bias is None else operand("bias", bias, FLOATS, 1)
    if made is not None:
        expect_shape(made, (columns,))
    return made


def factors(
    a: Any,
    b: Any,
    dimensions: tuple[int | None, int | None] = (None, None),
    dtypes: tuple[str, ...] = FACTORS,
) -> tuple[Operand, Operand]:
    """The factors of a product, of one dtype or of floats of 8 bits.

    Raises:
        ArgumentError: they are not.
    """
    left = operand("a", a, dtypes, dimensions[0])
    right = operand("b", b, dtypes, dimensions[1])
    narrow = left.dtype in NARROW and right.dtype in NARROW
    if left.dtype != right.dtype and not narrow:
        raise ArgumentError(f"{left}, and {right}: they must have one dtype")
    return left, right

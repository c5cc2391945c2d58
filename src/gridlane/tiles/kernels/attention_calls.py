"""Calls of attention, checked."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from gridlane.core.errors import ArgumentError
from gridlane.tiles.kernels.operands import (
    NARROW,
    Operand,
    contiguous,
    expect_shape,
    index_type,
    new,
    operand,
)
from gridlane.tiles.kernels.programs.attention import widened_elements

_NAMES = "q_scale", "k_scale", "v_scale"
_BLOCK = 4096
"""Elements of a program that converts them."""


Scales = tuple[Operand | None, Operand | None, Operand | None]


class Weighing(NamedTuple):
    """Which keys a query sees, and how products become scores: the options of ``attention``."""

    causal: bool
    window: int | None
    scale: float | None
    softcap: float | None


class Call(NamedTuple):
    """A checked call, whose arrays have the axes (batch, head, length, width).

    Attributes:
        starts: of packed sequences of queries and of keys: where each begins, and the end.
        sequences: the number of sequences.
        longest: the most queries and the most keys of a sequence, or more.
        heads: of queries.
        group: the heads of queries that have one head of keys.
        constants: of the programs.
        scales: of queries, keys and values; Nones without.
    """

    q: Operand
    k: Operand
    v: Operand
    starts: tuple[Operand, Operand] | None
    sequences: int
    longest: tuple[int, int]
    heads: int
    group: int
    window: int
    constants: dict[str, Any]
    scales: Scales = (None, None, None)

    @property
    def first_arguments(self) -> tuple[Any, Any]:
        """The arrays where sequences begin, as programs take them."""
        return (None, None) if self.starts is None else tuple([e.value for e in self.starts])  # pyright: ignore[reportReturnType]

    @property
    def extents(self) -> tuple[int, ...]:
        """Queries, keys, the window, and the widths, in the order in which programs take them."""
        widths = self.q.shape[3], self.v.shape[3]
        return self.q.shape[2], self.k.shape[2], self.window, *widths

    @property
    def scale_arguments(self) -> tuple[Any, Any]:
        """The scales and their steps, as programs take them."""
        return scale_arguments(self.scales)


def scale_arguments(scales: Scales) -> tuple[Any, Any]:
    """Scales and their steps, as programs take them."""
    if all(each is None for each in scales):
        return None, None
    values = tuple([None if each is None else each.value for each in scales])
    return values, tuple([(0, 0) if each is None else _steps(each) for each in scales])


def _steps(scale: Operand) -> tuple[int, int]:
    return (scale.strides[0], scale.strides[1]) if scale.shape else (0, 0)


def scales_of(given: tuple[Any, Any, Any], shape: tuple[int, int]) -> Scales:
    """The scales of queries, keys and values, each of one number or of a shape.

    Raises:
        ArgumentError: one has another shape or dtype.
    """
    made: list[Operand | None] = []
    for name, value in zip(_NAMES, given, strict=True):
        each = None if value is None else operand(name, value, ("float32",))
        if each is not None and each.shape:
            expect_shape(each, shape)
        made.append(each)
    return made[0], made[1], made[2]


def widened(made: list[Operand]) -> list[Operand]:
    """Queries, keys and values of floats of 8 bits in float16, which has them all; of the same
    steps if they have no gaps. Others stay."""
    if made[0].dtype not in NARROW:
        return made
    dense = [each if _is_dense(each) else contiguous(each) for each in made]
    outs = [new(each.name, each, (each.size,), "float16") for each in dense]
    counts = tuple([each.size for each in dense])
    blocks = sum(-(-count // _BLOCK) for count in counts)
    if blocks:
        widened_elements[(blocks,)](
            tuple([each.value for each in dense]), tuple([each.value for each in outs]), counts,
            BLOCK=_BLOCK, INDEX=index_type(*dense),
        )  # fmt: skip
    return [
        Operand(each.name, out.value, each.shape, each.strides, "float16")
        for each, out in zip(dense, outs, strict=True)
    ]


def _is_dense(array: Operand) -> bool:
    """Whether an array's elements are all that there is in its memory."""
    steps = zip(array.shape, array.strides, strict=True)
    return array.size == 0 or sum((n - 1) * step for n, step in steps) == array.size - 1


def result_type(q: Any, like: Operand, out: Any) -> str:
    """The dtype of the result of queries that ``like`` has: for floats of 8 bits that of ``out``,
    if it is of 16 bits."""
    if is_narrow(q) and out is not None:
        return operand("out", out, ("float16", "bfloat16")).dtype
    return like.dtype


def is_narrow(array: Any) -> bool:
    """Whether an array is of floats of 8 bits."""
    return "float8" in str(getattr(array, "dtype", ""))


def checked_softcap(softcap: float | None) -> float | None:
    """The bound of scores.

    Raises:
        ArgumentError: it is not positive.
    """
    if softcap is None:
        return None
    bound = float(softcap)
    if not 0 < bound < math.inf:
        raise ArgumentError(f"softcap is {softcap}; it must be a positive number")
    return bound

"""Calls of attention, checked."""

from __future__ import annotations

from typing import Any, NamedTuple

from gridlane.tiles.kernels.operands import Operand


class Call(NamedTuple):
    """A checked call, whose arrays have the axes (batch, head, length, width).

    Attributes:
        starts: of packed sequences of queries and of keys: where each begins, and the end.
        sequences: the number of sequences.
        longest: the most queries and the most keys of a sequence, or more.
        heads: of queries.
        group: the heads of queries that have one head of keys.
        constants: of the programs.
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

    @property
    def first_arguments(self) -> tuple[Any, Any]:
        """The arrays where sequences begin, as programs take them."""
        return (None, None) if self.starts is None else tuple([e.value for e in self.starts])  # pyright: ignore[reportReturnType]

    @property
    def extents(self) -> tuple[int, ...]:
        """Queries, keys, the window, and the widths, in the order in which programs take them."""
        widths = self.q.shape[3], self.v.shape[3]
        return self.q.shape[2], self.k.shape[2], self.window, *widths

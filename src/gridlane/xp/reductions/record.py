"""What a reduction is: in an expression, and in the key of a kernel."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gridlane.core.frozen import frozen


@frozen
class Reduction:
    """A reduction, in the place of an operation. Its operands are the elements and, if there are
    two, whether each of these takes part.

    Attributes:
        kind: a name in ``KINDS``.
        accumulator: the dtype that elements are converted to.
        axes: of the elements, ascending.
        keepdims: whether the result has dimensions of one element for them.
    """

    kind: str
    accumulator: np.dtype[Any]
    axes: tuple[int, ...]
    keepdims: bool

    @property
    def name(self) -> str:
        """The kind, as of an operation."""
        return self.kind


@frozen
class Scan:
    """A scan, in the place of an operation: each result is of the elements up to it.

    Attributes:
        kind, accumulator: as of a ``Reduction``; the state is one number.
        axis: of the elements.
    """

    kind: str
    accumulator: np.dtype[Any]
    axis: int

    @property
    def name(self) -> str:
        """The kind, as of an operation."""
        return f"scan_{self.kind}"


@frozen
class Fold:
    """The part of a reduction in the key of a kernel.

    A kernel reduces rows, each in parts of ``span`` elements. It stores results if a row has one
    part, else the states of the parts, which the next kernel reduces.

    Attributes:
        kind, accumulator: of the reduction.
        result: the dtype of results.
        kept: how many of the form's dimensions count the rows; the others are along a row.
        operands: the positions of the operands, or of the arrays of states, among the steps.
        is_masked: whether a second operand says which elements take part.
        width: the threads of a part.
        by_columns: whether neighbouring threads have neighbouring rows.
        is_first: whether the elements are an expression's, not the states of parts.
        is_last: whether a row has one part.
        scan: "" for a reduction; what a scan's kernel stores: "totals" of parts, or "results".
        in_step: the threads of a block that meet at a barrier behind each turn, so that the vectors
            of a CPU walk along memory instead of across; 0 if they do not meet.
        in_series: whether one thread has a part of several threads, of a scan on a CPU, whose
            vectors would gather and scatter. The order of combinations is the same.
    """

    kind: str
    accumulator: np.dtype[Any]
    result: np.dtype[Any]
    kept: int
    operands: tuple[int, ...]
    is_masked: bool
    width: int = 1
    by_columns: bool = False
    is_first: bool = True
    is_last: bool = False
    scan: str = ""
    in_step: int = 0
    in_series: bool = False

    @property
    def span(self) -> int:
        """The most elements of a part."""
        if self.by_columns:
            return COLUMN
        if not self.scan or self.width == 1:
            return self.width * SERIAL
        return self.width * 32 // self.accumulator.itemsize  # 8 KiB, which any block may have


@frozen
class Stages:
    """Several reductions of the same rows in one kernel, each of a whole row.

    Attributes:
        folds: in the order of computation. A later one may use the results of earlier ones.
        of_rows: the positions, among the stored nodes, of those with one element for each row.
    """

    folds: tuple[Fold, ...]
    of_rows: tuple[int, ...]


WARP = 32
"""The threads that load neighbouring elements."""
SERIAL = 32
"""The most elements that one thread of a row reduces."""
MANY_ROWS = 1 << 14
"""The least rows that are scanned by a thread each, where these are neighbours in C's order."""
COLUMN = 64
"""The most elements that a thread reduces alone, where threads have rows of their own."""


def width_of(elements: int) -> int:
    """The threads for each part of rows of so many elements."""
    if elements <= SERIAL:
        return 1
    return 32 if elements <= 32 * SERIAL else 256


def scan_width_of(elements: int) -> int:
    """The threads that scan each part of rows of so many elements."""
    return 1 if elements <= SERIAL else 256


def threads_of(fold: Fold, threads: int) -> int:
    """The threads of a block, which are so many if the fold has no number of its own."""
    return 1 if fold.in_series else fold.in_step or threads


def blocks_of(fold: Fold, by_rows: bool, extents: tuple[int, ...], threads: int) -> int:
    """The blocks of a launch, of so many threads each; see ``Form.by_rows``."""
    rows, length = math.prod(extents[: fold.kept]), math.prod(extents[fold.kept :])
    if by_rows:
        *outer, last = extents[: fold.kept]
        parts = 1 if fold.is_last else -(-length // fold.span)
        return math.prod(outer) * -(-last // threads) * parts
    parts = 1 if fold.is_last else -(-length // fold.span)
    return -(-rows * parts // (1 if fold.in_series else threads // fold.width))

"""The plan of an expression: its kernels, what each fuses, and why there are several."""

from __future__ import annotations

import math

from gridlane.core.frozen import frozen
from gridlane.xp.arrays import Array
from gridlane.xp.computing import planned
from gridlane.xp.groups import Group
from gridlane.xp.operands import of_array
from gridlane.xp.reductions.record import Fold


@frozen
class PlannedKernel:
    """A kernel of a plan.

    Attributes:
        operations: what it computes, in order, each of them once for an element.
        elements: how many it computes, or reduces.
        reads, stores: the arrays that it reads and stores.
        apart: why its result is not fused with what uses it; "" for the last kernel.
    """

    operations: tuple[str, ...]
    elements: int
    reads: int
    stores: int
    apart: str

    def __str__(self) -> str:
        counts = f"{self.elements:,} elements, reads {self.reads}, stores {self.stores}"
        text = f"{', '.join(self.operations) or 'copy'}: {counts}"
        return f"{text}\n   apart: {self.apart}" if self.apart else text


@frozen
class Plan:
    """The kernels that compute an array, in the order of their launches. Its text has a line for
    each."""

    kernels: tuple[PlannedKernel, ...]

    def __str__(self) -> str:
        if not self.kernels:
            return "no kernel: the elements are computed"
        lines = [f"{number}. {each}" for number, each in enumerate(self.kernels, 1)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)


@of_array
def explain(x: Array, /) -> Plan:
    """The plan of an array that is still to be computed. It computes nothing.

    >>> from gridlane import xp
    >>> x = xp.arange(6.0)
    >>> explain(xp.sum(x * 2) + x)
    1. index, cast, multiply, add, multiply, sum: 6 elements, reads 0, stores 2
       apart: a reduction is the last operation of a kernel
    2. add: 6 elements, reads 2, stores 1
    """
    groups = planned(x.node)
    last = len(groups) - 1
    return Plan(tuple([_kernel(group, number == last) for number, group in enumerate(groups)]))


def _kernel(group: Group, is_last: bool) -> PlannedKernel:
    form, fold = group.form, group.form.fold
    reads = sum(1 for step in form.steps if step[0] in ("leaf", "gather"))
    folds: list[Fold] = [] if form.stages is None else [*form.stages.folds]
    operations = [
        folds[step[2]].kind if step[0] == "fold" else step[0]
        for step in form.steps
        if step[0] not in ("leaf", "number")
    ]
    stores, apart = len(form.stored), ""
    if fold is not None and not folds:
        operations.append(f"scan_{fold.kind}" if fold.scan else fold.kind)
        stores += 1
        apart = "a reduction is the last operation of a kernel"
        if fold.scan:
            apart = "a scan is the last operation of a kernel"
        if fold.scan == "totals":
            apart = "rows have several parts, whose totals are scanned first"
        elif not fold.is_last and not fold.scan:
            apart = "rows have several parts, and the next kernel reduces their results"
    elif folds:
        apart = "what uses the result has other rows than its reductions"
    elif not is_last:
        apart = "what uses the result has more elements: each would be computed several times"
    extents = math.prod(group.extents)
    return PlannedKernel(tuple(operations), extents, reads, stores, "" if is_last else apart)

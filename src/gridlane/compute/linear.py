"""Indices as sums of loops with whole factors."""

from __future__ import annotations

import islpy as isl

from gridlane.compute.model import Statement
from gridlane.compute.polyhedra import Polyhedra
from gridlane.core.frozen import frozen

_IN, _PARAM, _DIV = isl.dim_type.in_, isl.dim_type.param, isl.dim_type.div


@frozen
class Linear:
    """``sum(factor * loop) + constant``.

    Attributes:
        factors: by the names of loops; none is 0.
    """

    factors: dict[str, int]
    constant: int

    @property
    def loop(self) -> str:
        """The loop that it is, or nothing."""
        is_loop = self.constant == 0 and [*self.factors.values()] == [1]
        return next(iter(self.factors)) if is_loop else ""


def linear(polyhedra: Polyhedra, statement: Statement, index: str) -> Linear | None:
    """An index of a statement's access, or None if parameters or divisions are in it."""
    names = [each.name for each in statement.loops]
    text = f"{{ {statement.name}[{', '.join(names)}] -> [{index}] }}"
    pieces = polyhedra.map(text).as_pw_multi_aff().get_at(0).get_pieces()
    if len(pieces) != 1:
        return None
    aff = pieces[0][1]
    if aff.dim(_DIV) or aff.get_denominator_val().to_python() != 1:
        return None
    if any(aff.involves_dims(_PARAM, n, 1) for n in range(aff.dim(_PARAM))):
        return None
    factors = {
        name: aff.get_coefficient_val(_IN, n).to_python()
        for n, name in enumerate(names)
        if aff.involves_dims(_IN, n, 1)
    }
    return Linear(factors, aff.get_constant_val().to_python())

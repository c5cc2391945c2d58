"""Sums, products, minima and maxima of long rows in nests, by the library of algorithms."""

from __future__ import annotations

import ast
from itertools import product as pairs
from math import prod
from typing import Any, ClassVar

import numpy as np

from gridlane.compute.freedom import Freedom
from gridlane.compute.model import Nest, Statement
from gridlane.compute.polyhedra import Polyhedra
from gridlane.compute.scanning import (
    MOST_ROWS,
    OPERATORS,
    is_whole,
    is_wide,
    number_of,
    only_element,
    smallest,
)
from gridlane.compute.sums import in_memory, is_in_lines
from gridlane.compute.tensors import TensorType
from gridlane.core.dtypes import DType
from gridlane.core.frozen import frozen


@frozen
class Reduction:
    """A reduction along the last axis.

    Attributes:
        source: the tensor.
        target: the tensor of the results: one for each row, or one at place 0.
        operator: the name of the operator.
        start: the value in front of the first element.
    """

    is_of_algorithms: ClassVar[bool] = True

    source: str
    target: str
    operator: str
    start: float
    sums: tuple[str, TensorType]
    rest: Nest | None = None

    @property
    def call(self) -> str:
        """The call of the library of algorithms."""
        return f"algorithms.reduce_into({self.source}, {self.operator}) -> {self.target}"

    def is_large(self, given: dict[str, Any], extents: dict[str, int]) -> bool:
        """Whether rows are long and few."""
        x = given[self.source]
        is_few = x.shape[-1] >= smallest() and prod(x.shape[:-1]) <= MOST_ROWS
        return is_few and is_wide() and is_in_lines(x)

    def run(self, given: dict[str, Any], out: Any) -> None:
        """Compute the results into the target."""
        from gridlane import algorithms  # of nests with reductions alone

        x, target = in_memory(given[self.source]), in_memory(given[self.target])
        start = np.dtype(str(x.dtype).removeprefix("torch.")).type(self.start)
        op = getattr(algorithms.OpKind, self.operator)
        for row in pairs(*map(range, x.shape[:-1])):
            place = row or (0,)
            algorithms.reduce_into(
                d_in=x[row] if row else x,
                d_out=target[(*place[:-1], slice(place[-1], place[-1] + 1))],
                op=op,
                num_items=x.shape[-1],
                h_init=start,
            )


def reduction_of(
    polyhedra: Polyhedra, types: dict[str, DType], freedom: Freedom
) -> Reduction | str:
    """The reduction that a nest is, or why it is loops.

    Args:
        types: of the variables.
    """
    nest = polyhedra.nest
    if polyhedra.same or any(each.tests for each in nest.statements):
        return ""
    found = _reduction(polyhedra)
    if found is None:
        return ""
    kinds = [nest.tensors[each].dtype for each in (found.source, found.target)]
    kinds += [types[each] for each in nest.variables]
    if any(each is not kinds[0] for each in kinds):
        return "loops: the elements and their sum are of several types"
    if kinds[0].is_integer and not float(found.start).is_integer():
        return ""
    if kinds[0].is_float and not freedom.fastmath:
        return "loops: a sum by several threads adds in another order; fastmath=True"
    if not (kinds[0].is_float or kinds[0].is_integer) or kinds[0].size < 4:
        return f"loops: the library reduces no {kinds[0]}"
    return found


def _reduction(polyhedra: Polyhedra) -> Reduction | None:
    """``total = start`` or ``out[r] = start``, and ``total op= x[r, i]`` for all ``i``."""
    nest = polyhedra.nest
    if len(nest.statements) not in (2, 3) or len(nest.statements) - 2 != len(nest.variables):
        return None
    start, adder, *stores = nest.statements
    loops = tuple([each.name for each in adder.loops])
    source = only_element(nest, adder) if adder.operator in OPERATORS and loops else None
    first = number_of(nest, start.node.value) if isinstance(start.node, ast.Assign) else None
    if source is None or first is None or source.indices != loops:
        return None
    rows = loops[:-1]
    is_own = start.write.name == adder.write.name and start.write.indices == adder.write.indices
    if not is_own or any(_names(each) != rows for each in (start, *stores)):
        return None
    place = stores[0].write if stores else adder.write
    if stores and not _is_store(stores[0], adder.write.name):
        return None
    is_result = place.name in nest.tensors and place.name != source.name
    if not is_result or place.indices != (rows or ("0",)) or not is_whole(polyhedra, adder, source):
        return None
    word = OPERATORS[adder.operator]
    return Reduction(source.name, place.name, word, first, (place.name, nest.tensors[place.name]))


def _names(statement: Statement) -> tuple[str, ...]:
    return tuple([each.name for each in statement.loops])


def _is_store(statement: Statement, name: str) -> bool:
    """Whether a statement stores a variable as it is."""
    node = statement.node
    value = node.value
    return isinstance(node, ast.Assign) and isinstance(value, ast.Name) and value.id == name

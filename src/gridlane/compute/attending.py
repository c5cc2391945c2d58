"""Attention, softmax and sorts in nests, which the tile library and that of algorithms compute."""

from __future__ import annotations

import ast
from itertools import product as pairs
from math import prod
from types import CodeType
from typing import Any, ClassVar

from gridlane.compute.freedom import Freedom
from gridlane.compute.matching import Match, Mismatch, match
from gridlane.compute.model import Nest
from gridlane.compute.patterns import attentions, softmaxes, sorts
from gridlane.compute.polyhedra import Polyhedra
from gridlane.compute.sums import in_memory, is_in_lines, turned
from gridlane.compute.tensors import TensorType
from gridlane.core.dtypes import DType, bf16, f16, f32, f64
from gridlane.core.frozen import frozen
from gridlane.core.source import Loc

_FLOATS = (f16, bf16, f32, f64)
_MOST_ROWS = 32
"""Sorts of more rows are loops, whose rows are threads."""
SMALLEST_ATTENTION = 16**3
SMALLEST_SOFTMAX = 4096
SMALLEST_SORT = 64


@frozen
class Attention:
    """Attention of batches and heads, in one pass over the keys.

    Attributes:
        code: that of ``scale``.
    """

    is_of_algorithms: ClassVar[bool] = False

    found: Match
    scale: ast.expr
    code: CodeType
    is_causal: bool
    nest: Nest
    sums: tuple[str, TensorType]
    rest: None = None

    @property
    def call(self) -> str:
        """The call of the tile library."""
        q, k, v, out = (self.found.tensors[each][0] for each in ("q", "k", "v", "out"))
        words = f", causal={self.is_causal}, scale={ast.unparse(self.scale)}"
        return f"tiles.kernels.attention({q}, {k}, {v}{words}) -> {out}"

    def is_large(self, given: dict[str, Any], extents: dict[str, int]) -> bool:
        """Whether there are enough products."""
        q, k, _, _ = self._arrays(given)
        return prod(q.shape) * k.shape[2] >= SMALLEST_ATTENTION

    def run(self, given: dict[str, Any], out: Any) -> None:
        """Compute the result into the target."""
        from gridlane.tiles.kernels import attention  # of nests with attention alone

        names = {**self.nest.captured, **{n: given[n] for n in self.nest.scalars}}
        scale = float(eval(self.code, {}, names))
        q, k, v, target = self._arrays(given)
        attention(q, k, v, target, causal=self.is_causal, scale=scale)

    def _arrays(self, given: dict[str, Any]) -> list[Any]:
        """Views of shape (batch, heads, places, width)."""
        found: list[Any] = []
        for each in ("q", "k", "v", "out"):
            name, axes = self.found.tensors[each]
            array = turned(given[name], axes)
            for _ in range(2 - self.found.batch):
                array = array[None]
            found.append(array)
        return found


@frozen
class Softmax:
    """Softmax of rows."""

    is_of_algorithms: ClassVar[bool] = False

    found: Match
    sums: tuple[str, TensorType]
    rest: None = None

    @property
    def call(self) -> str:
        """The call of the tile library."""
        x, out = self.found.tensors["x"][0], self.found.tensors["out"][0]
        return f"tiles.kernels.softmax({x}) -> {out}"

    def is_large(self, given: dict[str, Any], extents: dict[str, int]) -> bool:
        """Whether there are enough elements."""
        return prod(given[self.found.tensors["x"][0]].shape) >= SMALLEST_SOFTMAX

    def run(self, given: dict[str, Any], out: Any) -> None:
        """Compute the result into the target."""
        from gridlane.tiles.kernels import softmax  # of nests with softmax alone

        (x, first), (target, second) = (self.found.tensors[each] for each in ("x", "out"))
        softmax(turned(given[x], first), turned(given[target], second))


@frozen
class Sort:
    """Sorts of rows."""

    is_of_algorithms: ClassVar[bool] = True

    source: str
    target: str
    is_descending: bool
    sums: tuple[str, TensorType]
    rest: None = None

    @property
    def call(self) -> str:
        """The call of the library of algorithms."""
        word = "descending" if self.is_descending else "ascending"
        return f"algorithms.radix_sort({self.source}, {word}) -> {self.target}"

    def is_large(self, given: dict[str, Any], extents: dict[str, int]) -> bool:
        """Whether rows are long and few, and their elements follow each other."""
        arrays = given[self.source], given[self.target]
        shape = tuple(arrays[0].shape)
        is_whole = all(is_in_lines(each) for each in arrays)
        return is_whole and shape[-1] >= SMALLEST_SORT and prod(shape[:-1]) <= _MOST_ROWS

    def run(self, given: dict[str, Any], out: Any) -> None:
        """Sort into the target."""
        from gridlane import algorithms  # of nests with sorts alone

        x, target = in_memory(given[self.source]), in_memory(given[self.target])
        order = algorithms.SortOrder.DESCENDING if self.is_descending else (
            algorithms.SortOrder.ASCENDING
        )  # fmt: skip
        for row in pairs(*map(range, x.shape[:-1])):
            one, other = (x[row], target[row]) if row else (x, target)
            algorithms.radix_sort(
                d_in_keys=one, d_out_keys=other, num_items=x.shape[-1], order=order
            )


def attention_of(
    polyhedra: Polyhedra, types: dict[str, DType], freedom: Freedom
) -> Attention | str:
    """The attention that a nest is, or why it is loops."""
    found = found_attention(polyhedra)
    if found is None:
        return ""
    match_, is_causal = found
    kinds = {polyhedra.nest.tensors[name].dtype for name, _ in match_.tensors.values()}
    if len(kinds) != 1 or not kinds <= {*_FLOATS} or match_.batch > 2:
        return "loops: attention of the library has one type of floats, and two loops around it"
    if not freedom.fastmath:
        return "loops: attention of the library adds in another order; fastmath=True"
    out = match_.tensors["out"][0]
    sums = out, polyhedra.nest.tensors[out]
    scale = match_.scalars.get("scale", ast.Constant(1.0))
    code = compile(ast.fix_missing_locations(ast.Expression(scale)), "scale", "eval")
    return Attention(match_, scale, code, is_causal, polyhedra.nest, sums)


def softmax_of(polyhedra: Polyhedra, types: dict[str, DType], freedom: Freedom) -> Softmax | str:
    """The softmax that a nest is, or why it is loops."""
    found = _matching(softmaxes(), polyhedra, True) if _has_calls(polyhedra.nest) else None
    if found is None:
        return ""
    kinds = {polyhedra.nest.tensors[name].dtype for name, _ in found.tensors.values()}
    if len(kinds) != 1 or not kinds <= {*_FLOATS}:
        return "loops: softmax of the library has one type of floats"
    if not freedom.fastmath:
        return "loops: softmax of the library adds in another order; fastmath=True"
    out = found.tensors["out"][0]
    return Softmax(found, (out, polyhedra.nest.tensors[out]))


def sort_of(polyhedra: Polyhedra, types: dict[str, DType], freedom: Freedom) -> Sort | str:
    """The sort that a nest is, or why it is loops."""
    found = found_sort(polyhedra)
    if found is None:
        return ""
    match_, is_descending = found
    source, axes = match_.tensors["x"]
    target = match_.tensors.get("out", (source, axes))
    kind = polyhedra.nest.tensors[source].dtype
    if {axes, target[1]} != {tuple(range(len(axes)))}:
        return "loops: the library sorts along the last axis"
    if polyhedra.nest.tensors[target[0]].dtype is not kind:
        return "loops: the elements and the sorted ones are of several types"
    if any(each is not kind for name, each in types.items() if name in _swapped(polyhedra.nest)):
        return "loops: elements are converted on their way"
    if kind.is_float and not (freedom.fastmath and kind.size >= 4):
        return "loops: NaN and zeros with signs have other places in the library; fastmath=True"
    if not (kind.is_float or kind.is_integer):
        return f"loops: the library sorts no {kind}"
    return Sort(source, target[0], is_descending, (target[0], polyhedra.nest.tensors[target[0]]))


def found_attention(polyhedra: Polyhedra) -> tuple[Match, bool] | None:
    """What corresponds to attention in a nest, and whether a query sees no later key."""
    if not _has_calls(polyhedra.nest):
        return None  # and no pattern needs to be read
    for is_causal in (False, True):
        found = _matching(attentions(is_causal), polyhedra, True)
        if found is not None:
            return found, is_causal
    return None


def found_sort(polyhedra: Polyhedra) -> tuple[Match, bool] | None:
    """What corresponds to a sort in a nest, and whether it is from large to small."""
    if not any(each.tests for each in polyhedra.nest.statements):
        return None
    for is_descending in (False, True):
        found = _matching(sorts(is_descending), polyhedra, False)
        if found is not None:
            return found, is_descending
    return None


def nearest(patterns: tuple[Nest, ...], polyhedra: Polyhedra, is_loose: bool) -> Loc | None:
    """The statement that is against the pattern of which most correspond; None if one does."""
    last: Mismatch | None = None
    for each in patterns:
        found = match(each, polyhedra, is_loose)
        if isinstance(found, Match):
            return None
        if last is None or found.count > last.count:
            last = found
    assert last is not None
    return last.loc


def _matching(patterns: tuple[Nest, ...], polyhedra: Polyhedra, is_loose: bool) -> Match | None:
    if polyhedra.same:
        return None
    for each in patterns:
        found = match(each, polyhedra, is_loose)
        if isinstance(found, Match):
            return found
    return None


def _has_calls(nest: Nest) -> bool:
    """Whether statements call functions, as powers and maxima do."""
    nodes = [node for each in nest.statements for node in (each.node, *each.tests)]
    return any(isinstance(part, ast.Call) for node in nodes for part in ast.walk(node))


def _swapped(nest: Nest) -> set[str]:
    """The variables that hold elements."""
    return {
        each.write.name
        for each in nest.statements
        if isinstance(each.node.value, ast.Subscript) and each.write.name in nest.variables
    }

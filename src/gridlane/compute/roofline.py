"""The bytes and operations of a nest, and the least time that a device needs for them.

Williams, Waterman, Patterson, "Roofline: an insightful visual performance model", 2009.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from math import prod

import islpy as isl

from gridlane.compute.model import Access, Statement
from gridlane.compute.polyhedra import Polyhedra
from gridlane.compute.typing import Typing
from gridlane.core.frozen import frozen
from gridlane.profiler.peaks import Peaks

_SMALL = (1, 1000, 64, 24)
"""The extents at which shapes of sets are counted point by point, by dimensions; 10 for more."""
_EXTENT = 1024


@frozen
class Work:
    """What a nest moves and computes, about.

    Attributes:
        bytes: of all elements that it reads, and of those that it writes, each once.
        narrow, wide: floating-point operations of up to 32 bits, and of 64.
    """

    bytes: float
    narrow: float
    wide: float


def default_values(polyhedra: Polyhedra) -> dict[str, int]:
    """Values of extents and integer arguments, where none are known: 1024 within their bounds."""
    values = dict.fromkeys(polyhedra.nest.parameters, _EXTENT)
    for name, (low, high) in polyhedra.nest.extents.items():
        values[name] = max(low, _EXTENT if high is None else min(high, _EXTENT))
    return values


def work_of(polyhedra: Polyhedra, typing: Typing, values: Mapping[str, int]) -> Work:
    """The work of a nest at values of extents and integer arguments."""
    nest, moved = polyhedra.nest, 0.0
    for is_write in (False, True):
        touched: dict[str, isl.Set] = {}
        for statement in nest.statements:
            accesses = (statement.write,) if is_write else statement.reads
            for access in accesses:
                if access.name in nest.tensors:
                    elements = _elements(polyhedra, statement, access)
                    known = touched.get(access.name)
                    touched[access.name] = elements if known is None else known.union(elements)
        for name, elements in touched.items():
            moved += nest.tensors[name].dtype.size * _count(elements, values)
    narrow = wide = 0.0
    for statement in nest.statements:
        kind = typing.type_of(statement.write.name)
        if not kind.is_float:
            continue
        total = _operations(statement) * _count(polyhedra.domain(statement), values)
        narrow, wide = (narrow, wide + total) if kind.size == 8 else (narrow + total, wide)
    return Work(moved, narrow, wide)


def roofline_line(work: Work, values: Mapping[str, int], peaks: Peaks | None, device: str) -> str:
    """Bytes, operations and their ratio, and what bounds a device that has known peaks."""
    flops = work.narrow + work.wide
    ratio = flops / work.bytes if work.bytes else 0.0
    where = ", ".join(f"{name} = {value}" for name, value in values.items())
    parts = f"{_short(work.bytes)}B, {_short(flops)}FLOP, {ratio:.3g} FLOP/B"
    head = f"roofline at {where}: {parts}" if where else f"roofline: {parts}"
    if peaks is None:
        return f"{head}; the peaks of {device} are unknown"
    by_memory = work.bytes / peaks.bytes_per_second
    wide = peaks.wide_flops_per_second or peaks.flops_per_second
    by_compute = 0.0
    if peaks.flops_per_second:
        by_compute = work.narrow / peaks.flops_per_second + work.wide / wide
    bound = "memory" if by_memory >= by_compute else "compute"
    peak = f"{_short(peaks.bytes_per_second)}B/s, {_short(peaks.flops_per_second)}FLOP/s"
    least = _short(max(by_memory, by_compute))
    return f"{head}; {device} ({peak}) needs {least}s at least, bound by {bound}"


def _elements(polyhedra: Polyhedra, statement: Statement, access: Access) -> isl.Set:
    """The elements of an access; all of the tensor's where an index is not affine."""
    extents = polyhedra.nest.tensors[access.name].extents
    names = [f"e{n}'" for n in range(len(extents))]
    box = " and ".join(f"0 <= {e} < {extent}" for e, extent in zip(names, extents, strict=True))
    whole = polyhedra.set(f"{{ {access.name}[{', '.join(names)}] : {box} }}")
    return polyhedra.access(statement, access).range().intersect(whole)


def _count(points: isl.Set, values: Mapping[str, int]) -> float:
    """The points of a set, about: its box, and the share of it that small sets have."""
    box = _box(points, values)
    axes = points.dim(isl.dim_type.set)
    most = _SMALL[axes] if axes < len(_SMALL) else 10
    small = {name: min(value, most) for name, value in values.items()}
    whole = _box(points, small)
    if not box or not whole:
        return box
    return box * _fixed(points, small).count_val().to_python() / whole


def _box(points: isl.Set, values: Mapping[str, int]) -> float:
    fixed = _fixed(points, values)
    if fixed.is_empty():
        return 0.0
    axes = range(fixed.dim(isl.dim_type.set))
    return float(prod(
        fixed.dim_max_val(axis).to_python() - fixed.dim_min_val(axis).to_python() + 1
        for axis in axes
    ))  # fmt: skip


def _fixed(points: isl.Set, values: Mapping[str, int]) -> isl.Set:
    kind = isl.dim_type.param
    for number in range(points.dim(kind)):
        name = str(points.get_dim_name(kind, number))
        points = points.fix_val(kind, number, isl.Val(values[name]))
    return points


def _operations(statement: Statement) -> int:
    """Operations on numbers in a statement, those of indices left out."""
    node = statement.node
    count = 1 if isinstance(node, ast.AugAssign) else 0
    pending: list[ast.AST] = [node.value]
    while pending:
        each = pending.pop()
        if isinstance(each, ast.Subscript):
            continue
        is_call = isinstance(each, ast.Call) and len(each.args) > 0
        name = ast.unparse(each.func) if isinstance(each, ast.Call) else ""
        is_number = is_call and (name in ("min", "max", "abs") or "." in name)
        count += isinstance(each, ast.BinOp | ast.UnaryOp) or is_number
        pending += ast.iter_child_nodes(each)
    return count


_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "u"))


def _short(value: float) -> str:
    if not value:
        return "0 "
    for factor, prefix in _PREFIXES:
        if value >= factor:
            return f"{value / factor:.3g} {prefix}"
    return f"{value * 1e9:.3g} n"

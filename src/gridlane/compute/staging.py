"""Parts of arrays that a block copies to shared memory before its threads read them.

A block's part of an array is a box: each index is a sum of loops with constant factors, and each of
these loops has a constant number of iterations in a block. Nothing in the nest writes the array, so
that the copies stay equal to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import islpy as isl

from gridlane.compute.linear import linear
from gridlane.compute.model import Access, Statement
from gridlane.compute.polyhedra import Polyhedra
from gridlane.compute.typing import NAMES
from gridlane.core.errors import ArgumentError, UnsupportedError
from gridlane.core.frozen import frozen

MOST_BYTES = 32 * 1024
"""Of the parts of all arrays: the shared memory that every device has."""


@frozen
class Range:
    """The values of a loop in a block.

    Attributes:
        first: the text of the least one.
        count: how many there may be, without gaps.
    """

    first: str
    count: int


@frozen
class Part:
    """A block's part of an array.

    Attributes:
        name: of the array.
        firsts: the texts of the least indices.
        extents: of the box.
        limits: the texts of the array's extents.
        kind: the text of its dtype.
        size: bytes of an element.
    """

    name: str
    firsts: tuple[str, ...]
    extents: tuple[int, ...]
    limits: tuple[str, ...]
    kind: str
    size: int

    @property
    def count(self) -> int:
        """Its elements."""
        found = 1
        for each in self.extents:
            found *= each
        return found

    def copied(self, prefix: str, threads: str, count: int) -> list[str]:
        """Lines that copy it, by all threads of a block.

        Args:
            prefix: of names that the function has not.
            threads: the text of a thread's number in its block.
            count: threads of a block.
        """
        held, place, rest = f"{prefix}_{self.name}", f"{prefix}_place", f"{prefix}_rest"
        shape = ", ".join(map(str, self.extents))
        lines = [f"{held} = cuda.shared.array(({shape},), {self.kind})"]
        lines += [f"{held}_{n} = {first}" for n, first in enumerate(self.firsts)]
        lines += [f"for {place} in range({threads}, {self.count}, {count}):"]
        lines += [f"    {rest} = {place}"]
        names = [f"{prefix}_{n}" for n in range(len(self.extents))]
        for name, extent in reversed([*zip(names, self.extents)]):
            lines += [f"    {name} = {rest} % {extent}", f"    {rest} = {rest} // {extent}"]
        there = [f"({held}_{n} + {name})" for n, name in enumerate(names)]
        tests = [f"0 <= {t} and {t} < {end}" for t, end in zip(there, self.limits, strict=True)]
        lines += [f"    if {' and '.join(tests)}:"]
        lines += [f"        {held}[{', '.join(names)}] = {self.name}[{', '.join(there)}]"]
        return lines


def require_unwritten(polyhedra: Polyhedra, names: tuple[str, ...]) -> None:
    """Require that arrays are read and never written.

    Raises:
        ArgumentError: one is no tensor of the nest.
        UnsupportedError: one is written, or is the same array as one that is; located.
    """
    nest, same = polyhedra.nest, polyhedra.same
    for name in names:
        if name not in nest.tensors:
            raise ArgumentError(f"stage has {name!r}; tensors are {', '.join(nest.tensors)}")
        for each in nest.statements:
            if same.get(each.write.name, each.write.name) == same.get(name, name):
                raise UnsupportedError(
                    f"{name} is staged in shared memory, and this writes it", each.write.loc
                )


def require_space(parts: Iterable[Part]) -> None:
    """Require that the parts of all arrays fit in shared memory.

    Raises:
        ArgumentError: they do not.
    """
    every = [*parts]
    total = sum(each.count * each.size for each in every)
    if total > MOST_BYTES:
        shown = ", ".join(f"{p.name}[{', '.join(map(str, p.extents))}]" for p in every)
        raise ArgumentError(
            f"stage: a block has {shown} in shared memory, {total} bytes of at most {MOST_BYTES}"
        )


def part_of(
    polyhedra: Polyhedra,
    name: str,
    statements: list[Statement],
    range_of: Callable[[Statement, str], Range | None],
) -> Part | None:
    """A block's part of an array; None if no statement reads it.

    Args:
        range_of: the values of a statement's loop in a block, if they are of a constant number.

    Raises:
        UnsupportedError: the part has no constant box; located at an access.
    """
    boxes: list[tuple[list[str], list[int], list[int], list[int]]] = []
    for statement in statements:
        for access in statement.reads:
            if access.name == name:
                boxes.append(_box(polyhedra, statement, access, range_of))
    if not boxes:
        return None
    loc = next(a.loc for s in statements for a in s.reads if a.name == name)
    starts, extents, _, _ = boxes[0]
    if any((each[0], each[1]) != (starts, extents) for each in boxes):
        raise UnsupportedError(
            f"{name} is staged in shared memory, and its accesses have different loops", loc
        )
    low = [min(each[2][n] for each in boxes) for n in range(len(starts))]
    high = [max(each[2][n] for each in boxes) for n in range(len(starts))]
    whole = tuple([n + most - least for n, least, most in zip(extents, low, high, strict=True)])
    firsts = tuple([f"({start}) + {constant}" for start, constant in zip(starts, low, strict=True)])
    type_ = polyhedra.nest.tensors[name]
    limits = tuple([str(each) for each in type_.extents])
    kind = NAMES.get(str(type_.dtype))
    if kind is None:
        raise UnsupportedError(
            f"{name} is staged in shared memory, which has no {type_.dtype}", loc
        )
    return Part(name, firsts, whole, limits, kind, type_.dtype.size)


def _box(
    polyhedra: Polyhedra,
    statement: Statement,
    access: Access,
    range_of: Callable[[Statement, str], Range | None],
) -> tuple[list[str], list[int], list[int], list[int]]:
    """The texts of the least indices without their constants, extents, and these constants."""
    starts: list[str] = []
    extents: list[int] = []
    constants: list[int] = []
    for index in access.indices or ("",):
        sum_ = linear(polyhedra, statement, index) if index else None
        if sum_ is None:
            raise UnsupportedError(
                f"{access.name} is staged in shared memory, and an index is no sum of loops with "
                "constant factors", access.loc,
            )  # fmt: skip
        start, extent = ["0"], 1
        for loop, factor in sorted(sum_.factors.items()):
            values = range_of(statement, loop)
            if values is None:
                text = next(each.text for each in statement.loops if each.name == loop)
                raise UnsupportedError(
                    f"{access.name} is staged in shared memory, and {text} has no constant number "
                    f"of iterations in a block: add tiles of it in front of the threads, as in "
                    f'"{text}/16"', access.loc,
                )  # fmt: skip
            extent += abs(factor) * (values.count - 1)
            least = values.first if factor > 0 else f"({values.first} + {values.count - 1})"
            start.append(f"{factor} * {least}")
        starts.append(" + ".join(start))
        extents.append(extent)
        constants.append(sum_.constant)
    return starts, extents, constants, constants


def constant_range(polyhedra: Polyhedra, statement: Statement, loop: str) -> Range | None:
    """The values of a loop whose bounds are constants, whatever the others are."""
    kind = isl.dim_type.set
    names = [each.name for each in statement.loops]
    points = polyhedra.domain(statement)
    place = names.index(loop)
    points = points.project_out(kind, place + 1, len(names) - place - 1)
    points = points.project_out(kind, 0, place)
    points = points.project_out(isl.dim_type.param, 0, points.dim(isl.dim_type.param))
    if points.is_empty():
        return Range("0", 1)
    low, high = points.dim_min_val(0), points.dim_max_val(0)
    if not low.is_int() or not high.is_int():
        return None
    return Range(str(low.to_python()), high.to_python() - low.to_python() + 1)


def texts(parts: Mapping[str, Part], prefix: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    """The names of parts, and those of their least indices, by arrays."""
    return {
        name: (f"{prefix}_{name}", tuple([f"{prefix}_{name}_{n}" for n in range(len(p.extents))]))
        for name, p in parts.items()
    }

"""numpy's dtype and ctypes' structure: each lays out by itself."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from hypothesis import given, settings
from tests.actors.layouts.samples import ALL, assert_same, families, leaves, values
from tests.effort import examples

from gridlane.actors.layouts import python
from gridlane.actors.layouts.blocks import MessageHeader
from gridlane.actors.layouts.schema import Array, Layout
from gridlane.core import numpy_types


def packed_by_numpy(layout: Layout) -> np.dtype:
    """The dtype with numpy's own alignment, from names and types alone."""
    return np.dtype([(each.name, _of(each.type)) for each in layout.fields], align=True)


def _of(type_) -> object:
    if isinstance(type_, Array):
        return np.dtype((_of(type_.element), type_.shape))
    return packed_by_numpy(type_) if isinstance(type_, Layout) else type_.numpy


def assert_agreed(layout: Layout) -> None:
    own, made, structure = packed_by_numpy(layout), python.dtype(layout), python.ctype(layout)
    assert own == made and own.itemsize == made.itemsize == layout.size
    assert made.isalignedstruct and made.alignment == layout.align == ctypes.alignment(structure)
    assert ctypes.sizeof(structure) == layout.size
    for each in layout.fields:
        assert own.fields[each.name][1] == made.fields[each.name][1] == each.offset
        member = getattr(structure, each.name)
        assert (member.offset, member.size) == (each.offset, each.size)


@pytest.mark.parametrize("layout", ALL, ids=str)
def test_numpy_and_ctypes_agree(layout: Layout) -> None:
    assert_agreed(layout)


@settings(max_examples=examples(20, 500), deadline=None)
@given(families())
def test_they_agree_on_random_layouts(made: list[Layout]) -> None:
    for each in made:
        assert_agreed(each)


@pytest.mark.parametrize("layout", ALL, ids=str)
def test_what_ctypes_writes_numpy_reads(layout: Layout) -> None:
    structure = python.ctype(layout)()
    for leaf, value in values(layout):
        holder = structure
        for step in leaf.path[:-1]:
            holder = getattr(holder, step) if isinstance(step, str) else holder[step]
        if leaf.dtype == np.float16:
            value = np.float16(value).view(np.uint16)
        plain = value.item() if isinstance(value, np.generic) else value
        last = leaf.path[-1]
        if isinstance(last, str):
            setattr(holder, last, plain)
        else:
            holder[last] = plain
        assert (getattr(holder, last) if isinstance(last, str) else holder[last]) == plain
    assert_same(np.frombuffer(bytes(structure), np.uint8), layout)


def test_a_kernel_knows_the_dtype() -> None:
    """It is a record of the dialect, with the same offsets."""
    made = numpy_types.from_numpy(python.dtype(ALL[1]))
    assert [each[2] for each in made.fields] == [each.offset for each in ALL[1].fields]


def test_one_class_for_one_layout() -> None:
    assert python.ctype(ALL[0]) is python.ctype(ALL[0])
    assert python.dtype(ALL[0]) is python.dtype(ALL[0])


def test_the_leaves_are_all() -> None:
    assert len(leaves(MessageHeader)) == 19 + 3 + 30

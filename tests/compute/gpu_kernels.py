"""Runs the kernels that a GPU gets of a nest, on the processor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

import gridlane
from gridlane.compute import Compute, programs
from gridlane.compute.checking import shared_names
from gridlane.compute.choosing import choose
from gridlane.compute.polyhedra import Polyhedra
from gridlane.compute.programs import Program
from gridlane.compute.strides import GPU


def run_ways(nest: Compute, make: Callable[[], tuple]) -> Iterator[tuple[tuple, str]]:
    """Arguments after the kernels of each way in which threads share sums, or of none; and after
    those of one block, where there are any.

    Args:
        make: the arguments of a call, the same ones each time.
    """
    first = make()
    values = nest._values(first)
    nest._bounds.check(values)
    given = dict(zip(nest.nest.arguments, first, strict=True))
    same = shared_names(nest.nest.tensors, given, nest._written)
    loops = nest._nest_of(same)
    polyhedra, typing = Polyhedra(loops, same), nest._typing_of(loops)
    emitted = choose(polyhedra, typing, GPU)[0]
    most = max((len(each.splits) for each in emitted.kernels), default=0)
    several = replace(emitted, small=None)
    for way in range(-1, most):

        def picked(splits, *_, way=way):
            if not 0 <= way < len(splits):
                return None
            return splits[way], 3 if splits[way].way.is_apart else 1

        yield _run(nest, loops, typing, several, same, make(), picked), f"way {way}"
    if emitted.small is not None:
        yield _run(nest, loops, typing, emitted, same, make(), None), "one block"


def _run(nest, loops, typing, emitted, same, arguments: tuple, picked) -> tuple:
    program = Program(loops, typing, emitted, same, nest.metadata, nest.fastmath)
    values = nest._values(arguments)
    given = dict(zip(loops.arguments, arguments, strict=True))
    with gridlane.device("cpu"), pytest.MonkeyPatch.context() as patched:
        if picked is not None:
            patched.setattr(programs, "pick", picked)
        program.run(given, {name: values[name] for name in loops.extents})
    return arguments

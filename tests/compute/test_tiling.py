"""Orders of tiles: they keep dependences, and compute what the loops of the text do."""

from __future__ import annotations

import numpy as np
import pytest
from tests.compute.polybench import PROGRAMS
from tests.compute.polybench.inputs import copies
from tests.compute.random_nests import SIZE, TENSORS, random_text
from tests.compute.test_random_nests import arrays, function_of

import gridlane
from gridlane.compute import compute, tiling
from gridlane.compute.choosing import MOST_FOR_TILES
from gridlane.compute.emission import Emitter
from gridlane.compute.programs import Program
from gridlane.compute.schedules import bounded
from gridlane.compute.strides import PROCESSOR
from gridlane.compute.tiling import orders_of_tiles

SIZES = {
    "lu": (203,), "cholesky": (203,), "trmm": (70, 90), "jacobi-2d": (11, 140),
    "seidel-2d": (9, 140), "heat-3d": (6, 37), "fdtd-2d": (9, 70, 140), "floyd-warshall": (150,),
    "nussinov": (150,), "doitgen": (20, 30, 40),
}  # fmt: skip


def tiled(nest, polyhedra):
    """Programs of all orders of tiles that keep the dependences."""
    for order in orders_of_tiles(polyhedra):
        if polyhedra.keeps(order.map):
            with bounded(most=MOST_FOR_TILES) as is_done:
                emitted = Emitter(polyhedra, nest._typing, order=order, rates=PROCESSOR).emitted()
            if is_done():
                yield Program(nest.nest, nest._typing, emitted, {}, nest.metadata, nest.fastmath)


@pytest.mark.parametrize("name", SIZES)
def test_programs_in_tiles(name, monkeypatch):
    monkeypatch.setattr(tiling, "_SIZE", 16)
    monkeypatch.setattr(tiling, "_SMALL", 5)
    program = PROGRAMS[name]
    nest, inputs = program.nest, program.inputs(SIZES[name])
    wanted = copies(inputs)
    extents = {
        str(extent): size
        for key, type_ in nest.nest.tensors.items()
        for extent, size in zip(type_.extents, inputs[key].shape, strict=True)
    }
    with gridlane.device("cpu"):
        nest.plain(*wanted.values())
        found = [*tiled(nest, nest._polyhedra)]
        assert found or name in ("floyd-warshall", "trmm", "doitgen")
        for each in found:
            values = copies(inputs)
            each.run(values, extents)
            for key, value in values.items():
                np.testing.assert_allclose(value, wanted[key], 1e-11, 1e-11, err_msg=key)


def test_costs_choose_tiles():
    for name in ("lu", "seidel-2d"):
        with gridlane.device("cpu"):
            assert PROGRAMS[name].nest.emitted.order.tiles > 0
            assert all(each.is_walk for each in PROGRAMS[name].nest.emitted.kernels[:1])


@pytest.mark.parametrize("part", range(2))
def test_random_nests_in_tiles(part, monkeypatch):
    monkeypatch.setattr(tiling, "_SIZE", 3)
    monkeypatch.setattr(tiling, "_SMALL", 2)
    count = 0
    for seed in range(part, 24, 2):
        text = random_text(seed)
        nest = compute(function_of(text, seed))
        del nest.function.__globals__["N"]
        with gridlane.device("cpu"):
            for each in tiled(nest, nest._polyhedra):
                wanted, values = arrays(seed), arrays(seed)
                nest.plain(*wanted, 5)
                names = [*nest.nest.arguments]
                each.run(dict(zip(names, [*values, 5], strict=True)), {"N": SIZE})
                for name, one, other in zip(TENSORS, wanted, values, strict=True):
                    assert (one == other).all(), f"seed {seed}: {name}\n{text}"
                count += 1
    assert count

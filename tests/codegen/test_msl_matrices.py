"""Fragments and products of tiles as matrices of Metal's simdgroups, on the stand-in."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from tests.devices import assert_same, run_on
from tests.msl_cpu import machine
from tests.passes.tiles.test_products import OPTIONS, matrices, product, program

from gridlane.compiler import generate
from gridlane.conformance.fragments import fragments
from gridlane.core.options import Target
from gridlane.frontends.triton import language as tl
from gridlane.ir.types import FragmentType
from gridlane.passes.legalise.subgroup_fragments import WITH_BFLOATS

METAL = Target("metal")
PRODUCT = "simdgroup_multiply_accumulate"

pytestmark = pytest.mark.skipif(
    machine.compiler() is None and not machine.in_ci(), reason="no g++ with _Float16"
)


def test_fragments() -> None:
    """Those of halves, with sums of halves or f32, are matrices; others have registers."""
    chosen = []
    for case in fragments():
        types = {
            value.type
            for op in case.module.kernel.body.walk()
            for value in op.results
            if isinstance(value.type, FragmentType)
        }
        if case.op != "fragment_mma" or case.label.count("-") != 4 or "c" not in case.label:
            continue
        artifact = generate(case.module, METAL)
        are_matrices = all(each.element in WITH_BFLOATS[each.role] for each in types)
        assert (PRODUCT in artifact.code.decode()) is are_matrices, str(case)
        if are_matrices:
            chosen.append((case, artifact))
    assert len(chosen) > 12
    library = machine.Library([artifact for _, artifact in chosen])
    for case, artifact in chosen:
        launch = (case.module, case.grid, case.block, case.arrays, (), case.shared)
        got = library.run(artifact, *launch)
        assert_same(got.arrays, run_on("interp", *launch).arrays, case.labels)


@pytest.mark.parametrize("kind", ["f16", "bf16"])
@pytest.mark.parametrize("seed", [1, 2])
def test_products_of_tiles(kind: str, seed: int) -> None:
    """Lanes run in a random order, so that a lost barrier shows."""
    a, b, bias, depth, rows, out = matrices(kind, 32, 64, 80, 30)
    shape = {"M": 32, "N": 64, "K": 32, "LEFT": True, "RIGHT": False, "SUMS": tl.float32}
    module = program(product, [a, b, out, bias, depth, rows], 4, 2, **shape)
    artifact = generate(module, METAL, OPTIONS)
    assert PRODUCT in artifact.code.decode()
    if kind == "bf16":
        assert a.dtype == ml_dtypes.bfloat16 and "Matrix<bfloat>" in artifact.code.decode()
    launch = (module, (1, 1, 1), (128, 1, 1), [a, b, out, bias], (depth, rows))
    got = machine.Library([artifact]).run(artifact, *launch, seed=seed).arrays[2]
    want = a.astype(np.float64) @ b.astype(np.float64) + bias
    want = np.where(want > 0, want, 2 * want)
    want[rows:] = 0
    np.testing.assert_array_equal(got, want)

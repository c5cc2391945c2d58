"""Every op, over every type that it takes, gives on each device what the interpreter says."""

from __future__ import annotations

import pytest
from tests.devices import DEVICES, assert_same, run_on
from tests.ops.cases import INEXACT, Case, arithmetic
from tests.ops.effects import effects
from tests.ops.fragments import fragments

from gridlane.core.errors import TargetError
from gridlane.ir.op import REGISTRY
from gridlane.ir.stages import MATRIX
from gridlane.ir.verifier import verify

CASES = [*arithmetic(), *effects(), *fragments()]


# What the hardware leaves undefined, or rounds otherwise, where the IR says what happens.
OTHERWISE = {
    "cuda": {
        **{f"vote-{mode}-absent": "waits for the absent lanes" for mode in ("all", "any", "eq")},
        "vote-ballot-absent": "waits for the absent lanes",
        "atomic-add-f32-apart": "atom.add.f32 takes subnormal numbers in global memory as 0",
        "atomic-sub-f32-apart": "as atom.add.f32",
    }
}


# Ops that a device lacks, with a word of what it says then.
LACKS = {
    "cpu": {
        "grid_sync": "one after the other",
        "report": "threads that raise end",
        **dict.fromkeys(MATRIX, "tensor cores"),
    },
    "cuda": {"report": "threads that raise end"},
    "vulkan": {"grid_sync": "no two blocks", **dict.fromkeys(MATRIX, "elements of arrays")},
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_op(case: Case, device: str) -> None:
    if str(case) in OTHERWISE.get(device, {}):
        pytest.skip(OTHERWISE[device][str(case)])
    launch = (case.module, case.grid, case.block, case.arrays, (), case.shared)
    if case.op in LACKS.get(device, {}):
        run_on("interp", *launch)
        with pytest.raises(TargetError, match=f"has no .*{LACKS[device][case.op]}"):
            run_on(device, *launch)
        return
    wanted, got = run_on("interp", *launch), run_on(device, *launch)
    assert got.raised == wanted.raised
    assert_same(got.arrays, wanted.arrays, case.labels)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case_is_valid(case: Case) -> None:
    verify(case.module)
    assert case.op in {op.name for f in case.module.functions.values() for op in f.body.walk()}
    assert len(case.arrays) == len(case.module.kernel.params)


def test_every_op_has_a_case() -> None:
    covered = {case.op for case in CASES} | {cls.name for cls in INEXACT}
    assert covered == set(REGISTRY)

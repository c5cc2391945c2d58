"""Ops of memory with each array in another buffer: the same answers as the interpreter's."""

from __future__ import annotations

import pytest
from tests.devices import assert_same, run_on
from tests.effort import NIGHTLY
from tests.runtime.single_buffer.helpers import spread

from gridlane.conformance.cases import Case
from gridlane.conformance.suite import cases, lack
from gridlane.core.errors import TargetError
from gridlane.ir.op import REGISTRY
from gridlane.runtime.drivers.single_buffer.kernel import SingleBufferKernel

ROOMS = ("atomic", "copies", "memory")
REPORTS = ("print", "raise", "report")
PLENTY = 2
"""Cases of an op in each run; the nightly one has all."""
REFUSED = ("address", "from_address", "read-ptr<f32, global>", "write-ptr<f32, global>")


def of_memory(case: Case) -> bool:
    cls = REGISTRY.get(case.op)
    return cls is not None and cls.__module__.rpartition(".")[2] in ROOMS


OPS = sorted({case.op for case in cases() if of_memory(case)} | {*REPORTS})


def tried(op: str, target: str) -> list[Case]:
    found = [case for case in cases() if case.op == op and not lack(case, target)]
    return found if NIGHTLY else found[:: max(1, len(found) // PLENTY)]


@pytest.mark.parametrize("op", OPS)
def test_op(device, op, monkeypatch):
    spread(device, monkeypatch)
    original, seen = SingleBufferKernel.buffers, []

    def watched(self, params):
        seen.append(original(self, params))
        return seen[-1]

    monkeypatch.setattr(SingleBufferKernel, "buffers", watched)
    for case in tried(op, device.engine.target):
        launch = case.module, case.grid, case.block, case.arrays, (), case.shared
        if str(case) in REFUSED:
            with pytest.raises(TargetError, match="made of a number or of memory"):
                run_on(device, *launch)
            continue
        wanted, got = run_on("interp", *launch), run_on(device, *launch)
        assert got.raised == wanted.raised
        assert_same(got.arrays, wanted.arrays, case.labels)
        assert len(case.arrays) < 2 or len(seen[-1]) > 1

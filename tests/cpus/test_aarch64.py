"""Ops give on AArch64 what the interpreter says: on an emulated processor."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.cpus import aarch64_machine as machine
from tests.cpus.cases import assert_right, by_op, expected

from gridlane.conformance.cases import Case

PROCESSORS = ("generic", "neoverse-n1")

if not os.environ.get("CI"):
    absent = machine.missing()
    pytestmark = pytest.mark.skipif(bool(absent), reason=f"no {absent}")


def check(cases: list[Case], processor: str, folder: Path) -> None:
    launches = [machine.compiled(case, n, processor) for n, case in enumerate(cases)]
    for case, got in zip(cases, machine.run(launches, processor, folder), strict=True):
        assert_right(case, got, expected(case), processor)


@pytest.mark.parametrize("processor", PROCESSORS)
def test_a_case_of_each_op(processor: str, tmp_path: Path) -> None:
    check([cases[0] for cases in by_op().values()], processor, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("processor", (*PROCESSORS, "neoverse-v1"))
@pytest.mark.parametrize("op", by_op())
def test_op(op: str, processor: str, tmp_path: Path) -> None:
    check(by_op()[op], processor, tmp_path)

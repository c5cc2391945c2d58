"""Ops give on AArch64 what the interpreter says: on an emulated processor."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.cpus import aarch64_machine as machine
from tests.cpus.cases import assert_right, by_op, expected

from gridlane.compiler import generate
from gridlane.conformance.cases import Case
from gridlane.conformance.functions import NAMES, allowed, distance, function_case, types_of
from gridlane.core.dtypes import DType, f32, f64
from gridlane.core.options import KernelOptions, Target

PROCESSORS = ("generic", "neoverse-n1", "neoverse-v1")
"""Without f16's arithmetic and one-instruction atomics, with both, with vectors that scale."""

if not os.environ.get("CI"):
    absent = machine.missing()
    pytestmark = pytest.mark.skipif(bool(absent), reason=f"no {absent}")


def check(cases: list[Case], processor: str, folder: Path) -> None:
    launches = [machine.compiled(case, n, processor) for n, case in enumerate(cases)]
    for case, got in zip(cases, machine.run(launches, processor, folder), strict=True):
        assert_right(case, got, expected(case), processor)


def check_ulp(functions: list[tuple[str, DType]], processor: str, folder: Path) -> None:
    cases = [function_case(name, dtype, 1000) for name, dtype in functions]
    launches = [machine.compiled(case, n, processor) for n, case in enumerate(cases)]
    outcomes = machine.run(launches, processor, folder)
    for (name, dtype), case, got in zip(functions, cases, outcomes, strict=True):
        ulp = distance(got.arrays[-1], expected(case).arrays[-1])
        assert ulp.max() <= allowed("cpu", name, dtype), (name, dtype, ulp.argmax())


ASKS_PYTHON = {"check_access"}
"""Ops that need the allocations that Python knows; program.c has no Python."""


def test_a_case_of_each_op(tmp_path: Path) -> None:
    cases = [cases[0] for op, cases in by_op().items() if op not in ASKS_PYTHON]
    check(cases, "neoverse-n1", tmp_path)


@pytest.mark.parametrize("name, dtype", [("sin", f32), ("exp", f64), ("pow", f32)])
def test_functions_are_ours_without_libmvec(name: str, dtype: DType, tmp_path: Path) -> None:
    check_ulp([(name, dtype)], "generic", tmp_path)


def test_libmvec_is_called_where_it_is_said_to_be() -> None:
    case = function_case("sin", f32, 256)
    for features, called in (("+libmvec", True), ("", False), ("-libmvec", False)):
        target = Target("cpu", block=case.block, processor="neoverse-n1", attributes=features)
        artifact = generate(case.module, target, KernelOptions())
        assert any("_ZGVnN2v_sin" in symbol for symbol in artifact.symbols) == called


@pytest.mark.nightly
@pytest.mark.parametrize("processor", PROCESSORS)
@pytest.mark.parametrize("name", NAMES)
def test_ulp(name: str, processor: str, tmp_path: Path) -> None:
    check_ulp([(name, dtype) for dtype in types_of(name, "cpu")], processor, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("processor", PROCESSORS)
@pytest.mark.parametrize("op", [op for op in by_op() if op not in ASKS_PYTHON])
def test_op(op: str, processor: str, tmp_path: Path) -> None:
    check(by_op()[op], processor, tmp_path)

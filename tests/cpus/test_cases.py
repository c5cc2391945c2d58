"""Every op over every type gives on other processors than the host's what the interpreter says."""

from __future__ import annotations

import pytest
from tests.cpus.cases import QUICK, assert_right, by_op, expected, require, run

from gridlane.conformance.functions import NAMES, allowed, distance, function_case, types_of
from gridlane.core.options import KernelOptions

USUAL = ("x86-64", "haswell")
ALL = ("x86-64", "x86-64-v2", "x86-64-v3", "haswell", "x86-64-v4")


@pytest.mark.parametrize("op", by_op())
def test_op(op: str) -> None:
    for processor in USUAL:
        require(processor)
    for case in by_op()[op]:
        wanted = expected(case)
        for processor in USUAL:
            assert_right(case, run(case, processor, QUICK), wanted, processor)


@pytest.mark.nightly
@pytest.mark.parametrize("processor", ALL)
@pytest.mark.parametrize("op", by_op())
def test_optimised_op(op: str, processor: str) -> None:
    require(processor)
    for case in by_op()[op]:
        assert_right(case, run(case, processor, KernelOptions()), expected(case), processor)


@pytest.mark.nightly
@pytest.mark.parametrize("processor", ALL)
@pytest.mark.parametrize("name", NAMES)
def test_ulp(name: str, processor: str) -> None:
    require(processor)
    for dtype in types_of(name, "cpu"):
        case = function_case(name, dtype)
        got = run(case, processor, KernelOptions()).arrays[-1]
        ulp = distance(got, expected(case).arrays[-1])
        assert ulp.max() <= allowed("cpu", name, dtype), (dtype, ulp.argmax())

"""Every op over every type gives on other processors than the host's what the interpreter says."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest
from tests.cpus.cases import QUICK, assert_right, by_op, expected, require, run
from tests.effort import NIGHTLY

from gridlane.conformance.cases import Case, emitting, over
from gridlane.conformance.functions import NAMES, allowed, distance, function_case, types_of
from gridlane.core.dtypes import DType, f32, f64
from gridlane.core.options import KernelOptions
from gridlane.ir.ops import arith

USUAL = ("x86-64", "haswell")
ALL = ("x86-64", "x86-64-v2", "x86-64-v3", "haswell", "x86-64-v4")


def usual(op: str) -> list[Case]:
    """The cases that a usual run takes: of fragments one of each combination of types, since each
    takes seconds to compile, and where matrices lie is no matter of processors."""
    if NIGHTLY:
        return by_op()[op]
    types = re.compile("-[rc]+-(global|shared)$")
    return list({types.sub("", case.label): case for case in by_op()[op]}.values())


@pytest.mark.parametrize("op", by_op())
def test_op(op: str) -> None:
    for processor in USUAL:
        require(processor)
    for number, case in enumerate(usual(op)):
        wanted = expected(case)
        # By day each op on both, and half of the other cases on one of them.
        some = USUAL if number == 0 else USUAL[number % 4 : number % 4 + 1]
        for processor in USUAL if NIGHTLY else some:
            assert_right(case, run(case, processor, QUICK), wanted, processor)


EDGES = {
    "f32": (0.0, 1.0, 3.0, 2.0**-149, 2.0**-126, 1 + 2.0**-23, 2.0**127, 1e-20, np.inf, np.nan),
    "f64": (
        *(0.0, 1.0, 3.0, 2.0**-1074, 2.0**-1022, 1 + 2.0**-52, 2.0**1023, 1e-200, 1e200, 2.0**-450),
        *(2.0**450, 2.0**900, 2.0**-900, np.inf, np.nan),
    ),
}


@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
def test_fused_multiply_adds_round_once_without_the_instruction(dtype: DType) -> None:
    require("x86-64")
    edges = [sign * x for x in EDGES[dtype.name] for sign in (1.0, -1.0)]
    random = np.random.default_rng(5)
    triples = random.permutation(list(product(edges, repeat=3)))[:4000].T
    some = random.standard_normal((3, 1000)) * 2.0 ** random.integers(-60, 60, (3, 1000))
    some[2, ::2] = -(some[0] * some[1])[::2] * (1 + 2.0**-50)  # sums that cancel
    columns = [np.append(a, b).astype(dtype.numpy) for a, b in zip(triples, some, strict=True)]
    case = over("fma", f"{dtype}-edges", [dtype] * 3, columns, emitting(arith.Fma))
    wanted = expected(case)
    for options in (QUICK, KernelOptions()):
        assert_right(case, run(case, "x86-64", options), wanted, "x86-64")


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

"""All ops on the Metal driver, upon the stand-in, beside the interpreter."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.effort import FRAGMENTS_BY_DAY, NIGHTLY

from gridlane import compiler, cuda
from gridlane.conformance.functions import NAMES, function_case, types_of
from gridlane.conformance.judging import AT_ONCE, judgements
from gridlane.conformance.module_runner import run_on
from gridlane.conformance.suite import cases
from gridlane.core.argtypes import uint32
from gridlane.core.options import KernelOptions
from gridlane.ir.families import MATRIX

CASES = [
    *(
        case
        for case in cases()
        if NIGHTLY or case.op not in MATRIX or re.fullmatch(FRAGMENTS_BY_DAY, case.label)
    ),
    *(function_case(name, dtype, 500) for name in NAMES for dtype in types_of(name, "metal")),
]


@pytest.mark.parametrize("part", range(-(-len(CASES) // AT_ONCE)))
def test_ops(device, part):
    found = list(judgements(CASES[part * AT_ONCE : (part + 1) * AT_ONCE], device))
    assert not [(judgement.case, judgement.wrong) for judgement in found if judgement.wrong]


def counted(out):
    cuda.atomic.inc(out, 0, 7)
    cuda.atomic.dec(out, 1, 7)


def test_atomics_that_wrap_at_their_bound(device):
    """20 steps around 8 numbers, upwards and downwards."""
    module = compiler.translate(counted, (uint32[::1],), KernelOptions())
    zeros = [np.zeros(2, np.uint32)]
    result = run_on(device, module, (1, 1, 1), (20, 1, 1), zeros, (2, 4))
    assert result.arrays[0].tolist() == [20 % 8, -20 % 8]

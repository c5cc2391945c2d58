"""All ops on the Metal driver, upon the stand-in, beside the interpreter."""

from __future__ import annotations

import re

import pytest
from tests.effort import FRAGMENTS_BY_DAY, NIGHTLY

from gridlane.conformance.functions import NAMES, function_case, types_of
from gridlane.conformance.judging import AT_ONCE, judgements
from gridlane.conformance.suite import cases
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

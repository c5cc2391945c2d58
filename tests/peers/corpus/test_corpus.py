"""Kernels that other compilers write, as PTX on the interpreter and on CPUs, against numpy.

``pytest tests/peers --ptx`` installs the packages and runs them. What the frontend refuses is an
expected failure with its reason; a wrong answer fails.
"""

from __future__ import annotations

import pytest
from tests.peers.corpus.packages import Absent
from tests.peers.corpus.programs import DEVICES, Program, check, variants
from tests.peers.corpus.triton_programs import PROGRAMS as TRITON

from gridlane.core.errors import CompileError

ALL = [*TRITON]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("arch", (80, 90))
@pytest.mark.parametrize("program", ALL, ids=lambda each: f"{each.package}-{each.name}")
def test_a_program(program: Program, arch: int, device: str) -> None:
    try:
        found = [text for text in variants(program) if text.arch == arch]
    except Absent as error:
        pytest.skip(str(error))
    (text,) = found
    try:
        check(program, text, device)
    except CompileError as error:
        pytest.xfail(f"refused: {str(error).strip().splitlines()[0]}")

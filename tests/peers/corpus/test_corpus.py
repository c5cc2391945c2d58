"""Kernels that other compilers write, as PTX on the interpreter and on CPUs, against numpy.

``pytest tests/peers --ptx`` installs the packages and runs them. What the frontend refuses is an
expected failure with its reason; a wrong answer fails.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.peers.corpus import PROGRAMS, VARIANTS
from tests.peers.corpus.packages import Absent
from tests.peers.corpus.programs import DEVICES, variants
from tests.peers.corpus.running import Runner

ALL = [
    pytest.param(number, variant, id=f"{each.package}-{each.name}-{variant}")
    for number, each in enumerate(PROGRAMS)
    for variant in VARIANTS[each.package]
]


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    made = Runner()
    yield made
    made.close()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("number, variant", ALL)
def test_a_program(runner: Runner, number: int, variant: str, device: str) -> None:
    try:
        (text,) = [each for each in variants(PROGRAMS[number]) if each.variant == variant]
    except Absent as error:
        pytest.skip(str(error))
    found = runner.outcome(number, text, device)
    if found.kind == "refused":
        pytest.xfail(f"refused: {found.reason}")
    assert found.kind == "right", found.reason

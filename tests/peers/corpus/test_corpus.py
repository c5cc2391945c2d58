"""Kernels that other compilers write, as PTX on the interpreter and on CPUs, against numpy.

``pytest tests/peers --ptx`` installs the packages and runs them. What the frontend refuses is an
expected failure with its reason; a wrong answer fails.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.peers.corpus import PROGRAMS, VARIANTS
from tests.peers.corpus.counting import counted
from tests.peers.corpus.packages import Absent, texts
from tests.peers.corpus.programs import DEVICES, variants
from tests.peers.corpus.running import Runner

MOST_GROWTH = 1.3
"""How many times its ops a kernel may have when it is structured."""

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
    if found.kind in ("refused", "waits"):
        pytest.xfail(f"{found.kind}: {found.reason}")
    assert found.kind == "right", found.reason


@pytest.mark.parametrize("package", VARIANTS)
def test_structuring_adds_few_ops(package: str) -> None:
    try:
        made = [each for text in texts(package) for each in counted(text) if not each.refused]
    except Absent as error:
        pytest.skip(str(error))
    most = max(made, key=lambda each: each.after / each.before)
    print(f"{package}: {most.name} grows to {most.after / most.before:.3f}")
    assert most.after <= MOST_GROWTH * most.before, most.name

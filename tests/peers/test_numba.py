"""A sample of the recorded facts, compiled again by the numba-cuda that is installed.

It compiles in a process of its own: its compilers are libraries that others here have in other
versions.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing import get_context

import pytest
from tests.peers.facts import Kinds, result_types
from tests.peers.record_types import by_numba

FOLDED = """1 << 63|2 ** 64 - 1|2 ** 64|2 ** -1|~True|0xffffffff << 32|(-1) ** 0.5|-2 ** 63|0 ** -1
    |x = 2; x ** -1|x = 2 ** 63; ~x|math.floor(2.5)""".replace("\n    ", "").split("|")
"""Constant expressions, of which the sample has each."""

STEP = 601
"""Of the other facts each so many-th is in the sample."""


def sample() -> list[tuple[str, Kinds]]:
    facts = [(expression, kinds) for expression, row in result_types().items() for kinds in row]
    return [(expression, ()) for expression in FOLDED] + facts[::STEP]


@pytest.fixture(scope="module")
def numba() -> Iterator[Executor]:
    """Where numba-cuda compiles."""
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        yield process


@pytest.mark.parametrize(("expression", "kinds"), sample())
def test_record_is_what_numba_compiles(numba: Executor, expression: str, kinds: Kinds) -> None:
    found = numba.submit(by_numba, expression, kinds).result(120)
    assert found == result_types()[expression][kinds]

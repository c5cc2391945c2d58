"""tinygrad on libcuda.so.1: its own small test, and its operations against numpy's."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest
from tests.peers.clients.running_tinygrad import run, sources
from tests.peers.clients.tinygrad_ops import OPS
from tests.peers.corpus.packages import Absent

DEVICE = "cpu"


def test_its_own_test() -> None:
    """Tests of images are skipped, which tinygrad has for OpenCL alone."""
    try:
        found = run(sources() / "test" / "test_tiny.py", DEVICE)
    except Absent as error:
        pytest.skip(str(error))
    assert found.returncode == 0, found.stderr
    counts = re.search(r"^Ran (\d+) tests.*\n\nOK \(skipped=2\)", found.stderr, re.MULTILINE)
    assert counts is not None, found.stderr
    assert int(counts[1]) >= 21


@cache
def differences() -> dict[str, str]:
    found = run(Path(__file__).with_name("tinygrad_ops.py"), DEVICE)
    assert found.returncode == 0, found.stderr
    made = json.loads(found.stdout)
    assert made["device"] == "CUDA"
    return made["ops"]


@pytest.mark.parametrize("name", OPS)
def test_an_operation(name: str) -> None:
    try:
        told = differences()[name]
    except Absent as error:
        pytest.skip(str(error))
    assert told == ""

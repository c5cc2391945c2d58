"""The page of data-apis' tests, from outcomes."""

from __future__ import annotations

import pytest
from tests.peers.clients.array_api_suite import Outcome, page
from tests.peers.clients.pytest_runs import rows_of

LINES = """["starts", "array_api_tests/test_a.py::test_one", ""]
["passed", "array_api_tests/test_a.py::test_one", ""]
["starts", "array_api_tests/test_a.py::test_two", ""]
["skipped", "array_api_tests/test_a.py::test_two", "an extension"]
["starts", "array_api_tests/test_a.py::test_three", ""]
"""


def test_the_test_that_ran_when_the_process_ended_has_its_reason():
    assert rows_of(LINES, "no end in 9 s", "test_a") == [
        ("passed", "array_api_tests/test_a.py::test_one", ""),
        ("skipped", "array_api_tests/test_a.py::test_two", "an extension"),
        ("ended", "array_api_tests/test_a.py::test_three", "no end in 9 s"),
    ]
    assert rows_of("", "no end in 9 s", "test_a") == [("ended", "test_a", "no end in 9 s")]


def test_counts_and_reasons():
    test = "test_dlpack.py::test_dlpack_device"
    outcomes = [
        *[Outcome("cpu", "test_a", test, kind, why) for kind, test, why in rows_of(LINES, "", "")],
        Outcome("webgpu", "test_dlpack", test, "failed", "ValueError"),
    ]
    text = page(outcomes, "1234567", 20)
    assert "| `cpu` | 1 | 1 | 0 |\n| `webgpu` | 0 | 0 | 1 |\n" in text
    assert f"| `{test}` | webgpu | the suite's list" in text
    assert "at commit 1234567, with 20 examples" in text


def test_a_failure_without_a_reason_is_refused():
    failed = Outcome("cpu", "test_a", "test_a.py::test_one", "failed", "AssertionError")
    with pytest.raises(KeyError, match="fails on cpu, and no reason says why"):
        page([failed], "1234567", 20)

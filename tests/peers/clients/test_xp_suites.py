"""The page of suites of arrays is that of its results, and its figures are theirs."""

from __future__ import annotations

import json

import pytest
from tests.peers.clients.xp_suite_list import SUITES, Suite
from tests.peers.clients.xp_suites import SUBJECTS, page, summary

ROWS = {
    "cupy_tests/a.py": [
        ("passed", "t1", ""),
        ("failed", "t2", "x has no order"),
        ("expected", "t3", ""),
    ],
    "cupy_tests/b.py": [("ended", "t4", "no end in 9 s"), ("skipped", "t5", "a GPU")],
}


@pytest.mark.parametrize("name", SUBJECTS)
def test_the_page_is_that_of_the_results(name):
    subject = SUBJECTS[name]
    assert subject.page.read_text() == page(json.loads(subject.results.read_text()), subject)
    assert {*json.loads(subject.results.read_text())} == {
        suite for suite, each in SUITES.items() if each.subject == name
    }


def test_counts_and_reasons():
    suite = Suite("S", "At {commit}.", "S", lambda folder: [], reasons={"no order": "an order"})
    made = summary(suite, ROWS, "1234567", "cpu")
    assert made["files"] == {
        "a": {"passed": 1, "failed": 1, "skipped": 1},
        "b": {"ended": 1, "skipped": 1},
    }
    assert made["reasons"] == {"`no end in 9 s`": {"b": 1}, "an order": {"a": 1}}
    text = page({"cupy": made}, SUBJECTS["arrays"])
    assert "| [CuPy](#cupy) | 1 | 2 | 2 | 33.3 % |" in text
    assert "| 1 | a | an order |" in text
    assert "| b | 0 | 1 | 1 |" in text
    assert SUITES["cupy"].text.format(commit="1234567") in text

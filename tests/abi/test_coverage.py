"""The page of what is here of CUDA's interface."""

import re
from pathlib import Path

from gridlane.abi.calls.registry import calls
from gridlane.abi.coverage import page
from gridlane.core.cuda_table import functions

PAGE = Path(__file__).parents[2] / "docs" / "cuda-api.md"


def test_the_page_is_current():
    assert PAGE.read_text() == page(), (
        "functions were added: .venv/bin/python -m gridlane.abi.coverage > docs/cuda-api.md"
    )


def test_each_function_is_on_the_page_once():
    named = re.findall(r"`((?:cu|nvrtc)\w+(?:@12)?)`", page().partition("## The driver")[2])
    known = [name for api in ("driver", "runtime", "nvrtc") for name in functions(api)]
    assert sorted(named) == sorted(known)


def test_the_counts_are_those_of_the_calls():
    for api, title in (("driver", "The driver"), ("runtime", "The runtime")):
        row = re.search(rf"^\| {title} \| (\d+) \| (\d+) \|", page(), re.MULTILINE)
        assert row and int(row[1]) == len(functions(api)) and int(row[2]) == len(calls(api))

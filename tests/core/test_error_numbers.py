"""Numbers of failures are spelled in one file, the table's enumerations."""

import re
from pathlib import Path

import pytest

import gridlane
from gridlane.core.error_table import NAMES

SRC = Path(gridlane.__file__).parent
ALIKE = {"UNKNOWN", "TIMEOUT", "ASSERT", "CUDA_SUCCESS"}
"""Names that are other things as well, and that of no failure."""
NAMED = re.compile(r"\b(?:GL_)?([A-Z][A-Z_]{4,}|cudaError\w+)\"?,?\s*(?::|=|,)?\s+=?\s*(\d+)\b")
GIVEN = re.compile(r"\b(?:device_error|fail|Failure)\(\s*(\d+)")
TOGETHER = {"core/endings.py": {4}, "core/first_use.py": {800}}
"""Files that raise without the table, which a process at its end or a signal handler cannot import;
their numbers stand beside the names."""


def texts():
    for path in sorted(SRC.rglob("*")):
        if path.suffix in {".py", ".c", ".h", ".pyi"} and "__pycache__" not in path.parts:
            yield path.relative_to(SRC).as_posix(), path.read_text(errors="replace")


def spelled(text):
    """The numbers beside names of failures."""
    for name, number in NAMED.findall(text):
        full = name if name in NAMES else f"CUDA_ERROR_{name}"
        if full in NAMES and name not in ALIKE:
            yield full, int(number)


def test_no_name_has_its_number_beside_it():
    found = {}
    for place, text in texts():
        pairs = {(name, number) for name, number in spelled(text) if NAMES[name] == number}
        if pairs and {number for _, number in pairs} != TOGETHER.get(place):
            found[place] = pairs
    assert not found


@pytest.mark.parametrize("place", TOGETHER)
def test_where_they_must_stand_they_are_right(place):
    pairs = [*spelled((SRC / place).read_text())]
    assert pairs and all(NAMES[name] == number for name, number in pairs)


def test_no_failure_is_raised_by_its_number():
    found = {
        place: numbers
        for place, text in texts()
        if (
            numbers := [
                each
                for line in text.splitlines()
                if ">>>" not in line
                for each in GIVEN.findall(line)
            ]
        )
    }
    assert not found


def test_the_tests_see_what_they_look_for():
    line = "INVALID_VALUE = 1\n    GL_NOT_READY = 600,\ncudaErrorNotReady = 600\n"
    assert [*spelled(line)] == [
        ("CUDA_ERROR_INVALID_VALUE", 1),
        ("CUDA_ERROR_NOT_READY", 600),
        ("cudaErrorNotReady", 600),
    ]
    assert [*spelled('"CUDA_ERROR_DEINITIALIZED",\n        4,')] == [
        ("CUDA_ERROR_DEINITIALIZED", 4)
    ]
    assert GIVEN.findall('fail(719, "x")') == ["719"]

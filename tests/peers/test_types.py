"""The result type of every operator, function and cast of ``expressions.py`` is numba-cuda's.

All 28,277 facts are typed here by gridlane's frontend, without making machine code; what differs is
a row of docs/dialect.md, through ``differences.py``.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tests.peers.differences import EXTENSIONS, MOST, ROWS
from tests.peers.expressions import EXPRESSIONS
from tests.peers.facts import ERROR, TYPES, Kinds, compiled, name_of, result_types, source

from gridlane import cuda
from gridlane.core import argtypes
from gridlane.core.errors import CompileError
from gridlane.core.options import KernelOptions
from gridlane.frontends.python.translation import translate_device

DIALECT = Path(__file__).parents[2] / "docs" / "dialect.md"
ARGUMENTS = {kind: argtypes.from_numpy(np.dtype(kind)) for kind in TYPES}


def typed(expression: str) -> dict[Kinds, str]:
    """gridlane's result type of an expression for each tuple of types."""
    numba = result_types()[expression]
    function = compiled(source(expression, "ab"[: len(next(iter(numba)))]), cuda)
    found = {}
    for kinds in numba:
        named = tuple([ARGUMENTS[kind] for kind in kinds])
        try:
            found[kinds] = name_of(translate_device(function, named, KernelOptions())[1])
        except CompileError:
            found[kinds] = ERROR
    return found


@cache
def differences() -> list[tuple[str, Kinds, str, str]]:
    """Each fact whose type is another than numba's, which comes before gridlane's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SyntaxWarning: what expressions say is the matter here
        return [
            (expression, kinds, numba, ours[kinds])
            for expression, facts in result_types().items()
            for ours in (typed(expression),)
            for kinds, numba in facts.items()
            if ours[kinds] != numba
        ]


def test_recorded_expressions_are_those_of_the_list():
    assert list(result_types()) == [name for some in EXPRESSIONS for name in some]


def test_types_are_numbas_or_a_row_of_the_dialect():
    refused = [fact for fact in differences() if fact[2] == ERROR]
    left = [f for f in differences() if f[2] != ERROR and not any(r.covers_type(*f) for r in ROWS)]
    assert not left, f"{len(left)} of {len(differences()) - len(refused)} differ: {left[:20]}"


def test_what_numba_refuses_is_an_extension_or_refused():
    taken = [fact for fact in differences() if fact[2] == ERROR]
    left = [f for f in taken if not any(re.fullmatch(p, f[0]) for p in EXTENSIONS.values())]
    assert not left, f"{len(left)} of {len(taken)} are no extension: {left[:20]}"


@pytest.mark.parametrize("row", [row for row in ROWS if row.of_type], ids=lambda row: row.name)
def test_rows_of_types_are_needed(row):
    assert any(row.covers_type(*fact) for fact in differences())


@pytest.mark.parametrize("name", EXTENSIONS)
def test_extensions_are_taken(name):
    taken = [fact for fact in differences() if fact[2] == ERROR]
    assert any(re.fullmatch(EXTENSIONS[name], fact[0]) for fact in taken)


def test_dialect_page_has_the_rows_and_the_extensions():
    lines = DIALECT.read_text().splitlines()
    cells = [line.split("|")[1].strip() for line in lines if line.startswith("| ")]
    assert cells == ["difference", *[row.name for row in ROWS]]
    listed = [line[4:].split("**")[0] for line in lines if line.startswith("- **")]
    assert listed == list(EXTENSIONS)
    assert len(ROWS) <= MOST
    assert max(Counter(cells).values()) == 1

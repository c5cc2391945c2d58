"""The result type of every operator, function and cast of ``expressions.py`` is numba-cuda's.

All 28,277 facts are typed here by gridlane's frontend, without making machine code; what differs is
a row of docs/dialect.md, through ``differences.py``.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from tests.peers.differences import EXTENSIONS, MOST, ROWS
from tests.peers.expressions import EXPRESSIONS
from tests.peers.facts import ERROR, TYPES, Kinds, compiled, name_of, result_types, source

from gridlane import cuda
from gridlane.core import numpy_types
from gridlane.core.errors import CompileError
from gridlane.core.options import KernelOptions
from gridlane.frontends.python.translation import translate_device

DIALECT = Path(__file__).parents[2] / "docs" / "dialect.md"
ARGUMENTS = {kind: numpy_types.from_numpy(np.dtype(kind)) for kind in TYPES}


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


def test_types_are_numbas_or_a_row_or_an_extension_of_the_dialect():
    found = differences()
    taken = [fact for fact in found if fact[2] == ERROR]
    other = [fact for fact in found if fact[2] != ERROR]
    left = [fact for fact in other if not any(row.covers_type(*fact) for row in ROWS)]
    assert not left, f"{len(left)} of {len(other)} are no row: {left[:20]}"
    left = [
        fact for fact in taken if not any(re.fullmatch(p, fact[0]) for p in EXTENSIONS.values())
    ]
    assert not left, f"{len(left)} of {len(taken)} are no extension: {left[:20]}"
    for row in ROWS:
        assert not row.of_type or any(row.covers_type(*fact) for fact in other), row.name
    for name, pattern in EXTENSIONS.items():
        assert any(re.fullmatch(pattern, fact[0]) for fact in taken), name


def test_dialect_page_has_the_rows_and_the_extensions():
    lines = DIALECT.read_text().splitlines()
    begin = lines.index("## Intended differences")
    end = next(n for n in range(begin + 1, len(lines)) if lines[n].startswith("## "))
    rows = lines[begin:end]
    cells = [line.split("|")[1].strip() for line in rows if line.startswith("| ")]
    assert cells == ["difference", *[row.name for row in ROWS]]
    begin = lines.index("## Extensions")
    listed = [line[4:].split("**")[0] for line in lines[begin:] if line.startswith("- **")]
    assert listed == list(EXTENSIONS)
    assert len(ROWS) <= MOST
    assert max(Counter(cells).values()) == 1

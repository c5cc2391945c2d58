"""What numba-cuda says about scalar expressions: a fact is one of them for one tuple of types.

``data/numba_types.json.gz`` has the result types; ``python -m tests.peers.record_types`` makes it.
"""

from __future__ import annotations

import cmath
import gzip
import itertools
import json
import linecache
import math
import types
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

DATA = Path(__file__).parent / "data"
TYPES_FILE = DATA / "numba_types.json.gz"

INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
TYPES = ["bool", *INTEGERS, "float16", "float32", "float64", "complex64", "complex128"]
"""The types of operands; intp is int64 and uintp is uint64."""

Kinds = tuple[str, ...]

ERROR = "error"
"""The result of an expression that is refused, whatever the reason."""


def operands(expression: str, count: int) -> list[Kinds]:
    """The tuples of types that an expression of ``count`` facts is compiled for, in order."""
    arity = next(n for n in range(3) if len(TYPES) ** n == count)
    return list(itertools.product(TYPES, repeat=arity))


def pack(facts: dict[str, list[str]]) -> bytes:
    """Result types by expression, in the order of ``operands``, as the file has them: a letter a
    result."""
    results = sorted({result for row in facts.values() for result in row})
    letter = {result: chr(ord("A") + n) for n, result in enumerate(results)}
    rows = {expression: "".join(letter[r] for r in row) for expression, row in facts.items()}
    text = json.dumps({"results": results, "facts": rows}, ensure_ascii=True, indent=0)
    return gzip.compress(text.encode(), 9, mtime=0)


@cache
def result_types() -> dict[str, dict[Kinds, str]]:
    """numba-cuda's result type of each fact; ``ERROR`` where it refuses."""
    found = json.loads(gzip.decompress(TYPES_FILE.read_bytes()))
    names = {chr(ord("A") + n): result for n, result in enumerate(found["results"])}
    return {
        expression: dict(zip(operands(expression, len(row)), [names[letter] for letter in row]))
        for expression, row in found["facts"].items()
    }


def source(expression: str, parameters: Iterable[str]) -> str:
    """A device function of an expression; "; " ends a statement, the last part is returned."""
    *lines, last = expression.split("; ")
    body = "".join(f"    {line}\n" for line in [*lines, f"return {last}"])
    return f"def f({', '.join(parameters)}):\n{body}"


def compiled(text: str, cuda: Any, name: str = "f") -> types.FunctionType:
    """The function that a source text defines, which the source can be found of."""
    place = f"<{abs(hash(text))}>"
    linecache.cache[place] = len(text), None, text.splitlines(True), place
    space: dict[str, Any] = {"math": math, "cmath": cmath, "np": np, "cuda": cuda}
    exec(compile(text, place, "exec"), space)
    return space[name]


def name_of(kind: Any) -> str:
    """A type of numba's or gridlane's by its numpy name, a tuple by those of its items."""
    kind = getattr(kind, "literal_type", kind)
    items = getattr(kind, "types", None) or getattr(kind, "items", None)
    if isinstance(items, tuple):
        return f"({', '.join(map(name_of, items))})"
    return {"boolean": "bool", "bool_": "bool", "b1": "bool"}.get(str(kind), str(kind))

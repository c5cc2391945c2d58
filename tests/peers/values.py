"""What numba-cuda 0.30.4 answered on an NVIDIA H200, and what gridlane answers.

``data/numba_values_h200.npz`` has the bits that numba's kernels stored, of expressions on edge
values of bools, integers, float32 and float64. A result that two runs left different was never
stored, since numba leaves it undefined; it says nothing.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from tests.peers.facts import DATA, INTEGERS, Kinds, compiled

from gridlane import cuda
from gridlane.conformance.module_runner import run_on
from gridlane.core import argtypes, numpy_types
from gridlane.core.options import KernelOptions
from gridlane.frontends.python.translation import translate
from gridlane.ir.types import PointerType
from gridlane.ir.values import Module

VALUES_FILE = DATA / "numba_values_h200.npz"
TYPES = ["bool", *INTEGERS, "float32", "float64"]
OPTIONS = KernelOptions(fp64="exact")
BLOCK = 128

_FLOATS = [-np.inf, -1e30, -7.5, -1.0, -0.0, 0.0, 0.1, 0.5, 1.0, 2.5, 33.0, np.inf, np.nan]
_MORE_FLOATS = [1e-40, 1e-310, 1e10, 1e18, 1e19, 3e38, 65536.0, 0.49999997, 1.5, -0.5, -2.5]
_MORE_FLOATS += [255.5, -300.7, 3.0, 4503599627370497.5]
_INTEGERS = [-7, -1, 0, 1, 3, 7, 33, 100]
_MORE_INTEGERS = [-100, 2, 8, 31, 32, 63, 64, 127, 255, 65535, 2**31, 2**32 - 1, 2**53 + 1]


def points(kind: str, many: bool) -> np.ndarray:
    """The edge values of a type that were tried: more of them for expressions of one operand."""
    if kind == "bool":
        return np.array([False, True])
    if kind.startswith("float"):
        with np.errstate(over="ignore"):
            return np.array(_FLOATS + (_MORE_FLOATS if many else []), np.dtype(kind))
    info = np.iinfo(kind)
    least, most = int(info.min), int(info.max)
    extra = [*_MORE_INTEGERS, least + 1, most - 1, most // 2] if many else []
    kept = {value for value in [*_INTEGERS, least, most, *extra] if least <= value <= most}
    return np.array(sorted(kept), np.dtype(kind))


def grid(kinds: Kinds) -> list[np.ndarray]:
    """The operands of all points, the last one fastest."""
    axes = [points(kind, len(kinds) == 1) for kind in kinds]
    return [axis.ravel().copy() for axis in np.meshgrid(*axes, indexing="ij")]


@dataclass(frozen=True)
class Fact:
    """An expression for some types of operands, with numba's answers where it stored some."""

    expression: str
    kinds: Kinds
    answers: np.ndarray
    stored: np.ndarray

    @property
    def result(self) -> str:
        """The type of the result."""
        return str(self.answers.dtype)


@cache
def recorded() -> list[Fact]:
    """What numba answered, in the order of the file."""
    with np.load(VALUES_FILE) as file:
        index, data = json.loads(str(file["index"])), file["data"].tobytes()
    facts = []
    for expression, by_kinds in index.items():
        for key, (result, start, size) in by_kinds.items():
            if result.startswith("error"):
                continue
            kinds = tuple(key.split(","))
            count = grid(kinds)[0].size
            answers = np.frombuffer(data, "bool" if result == "boolean" else result, count, start)
            rest = np.frombuffer(data, np.uint8, size - answers.nbytes, start + answers.nbytes)
            stored = np.unpackbits(rest, count=count).astype(bool)
            facts.append(Fact(expression, kinds, answers, stored))
    return facts


def kernel_source(facts: list[Fact]) -> str:
    """A kernel that stores the results of facts of the same operands, one after the other in the
    array of each result's type."""
    results = list(dict.fromkeys(fact.result for fact in facts))
    names = "AB"[: len(facts[0].kinds)]
    lines = [f"def f({', '.join([*names, *[f'o_{result}' for result in results]])}):"]
    lines += ["    i_ = cuda.grid(1)", f"    if i_ < {facts[0].answers.size}:"]
    lines += [f"        {name.lower()} = {name}[i_]" for name in names]
    places = dict.fromkeys(results, 0)
    for n, fact in enumerate(facts):
        # Variables of an expression get names of their own.
        parts = [re.sub(r"\b([xi])\b", rf"\1_{n}", part) for part in fact.expression.split("; ")]
        lines += [f"        {part}" for part in parts[:-1]]
        lines.append(f"        o_{fact.result}[i_ + {places[fact.result]}] = {parts[-1]}")
        places[fact.result] += fact.answers.size
    return "\n".join(lines) + "\n"


def answers(device: str, facts: list[Fact]) -> list[np.ndarray]:
    """gridlane's results of facts of the same operands, by one kernel.

    Raises:
        CompileError: gridlane refuses one of them.
    """
    arrays = grid(facts[0].kinds)
    results = list(dict.fromkeys(fact.result for fact in facts))
    size = arrays[0].size
    counts = [sum(fact.result == result for fact in facts) for result in results]
    arrays += [np.zeros(size * count, result) for result, count in zip(results, counts)]
    kinds = tuple([argtypes.ArrayType(numpy_types.from_numpy(a.dtype), 1, "C") for a in arrays])
    module = translate(compiled(kernel_source(facts), cuda), kinds, OPTIONS)
    blocks = -(-size // BLOCK)
    scalars = _scalars(module, arrays)
    outcome = run_on(device, module, (blocks, 1, 1), (BLOCK, 1, 1), [*map(_parts, arrays)], scalars)
    made = zip(results, outcome.arrays[len(facts[0].kinds) :])
    parts = {result: iter(array.view(result).reshape(-1, size)) for result, array in made}
    return [next(parts[fact.result]) for fact in facts]


def _parts(array: np.ndarray) -> np.ndarray:
    """An array of complex numbers as that of their parts, any other as it is."""
    return array.view(f"f{array.itemsize // 2}") if array.dtype.kind == "c" else array


def _scalars(module: Module, arrays: list[np.ndarray]) -> tuple[int, ...]:
    """The extents and strides that the kernel takes, in the order of its parameters."""
    numbers = []
    for param in module.kernel.params:
        if not isinstance(param.value.type, PointerType):
            what, axis = param.path
            numbers.append(getattr(arrays[param.argument], what)[axis])
    return tuple(numbers)


def grouped(facts: list[Fact], most: int) -> Iterator[list[Fact]]:
    """Facts of the same operands, ``most`` at a time."""
    ordered = sorted(facts, key=lambda fact: fact.kinds)
    for _, some in itertools.groupby(ordered, key=lambda fact: fact.kinds):
        found = list(some)
        yield from (found[n : n + most] for n in range(0, len(found), most))

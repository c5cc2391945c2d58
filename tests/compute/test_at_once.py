# ruff: noqa: F821  # extents are names that annotations define
"""Iterations of a loop that run at once around a vector: results are those of the text's order."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.compute.test_random_nests import function_of

import gridlane
from gridlane.compute import Compute, Tensor, compute, f64, i64
from gridlane.compute.emission import Emitter
from gridlane.compute.programs import Program
from gridlane.compute.strides import PROCESSOR

HEAD = ", 4):"
"""The end of a loop some iterations of which run at once."""


@compute
def columns(a: Tensor[i64, "M", "N"], r: Tensor[i64, "M"], s: Tensor[i64, "N"]):
    for i in range(M):
        for j in range(N):
            s[j] += r[i] * a[i, j]


@compute
def banded(a: Tensor[i64, "M", "N"], r: Tensor[i64, "M"], s: Tensor[i64, "N"]):
    for i in range(M):
        for j in range(max(i - 2, 0), min(N, 2 * i + 7)):
            s[j] = s[j] * 3 - r[i] * a[i, j]


@compute
def downwards(a: Tensor[i64, "M", "N"], r: Tensor[i64, "M"], s: Tensor[i64, "N"]):
    for i in range(M - 1, 0, -1):
        for j in range(i, N):
            s[j] = s[j] * 3 - r[i] * a[i, j]


@compute
def eliminated(a: Tensor[i64, "M", "M"], r: Tensor[i64, "M"], s: Tensor[i64, "M"]):
    for i in range(M):
        for k in range(i):
            for j in range(k + 1, M):
                a[i, j] -= a[i, k] * a[k, j]


@compute
def several(a: Tensor[i64, "M", "N"], r: Tensor[i64, "M"], s: Tensor[i64, "N"]):
    for i in range(M):
        for j in range(N):
            s[j] = s[j] * r[i] + a[i, j] - a[i, j] * s[j]


def alone(nest: Compute) -> tuple[str, Program]:
    """The text of the kernel of one thread that runs the text's loops, and its program."""
    made = Emitter(nest._polyhedra, nest._typing, rates=PROCESSOR, is_single=True).emitted()
    program = Program(nest.nest, nest._typing, made, {}, nest.metadata, nest.fastmath)
    return made.kernels[0].text, program


def in_python(nest: Compute, values: dict, extents: dict) -> None:
    """Run the function's loops by CPython."""
    scope = dict(nest.function.__globals__)
    scope.update(extents)
    function = type(nest.function)(nest.function.__code__, scope)
    function(*values.values())


@pytest.mark.parametrize("nest", [columns, banded, downwards, eliminated, several])
@pytest.mark.parametrize("m", [1, 3, 4, 7, 22])
def test_results_are_those_of_python(nest, m):
    rng, n = np.random.default_rng(m), m if nest is eliminated else 2 * m + 5
    given = {"a": rng.integers(-3, 4, (m, n)), "r": rng.integers(-3, 4, m)}
    given["s"] = rng.integers(-3, 4, n)
    extents = {"M": m, "N": n}
    text, program = alone(nest)
    assert HEAD in text
    values, wanted = ({key: value.copy() for key, value in given.items()} for _ in range(2))
    with gridlane.device("cpu"):
        program.run(values, {e: extents[e] for e in nest.nest.extents})
    with np.errstate(over="ignore"):
        in_python(nest, wanted, extents)
    for key, value in wanted.items():
        assert (values[key] == value).all(), key


@pytest.mark.parametrize("n", [5, 64, 131])
def test_sums_of_floats_have_the_order_of_the_text(n):
    """Each element has its iterations in order, so that bits are those of plain loops."""

    @compute
    def summed(a: Tensor[f64, "M", "N"], s: Tensor[f64, "N"]):
        for i in range(M):
            for j in range(N):
                s[j] += a[i, j]

    a = np.random.default_rng(n).random((37, n)) * 10.0 ** np.arange(-9, n - 9).clip(-9, 9)
    text, program = alone(summed)
    assert HEAD in text
    one, other, python = np.ones(n), np.ones(n), np.ones(n)
    with gridlane.device("cpu"):
        program.run({"a": a, "s": one}, {"M": 37, "N": n})
        summed.plain(a, other)
    for row in a:
        python += row
    assert one.tobytes() == other.tobytes() == python.tobytes()


def test_what_does_not_run_at_once():
    def moved(a: Tensor[i64, "M", "N"], b: Tensor[i64, "M", "N"]):
        for i in range(M):
            for j in range(N):
                b[i, j] = a[i, j]  # no element is written again

    def variable(a: Tensor[i64, "M", "N"], s: Tensor[i64, "N"]):
        for i in range(M):
            t = a[i, 0]
            for j in range(N):
                s[j] += a[i, j] * t

    def carried(s: Tensor[i64, "N"], times: int):
        for _t in range(times):
            for j in range(1, N - 1):
                s[j] = s[j - 1] + s[j + 1]

    for function in (moved, variable, carried):
        assert HEAD not in alone(compute(function))[0]


def test_which_loops_may_be_innermost():
    def stencil(s: Tensor[i64, "N"], times: int):
        for _t in range(times):
            for j in range(1, N - 1):
                s[j] = s[j - 1] + s[j + 1]

    for nest, may in ((compute(stencil), False), (columns, True), (eliminated, True)):
        polyhedra = nest._polyhedra
        depth = len(nest.nest.statements[0].loops)
        places = 2 * depth - 3, 2 * depth - 1
        count = 2 * polyhedra.depth + 1
        assert polyhedra.may_turn({"S0"}, *places, polyhedra.orders, count) == may


def nests_of(rng: random.Random) -> str:
    """Three loops whose vectors have bounds of all kinds, as text."""
    lines = ["def nest(a: Tensor[i64, 'N', 'N'], r: Tensor[i64, 'N'], s: Tensor[i64, 'N']):"]
    for _ in range(3):
        head = rng.choice(["range(1, N - 2)", "range(N - 3, 0, -1)", "range(N - 2)"])
        low = rng.choice(["0", "i", "max(i - 3, 0)", "(N - i) // 2", "i // 3"])
        high = rng.choice(["N", "N - 1", "min(N, i + 6)", "min(2 * i + 1, N)", "i + 2"])
        value = rng.choice(
            ["a[i, j]", "a[i, j] * r[i]", "r[i] - a[i + 1, j]", "a[j, i] * r[i + 1]"]
        )
        target = rng.choice(["s[j] += {}", "s[j] = s[j] * 3 - {}", "s[j] -= r[i] * s[j] + {}"])
        lines += [f"    for i in {head}:", f"        for j in range({low}, {high}):"]
        lines += [f"            {target.format(value)}"]
    return "\n".join(lines) + "\n"


def test_random_bounds():
    count = 0
    for seed in range(6):
        text = nests_of(random.Random(seed))
        function = function_of(text, seed)
        del function.__globals__["N"]
        nest = compute(function)
        kernel, program = alone(nest)
        count += kernel.count(HEAD)
        rng, n = np.random.default_rng(seed), 9 + 5 * seed
        given = {"a": rng.integers(-3, 4, (n, n)), "r": rng.integers(-3, 4, n)}
        given["s"] = rng.integers(-3, 4, n)
        values, wanted = ({key: value.copy() for key, value in given.items()} for _ in range(2))
        with gridlane.device("cpu"):
            program.run(values, {"N": n})
        with np.errstate(over="ignore"):
            in_python(nest, wanted, {"N": n})
        assert (values["s"] == wanted["s"]).all(), f"seed {seed}\n{text}"
    assert count > 6

"""Random schedules and hints of nests with parallel loops: refused, or the results in order."""

from __future__ import annotations

import random

import pytest
from tests.compute.random_nests import TENSORS
from tests.compute.test_random_nests import arrays, function_of
from tests.effort import NIGHTLY

import gridlane
from gridlane.compute import compute
from gridlane.core.errors import ArgumentError, UnsupportedError

COUNT = 200 if NIGHTLY else 6


def random_text(rng: random.Random) -> str:
    """Loops over rows and columns, and sums inside; some carry dependences along one of them."""
    kinds = {name: ", ".join(['"N"'] * rank) for name, rank in TENSORS.items()}
    arguments = ", ".join(f"{name}: Tensor[i64, {kind}]" for name, kind in kinds.items())
    rows = rng.choice(["range(2, N - 2)", "range(N - 3, 1, -1)", "range(2, N - 2, 2)"])
    columns = rng.choice(["range(2, N - 2)", "range(2, i + 1)", "range(i, N - 2)", "range(2, N)"])
    inner = rng.choice(["range(N)", "range(j + 1)", "range(i, j + 2)", "range(N - 1, 1, -1)"])
    inner = inner.replace("j + 2", "min(j + 2, N)")
    first = rng.choice(["B[i, j] + x[j]", "B[j, i] - i", "B[i - 1, j - 2] * 3", "A[i, j - 1] + j"])
    second = rng.choice(["B[i, k] * B[k, j]", "x[k] + k", "B[k, k] - A[i, j]", "y[j] * B[k, i]"])
    body = {
        "element": f"A[i, j] = {first}\nfor k in {inner}:\n    C[i, j] += {second}",
        "variable": f"s = {first}\nfor k in {inner}:\n    s += {second}\nC[i, j] = s % 97",
        "both": f"s = {first}\nA[i, j] = s\nfor k in {inner}:\n    if s > k:\n"
        f"        C[i, j] += s * ({second})\n    s = s % 31",
        "none": f"if ({first}) % 2 == 0:\n    A[i, j] = x[i]\nelse:\n    C[i, j] = y[j]",
    }[rng.choice(["element", "variable", "both", "none"])]
    head = f"def nest({arguments}, p: int):\n    for i in {rows}:\n"
    between = rng.choice(["", "        z[i] = x[i] + 1\n", "        z[i] = z[i - 1] + 1\n"])
    lines = "".join(f"            {each}\n" for each in body.splitlines())
    return f"{head}{between}        for j in {columns}:\n{lines}"


def random_schedule(rng: random.Random, loops: list[str]) -> tuple[tuple[str, ...], dict]:
    """An order of loops, some with tiles, and threads among them; often one that is illegal."""
    items = [*loops]
    if rng.random() < 0.4:
        rng.shuffle(items)
    for name in loops:
        if rng.random() < 0.4:
            at = rng.randint(0, items.index(name))
            items.insert(at, f"{name}/{rng.choice([2, 3, 4])}")
    near = [n for n, each in enumerate(items) if each[0] != "k"]
    start = rng.choice(near)
    threads = items[start : start + rng.randint(1, 2)]
    rng.shuffle(threads)
    words: dict = {"threads": tuple(threads)}
    if "/" not in threads[0] and rng.random() < 0.4:
        words["vector"] = rng.choice([2, 3])
    others = [each for each in loops if each not in threads]
    if others and rng.random() < 0.5:
        words["unroll"] = {rng.choice(others): rng.choice([2, 3])}
    return tuple(items), words


@pytest.mark.parametrize("part", range(4))
def test_schedules_are_refused_or_right(part):
    legal = 0
    for seed in range(part, COUNT, 4):
        rng = random.Random(seed)
        text = random_text(rng)
        function = function_of(text, seed)
        wanted = arrays(seed)
        function(*wanted, 5)
        del function.__globals__["N"]
        nest = compute(function)
        loops = sorted({each.text for s in nest.nest.statements for each in s.loops})
        for _ in range(5):
            order, words = random_schedule(rng, loops)
            try:
                scheduled = nest.schedule(*order, **words)
            except (UnsupportedError, ArgumentError):
                continue
            legal += 1
            made = arrays(seed)
            with gridlane.device("cpu"):
                scheduled(*made, 5)
            for name, one, other in zip(TENSORS, wanted, made, strict=True):
                assert (one == other).all(), f"seed {seed}: {name}\n{text}\n{order} {words}"
        hints = {"vector_width": rng.choice([1, 2, 3]), "unroll": rng.choice([1, 2, 4])}
        made = arrays(seed)
        with gridlane.device("cpu"):
            compute(hints=hints)(function)(*made, 5)
        for name, one, other in zip(TENSORS, wanted, made, strict=True):
            assert (one == other).all(), f"seed {seed}: {name}\n{text}\n{hints}"
    assert legal

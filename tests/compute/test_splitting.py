# ruff: noqa: F821  # extents are names that annotations define
"""Sums that several threads add up: those of one thread, bit for bit, or within the rounding."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.compute.assembling import PTXAS, logs
from tests.compute.polybench import PROGRAMS
from tests.devices import DEVICES

import gridlane
from gridlane.compute import (
    Tensor,
    compute,
    f32,
    f64,
    grid,
    i8,
    i32,
    i64,
    programs,
    splitting,
    u8,
    u16,
    u64,
)
from gridlane.compute.choosing import choose
from gridlane.compute.kept import _emitted, _fields
from gridlane.compute.programs import Program
from gridlane.compute.strides import GPU
from gridlane.core.errors import ArgumentError, UnsupportedError

EVERY = ["interp", *DEVICES]


@compute
def layer(a: Tensor[i64, "M", "N"], b: Tensor[i64, "M", "N"], y: Tensor[i64, "M"]):
    for i in range(M):
        m = a[i, 0]
        for j in range(N):
            m = max(m, a[i, j])
        s = 0
        for j in range(N):
            s += a[i, j] - m
        y[i] = m
        for j in range(N):
            b[i, j] = a[i, j] * s + y[i]


@compute
def triangle(a: Tensor[i64, "N", "N"], y: Tensor[i64, "N"]):
    for i in range(N):
        y[i] = 5
        for j in range(i + 1):
            if a[i, j] > 0:
                y[i] -= a[i, j]


@compute
def columns(a: Tensor[i64, "M", "N"], y: Tensor[i64, "N"], z: Tensor[i64, "N"]):
    for j in range(N):
        y[j] = y[j] * 3
        low = a[0, j]
        for i in range(j, M):
            y[j] += a[i, j]
        for i in range(M):
            low = min(low, a[i, j])
        z[j] = low


@compute
def weighted(a: Tensor[i64, "N", "N"], y: Tensor[i64, "N"]):
    s = 0
    for i in range(N):
        w = i * i
        for j in range(i + 1):
            s += a[i, j] * w
    y[0] = s


@compute
def dots(a: Tensor[i64, "N", "N"], b: Tensor[i64, "N", "N"], x: Tensor[i64, "N"],
         y: Tensor[i64, "N"]):  # fmt: skip
    for i in range(N):
        s = 0
        t = 7
        for j in range(N - 1, -1, -1):
            s += a[i, j] * x[j]
            t ^= b[i, j] * x[j]
        y[i] = 3 * s + t


@compute
def nested(a: Tensor[i64, "N", "N"], y: Tensor[i64, "N"]):
    for i in range(N):
        for k in range(3):
            s = 0
            for j in range(N):
                t = a[i, j] + k
                s += t * t
            y[i] += s
            for j in range(1, N):
                a[i, j] = a[i, j] + y[i] - a[i, 0]


@compute
def highest(a: Tensor[i64, "N", "N"], y: Tensor[i64, "N"], b: Tensor[i64, "N", "N"]):
    for j in range(N):
        m = a[0, j]
        for i in range(N):
            m = max(m, a[i, j])
        y[j] = m
        for i in range(N):
            b[i, j] = a[i, j] - m


@compute
def batched(a: Tensor[i64, "M", "N", "N"], x: Tensor[i64, "N"], y: Tensor[i64, "M", "N"]):
    for b, i in grid(M, N):
        y[b, i] = 1
        for j in range(0, N, 2):
            y[b, i] += a[b, i, j] * x[j]


@compute
def solved(a: Tensor[i64, "N", "N"], x: Tensor[i64, "N"], b: Tensor[i64, "N"]):
    for i in range(N):
        x[i] = b[i]
        for j in range(i):
            x[i] -= a[i, j] * x[j]


@compute
def running(a: Tensor[i64, "N"], y: Tensor[i64, "N"]):
    for i in range(N):
        y[0] += a[i]
        if y[0] > 9:
            y[0] += a[0]


@compute
def layered(a: Tensor[i64, "M", "N"], y: Tensor[i64, "M"]):
    for i in range(M):
        for j in range(N):
            y[i] = y[i] * 2 + a[i, j]


NESTS = [
    layer, triangle, columns, weighted, dots, nested, highest, batched, solved, running,
]  # fmt: skip
SPLIT = {
    "layer": (True, 2), "triangle": (True, 3), "columns": (False, 3), "weighted": (True, 3),
    "dots": (True, 3), "nested": (True, 2), "highest": (False, 2), "batched": (False, 3),
    "solved": (True, 0), "running": (True, 0),
}  # fmt: skip
"""Whether lanes along x share each nest's sums, and the number of ways."""


SIZES = {"interp": ((1, 1), (3, 35)), "cpu": ((4, 70), (3, 290))}
"""Extents M and N on devices; from 256 on, lanes of a warp load eight elements at once."""


def arrays_of(nest, m, n, seed=0):
    rng = np.random.default_rng(seed)
    sizes = {"M": m, "N": n}
    shapes = {
        name: tuple(sizes[str(extent)] for extent in kind.extents)
        for name, kind in nest.nest.tensors.items()
    }
    return {name: rng.integers(-99, 99, shape) for name, shape in shapes.items()}


def run_splits(nest, emitted, arrays, way, monkeypatch):
    """Run with the kernels of one way, where there are any; how many launches had them."""
    seen = []

    def picked(splits, *_):
        seen.append(way)
        return (splits[way], 3 if splits[way].way.is_apart else 1) if way < len(splits) else None

    with monkeypatch.context() as patched:
        patched.setattr(programs, "pick", picked)
        program = Program(nest.nest, nest._typing, emitted, {}, nest.metadata, nest.fastmath)
        extents = {"M": 0, "N": 0}
        for name, kind in nest.nest.tensors.items():
            pairs = zip(kind.extents, arrays[name].shape, strict=True)
            extents |= {str(extent): size for extent, size in pairs}
        program.run(arrays, {name: extents[name] for name in nest.nest.extents})
    return seen


@cache
def emitted_of(nest):
    """The kernels for a GPU."""
    emitted = choose(nest._polyhedra, nest._typing, replace(GPU, sums=nest.fastmath))[0]
    return replace(emitted, small=None)


@pytest.mark.parametrize("device", EVERY)
@pytest.mark.parametrize("nest", NESTS, ids=[each.nest.name for each in NESTS])
def test_sums_of_integers(nest, device, monkeypatch):
    """Every way of a GPU, run on every device."""
    emitted = emitted_of(nest)
    is_lanes, ways = SPLIT[nest.nest.name]
    kernels = [each for each in emitted.kernels if each.splits]
    assert bool(kernels) == bool(ways)
    for each in kernels:
        assert len(each.splits) == ways
        assert all(split.way.is_lanes == is_lanes for split in each.splits)
    for m, n in SIZES.get(device, ((4, 70),)):
        for way in range(ways):
            given, wanted = (arrays_of(nest, m, n) for _ in range(2))
            with gridlane.device("cpu"):
                nest.plain(*wanted.values())
            with gridlane.device(device):
                seen = run_splits(nest, emitted, given, way, monkeypatch)
            assert seen
            for name, array in given.items():
                assert (array == wanted[name]).all(), (name, m, n, way)


@settings(max_examples=25, deadline=None)
@given(
    name=st.sampled_from([each.nest.name for each in NESTS if SPLIT[each.nest.name][1]]),
    m=st.integers(1, 7), n=st.integers(1, 300), seed=st.integers(0, 99),
)  # fmt: skip
def test_launches_that_choose(name, m, n, seed):
    """The way is that of the extents; results are those of one thread."""
    nest = next(each for each in NESTS if each.nest.name == name)
    given_, wanted = (arrays_of(nest, m, n, seed) for _ in range(2))
    program = program_of(nest)
    with gridlane.device("cpu"):
        nest.plain(*wanted.values())
        program.run(given_, {k: {"M": m, "N": n}[k] for k in nest.nest.extents})
    for key, array in given_.items():
        assert (array == wanted[key]).all(), key


@cache
def program_of(nest):
    return Program(nest.nest, nest._typing, emitted_of(nest), {}, nest.metadata, nest.fastmath)


def of_kind(kind, word="+"):
    """A nest whose sum is of a type, by an operator."""
    if word in ("min", "max"):
        function = {"min": _least, "max": _most}[word]
    else:
        function = {"+": _sum, "*": _times, "&": _and, "|": _or}[word]
    function.__annotations__ = {"a": Tensor[kind, "M", "N"], "y": Tensor[kind, "M"]}
    return compute(function)


def _sum(a, y):
    for i in range(M):
        for j in range(N):
            y[i] += a[i, j]


def _times(a, y):
    for i in range(M):
        for j in range(N):
            y[i] *= a[i, j]


def _and(a, y):
    for i in range(M):
        for j in range(N):
            y[i] = y[i] & a[i, j]


def _or(a, y):
    for i in range(M):
        for j in range(N):
            y[i] |= a[i, j]


def _least(a, y):
    for i in range(M):
        for j in range(N):
            y[i] = min(y[i], a[i, j])


def _most(a, y):
    for i in range(M):
        for j in range(N):
            y[i] = max(a[i, j], y[i])


WORDS = "+", "*", "&", "|", "min", "max"
NUMPY = {i8: np.int8, u8: np.uint8, u16: np.uint16, i32: np.int32, u64: np.uint64, i64: np.int64}


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("kind", NUMPY)
def test_operators_and_types(kind, word):
    nest = of_kind(kind, word)
    dtype = NUMPY[kind]
    info = np.iinfo(dtype)
    rng = np.random.default_rng(2)
    a = rng.integers(info.min, info.max, (3, 77), dtype, endpoint=True)
    start = rng.integers(info.min, info.max, 3, dtype, endpoint=True)
    ufunc = {
        "+": np.add, "*": np.multiply, "&": np.bitwise_and, "|": np.bitwise_or,
        "min": np.minimum, "max": np.maximum,
    }[word]  # fmt: skip
    wanted = ufunc(start, ufunc.reduce(a, axis=1, dtype=dtype), dtype=dtype)
    ways = ("j", 32), ("j", 5), ("j", 64, 2)
    split = ways[([*NUMPY].index(kind) + WORDS.index(word)) % len(ways)]
    with gridlane.device("cpu"):
        nest.schedule("i", "j", threads=("i",), split=split)(a, start)
    assert (start == wanted).all(), split


@compute(fastmath=True)
def floats(a: Tensor[f32, "M", "N"], x: Tensor[f32, "N"], y: Tensor[f32, "M"], z: Tensor[f32, "N"]):
    for i in range(M):
        s = 0.0
        for j in range(N):
            s += a[i, j] * x[j]
        y[i] = s
    for j in range(N):
        z[j] = 0.0
        for i in range(M):
            z[j] += a[i, j] * a[i, j]


def within(sums, terms):
    """Whether sums in any order are within their bound (Higham 2002, 4.2), by exact numbers."""
    unit = Fraction(1, 1 << 24)
    for value, row in zip(sums, terms, strict=True):
        exact = sum(row)
        bound = 2 * len(row) * unit * sum(map(abs, row))
        if abs(Fraction(float(value)) - exact) > bound:
            return False
    return True


@settings(max_examples=6, deadline=None)
@given(m=st.integers(1, 40), n=st.integers(1, 300), way=st.integers(0, 2))
def test_sums_of_floats(m, n, way):
    rng = np.random.default_rng(m * 1000 + n)
    a = rng.standard_normal((m, n), np.float32)
    x = rng.standard_normal(n, np.float32)
    y, z = np.zeros(m, np.float32), np.zeros(n, np.float32)
    emitted = emitted_of(floats)
    assert [len(each.splits) for each in emitted.kernels] == [3, 3]
    patch = pytest.MonkeyPatch()
    with gridlane.device("cpu"):
        run_splits(floats, emitted, {"a": a, "x": x, "y": y, "z": z}, way, patch)
    exact = [[Fraction(float(v)) for v in row] for row in a]
    weights = [Fraction(float(v)) for v in x]
    assert within(y, [[v * w for v, w in zip(row, weights, strict=True)] for row in exact])
    assert within(z, [[row[j] ** 2 for row in exact] for j in range(n)])


def test_floats_keep_their_order():
    """Without fastmath no kernel is split, and explain() has the reason."""
    nest = of_kind(f32)
    emitted = emitted_of(nest)
    assert not any(each.splits for each in emitted.kernels)
    assert "fastmath=True permits another one" in emitted.kernels[0].notes[0]
    with pytest.raises(UnsupportedError, match=r"split of j: y is a sum by \+ of f32.*fastmath"):
        nest.schedule("i", "j", threads=("i",), split=("j", 32))


@compute
def narrowed(a: Tensor[f64, "M", "N"], y: Tensor[i32, "M"], b: Tensor[i64, "M", "N"]):
    for i in range(M):
        for j in range(N):
            y[i] = i32(y[i] + a[i, j])
        for j in range(N):
            y[i] = min(y[i], b[i, j])


def test_sums_that_are_rounded_each_time():
    emitted = emitted_of(narrowed)
    assert not any(each.splits for each in emitted.kernels)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("k", 8), "'k' in a schedule is no loop"),
        (("j", 1), "it must be 2 to 1024"),
        (("j", 2048), "it must be 2 to 1024"),
        (("j", 8, 0), "it must be 1 to 1024"),
        (("j", True), "it must be 2 to 1024"),
        (("i", 8), "no loop of a thread"),
        (("j",), "it is a loop, threads of a block"),
        ("j", "it is a loop, threads of a block"),
    ],
)
def test_words(words, text):
    with pytest.raises(ArgumentError, match=text):
        triangle.schedule("i", "j", threads=("i",), split=words)


def test_other_refusals():
    with pytest.raises(ArgumentError, match="workgroup"):
        triangle.schedule("i", "j", threads=("i",), split=("j", 32), workgroup=(64,))
    with pytest.raises(UnsupportedError, match="split of j: it adds up nothing") as caught:
        layered.schedule("i", "j", threads=("i",), split=("j", 32))
    assert caught.value.loc is not None and "y[i] = y[i] * 2" in str(caught.value)


@pytest.mark.parametrize("device", EVERY)
@pytest.mark.parametrize("split", [("j", 32), ("j", 7), ("j", 64), ("j", 32, 3)])
def test_schedules_by_hand(split, device):
    made = triangle.schedule("i", "j", threads=("i",), split=split)
    given, wanted = (arrays_of(triangle, 1, 75) for _ in range(2))
    with gridlane.device("cpu"):
        triangle.plain(*wanted.values())
    with gridlane.device(device):
        for _ in range(2):  # the second of known launches
            given["y"][:] = 0
            made(*given.values())
            assert (given["y"] == wanted["y"]).all()
        text = made.explain()
    hidden = "__" in text.replace("__first", "")  # where a grid's loop begins
    assert "sums in y by several threads along x" in text and not hidden


def test_kept_launches_keep_few_arrays(monkeypatch):
    monkeypatch.setattr(programs, "_MOST_WITH_ARRAYS", 2)
    made = triangle.schedule("i", "j", threads=("i",), split=("j", 32, 3))
    calls = [arrays_of(triangle, 1, 40, seed) for seed in range(4)]
    with gridlane.device("cpu"):
        for given in calls * 2:
            wanted = {name: array.copy() for name, array in given.items()}
            triangle.plain(*wanted.values())
            made(*given.values())
            assert (given["y"] == wanted["y"]).all()
    assert len(made._known._steps) == 2


def test_columns_by_hand():
    made = highest.schedule("j", "i", threads=("j",), split=("i", 4))
    given, wanted = (arrays_of(highest, 1, 45) for _ in range(2))
    highest.plain(*wanted.values())
    made(*given.values())
    for name, array in given.items():
        assert (array == wanted[name]).all()
    with pytest.raises(UnsupportedError, match="blocks divide sums that depend on nothing"):
        highest.schedule("j", "i", threads=("j",), split=("i", 4, 2))


def test_kept_ones_are_the_same():
    emitted = emitted_of(floats)
    assert _emitted(_fields(emitted)).kernels == emitted.kernels


@pytest.mark.parametrize("name", ["atax", "bicg", "gesummv", "mvt", "trisolv"])
def test_programs(name):
    """Which kernels of known programs are split, under fastmath."""
    nest = PROGRAMS[name].nest
    rates = replace(GPU, sums=True)
    emitted = choose(nest._polyhedra, nest._typing, rates)[0]
    assert all(each.splits for each in emitted.kernels if "for " in each.text)


@compute(fastmath=True)
def dots_of_all(a: Tensor[f32, "M", "N"], b: Tensor[f32, "M", "N"], out: Tensor[f32, 1]):
    s = 0.0
    for i in range(M):
        for j in range(N):
            s += a[i, j] * b[i, j]
    out[0] = s


def test_picks():
    rows = emitted_of(dots).kernels[0]
    columns_ = emitted_of(columns).kernels[0]
    device = 132 * 2048

    def pick(kernel, counts, lengths):
        found = splitting.pick(kernel.splits, counts, lengths, kernel.is_strided, device)
        return None if found is None else (found[0].way.threads, found[1])

    assert pick(rows, [4096], (4096, 4096, False)) == (256, 1)
    assert pick(rows, [1 << 20], (64, 64, False)) == (32, 1)
    assert pick(rows, [1 << 20], (8, 8, False)) is None
    assert pick(rows, [3], (1 << 20, 1 << 20, False))[1] > 64
    assert pick(columns_, [4096], (4096, 4096, False)) == (32, 1)
    assert pick(columns_, [1 << 20], (4096, 4096, False)) is None
    assert pick(columns_, [64], (1 << 20, 1 << 20, False))[1] > 64
    assert pick(columns_, [64], (2, 2, False)) is None
    whole = emitted_of(dots_of_all).kernels[0]
    assert "(0)) // 1 + 1, True)" in emitted_of(dots_of_all).host
    assert pick(whole, [], (4096, 4096, True))[1] == pick(whole, [], (4096, 4097, True))[1] > 512


@pytest.mark.skipif(not PTXAS, reason="ptxas of CUDA is not installed")
@pytest.mark.parametrize("nest", [floats, dots, columns, layer], ids=lambda each: each.nest.name)
def test_assembles_without_spills(nest, tmp_path):
    """Within the registers that a block of all its threads has."""
    splits = [split for kernel in emitted_of(nest).kernels for split in kernel.splits]
    found = [log for split in splits for log in logs(nest, split, tmp_path)]
    assert len(found) >= 2
    for log in found:
        assert re.search(r"\b0 bytes spill stores", log) and "warning" not in log

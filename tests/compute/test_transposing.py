# ruff: noqa: F821  # extents are names that annotations define
"""Arrays read through tiles in shared memory: bit for bit what the loops in order compute."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.compute.assembling import PTXAS, logs
from tests.devices import DEVICES

import gridlane
from gridlane.compute import Tensor, compute, f32, grid, i64, programs, u8
from gridlane.compute.choosing import choose
from gridlane.compute.kept import _emitted, _fields
from gridlane.compute.programs import Program
from gridlane.compute.splitting import pick
from gridlane.compute.strides import GPU

EVERY = ["interp", *DEVICES]


@compute
def turned(a: Tensor[i64, "M", "N"], b: Tensor[i64, "N", "M"]):
    for i, j in grid(M, N):
        b[j, i] = a[i, j]


@compute
def middle(a: Tensor[i64, "K", "M", "N"], b: Tensor[i64, "N", "K", "M"],
           c: Tensor[i64, "N", "K", "M"]):  # fmt: skip
    for k, i, j in grid(K, M, N):
        if a[k, i, j] > 0:
            b[j, k, i] = a[k, i, j] + 2 * c[j, k, i]


@compute
def symmetric(a: Tensor[i64, "N", "N"], b: Tensor[i64, "N", "N"]):
    for i in range(N):
        for j in range(i + 1):
            b[i, j] = a[i, j] - a[j, i]


@compute
def pieces(a: Tensor[i64, "N", "N"], b: Tensor[i64, "N", "N"], c: Tensor[u8, "N", "N"]):
    for i in range(N - 1):
        for j in range(1, N):
            w = a[j, i + 1] * 3
            if i < j:
                b[i, j] = w + c[j - 1, i]
            else:
                b[i, j] = w - a[j, i]


NESTS = {each.nest.name: each for each in (turned, middle, symmetric, pieces)}


@cache
def program_of(name):
    nest = NESTS[name]
    emitted = replace(choose(nest._polyhedra, nest._typing, GPU)[0], small=None)
    return Program(nest.nest, nest._typing, emitted, {}, nest.metadata, nest.fastmath)


def arrays_of(nest, sizes, seed=0):
    rng = np.random.default_rng(seed)
    found = {}
    for name, kind in nest.nest.tensors.items():
        shape = tuple(sizes[str(extent)] for extent in kind.extents)
        is_bytes = str(kind.dtype) == "u8"
        values = rng.integers(0 if is_bytes else -99, 99, shape)
        found[name] = values.astype(np.uint8) if is_bytes else values
    return found


def is_right(name, sizes, seed=0):
    nest = NESTS[name]
    made, wanted = (arrays_of(nest, sizes, seed) for _ in range(2))
    program_of(name).run(made, {each: sizes[each] for each in nest.nest.extents})
    with gridlane.device("cpu"):
        nest.plain(*wanted.values())
    return all((array == wanted[each]).all() for each, array in made.items())


@pytest.fixture
def always(monkeypatch):
    monkeypatch.setattr(programs, "pick", lambda splits, *_: (splits[0], 1))


@pytest.mark.parametrize("device", EVERY)
@pytest.mark.parametrize("name", NESTS)
def test_tiles(name, device, always):
    program = program_of(name)
    (kernel,) = program.emitted.kernels
    assert "cuda.shared.array((32, 33)" in kernel.splits[0].texts[0]
    assert "by tiles of 32 by 32 in shared memory" in kernel.notes[0]
    with gridlane.device(device):
        assert is_right(name, {"K": 3, "M": 40, "N": 37})
    assert program._split_kernels


@settings(max_examples=40, deadline=None)
@given(
    name=st.sampled_from([*NESTS]), k=st.integers(1, 4), m=st.integers(1, 70),
    n=st.integers(1, 70), seed=st.integers(0, 99),
)  # fmt: skip
def test_shapes(name, k, m, n, seed):
    with gridlane.device("cpu"):
        assert is_right(name, {"K": k, "M": m, "N": n}, seed)


def test_small_launches_have_none():
    (kernel,) = program_of("turned").emitted.kernels
    assert pick(kernel.splits, [4096, 4096], (0, 0), False, 1 << 18)
    assert pick(kernel.splits, [8, 4096], (0, 0), False, 1 << 18) is None
    assert pick(kernel.splits, [1 << 22, 64], (0, 0), False, 1 << 18) is None


@compute
def stencil(a: Tensor[i64, "N", "N"], b: Tensor[i64, "N", "N"]):
    for i, j in grid(N - 2, N - 2):
        b[i, j] = a[i, j] + a[i + 1, j + 2]


@compute
def within(a: Tensor[i64, "N", "N"], x: Tensor[i64, "N"], y: Tensor[i64, "N", "N"]):
    for i in range(N):
        for j in range(N):
            y[i, j] = a[j, i]
            for k in range(N):
                y[i, j] += x[k]


def test_what_needs_no_tiles():
    for nest in (stencil, within):
        emitted = choose(nest._polyhedra, nest._typing, GPU)[0]
        assert not any(each.way.order for kernel in emitted.kernels for each in kernel.splits)


def test_kept_ones_are_the_same():
    emitted = program_of("middle").emitted
    assert _emitted(_fields(emitted)).kernels == emitted.kernels


@compute
def added(a: Tensor[i64, "M", "N"], b: Tensor[i64, "N", "M"]):
    for i, j in grid(M, N):
        b[j, i] = a[i, j] + b[j, i]
    for i, j in grid(M, N):
        a[i, j] = 0


def test_arrays_that_are_written_have_none():
    emitted = choose(added._polyhedra, added._typing, GPU)[0]
    assert not any(each.splits for each in emitted.kernels)


@compute
def halves(a: Tensor[f32, "M", "N"], b: Tensor[f32, "N", "M"]):
    for i, j in grid(M, N):
        b[j, i] = 0.5 * a[i, j]


@pytest.mark.skipif(not PTXAS, reason="ptxas of CUDA is not installed")
def test_assembles_without_spills(tmp_path):
    emitted = choose(halves._polyhedra, halves._typing, GPU)[0]
    (log,) = logs(halves, emitted.kernels[0].splits[0], tmp_path)
    assert re.search(r"\b0 bytes spill stores", log) and "warning" not in log
    assert "4224 bytes smem" in log

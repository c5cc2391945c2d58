"""Advice on accesses whose neighbouring threads are far apart in memory."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from gridlane import compiler, cuda
from gridlane.compiler.advice import access_advice, hints
from gridlane.core.argtypes import float32, int64

COUNTED: dict[str, tuple[Callable[..., None], list[str]]] = {}
"""Each kernel of ``(m, v, n)``: what is said of its accesses, in order."""


def says(*words: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    def keep(kernel: Callable[..., None]) -> Callable[..., None]:
        COUNTED[kernel.__name__] = kernel, list(words)
        return kernel

    return keep


@says()
def side_by_side(m, v, n):
    x, y = cuda.grid(2)
    v[x] = m[y, x] + m[n, x] + v[x + n] + v[n * 100]


@says()
def a_grid_stride_loop(m, v, n):
    i = cuda.grid(1)
    while i < n:
        v[i] += float32(1)
        i += cuda.gridsize(1)


@says("load: a row apart: 32 .*; swap x and y")
def rows(m, v, n):
    x, y = cuda.grid(2)
    v[y] = m[x, y]


@says("load: a row apart: 32 .*; load and store by a tile")
def a_transposition(m, v, n):
    x, y = cuda.grid(2)
    m[y, x] = m[x, y]


@says("store: 64 bytes apart: 16 .*; let x be")
def sixteenth(m, v, n):
    v[cuda.grid(1) * 16] = n


@says("store: 32 bytes apart: 8 ")
def shifted_and_backwards(m, v, n):
    v[n - (cuda.threadIdx.x << 3)] = n


@says("atomic: a row apart")
def counted(m, v, n):
    cuda.atomic.add(m, (cuda.threadIdx.x, n), float32(1))


@says("load: a row apart")
def each_walks_its_own_row(m, v, n):
    i = cuda.grid(1)
    total = float32(0)
    for k in range(n):
        total += m[i, k]
    v[i] = total


@says()
def unknown(m, v, n):
    v[int(v[cuda.grid(1)])] = 1


@says()
def by_the_lane_as_well(m, v, n):
    v[cuda.threadIdx.x * 16 - 16 * cuda.laneid] = n  # what a lane's number adds is not known


@says()
def in_shared_memory(m, v, n):
    tile = cuda.shared.array((32, 32), float32)
    t = cuda.threadIdx.x
    tile[t, 0] = n
    cuda.syncthreads()
    v[t] = tile[t, 0]


@cuda.jit(device=True)
def of_row(m, i):
    return m[i, 0]


@says("load: a row apart")
def by_a_function(m, v, n):
    v[cuda.grid(1)] = of_row(m, cuda.grid(1))


@pytest.mark.parametrize("name", COUNTED)
def test_advice(name: str) -> None:
    kernel, wanted = COUNTED[name]
    options = cuda.jit(kernel).options
    module = compiler.translate(kernel, (float32[:, ::1], float32[::1], int64), options)
    told = [f"{each.what}: {each.how}" for each in access_advice(module)]
    assert len(told) == len(wanted), told
    for text, words in zip(told, wanted, strict=True):
        what, _, rest = words.partition(": ")
        assert re.match(f"{what}: threads next to each other along x are {rest}", text), text


def test_hints_have_the_line_of_the_user_s_file() -> None:
    kernel, _ = COUNTED["by_a_function"]
    options = cuda.jit(kernel).options
    module = compiler.translate(kernel, (float32[:, ::1], float32[::1], int64), options)
    (text,) = hints(module)
    line = of_row.py_func.__code__.co_firstlineno + 2
    assert text.startswith(f"test_advice.py:{line}: load: threads")

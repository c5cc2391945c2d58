"""Whole tile programs in the interpreter, against numpy."""

from __future__ import annotations

from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
from tests.frontends.triton.running import jit, run

import gridlane.frontends.triton.language as tl
from gridlane.frontends.triton.aggregates import aggregate
from gridlane.frontends.triton.parameters import Block

RNG = np.random.default_rng(5)


@jit
def add_vectors(left, right, out, count, SIZE: tl.constexpr):
    places = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    inside = places < count
    total = tl.load(left + places, mask=inside) + tl.load(right + places, mask=inside)
    tl.store(out + places, total, mask=inside)


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i4", "u1", "i8"])
def test_addition(dtype):
    left, right = RNG.integers(0, 200, (2, 100)).astype(dtype)
    out = np.zeros_like(left)
    run(add_vectors, left, right, out, 100, grid=4, SIZE=32)
    assert (out == left + right).all()


@jit
def soft(out, source, stride, rows, columns, SIZE: tl.constexpr):
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=2):
        at = tl.arange(0, SIZE)
        inside = at < columns
        line = tl.load(source + row * stride + at, mask=inside, other=-float("inf"))
        powers = tl.exp(line - tl.max(line, axis=0))
        tl.store(out + row * stride + at, powers / tl.sum(powers, axis=0), mask=inside)


def test_softmax_of_rows():
    source = RNG.standard_normal((9, 20)).astype("f4")
    out = np.zeros_like(source)
    run(soft, out, source, 20, 9, 20, grid=4, SIZE=32)
    powers = np.exp(source - source.max(1, keepdims=True))
    np.testing.assert_allclose(out, powers / powers.sum(1, keepdims=True), rtol=1e-6)


@jit
def square_positive(x):
    return tl.where(x > 0, x * x, 0.0)


@jit
def product(
    left, right, out, rows, columns, inner,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, ENDING: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) * M + tl.arange(0, M)
    column = tl.program_id(1) * N + tl.arange(0, N)
    depth = tl.arange(0, K)
    lefts = left + row[:, None] * inner + depth[None, :]
    rights = right + depth[:, None] * columns + column[None, :]
    total = tl.zeros((M, N), dtype=tl.float32)
    for step in range(0, tl.cdiv(inner, K)):
        rest = inner - step * K
        a = tl.load(lefts, mask=(row[:, None] < rows) & (depth[None, :] < rest), other=0.0)
        b = tl.load(rights, mask=(depth[:, None] < rest) & (column[None, :] < columns), other=0.0)
        total = tl.dot(a, b, total)
        lefts += K
        rights += K * columns
    if ENDING is not None:
        total = ENDING(total)
    inside = (row[:, None] < rows) & (column[None, :] < columns)
    tl.store(out + row[:, None] * columns + column[None, :], total, mask=inside)


@pytest.mark.parametrize("ending", [None, square_positive])
@pytest.mark.parametrize("dtype", ["f4", "f2", ml_dtypes.bfloat16])
def test_product_of_matrices(dtype, ending):
    left = RNG.integers(-4, 5, (20, 37)).astype(dtype)
    right = RNG.integers(-4, 5, (37, 24)).astype(dtype)
    out = np.zeros((20, 24), "f4")
    run(product, left, right, out, 20, 24, 37, grid=(2, 2), M=16, N=16, K=16, ENDING=ending)
    expected = left.astype("f4") @ right.astype("f4")
    if ending is not None:
        expected = np.where(expected > 0, expected * expected, 0)
    assert (out == expected).all()


@jit
def product_of_blocks(left, right, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    lefts = tl.make_block_ptr(left, (20, 37), (37, 1), (tl.program_id(0) * M, 0), (M, K), (1, 0))
    rights = tl.make_block_ptr(right, (37, 24), (24, 1), (0, tl.program_id(1) * N), (K, N), (1, 0))
    total = tl.zeros((M, N), dtype=tl.float32)
    for _ in range(0, 37, K):
        a = tl.load(lefts, boundary_check=(0, 1), padding_option="zero")
        b = tl.load(rights, boundary_check=(0, 1))
        total += tl.dot(a, b)
        lefts = tl.advance(lefts, (0, K))
        rights = rights.advance((K, 0))
    row, column = tl.program_id(0) * M, tl.program_id(1) * N
    outs = tl.make_block_ptr(out, (20, 24), (24, 1), (row, column), (M, N), (1, 0))
    tl.store(outs, total.to(tl.float16), boundary_check=(0, 1))


@jit
def product_of_descriptors(left, right, out, inner, M: tl.constexpr, N: tl.constexpr):
    row, column = tl.program_id(0) * M, tl.program_id(1) * N
    total = tl.zeros((M, N), dtype=tl.float32)
    for at in range(0, inner, left.block_shape[1]):
        total += tl.dot(left.load([row, at]), right.load([at, column]))
    out.store([row, column], total.to(out.dtype))


def test_block_pointers_and_descriptors():
    left = RNG.integers(-4, 5, (20, 37)).astype("f2")
    right = RNG.integers(-4, 5, (37, 24)).astype("f2")
    out, other = np.zeros((2, 20, 24), "f2")
    run(product_of_blocks, left, right, out, grid=(2, 2), M=16, N=16, K=16)
    assert (out == left @ right).all()
    blocks = {"left": Block((16, 8)), "right": Block((8, 16)), "out": Block((16, 16))}
    run(product_of_descriptors, left, right, other, 37, grid=(2, 2), blocks=blocks, M=16, N=16)
    assert (other == left @ right).all()


@jit
def normalise(out, source, scale, mean_out, count, epsilon, SIZE: tl.constexpr):
    row = tl.program_id(0)
    source += row * count
    total = tl.zeros([SIZE], dtype=tl.float32)
    for start in range(0, count, SIZE):
        at = start + tl.arange(0, SIZE)
        total += tl.load(source + at, mask=at < count, other=0.0)
    mean = tl.sum(total, axis=0) / count
    squares = tl.zeros([SIZE], dtype=tl.float32)
    for start in range(0, count, SIZE):
        at = start + tl.arange(0, SIZE)
        x = tl.load(source + at, mask=at < count, other=0.0)
        x = tl.where(at < count, x - mean, 0.0)
        squares += x * x
    factor = 1 / tl.sqrt(tl.sum(squares, axis=0) / count + epsilon)
    tl.store(mean_out + row, mean)
    for start in range(0, count, SIZE):
        at = start + tl.arange(0, SIZE)
        x = tl.load(source + at, mask=at < count)
        y = (x - mean) * factor * tl.load(scale + at, mask=at < count)
        tl.store(out + row * count + at, y, mask=at < count)


def test_normalisation_of_rows():
    source = RNG.standard_normal((5, 50)).astype("f4")
    scale = RNG.standard_normal(50).astype("f4")
    out, mean = np.zeros_like(source), np.zeros(5, "f4")
    run(normalise, out, source, scale, mean, 50, np.float32(1e-5), grid=5, SIZE=16)
    centred = source - source.mean(1, keepdims=True)
    expected = centred / np.sqrt(source.var(1, keepdims=True) + 1e-5) * scale
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(mean, source.mean(1), rtol=1e-5, atol=1e-6)


@jit
def attend(query, key, value, out, length, scale, CAUSAL: tl.constexpr, ROWS: tl.constexpr,
           COLUMNS: tl.constexpr, WIDTH: tl.constexpr):  # fmt: skip
    first = tl.program_id(0) * ROWS
    row, width = first + tl.arange(0, ROWS), tl.arange(0, WIDTH)
    q = tl.load(query + row[:, None] * WIDTH + width[None, :])
    most = tl.full([ROWS], -float("inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    result = tl.zeros([ROWS, WIDTH], tl.float32)
    end = length
    if CAUSAL:
        end = first + ROWS
    for start in range(0, end, COLUMNS):
        column = start + tl.arange(0, COLUMNS)
        k = tl.load(key + column[:, None] * WIDTH + width[None, :])
        scores = tl.dot(q, k.T) * scale
        if CAUSAL:
            scores = tl.where(row[:, None] >= column[None, :], scores, -1.0e6)
        now = tl.maximum(most, tl.max(scores, 1))
        powers = tl.exp(scores - now[:, None])
        change = tl.exp(most - now)
        total = total * change + tl.sum(powers, 1)
        v = tl.load(value + column[:, None] * WIDTH + width[None, :])
        result = result * change[:, None] + tl.dot(powers.to(v.dtype), v)
        most = now
    tl.store(out + row[:, None] * WIDTH + width[None, :], result / total[:, None])


@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal):
    query, key, value = RNG.standard_normal((3, 32, 16)).astype("f2")
    out = np.zeros((32, 16), "f4")
    run(attend, query, key, value, out, 32, np.float32(0.25), grid=2, CAUSAL=causal, ROWS=16,
        COLUMNS=8, WIDTH=16)  # fmt: skip
    scores = query.astype("f4") @ key.astype("f4").T * 0.25
    if causal:
        scores = np.where(np.tril(np.ones((32, 32))) > 0, scores, -1e6)
    powers = np.exp(scores - scores.max(1, keepdims=True))
    expected = powers / powers.sum(1, keepdims=True) @ value.astype("f4")
    np.testing.assert_allclose(out, expected, atol=2e-3)


# ---- control


@jit
def halved_until(x, limit):
    steps = 0
    while x > limit:
        x = x // 2
        steps += 1
    return x, steps


@jit
def constant_size():
    return 8


@jit
def sign_of(x):
    if x < 0:
        return -1
    if x == 0:
        return 0
    return 1


@jit
def control(source, out, count, back: tl.constexpr):
    size: tl.constexpr
    size = constant_size()
    at = tl.arange(0, size)
    tl.store(out + at, tl.load(source + at) * 2)
    rest, steps = halved_until(tl.load(source), 3)
    tl.store(out + 8, rest)
    tl.store(out + 9, steps)
    first, second = 1, 1
    for place in range(count, 0, back):
        first, second = second, first + second
        if place % 2 == 0:
            continue_at = place
            tl.atomic_add(out + 10, continue_at)
    tl.store(out + 11, first)
    for place in tl.static_range(3):
        value = tl.load(source + place)
        tl.store(out + 12 + place, sign_of(value) if value != 7 else 70)
    if (total := tl.sum(tl.load(source + at))) > 0 and count > 2:
        flag = total
    else:
        flag = 0
    tl.store(out + 15, flag)


def test_control():
    source = np.array([100, -5, 0, 7, 1, 2, 3, 4], "i4")
    out = np.zeros(16, "i4")
    run(control, source, out, 9, back=-2)
    assert (out[:8] == source * 2).all()
    assert (out[8:10] == [3, 5]).all()
    assert out[10] == 0  # 9, 7, 5, 3, 1 are odd
    assert out[11] == 8
    assert (out[12:15] == [1, -1, 0]).all()
    assert out[15] == source.sum()


@aggregate
class Line:
    start: tl.tensor
    step: tl.tensor
    count: tl.constexpr

    @jit
    def values(self):
        return self.start + tl.arange(0, self.count) * self.step

    @jit
    def __add__(self, other):
        return Line(self.start + other, self.step, self.count)


@jit
def lines(out, start, times):
    line = Line(start, 2, 4)
    for _ in range(times):
        line = line + 10
    tl.store(out + tl.arange(0, 4), line.values())


def test_classes_of_programs():
    out = np.zeros(4, "i4")
    run(lines, out, 5, 3)
    assert (out == [35, 37, 39, 41]).all()


class Pair(NamedTuple):
    left: Any
    right: Any


@jit
def swap(pair):
    return Pair(pair.right, pair.left)


@jit
def tuples(out, pair, more):
    pair = swap(Pair(pair[0], pair[1]))
    tl.store(out, pair.left)
    tl.store(out + 1, pair.right)
    for place in tl.static_range(len(more)):
        tl.store(out + 2 + place, more[place])
    halves = [each // 2 for each in more]
    tl.store(out + 4, halves[0] + halves[1])


def test_tuples():
    out = np.zeros(5, "i4")
    run(tuples, out, (np.int32(4), np.int32(6)), (np.int32(10), np.int32(20)))
    assert (out == [6, 4, 10, 20, 15]).all()


@jit
def constants_become_numbers(out, count, step):
    if count > 2:
        step = step + 4
    tl.store(out, step)
    for _ in range(count):
        step = step * 2
    tl.store(out + 1, step)


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("is_constant", [False, True])
def test_a_constant_argument_may_change(count, is_constant):
    out = np.zeros(2, "i4")
    if is_constant:  # as launches have it of an integer 1
        run(constants_become_numbers, out, np.int32(count), step=1)
    else:
        run(constants_become_numbers, out, np.int32(count), np.int32(1))
    first = 5 if count > 2 else 1
    assert (out == [first, first * 2**count]).all()

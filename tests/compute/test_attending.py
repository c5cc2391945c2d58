# ruff: noqa: F821  # extents are names that annotations define
"""Attention, softmax and sorts of loops by libraries: NumPy's results, and those of the loops."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
from tests.compute.test_nests import product
from tests.devices import DEVICES

import gridlane
from gridlane import algorithms, cuda
from gridlane.compute import Tensor, attending, bf16, compute, f32, grid, i32
from gridlane.compute.kinds import Kind
from gridlane.core.errors import TypingError
from gridlane.tiles import kernels

RNG = np.random.default_rng(12)
LOW = -math.inf


@pytest.fixture
def calls(monkeypatch):
    """The libraries' functions that are called; those of small arrays included."""
    seen = []
    for module, name in ((kernels, "attention"), (kernels, "softmax"), (algorithms, "radix_sort")):
        whole = getattr(module, name)

        def counted(*args, _whole=whole, _name=name, **options):
            seen.append((_name, options))
            return _whole(*args, **options)

        monkeypatch.setattr(module, name, counted)
    for name in ("SMALLEST_ATTENTION", "SMALLEST_SOFTMAX", "SMALLEST_SORT"):
        monkeypatch.setattr(attending, name, 2)
    return seen


def attended(q, k, v, scale, causal=False):
    scores = scale * (q.astype(np.float64) @ np.swapaxes(k, -1, -2).astype(np.float64))
    if causal:
        scores[..., ~np.tri(scores.shape[-2], dtype=bool)] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v.astype(np.float64)


def batched(
    q: Tensor[f32, "B", "H", "M", "D"], k: Tensor[f32, "B", "H", "N", "D"],
    v: Tensor[f32, "B", "H", "N", "E"], out: Tensor[f32, "B", "H", "M", "E"], scale: float,
):  # fmt: skip
    for b, h, i in grid(B, H, M):
        most, total = LOW, 0.0
        for e in range(E):
            out[b, h, i, e] = 0.0
        for j in range(N):
            s = 0.0
            for d in range(D):
                s += k[b, h, j, d] * q[b, h, i, d]
            new = max(s * scale, most)
            old, p = math.exp(most - new), math.exp(scale * s - new)
            total = p + total * old
            for e in range(E):
                out[b, h, i, e] = v[b, h, j, e] * p + out[b, h, i, e] * old
            most = new
        for e in range(E):
            out[b, h, i, e] /= total


def causal(
    x: Tensor[bf16, "L", "H", "W"], y: Tensor[bf16, "L", "H", "W"], z: Tensor[bf16, "L", "H", "W"],
    r: Tensor[bf16, "L", "H", "W"],
):  # fmt: skip
    for g in range(H):
        for t in range(L):
            top = -3e38
            weight = 0.0
            for c in range(W):
                r[t, g, c] = 0.0
            for u in range(t + 1):
                dot = f32(0)
                for c in range(W):
                    dot += f32(x[t, g, c]) * f32(y[u, g, c])
                dot = dot * 0.25
                larger = max(top, dot)
                shrink = math.exp(top - larger)
                now = math.exp(dot - larger)
                for c in range(W):
                    r[t, g, c] = r[t, g, c] * shrink + now * z[u, g, c]
                weight = weight * shrink + now
                top = larger
            for c in range(W):
                r[t, g, c] = r[t, g, c] / weight


@pytest.mark.parametrize("device", DEVICES)
def test_attention(device, calls):
    q, k, v = (RNG.standard_normal((2, 3, n, 8)).astype(np.float32) for n in (11, 13, 13))
    wanted = attended(q, k, v, 0.3)
    for fastmath, count in ((False, 0), (True, 1)):
        out = np.zeros((2, 3, 11, 8), np.float32)
        nest = compute(kernel="attention", fastmath=fastmath)(batched)
        assert nest.kind is Kind.FLASH
        with gridlane.device(device):
            nest(q, k, v, out, 0.3)
        np.testing.assert_allclose(out, wanted, rtol=1e-4, atol=1e-5)
        assert len(calls) == count
    assert calls == [("attention", {"causal": False, "scale": 0.3})]


def test_causal_attention_of_halves_in_another_order_of_axes(calls):
    x, y, z = (RNG.standard_normal((17, 2, 16)).astype(ml_dtypes.bfloat16) for _ in range(3))
    r = np.zeros((17, 2, 16), ml_dtypes.bfloat16)
    compute(kernel="flash_attention", fastmath=True)(causal)(x, y, z, r)
    turned = [each.transpose(1, 0, 2) for each in (x, y, z)]
    wanted = attended(*turned, 0.25, True).transpose(1, 0, 2)
    assert calls == [("attention", {"causal": True, "scale": 0.25})]
    np.testing.assert_allclose(r.astype(np.float64), wanted, rtol=2e-2, atol=2e-2)


def test_attention_with_a_tensor_of_weights_is_loops(calls):
    @compute(kernel="attention", fastmath=True)
    def nest(
        q: Tensor[f32, "M", "D"], k: Tensor[f32, "N", "D"], v: Tensor[f32, "N", "E"],
        p: Tensor[f32, "M", "N"], out: Tensor[f32, "M", "E"],
    ):  # fmt: skip
        for i in range(M):
            most = LOW
            for j in range(N):
                s = 0.0
                for d in range(D):
                    s += q[i, d] * k[j, d]
                p[i, j] = s * 0.5
                most = max(most, p[i, j])
            total = 0.0
            for j in range(N):
                p[i, j] = math.exp(p[i, j] - most)
                total += p[i, j]
            for e in range(E):
                o = 0.0
                for j in range(N):
                    o += p[i, j] * v[j, e]
                out[i, e] = o / total

    q, k, v = (RNG.standard_normal((n, 4)).astype(np.float32) for n in (5, 6, 6))
    p, out = np.zeros((5, 6), np.float32), np.zeros((5, 4), np.float32)
    nest(q, k, v, p, out)
    np.testing.assert_allclose(out, attended(q, k, v, 0.5), rtol=1e-4)
    assert nest.kind is Kind.ATTENTION
    assert not calls
    with pytest.raises(TypingError, match="no step of attention in one pass"):
        compute(kernel="flash_attention")(nest.function)


def changed(function, *changes):
    """A function with other text."""
    import inspect
    import linecache

    text = inspect.getsource(function)
    for one, other in changes:
        assert one in text
        text = text.replace(one, other)
    file = f"<changed {hash(text)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope = dict(globals())
    exec(compile(text, file, "exec"), scope)
    return scope[function.__name__]


@pytest.mark.parametrize(
    ("one", "other", "line"),
    [
        ("new = max(s * scale, most)", "new = max(s, most)", "old, p = "),
        ("math.exp(most - new)", "math.exp(new - most)", "old, p = "),
        ("total = p + total * old", "total = p + total", "total = p + total"),
        ("v[b, h, j, e] * p", "v[b, h, j, e] * old", "out[b, h, i, e] = v"),
        ("k[b, h, j, d] * q", "k[b, h, d, j] * q", "s += k[b, h, d, j]"),
        ("for j in range(N):", "for j in range(1, N):", "s = 0.0"),
        ("out[b, h, i, e] /= total", "out[b, h, i, e] /= most", "out[b, h, i, e] /= most"),
        ("most, total = LOW, 0.0", "most, total = 0.0, 0.0", "most, total = 0.0"),
        ("            most = new\n", "            most = p\n", "most = p"),
    ],
)
def test_bodies_that_are_no_attention(one, other, line):
    other_body = changed(batched, (one, other))
    with pytest.raises(TypingError, match="kernel='attention': this is no step of") as caught:
        compute(kernel="attention")(other_body)
    assert line in str(caught.value)
    assert compute(fastmath=True)(other_body)._library[0] is None


# ---- softmax


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("fastmath", [False, True])
def test_softmax(fastmath, device, calls):
    @compute(fastmath=fastmath)
    def nest(x: Tensor[f32, "M", "N"], out: Tensor[f32, "N", "M"]):
        for i in range(M):
            most = x[i, 0]
            for j in range(N):
                most = max(most, x[i, j])
            total = 0.0
            for j in range(N):
                e = math.exp(x[i, j] - most)
                total += e
                out[j, i] = e
            for j in range(N):
                out[j, i] /= total

    x = RNG.standard_normal((9, 21)).astype(np.float32)
    out = np.zeros((21, 9), np.float32)
    with gridlane.device(device):
        nest(x, out)
    weights = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    np.testing.assert_allclose(out.T, weights / weights.sum(1, keepdims=True), rtol=1e-5)
    assert len(calls) == fastmath


# ---- sorts


def by_ranks(x: Tensor[i32, "N"], out: Tensor[i32, "N"]):
    for i in range(N):
        r = 0
        for j in range(N):
            if x[j] < x[i] or (j < i and x[i] == x[j]):
                r += 1
        out[r] = x[i]


def exchange(x: Tensor[i32, "B", "N"]):
    for row in range(B):
        for i in range(N):
            for j in range(i + 1, N):
                if x[row, i] < x[row, j]:
                    t = x[row, i]
                    x[row, i] = x[row, j]
                    x[row, j] = t


def bubbles(x: Tensor[i32, "N"]):
    for i in range(N):
        for j in range(N - 1 - i):
            if x[j] > x[j + 1]:
                t = x[j + 1]
                x[j + 1] = x[j]
                x[j] = t


def insertion(x: Tensor[i32, "N"]):
    for i in range(1, N):
        for j in range(i - 1, -1, -1):
            if x[j] > x[j + 1]:
                t = x[j]
                x[j] = x[j + 1]
                x[j + 1] = t


def transposition(x: Tensor[i32, "N"]):
    for t in range(N):
        for i in range(t % 2, N - 1, 2):
            if x[i + 1] < x[i]:
                kept = x[i]
                x[i] = x[i + 1]
                x[i + 1] = kept


@pytest.mark.parametrize("device", [*DEVICES, "interp"])
@pytest.mark.parametrize("body", [by_ranks, exchange, bubbles, insertion, transposition])
def test_sorts(body, device, calls):
    nest = compute(kernel="sort")(body)
    x = RNG.integers(-9, 10, (2, 33) if body is exchange else 33).astype(np.int32)
    wanted = np.sort(x)[..., ::-1] if body is exchange else np.sort(x)
    with gridlane.device(device):
        for run, count in ((nest.plain, 0), (nest, x.size // 33)):
            calls.clear()
            given, out = x.copy(), np.zeros_like(x)
            run(*((given, out) if body is by_ranks else (given,)))
            assert ((out if body is by_ranks else given) == wanted).all()
            assert len(calls) == count
    assert nest.kind is Kind.SORT


@pytest.mark.parametrize(
    ("body", "one", "other", "line"),
    [
        (by_ranks, "j < i and", "i < j and", "if x[j] < x[i]"),
        (by_ranks, "x[j] < x[i]", "x[j] <= x[i]", "if x[j] <= x[i]"),
        (by_ranks, "r += 1", "r += 0", "r += 0"),
        (by_ranks, "range(N):\n            if", "range(N - 1):\n            if", "if x[j]"),
        (exchange, "range(i + 1, N)", "range(i + 2, N)", "if x[row, i]"),
        (exchange, "x[row, j] = t", "x[row, i] = t", "x[row, i] = t"),
        (bubbles, "N - 1 - i", "N - 2 - i", "if x[j] >"),
        (transposition, "range(t % 2", "range(0", "if x[i + 1]"),
        (insertion, "x[j + 1] = t", "x[j + 1] = x[j]", "x[j + 1] = x[j]"),
    ],
)  # fmt: skip
def test_bodies_that_are_no_sort(body, one, other, line, calls):
    other_body = changed(body, (one, other))
    with pytest.raises(TypingError, match="kernel='sort': this is no step of a sort by") as caught:
        compute(kernel="sort")(other_body)
    assert line in str(caught.value)
    nest, results = compute(other_body), []
    first = np.sort(RNG.permutation(24).astype(np.int32).reshape((2, 12)))[:, ::-1]
    for run in (nest, nest.plain):
        x = first.copy() if body is exchange else first.ravel().copy()
        out = np.zeros_like(x)
        run(*((x, out) if body is by_ranks else (x,)))
        results.append((x, out))
    assert not calls
    assert all((a == b).all() for a, b in zip(*results, strict=True))


def test_floats_are_sorted_under_fastmath_alone(calls):
    body = changed(bubbles, ("i32", "f32"))
    for fastmath in (False, True):
        x = RNG.standard_normal(50).astype(np.float32)
        wanted = np.sort(x)
        compute(kernel="sort", fastmath=fastmath)(body)(x)
        assert (x == wanted).all()
        assert len(calls) == fastmath


def test_other_kinds_stay_what_they_are():
    assert compute(product.function).kind is Kind.MATMUL
    with pytest.raises(TypingError, match="kernel='sort'"):
        compute(kernel="sort")(product.function)


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_calls_like_one_before_have_no_checks(device, calls, monkeypatch):
    """Other elements, and another scale; other types of numbers and shapes are checked anew."""
    checked: list[int] = []
    nest = compute(kernel="attention", fastmath=True)(batched)
    own = nest._values
    monkeypatch.setattr(nest, "_values", lambda args: checked.append(1) or own(args))
    for number, (scale, keys) in enumerate([(0.3, 13), (0.5, 13), (0.3, 13), (1, 13), (0.3, 9)]):
        q, k, v = (RNG.standard_normal((2, 3, n, 8)).astype(np.float32) for n in (11, keys, keys))
        with gridlane.device(device):
            given = [cuda.to_device(each) for each in (q, k, v)]
            out = cuda.device_array((2, 3, 11, 8), np.float32)
            nest(*given, out, scale)
        np.testing.assert_allclose(
            out.copy_to_host(), attended(q, k, v, scale), rtol=1e-4, atol=1e-5
        )
        assert len(checked) == [1, 1, 1, 2, 3][number] and len(calls) == number + 1

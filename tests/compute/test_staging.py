# ruff: noqa: F821  # extents are names that annotations define
"""Arrays of which blocks have their part in shared memory: results, and what is refused."""

import re

import numpy as np
import pytest
from tests.compute.test_hand import run, summed
from tests.devices import DEVICES

import gridlane
from gridlane.compute import Tensor, compute, f32, f64, grid, i64
from gridlane.core.errors import ArgumentError, UnsupportedError

EVERY = ["interp", *DEVICES]


@compute
def cross(a: Tensor[f32, "M", "N"], b: Tensor[f32, "M", "N"]):
    for i in range(1, M - 1):
        for j in range(1, N - 1):
            b[i, j] = 0.25 * (a[i, j - 1] + a[i, j + 1]) + (a[i - 1, j] + a[i + 1, j]) * a[i, j]


@compute
def window(x: Tensor[f32, "N"], w: Tensor[f32, 4], out: Tensor[f32, "N"]):
    for i in range(3, N):
        s = 0.0
        for r in range(4):
            s += w[r] * x[i - r]
        out[i] = s


@compute
def every_other(x: Tensor[f32, "N"], out: Tensor[f32, "M"]):
    for i in range(1, M, 2):
        for r in range(2):
            out[i] += x[2 * i + r]


def whole(rng, shape):
    """Whole numbers, so that no rounding depends on which operations are one."""
    return rng.integers(-9, 10, shape).astype(np.float32)


def checked(nest, scheduled, values):
    """Run a schedule and the plain loops; their arrays have the same bits."""
    one, other = [each.copy() for each in values], [each.copy() for each in values]
    scheduled(*one)
    nest.plain(*other)
    for mine, wanted, before in zip(one, other, values, strict=True):
        assert mine.tobytes() == wanted.tobytes()
    assert any((mine != before).any() for mine, before in zip(one, values, strict=True))


def texts(scheduled) -> str:
    return "\n".join(each.text for each in scheduled.emitted.kernels)


PRODUCTS = [
    (("k/8", "i", "j", "k"), {"threads": ("j", "i"), "workgroup": (16, 4)}),
    (("k/4", "i", "j", "k"), {"threads": ("j",), "workgroup": (40,)}),
    (("k/8", "i/8", "j/4", "i", "j", "k"), {"threads": ("j/4", "i/8"), "workgroup": (4, 2)}),
    (("k", "i", "j"), {"threads": ("j", "i"), "vector": 4, "workgroup": (5, 9)}),
]


@pytest.mark.parametrize("device", EVERY)
@pytest.mark.parametrize(("order", "words"), PRODUCTS)
def test_products(order, words, device):
    scheduled = summed.schedule(*order, **words, stage=("a", "b"))
    with gridlane.device(device):
        for shape in ((9, 13, 21), (1, 1, 1)):
            out, wanted = run(scheduled, shape)
            assert (out == run(summed.plain, shape)[0]).all()
            assert np.allclose(out, wanted, rtol=1e-4)
        text = texts(scheduled)
        assert "cuda.shared.array" in text and "cuda.syncthreads()" in text


@pytest.mark.parametrize("device", EVERY)
@pytest.mark.parametrize(
    ("order", "words"),
    [
        (("i", "j"), {"threads": ("j", "i"), "workgroup": (16, 8)}),
        (("i", "j"), {"threads": ("i", "j"), "workgroup": (32, 3)}),
        (("i", "j"), {"threads": ("j",), "workgroup": (64,)}),
        (("i/4", "j/4", "i", "j"), {"threads": ("j/4", "i/4"), "workgroup": (3, 5)}),
        (("i", "j"), {"threads": ("j", "i"), "vector": 3, "workgroup": (8, 8)}),
    ],
)
def test_stencils(order, words, device):
    scheduled = cross.schedule(*order, **words, stage=("a",))
    rng = np.random.default_rng(5)
    with gridlane.device(device):
        for shape in ((13, 37), (3, 3), (4, 90)):
            checked(cross, scheduled, [whole(rng, shape), np.zeros(shape, np.float32)])
    statement = next(line for line in texts(scheduled).splitlines() if " b[" in line)
    assert not re.search(r"\ba\[", statement)


@pytest.mark.parametrize("device", EVERY)
def test_loops_of_constant_bounds(device):
    rng = np.random.default_rng(6)
    one = window.schedule("i", "r", threads=("i",), workgroup=(48,), stage=("x", "w"))
    two = every_other.schedule("i", "r", threads=("i",), workgroup=(16,), stage=("x",))
    with gridlane.device(device):
        for n in (4, 48, 97):
            given = [whole(rng, n), whole(rng, 4), np.zeros(n, np.float32)]
            checked(window, one, given)
            checked(every_other, two, [whole(rng, 2 * n), np.zeros(n, np.float32)])


def refused(nest, kind, words, *order, **options):
    with pytest.raises(kind, match=words) as caught:
        nest.schedule(*order, **options)
    return str(caught.value)


def test_what_is_refused():
    wide = {"threads": ("j", "i"), "workgroup": (16, 16)}
    text = refused(summed, UnsupportedError, "out is staged in shared memory, and this writes it",
                   "i", "j", "k", **wide, stage=("out",))  # fmt: skip
    assert "out[i, j] = 0.0" in text
    text = refused(summed, UnsupportedError, 'k has no constant number.*"k/16"',
                   "i", "j", "k", **wide, stage=("a",))  # fmt: skip
    assert "a[i, k]" in text
    refused(summed, ArgumentError, "stage has 'c'; tensors are a, b, out",
            "i", "j", "k", **wide, stage=("c",))  # fmt: skip
    refused(summed, ArgumentError, "give a workgroup",
            "i", "j", "k", threads=("j",), stage=("a",))  # fmt: skip
    refused(summed, ArgumentError, r"a\[16, 1024\] in shared memory, 65536 bytes of at most 32768",
            "k/1024", "i", "j", "k", **wide, stage=("a",))  # fmt: skip

    @compute
    def gathered(x: Tensor[f64, "N"], at: Tensor[i64, "N"], out: Tensor[f64, "N"]):
        for i in range(N):
            out[i] = x[at[i]] + x[i]

    @compute
    def turned(a: Tensor[f64, "N", "N"], out: Tensor[f64, "N", "N"]):
        for i, j in grid(N, N):
            out[i, j] = a[i, j] + a[j, i]

    lanes = {"threads": ("i",), "workgroup": (32,)}
    refused(gathered, UnsupportedError, "x is staged.*no sum of loops", "i", **lanes, stage=("x",))
    refused(turned, UnsupportedError, "its accesses have different loops",
            "i", "j", **wide, stage=("a",))  # fmt: skip


def test_an_array_that_is_the_written_one():
    @compute
    def copied(x: Tensor[f64, "N"], out: Tensor[f64, "N"]):
        for i in range(N):
            out[i] = x[i] * 2.0

    scheduled = copied.schedule("i", threads=("i",), workgroup=(32,), stage=("x",))
    x, out = np.arange(70.0), np.zeros(70)
    with gridlane.device("cpu"):
        scheduled(x, out)
        assert (out == 2 * x).all()
        with pytest.raises(UnsupportedError, match="x is staged in shared memory, and this writes"):
            scheduled(x, x)
        assert (x == np.arange(70.0)).all()


def test_explain_shows_the_parts():
    scheduled = cross.schedule("i", "j", threads=("j", "i"), workgroup=(16, 8), stage=("a",))
    with gridlane.device("interp"):
        assert "cuda.shared.array((10, 18,), _f32)" in scheduled.explain()

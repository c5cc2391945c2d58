# ruff: noqa: F821  # extents are names that annotations define
"""Convolutions by the tile library: those of the loops, and of SciPy."""

import ml_dtypes
import numpy as np
import pytest
from scipy.signal import correlate
from tests.devices import DEVICES

import gridlane
from gridlane.compute import Hints, Tensor, bf16, compute, f32, grid

RNG = np.random.default_rng(7)


@pytest.fixture
def convolutions(monkeypatch):
    """The options of the library's convolutions."""
    from gridlane.tiles import kernels

    seen, whole = [], kernels.convolution

    def counted(x, w, bias, out, **options):
        seen.append((tuple(x.shape), tuple(w.shape), options))
        return whole(x, w, bias, out, **options)

    monkeypatch.setattr(kernels, "convolution", counted)
    return seen


@compute(kernel="conv2d")
def valid(
    x: Tensor[f32, "N", "C", "H", "W"],
    w: Tensor[f32, "F", "C", 3, 3],
    out: Tensor[f32, "N", "F", "OH", "OW"],
):
    for n, f, i, j in grid(N, F, OH, OW):
        s = 0.0
        for c, r, q in grid(C, 3, 3):
            s += x[n, c, i + r, j + q] * w[f, c, r, q]
        out[n, f, i, j] = s


def arrays(x, w, out):
    made = [RNG.standard_normal(shape).astype(np.float32) for shape in (x, w)]
    return *made, np.zeros(out, np.float32)


def reference(x, w, stride=1, padding=0, dilation=1):
    """SciPy's correlation of each image and filter in float64."""
    n, f = x.shape[0], w.shape[0]
    wide = np.zeros((*w.shape[:2], *((k - 1) * dilation + 1 for k in w.shape[2:])))
    wide[:, :, ::dilation, ::dilation] = w
    x = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    whole = [[correlate(x[a], wide[b], "valid")[0] for b in range(f)] for a in range(n)]
    return np.array(whole)[:, :, ::stride, ::stride]


@pytest.mark.parametrize("device", DEVICES)
def test_the_order_is_that_of_the_loops(device, convolutions):
    x, w, out = arrays((2, 5, 12, 14), (6, 5, 3, 3), (2, 6, 10, 12))
    with gridlane.device(device):
        valid(x, w, out)
    assert convolutions == [((2, 5, 12, 14), (6, 5, 3, 3), {
        "stride": (1, 1), "padding": (0, 0), "dilation": (1, 1), "out_dtype": "float32",
        "precision": "ieee",
    })]  # fmt: skip
    np.testing.assert_allclose(out, reference(x, w), rtol=0, atol=1e-4)
    if device == "cpu":
        plain = np.zeros_like(out)
        valid.plain(x, w, plain)
        assert (out == plain).all()


def test_strides_dilations_and_padding_by_bounds(convolutions):
    def body(
        x: Tensor[f32, "N", "H", "W", "C"],
        w: Tensor[f32, 3, 3, "C", "F"],
        out: Tensor[f32, "N", "OH", "OW", "F"],
    ):
        for n, i, j, f in grid(N, OH, OW, F):
            s = 0.0
            for c, r, q in grid(C, 3, 3):
                if 0 <= 2 * i + 2 * r - 2 < H and 0 <= 2 * j + 2 * q - 2 < W:
                    s += x[n, 2 * i + 2 * r - 2, 2 * j + 2 * q - 2, c] * w[r, q, c, f]
            out[n, i, j, f] = s

    x, w, out = arrays((2, 13, 14, 5), (3, 3, 5, 8), (2, 7, 7, 8))
    first = x.transpose(0, 3, 1, 2), w.transpose(3, 2, 0, 1)
    wanted = reference(*first, 2, 2, 2).transpose(0, 2, 3, 1)
    for fastmath in (False, True):
        nest = compute(kernel="conv2d", fastmath=fastmath)(body)
        nest(x, w, out)
        np.testing.assert_allclose(out, wanted, rtol=0, atol=1e-4)
        assert len(convolutions) == fastmath
    assert convolutions[0][2]["stride"] == convolutions[0][2]["dilation"] == (2, 2)
    assert convolutions[0][2]["padding"] == (2, 2)
    assert convolutions[0][2]["precision"] == "ieee"
    compute(kernel="conv2d", hints=Hints(tensor_cores=True))(body)(x, w, out)
    assert convolutions[1][2]["precision"] == "tf32"


@pytest.mark.parametrize("is_free", [False, True])
def test_halves_and_what_reads_the_sums(is_free, convolutions):
    @compute(kernel="conv2d", hints=Hints(tensor_cores=is_free))
    def nest(
        x: Tensor[bf16, "N", "C", "H", "W"], w: Tensor[bf16, "F", "C", 3, 3],
        bias: Tensor[f32, "F"], out: Tensor[bf16, "N", "F", "OH", "OW"],
    ):  # fmt: skip
        for n, f, i, j in grid(N, F, OH, OW):
            s = f32(0)
            for c, r, q in grid(C, 3, 3):
                s += f32(x[n, c, i + r, j + q]) * f32(w[f, c, r, q])
            out[n, f, i, j] = max(s + bias[f], 0.0)

    x, w, out = arrays((1, 8, 12, 12), (9, 8, 3, 3), (1, 9, 10, 10))
    x, w, out = (each.astype(ml_dtypes.bfloat16) for each in (x, w, out))
    bias = RNG.standard_normal(9).astype(np.float32)
    nest(x, w, bias, out)
    wanted = np.maximum(reference(x.astype(float), w.astype(float)) + bias[:, None, None], 0)
    np.testing.assert_allclose(out.astype(np.float32), wanted, rtol=1e-2, atol=1e-4)
    assert len(convolutions) == is_free
    if is_free:
        assert convolutions[0][2]["out_dtype"] == "float32"


@pytest.mark.parametrize("change", ["turned kernel", "part", "result", "order", "backward"])
def test_what_stays_loops(change, convolutions):
    """Each nest differs from the library's convolution, and its results are those of the loops."""
    if change == "turned kernel":

        def body(
            x: Tensor[f32, "N", "C", "H", "W"], w: Tensor[f32, "F", "C", 3, 3],
            out: Tensor[f32, "N", "F", "OH", "OW"],
        ):  # fmt: skip
            for n, f, i, j in grid(N, F, OH, OW):
                s = 0.0
                for c, r, q in grid(C, 3, 3):
                    s += x[n, c, i + r, j + q] * w[f, c, 2 - r, q]
                out[n, f, i, j] = s
    elif change == "part":

        def body(
            x: Tensor[f32, "N", "C", "H", "W"], w: Tensor[f32, "F", "C", 3, 3],
            out: Tensor[f32, "N", "F", "OH", "OW"],
        ):  # fmt: skip
            for n, f, i, j in grid(N, F, OH, OW):
                s = 0.0
                for c, r, q in grid(C, 3, 2):
                    s += x[n, c, i + r, j + q] * w[f, c, r, q]
                out[n, f, i, j] = s
    elif change == "order":

        def body(
            x: Tensor[f32, "N", "C", "H", "W"], w: Tensor[f32, "F", "C", 3, 3],
            out: Tensor[f32, "N", "F", "OH", "OW"],
        ):  # fmt: skip
            for n, f, i, j in grid(N, F, OH, OW):
                s = 0.0
                for r, q, c in grid(3, 3, C):
                    s += x[n, c, i + r, j + q] * w[f, c, r, q]
                out[n, f, i, j] = s
    else:
        body = valid.function
    less = 1 if change == "result" else 0
    x, w, out = arrays((2, 6, 12, 12), (6, 6, 3, 3), (2, 6, 10, 10 - less))
    nest, results = compute(body), []
    for run in (nest, nest.plain):
        target = np.zeros_like(out)
        run(x, w, target[::-1] if change == "backward" else target)
        results.append(target)
    assert not convolutions
    assert (results[0] == results[1]).all() and results[0].any()

"""Kernels over rows: softmax, normalisations, cross entropy."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.tiles.kernels import exact

import gridlane
from gridlane import cuda
from gridlane.backends import backend, backends
from gridlane.core.errors import ArgumentError
from gridlane.launch import current
from gridlane.launch.devices import get_device
from gridlane.tiles import kernels
from gridlane.tiles.kernels import blocks

SHADERS = [each for each in DEVICES if each not in ("cpu", "cuda")]

SIZES = [*[(each, 17) for each in exact.FLOATS], *[(np.float32, each) for each in (1, 1000)]]


@pytest.fixture
def short_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles of 16 elements, so that rows of more take the loops."""

    def short(columns: int, size: int) -> int:
        return min(16, 1 << max(columns - 1, 0).bit_length())

    for module in ("norms", "losses"):
        monkeypatch.setattr(f"gridlane.tiles.kernels.{module}.row_block", short)
    monkeypatch.setattr(
        "gridlane.tiles.kernels.norms.held_row", lambda *each: {"BLOCK": short(*each)}
    )


@pytest.mark.parametrize(("dtype", "columns"), SIZES)
def test_softmax(device, rng, dtype, columns):
    x = (4 * rng.standard_normal((3, columns))).astype(dtype)
    expected = exact.softmax(x)
    y = kernels.softmax(x)
    assert y.dtype == x.dtype
    exact.close(y, expected)
    exact.close(kernels.log_softmax(x), np.log(expected))


def test_softmax_of_long_rows(device, rng, short_rows):
    x = (4 * rng.standard_normal((3, 129))).astype(np.float32)
    x[0, :40] = -np.inf
    x[1] = -1e30
    expected = exact.softmax(x)
    exact.close(kernels.softmax(x), expected)
    exact.close(kernels.log_softmax(x[1:]), np.log(expected[1:]))
    logs = kernels.log_softmax(x)
    assert (logs[0, :40] == -np.inf).all()
    x[:] = np.random.default_rng(2).standard_normal(x.shape)
    x[0], x[1, 5], x[2, 70] = -np.inf, np.nan, np.inf
    assert np.isnan(kernels.softmax(x)).all()


def test_softmax_along_axes_and_strides(device, rng):
    x = rng.standard_normal((2, 17, 6)).astype(np.float32)
    for axis in (0, 1, -1):
        exact.close(kernels.softmax(x, axis=axis), exact.softmax(x, axis))
    turned = x.transpose(2, 0, 1)[::2]
    exact.close(kernels.softmax(turned, axis=1), exact.softmax(turned, 1))
    backwards = x[:, ::-1]
    exact.close(kernels.softmax(backwards), exact.softmax(backwards))
    repeated = np.broadcast_to(x[:, :1], x.shape)
    exact.close(kernels.softmax(repeated, axis=1), exact.softmax(repeated, 1))
    assert kernels.softmax(x, x) is x
    assert kernels.softmax(np.zeros((0, 3), np.float32)).shape == (0, 3)
    assert kernels.softmax(np.zeros((3, 0), np.float32)).shape == (3, 0)


@pytest.mark.parametrize("dtype", [np.float64, np.float16])
def test_gradients_of_softmax(device, rng, dtype):
    x, grad = rng.standard_normal((2, 2, 17)).astype(dtype)
    for function, backward in (
        (lambda each: exact.softmax(each), kernels.softmax_backward),
        (lambda each: np.log(exact.softmax(each)), kernels.log_softmax_backward),
    ):
        y = function(x).astype(dtype)
        expected = exact.differences(function, x, grad)
        got = backward(grad, y)
        tolerance = 1e-8 if dtype is np.float64 else 1e-2
        np.testing.assert_allclose(exact.wide(got), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("dtype", "columns"), SIZES)
def test_normalisations(device, rng, dtype, columns):
    x = (rng.standard_normal((3, columns)) + 2).astype(dtype)
    weight, bias = rng.standard_normal((2, columns)).astype(dtype)
    expected = exact.layer_norm(x, weight, bias)
    exact.close(kernels.layer_norm(x, weight, bias), expected, 64)
    exact.close(kernels.rms_norm(x, weight), exact.rms_norm(x, weight), 64)


def test_normalisations_of_long_rows_with_a_large_mean(device, rng, short_rows):
    x = (rng.standard_normal((2, 3, 127)) + 1000).astype(np.float32)[:, ::2]
    weight = rng.standard_normal(254).astype(np.float64)[::2]
    got = kernels.layer_norm(x, weight)
    np.testing.assert_allclose(got, exact.layer_norm(x, weight), rtol=1e-3, atol=1e-3)
    exact.close(kernels.rms_norm(x), exact.rms_norm(x), 64)
    exact.close(kernels.layer_norm(x[:, :, :1]), np.zeros((2, 2, 1)))
    assert kernels.layer_norm(x[:0]).shape == (0, 2, 127)


@pytest.mark.parametrize("short", [False, True])
def test_gradients_of_normalisations(device, rng, short, request):
    if short:
        request.getfixturevalue("short_rows")
    x, grad = rng.standard_normal((2, 11, 19))
    weight = rng.standard_normal(19)
    dx, dweight, dbias = kernels.layer_norm_backward(grad, x, weight)
    for got, function, where in (
        (dx, lambda each: exact.layer_norm(each, weight), x),
        (dweight, lambda each: exact.layer_norm(x, each), weight),
        (dbias, lambda each: exact.layer_norm(x, weight, each), np.zeros(19)),
    ):
        expected = exact.differences(function, where, grad)
        np.testing.assert_allclose(got, expected, rtol=1e-7, atol=1e-7)
    dx, dweight = kernels.rms_norm_backward(grad, x, weight)
    expected = exact.differences(lambda each: exact.rms_norm(each, weight), x, grad)
    np.testing.assert_allclose(dx, expected, rtol=1e-7, atol=1e-7)
    expected = exact.differences(lambda each: exact.rms_norm(x, each), weight, grad)
    np.testing.assert_allclose(dweight, expected, rtol=1e-7, atol=1e-7)
    dx, dweight, dbias = kernels.layer_norm_backward(grad, x)
    assert dweight is None
    np.testing.assert_allclose(dbias, grad.sum(0))
    expected = exact.differences(exact.layer_norm, x, grad)
    np.testing.assert_allclose(dx, expected, rtol=1e-7, atol=1e-7)


def test_gradients_of_no_rows_are_0(device):
    none = np.zeros((0, 5), np.float32)
    dx, dweight, dbias = kernels.layer_norm_backward(none, none, np.ones(5, np.float32))
    assert dx.shape == (0, 5)
    assert (dweight == 0).all() and (dbias == 0).all()


@pytest.mark.parametrize(("dtype", "classes"), SIZES)
def test_cross_entropy(device, rng, dtype, classes):
    logits = (3 * rng.standard_normal((2, 3, classes))).astype(dtype)
    targets = rng.integers(0, classes, (2, 3))
    targets[0, 1] = -100
    smoothing = 0.1 if dtype == np.float32 else 0.0
    expected = exact.cross_entropy(logits, targets, smoothing=smoothing)
    options = {"label_smoothing": smoothing}
    losses = kernels.cross_entropy(logits, targets, reduction="none", **options)
    exact.close(losses, expected, 32)
    total = kernels.cross_entropy(logits, targets, reduction="sum", **options)
    assert total.shape == ()
    exact.close(total, expected.sum(), 32)
    exact.close(kernels.cross_entropy(logits, targets, **options), expected.sum() / 5, 32)


@pytest.mark.parametrize("short", [False, True])
def test_gradients_of_cross_entropy(device, rng, short, request):
    if short:
        request.getfixturevalue("short_rows")
    logits = rng.standard_normal((5, 19))
    targets = rng.integers(0, 19, 5).astype(np.int32)
    targets[3] = 4
    options = {"ignore_index": 4, "label_smoothing": 0.25}
    count = (targets != 4).sum()

    def losses(each):
        return exact.cross_entropy(each, targets, 4, 0.25)

    exact.close(kernels.cross_entropy(logits, targets, **options), losses(logits).sum() / count)
    grads = rng.standard_normal(5)
    expected = exact.differences(losses, logits, grads)
    got = kernels.cross_entropy_backward(grads, logits, targets, reduction="none", **options)
    np.testing.assert_allclose(got, expected, rtol=1e-7, atol=1e-8)
    expected = exact.differences(losses, logits, np.ones(5))
    got = kernels.cross_entropy_backward(3.0, logits, targets, reduction="sum", **options)
    np.testing.assert_allclose(got, 3 * expected, rtol=1e-7, atol=1e-8)
    grad = np.array(0.5, np.float32)
    got = kernels.cross_entropy_backward(grad, logits, targets, logits, **options)
    assert got is logits
    np.testing.assert_allclose(got, expected / 2 / count, rtol=1e-7, atol=1e-8)


def test_gradients_of_cross_entropy_are_of_float64(device, rng):
    logits, targets = rng.standard_normal((4, 19)), rng.integers(0, 19, 4)
    got = kernels.cross_entropy_backward(1.0, logits, targets, label_smoothing=0.1)
    hits = np.eye(19)[targets]
    expected = (exact.softmax(logits) - 0.9 * hits - 0.1 / 19) / 4
    np.testing.assert_allclose(got, expected, rtol=1e-14, atol=1e-15)


def test_targets_that_are_no_classes(device):
    logits = np.zeros((3, 4), np.float32)
    targets = np.array([4, -1, 2**32], np.int64)
    assert np.isnan(kernels.cross_entropy(logits, targets, reduction="none")).all()
    assert np.isnan(kernels.cross_entropy_backward(1.0, logits, targets)).all()
    ignored = np.full(3, -100)
    assert np.isnan(kernels.cross_entropy(logits, ignored))
    assert kernels.cross_entropy(logits, ignored, reduction="sum") == 0
    assert kernels.cross_entropy(logits[:0], targets[:0], reduction="sum") == 0
    assert np.isnan(kernels.cross_entropy(logits[:0], targets[:0]))


def test_rows_further_than_indices_of_32_bits_reach():
    memory = np.zeros(2**31 + 64, np.float16)
    x = np.lib.stride_tricks.as_strided(memory, (3, 2), (2**31, 2))
    x[:] = [[1, 2], [3, 3], [2, 4]]
    with gridlane.device("cpu"):
        exact.close(kernels.softmax(x), exact.softmax(x))
        exact.close(kernels.rms_norm(x), exact.rms_norm(x))
        assert kernels.softmax(x, x) is x
    exact.close(x[2], exact.softmax(np.array([2.0, 4.0])))


@pytest.mark.parametrize("columns, block, warps", [
    (1, 1, 1), (1000, 1024, 1), (1025, 2048, 2), (8192, 8192, 8), (9000, 16384, 16),
    (16385, 4096, 4),
])  # fmt: skip
def test_rows_that_warps_hold(monkeypatch, rng, columns, block, warps):
    """NVIDIA GPUs read a row once that fits into registers; others' rows are those of row_block."""
    x = rng.standard_normal((2, columns)).astype(np.float32)
    monkeypatch.setattr(blocks, "record", lambda: backend("cuda"))
    assert blocks.held_row(columns, 4) == {"BLOCK": block, "num_warps": warps}
    current.choose(get_device("interp"))
    exact.close(kernels.softmax(x), exact.softmax(x))
    y = x - x.mean(1, keepdims=True, dtype=np.float64)
    want = y / np.sqrt((y * y).mean(1, keepdims=True) + 1e-5)
    exact.close(kernels.layer_norm(x), want)


@pytest.mark.parametrize("record", backends(), ids=lambda each: each.name)
def test_tiles_have_powers_of_two(monkeypatch, record):
    monkeypatch.setattr(blocks, "record", lambda: record)
    for columns, size in ((1, 4), (1000, 8), (20000, 4), (10**6, 4)):
        block = blocks.row_block(columns, size)
        assert block.bit_count() == 1
        assert record.on_host or block * size <= record.program_shared
    for m, n, k in ((1, 1, 1), (1000, 1, 3), (4096, 4096, 4096)):
        for dtype in ("float32", "float64", "int8"):
            tile = blocks.product_blocks(m, n, k, dtype)
            assert all(each.bit_count() == 1 for each in tile)
        for width in (64, 256):
            tile = blocks.attention_blocks(m, n, width, "float16")
            assert all(each.bit_count() == 1 for each in tile)


def test_errors_name_the_argument():
    x = np.zeros((2, 3), np.float32)
    for call, text in (
        (lambda: kernels.softmax(x.astype(int)), "x is int64"),
        (lambda: kernels.softmax([1.0]), "x is a list"),
        (lambda: kernels.softmax(x, axis=2), "no axis 2"),
        (lambda: kernels.softmax(x, np.zeros((3, 2), np.float32)), "out is float32 of shape"),
        (lambda: kernels.softmax(x, np.zeros((2, 3))), "out is float64 .* must be of float32"),
        (lambda: kernels.softmax(x, x[:, ::-1]), "steps must be positive"),
        (lambda: kernels.layer_norm(x, x[0, :2]), "weight .* shape must be"),
        (lambda: kernels.layer_norm(x[0, 0]), "is a float32|must have a dimension"),
        (lambda: kernels.rms_norm_backward(x[:1], x), "grad .* shape must be"),
        (lambda: kernels.softmax_backward(x.astype(float), x), "they must have one dtype"),
        (lambda: kernels.cross_entropy(x, np.zeros(3, int)), "targets .* shape must be"),
        (lambda: kernels.cross_entropy(x, np.zeros(2)), "targets is float64"),
        (lambda: kernels.cross_entropy(x, np.zeros(2, int), reduction="all"), "reduction is 'all'"),
        (lambda: kernels.cross_entropy(x, np.zeros(2, int), label_smoothing=2), "from 0 to 1"),
        (lambda: kernels.cross_entropy(x[:, :0], np.zeros(2, int)), "must have classes"),
        (lambda: kernels.softmax(x.astype(">f4")), "in the other order"),
    ):
        with pytest.raises(ArgumentError, match=text):
            call()


@pytest.mark.parametrize("name", SHADERS)
def test_rows_on_shaders(rng, name):
    x = rng.standard_normal((3, 70)).astype(np.float32)
    targets = np.array([5, -100, 69], np.int32)
    with gridlane.device(name):
        exact.close(kernels.softmax(x), exact.softmax(x), 64)
        exact.close(kernels.layer_norm(x), exact.layer_norm(x), 64)
        got = kernels.cross_entropy(x, targets)
        exact.close(got, exact.cross_entropy(x, targets).sum() / 2, 64)


def test_arrays_of_the_device(device, rng):
    x = rng.standard_normal((4, 17)).astype(np.float32)
    there = cuda.to_device(x)
    y = kernels.softmax(there)
    assert isinstance(y, type(there))
    exact.close(y.copy_to_host(), exact.softmax(x))
    exact.close(kernels.softmax(there[::2, 1:]).copy_to_host(), exact.softmax(x[::2, 1:]))
    out = cuda.device_array((4, 17), np.float32)
    assert kernels.layer_norm(there, out=out) is out
    exact.close(out.copy_to_host(), exact.layer_norm(x), 64)
    loss = kernels.cross_entropy(there, np.array([1, 2, 3, 4]))
    exact.close(loss.copy_to_host(), exact.cross_entropy(x, np.array([1, 2, 3, 4])).mean(), 64)

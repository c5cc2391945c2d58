"""Norms of batches, instances and groups of channels, and the gradients of the norm of a batch."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.tiles.kernels import exact

import gridlane
from gridlane import cuda
from gridlane.core.errors import ArgumentError
from gridlane.tiles import kernels

SHADERS = [each for each in DEVICES if each not in ("cpu", "cuda")]
SHAPES = [(5, 3), (4, 6, 17), (2, 4, 5, 7), (1, 2, 70)]
CASES = [*[(each, SHAPES[1]) for each in exact.FLOATS], *[(np.float32, each) for each in SHAPES]]


@pytest.fixture(params=["whole", "parts"])
def tiles(request, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets that are tiles as a whole, and such as are divided among programs."""
    if request.param == "parts":
        name = "gridlane.tiles.kernels.channel_norms"
        monkeypatch.setattr(f"{name}.held_row", lambda *each: {"BLOCK": 8})
        monkeypatch.setattr(f"{name}.multiprocessors", lambda: 13)


def normalised(x, axes, eps: float = 1e-5):
    """Elements, and the means and variances of sets of them."""
    x = exact.wide(x)
    mean = x.mean(axes, keepdims=True)
    variance = ((x - mean) ** 2).mean(axes, keepdims=True)
    return (x - mean) / np.sqrt(variance + eps), mean, variance


def of_channels(numbers, x):
    return exact.wide(numbers).reshape(1, -1, *[1] * (x.ndim - 2))


@pytest.mark.parametrize(("dtype", "shape"), CASES)
def test_batch_norm(device, tiles, rng, dtype, shape):
    x = (3 + 2 * rng.standard_normal(shape)).astype(dtype)
    w, b = rng.standard_normal((2, shape[1])).astype(np.float32)
    axes = (0, *range(2, len(shape)))
    wanted, mean, variance = normalised(x, axes)
    got, *known = kernels.batch_norm(x, w, b, training=True, return_statistics=True)
    assert got.dtype == x.dtype
    exact.close(got, wanted * of_channels(w, x) + of_channels(b, x), 64)
    for each, expected in zip(known, (mean, variance), strict=True):
        exact.close(each, expected.ravel(), 32)
    sums = np.float64 if dtype is np.float64 else np.float32
    by = rng.uniform(0.5, 2, (2, shape[1])).astype(sums)
    wanted = (exact.wide(x) - of_channels(by[0], x)) / np.sqrt(of_channels(by[1], x) + 1e-5)
    got = kernels.batch_norm(x, running_mean=by[0], running_variance=by[1])
    exact.close(got, wanted, 32)


def test_means_that_are_large(device, tiles, rng):
    x = (1e4 + rng.standard_normal((2, 3, 130))).astype(np.float32)
    got = kernels.batch_norm(x, training=True)
    assert np.abs(got - normalised(x, (0, 2))[0]).max() < 2e-3  # 1e4 has steps of 1e-3
    x[0, 0, 0] = np.nan
    got = kernels.batch_norm(x, training=True)
    assert np.isnan(got[:, 0]).all() and np.isfinite(got[:, 1:]).all()


@pytest.mark.parametrize("of_batch", [True, False])
def test_running_statistics(device, tiles, rng, of_batch):
    x = rng.standard_normal((4, 3, 9)).astype(np.float32)
    mean, variance = np.zeros((3, 2), np.float32)[:, 0], np.ones(3, np.float32)
    words = {"running_mean": mean, "running_variance": variance, "momentum": 0.25}
    if of_batch:
        kernels.batch_norm(x, training=True, **words)
        means, samples = x.mean((0, 2)), x.var((0, 2), ddof=1)
    else:
        exact.close(kernels.instance_norm(x, **words), normalised(x, (2,))[0], 32)
        means, samples = x.mean(2).mean(0), x.var(2, ddof=1).mean(0)
    np.testing.assert_allclose(mean, 0.25 * means, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(variance, 0.75 + 0.25 * samples, rtol=1e-5)
    before = mean.copy(), variance.copy()
    known = kernels.instance_norm(x, use_input_statistics=False, **words)
    wanted = (x - of_channels(mean, x)) / np.sqrt(of_channels(variance, x) + 1e-5)
    exact.close(known, wanted, 32)
    assert (mean == before[0]).all() and (variance == before[1]).all()


@pytest.mark.parametrize("shape", SHAPES[1:])
def test_instances_and_groups(device, tiles, rng, shape):
    x = rng.standard_normal(shape).astype(np.float32)
    w, b = rng.standard_normal((2, shape[1])).astype(np.float32)
    wanted = normalised(x, tuple(range(2, len(shape))))[0]
    exact.close(kernels.instance_norm(x, w, b), wanted * of_channels(w, x) + of_channels(b, x), 64)
    parts = x.reshape(shape[0], 2, -1)
    wanted = normalised(parts, (2,))[0].reshape(shape)
    exact.close(kernels.group_norm(x, 2, w, b), wanted * of_channels(w, x) + of_channels(b, x), 64)


def test_strides(device, tiles, rng):
    x = rng.standard_normal((2, 5, 6, 3)).astype(np.float32)
    last = x.transpose(0, 3, 1, 2)  # with the channels last
    wanted = normalised(last, (0, 2, 3))[0]
    exact.close(kernels.batch_norm(last, training=True), wanted, 32)
    exact.close(kernels.batch_norm(last[:, :, ::-1], training=True), wanted[:, :, ::-1], 32)
    out = np.zeros_like(x).transpose(0, 3, 1, 2)
    assert kernels.batch_norm(last, out=out, training=True) is out
    exact.close(out, wanted, 32)
    plain = np.ascontiguousarray(last)
    assert kernels.batch_norm(plain, out=plain, training=True) is plain
    exact.close(plain, wanted, 32)
    with pytest.raises(ArgumentError, match="its places are not one step apart"):
        kernels.batch_norm(last, training=True, out=np.zeros((2, 3, 6, 5), "f4").swapaxes(2, 3))


def gradients(grad, x, w, eps: float = 1e-5):
    """By the derivatives of the mean and of the variance."""
    axes = (0, *range(2, x.ndim))
    y, _, variance = normalised(x, axes, eps)
    g = exact.wide(grad) * of_channels(w, x)
    own = g - g.mean(axes, keepdims=True) - y * (g * y).mean(axes, keepdims=True)
    sums = (exact.wide(grad) * y).sum(axes), exact.wide(grad).sum(axes)
    return own / np.sqrt(variance + eps), *sums


@pytest.mark.parametrize(("dtype", "shape"), CASES)
def test_gradients(device, tiles, rng, dtype, shape):
    x, grad = (1 + rng.standard_normal((2, *shape))).astype(dtype)
    w = rng.standard_normal(shape[1]).astype(np.float32)
    _, mean, variance = kernels.batch_norm(x, w, training=True, return_statistics=True)
    got = kernels.batch_norm_backward(grad, x, mean, variance, w)
    assert got[0].dtype == x.dtype
    terms = 256 * x.size / shape[1]
    for each, wanted in zip(got, gradients(grad, x, w), strict=True):
        exact.close(each, wanted, terms)
    fixed = kernels.batch_norm_backward(grad, x, mean, variance, w, training=False)
    scale = of_channels(w, x) / np.sqrt(of_channels(variance, x) + 1e-5)
    exact.close(fixed[0], exact.wide(grad) * scale, 32)
    exact.close(fixed[2], gradients(grad, x, w)[2], terms)


def test_gradients_are_those_of_differences(device, tiles, rng):
    x, grad = rng.standard_normal((2, 3, 2, 3))
    _, mean, variance = kernels.batch_norm(x, training=True, return_statistics=True)
    got = kernels.batch_norm_backward(grad, x, mean, variance)[0]
    wanted = exact.differences(lambda each: normalised(each, (0, 2))[0], x, grad)
    np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-8)


def test_nothing_to_normalise(device):
    x = np.zeros((0, 3, 4), np.float32)
    got, mean, variance = kernels.batch_norm(x, training=True, return_statistics=True)
    assert got.shape == (0, 3, 4) and mean.shape == variance.shape == (3,)
    for each in kernels.batch_norm_backward(x, x, mean, variance):
        assert (each == 0).all()


def test_errors_name_the_argument():
    x, c = np.zeros((2, 3, 4), np.float32), np.zeros(3, np.float32)
    for call, text in (
        (lambda: kernels.batch_norm(x), "running_mean and running_variance must be given"),
        (lambda: kernels.batch_norm(x, running_mean=c), "must be given together"),
        (lambda: kernels.batch_norm(x[0, 0], training=True), "a batch and channels"),
        (lambda: kernels.batch_norm(x, c[:2], training=True), "weight .* shape must be"),
        (lambda: kernels.instance_norm(x, use_input_statistics=False), "must be given"),
        (lambda: kernels.group_norm(x, 2), "it must divide the channels"),
        (lambda: kernels.batch_norm_backward(x[:1], x, c, c), "grad .* shape must be"),
        (lambda: kernels.batch_norm_backward(x, x, c, c[:2]), "variance .* shape must be"),
        (
            lambda: kernels.batch_norm(x, running_mean=c.astype(np.float16), running_variance=c),
            "running_mean is float16",
        ),
    ):
        with pytest.raises(ArgumentError, match=text):
            call()


@pytest.mark.parametrize("name", SHADERS)
def test_shaders(rng, name):
    x, grad = rng.standard_normal((2, 4, 3, 50)).astype(np.float32)
    with gridlane.device(name):
        got, mean, variance = kernels.batch_norm(x, training=True, return_statistics=True)
        back = kernels.batch_norm_backward(grad, x, mean, variance)
    exact.close(got, normalised(x, (0, 2))[0], 64)
    for each, wanted in zip(back, gradients(grad, x, np.ones(3)), strict=True):
        exact.close(each, wanted, 4096)


def test_arrays_of_the_device(device, rng):
    x, grad = rng.standard_normal((2, 4, 3, 5)).astype(np.float32)
    given = cuda.to_device(x)
    got, mean, variance = kernels.batch_norm(given, training=True, return_statistics=True)
    exact.close(got.copy_to_host(), normalised(x, (0, 2))[0], 32)
    back = kernels.batch_norm_backward(cuda.to_device(grad), given, mean, variance)[0]
    exact.close(back.copy_to_host(), gradients(grad, x, np.ones(3))[0], 1024)

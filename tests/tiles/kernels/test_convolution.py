"""Convolution as an implicit product."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.tiles.kernels import exact

import gridlane
from gridlane import cuda
from gridlane.core.errors import ArgumentError
from gridlane.tiles import kernels

SHADERS = [each for each in DEVICES if each not in ("cpu", "cuda")]


def convolved(x, weight, stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1):
    """One tap of the kernel at a time, over padded images."""
    x, weight = exact.wide(x), exact.wide(weight)
    x = np.pad(x, ((0, 0), (0, 0), *[(each, each) for each in padding]))
    size = [
        (n - d * (k - 1) - 1) // s + 1
        for n, k, s, d in zip(x.shape[2:], weight.shape[2:], stride, dilation)
    ]
    out = np.zeros((x.shape[0], weight.shape[0], *size))
    parts = np.split(x, groups, 1), np.split(weight, groups, 0), np.split(out, groups, 1)
    for images, filters, results in zip(*parts):
        for y, z in product(*map(range, weight.shape[2:])):
            top, left = y * dilation[0], z * dilation[1]
            seen = images[:, :, top :: stride[0], left :: stride[1]][:, :, : size[0], : size[1]]
            results += np.einsum("nchw,fc->nfhw", seen, filters[:, :, y, z])
    return out


@pytest.mark.parametrize("dtype", exact.FLOATS)
def test_dtypes(device, rng, dtype):
    x = rng.standard_normal((2, 3, 9, 8)).astype(dtype)
    weight = rng.standard_normal((5, 3, 3, 2)).astype(dtype)
    got = kernels.convolution(x, weight)
    assert got.dtype == dtype
    exact.close(got, convolved(x, weight), 64)


@pytest.mark.parametrize(
    "options",
    [
        {"stride": (2, 3)},
        {"padding": (2, 1)},
        {"dilation": (2, 3)},
        {"groups": 3},
        {"groups": 6},
        {"stride": (3, 1), "padding": (1, 3), "dilation": (1, 2), "groups": 2},
    ],
)
def test_options(device, rng, options):
    x = rng.standard_normal((2, 6, 11, 12)).astype(np.float32)
    weight = rng.standard_normal((12, 6 // options.get("groups", 1), 3, 4)).astype(np.float32)
    exact.close(kernels.convolution(x, weight, **options), convolved(x, weight, **options), 64)


def test_one_axis_bias_and_activation(device, rng):
    x, weight = rng.standard_normal((2, 4, 70)), rng.standard_normal((70, 4, 5))
    bias = rng.standard_normal(70)
    got = kernels.convolution(
        x, weight, bias, stride=2, padding=(3,), dilation=2, activation="relu"
    )
    flat = convolved(x[:, :, None], weight[:, :, None], (1, 2), (0, 3), (1, 2))[:, :, 0]
    exact.close(got, np.maximum(flat + bias[:, None], 0), 64)


def test_channels_last_and_strided_results(device, rng):
    x = rng.standard_normal((2, 7, 6, 3)).astype(np.float32).transpose(0, 3, 1, 2)
    weight = rng.standard_normal((2, 2, 3, 5)).astype(np.float32).transpose(3, 2, 0, 1)[::-1]
    out = np.zeros((2, 6, 5, 5), np.float32).transpose(0, 3, 1, 2)
    assert kernels.convolution(x, weight, None, out) is out
    exact.close(out, convolved(x, weight), 64)
    assert kernels.convolution(x[:0], weight).shape == (0, 5, 6, 5)
    assert (kernels.convolution(x[:, :0], weight[:, :0]) == 0).all()


def test_errors_name_the_argument():
    x, weight = np.zeros((1, 4, 5, 5), np.float32), np.zeros((6, 4, 3, 3), np.float32)
    for call, text in (
        (lambda: kernels.convolution(x, weight[0]), "must have 3 or 4 dimensions"),
        (lambda: kernels.convolution(x, weight[:, :2]), "must have 4 channels"),
        (lambda: kernels.convolution(x, weight, groups=4), "must divide channels and filters"),
        (lambda: kernels.convolution(x, weight, dilation=3), "does not lie within the image"),
        (lambda: kernels.convolution(x, weight, stride=0), "stride is 0"),
        (lambda: kernels.convolution(x, weight, padding=(1, 2, 3)), "padding is"),
        (lambda: kernels.convolution(x, weight, x[0, 0, 0]), "bias .* shape must be"),
        (lambda: kernels.convolution(x, weight.astype(float)), "one dtype"),
        (lambda: kernels.convolution(x, weight[:, :, :0]), "kernel must have numbers"),
        (lambda: kernels.convolution(x, weight, activation="x"), "activation is 'x'"),
        (lambda: kernels.convolution(x, weight, precision="f8"), "precision is 'f8'"),
    ):
        with pytest.raises(ArgumentError, match=text):
            call()


@pytest.mark.parametrize("name", SHADERS)
def test_convolution_on_shaders(rng, name):
    x, weight = (rng.standard_normal((2, 3, each, each)).astype(np.float32) for each in (7, 3))
    with gridlane.device(name):
        got = kernels.convolution(x, weight, padding=1)
    exact.close(got, convolved(x, weight, padding=(1, 1)), 64)


def test_arrays_of_the_device(device, rng):
    x, weight = (rng.standard_normal((2, 3, each, each)).astype(np.float32) for each in (7, 3))
    got = kernels.convolution(cuda.to_device(x), cuda.to_device(weight))
    exact.close(got.copy_to_host(), convolved(x, weight), 64)

"""The problems of KernelBench: how they are loaded and worked through, and our functions."""

from __future__ import annotations

import math
import sys
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT))

from benchmarks.kernelbench import (  # noqa: E402
    convolutions,
    elementwise,
    pools,
    rows,
    shifted,
    split,
    suite,
)
from benchmarks.kernelbench.table import FUNCTIONS  # noqa: E402
from benchmarks.kernelbench.workers import worked  # noqa: E402
from tests.frontends.triton.running import jit  # noqa: E402
from tests.passes.tiles.test_producers import (  # noqa: E402
    Described,
    loads,
    lowered,
    program,
    run,
)

PROBLEM = """
in_channels = 64
wide, long = 5, 7
rows = 16 * 8
columns = 4095
shape = (rows, 320)
input_shape = (320,)

class Model:
    pass

def get_inputs():
    return [in_channels, rows, columns, *input_shape]

def get_init_inputs():
    return []
"""


def test_there_is_a_function_for_each_problem() -> None:
    assert list(FUNCTIONS) == [*range(1, 101)]


def test_extents_are_divided_and_channels_kept(tmp_path) -> None:
    file = tmp_path / "level1" / "7_of_ours.py"
    file.parent.mkdir()
    file.write_text(PROBLEM)
    assert suite.files(tmp_path) == {7: file}
    assert suite.load(file, 1).inputs() == [64, 128, 4095, 320]
    assert suite.load(file, 16).inputs() == [64, 16, 255, 20]
    with pytest.raises(FileNotFoundError, match="no level1"):
        suite.files(tmp_path / "other")


WORK = """
import sys, time
for n in map(int, sys.argv[sys.argv.index("--only") + 1:]):
    if n == 2: raise ValueError("broken")
    if n == 4: time.sleep(60)
    print('{"number": %d, "off": 0}' % n, flush=True)
"""


def test_a_problem_that_fails_or_hangs_ends_only_itself(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("benchmarks.kernelbench.workers.START_S", 3)
    found = {each["number"]: each for each in worked(["-c", WORK], [1, 2, 3, 4, 5], 0.5, tmp_path)}
    assert [*found] == [1, 2, 3, 4, 5]
    assert found[2]["error"] == "ended: ValueError: broken"
    assert found[4]["error"] == "no end in 0.5 s"
    assert all("error" not in found[each] for each in (1, 3, 5))


@pytest.mark.parametrize(
    ("stride", "padding", "dilation"), [*product((1, 2, 3, 5), (0, 3), (1, 2, 4))]
)
def test_phases_are_the_taps_of_each_result(stride: int, padding: int, dilation: int) -> None:
    common = math.gcd(stride, dilation)
    found = convolutions.phases(stride, padding, dilation)
    assert [each if isinstance(each, int) else each.first for each in found] == [*range(stride)]
    for i in range(40):
        want = {
            (r, (i + padding - dilation * r) // stride)
            for r in range(7)
            if (i + padding - dilation * r) % stride == 0
        }
        phase, got = found[i % stride], set()
        if not isinstance(phase, int):
            taps = range(phase.tap, 7, stride // common)
            place = i // stride + phase.offset
            got = {(r, place - dilation // common * t) for t, r in enumerate(taps)}
        assert got == want


@pytest.mark.parametrize("shape", [split.WHOLE, split.UPPER, split.LOWER])
def test_products_of_parts_are_those_of_float32(shape: int) -> None:
    """By three products of tf32, whose factors a warp of its own loads."""
    rng, parts, (m, n, k) = np.random.default_rng(3), 2, (100, 100, 100)
    batches = 2 if shape == split.WHOLE else 1
    a, b = (rng.standard_normal((batches, e, k)).astype(np.float32) for e in (m, n))
    if shape == split.UPPER:
        a, b = np.triu(a), np.triu(b.transpose(0, 2, 1)).transpose(0, 2, 1)
    if shape == split.LOWER:
        a, b = np.tril(a), np.tril(b.transpose(0, 2, 1)).transpose(0, 2, 1)
    both = [Described(parts_of(each), (64, 32)) for each in (a, b)]
    out = np.zeros((parts, batches, m, n), np.float32)
    args = [*both, out, batches, m, n, k, batches * m, batches * n, parts, 2]
    words = {"SHAPE": shape, "M": 64, "N": 64, "K": 32, "GROUP": 8}
    module = lowered(program(jit(split.split_products.fn), args, 4, 3, **words))
    assert loads(module) == 2
    got = run(module, args, 4, grid=3)[0][2].sum(0)
    want = a.astype(float) @ b.astype(float).transpose(0, 2, 1)
    np.testing.assert_allclose(got, want, atol=2e-5)


def parts_of(x: np.ndarray) -> np.ndarray:
    large = ((x.view(np.int32) + 0x1000) & -0x2000).view(np.float32)
    return np.concatenate([large, x - large]).reshape(-1, x.shape[-1])


@pytest.mark.parametrize(("inner", "deep"), [(12, 16), (40, 32)])
def test_products_of_shifted_rows(inner: int, deep: int) -> None:
    """Of whole numbers, whose sums are exact; the rests of both are as large as they."""
    rng, lines, width, taps, results = np.random.default_rng(4), (3, 4), 9, (2, 1, 3), (2, 4, 7)
    rows, filters, chunks = 2 * 3 * 4 * 9, 24, -(-inner // deep)
    a = rng.integers(-3, 4, (2, rows, inner)).astype(np.float32)
    b = rng.integers(-3, 4, (2, filters, 6, chunks * deep)).astype(np.float32)
    out = np.zeros((2, filters, *results), np.float32)
    args = [
        Described(a.reshape(2 * rows, inner), (64, deep)),
        Described(b.reshape(2 * filters, -1), (32, deep)),
        None, out, rows, filters, lines, width, results, taps, (36, 9, 1), chunks,
        tuple(each // 4 for each in out.strides),
    ]  # fmt: skip
    words = {"PARTS": 2, "M": 64, "N": 32, "K": deep}
    module = lowered(program(jit(shifted.shifted_products.fn), args, 4, 3, **words))
    assert loads(module) == 2
    flat = [n for each in args for n in (each if isinstance(each, tuple) else (each,))]
    flat = [each for each in flat if each is not None]
    got = run(module, flat, 4, grid=2)[0][2]
    image, (large, rest) = a.reshape(2, 2, *lines, width, inner), b[..., :inner]
    want = np.zeros(got.shape)
    for number, (z, x) in enumerate(product(range(2), range(3))):
        part = image[:, :, z : z + 2, :, x : x + 7]
        for one, other in ((part[0], large), (part[0], rest), (part[1], large)):
            want += np.einsum("nzyxe,fe->nfzyx", one, other[:, number])
    np.testing.assert_array_equal(got, want)


# ---- beside torch


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="functions of torch's tensors")


def test_functions_of_elements(torch) -> None:
    f, x = torch.nn.functional, torch.linspace(-30.0, 30.0, 5003)
    model = SimpleNamespace(negative_slope=0.01, alpha=1.5)
    wanted = {
        "relu": f.relu(x), "leaky_relu": f.leaky_relu(x, 0.01), "sigmoid": torch.sigmoid(x),
        "tanh": torch.tanh(x), "swish": f.silu(x), "gelu": f.gelu(x), "selu": f.selu(x),
        "gelu_by_tanh": f.gelu(x, approximate="tanh"), "hard_sigmoid": f.hardsigmoid(x),
        "softplus": f.softplus(x), "softsign": f.softsign(x), "elu": f.elu(x, 1.5),
        "hard_tanh": f.hardtanh(x),
    }  # fmt: skip
    for name, want in wanted.items():
        torch.testing.assert_close(getattr(elementwise, name)(model, x), want, msg=name)


def test_norms_of_rows_far_from_zero(torch) -> None:
    x = torch.randn(3, 8, 300, 300) + 100.0
    norms = {
        rows.batch_norm: torch.nn.BatchNorm2d(8),
        rows.instance_norm: torch.nn.InstanceNorm2d(8),
        rows.group_norm: torch.nn.GroupNorm(2, 8),
        rows.layer_norm: torch.nn.LayerNorm((8, 300, 300)),
    }
    for function, layer in norms.items():
        for each in layer.parameters():
            torch.nn.init.normal_(each)
        want = layer.double()(x.double()).float()
        model = torch.nn.Sequential(layer.float())
        torch.testing.assert_close(function(model, x), want, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("channels", [3, 20])
def test_convolutions_by_shifted_rows(torch, channels: int) -> None:
    step, padding, size = (1, 2, 1), (0, 1, 2), (2, 3, 3)
    x, w = torch.randn(2, channels, 5, 6, 17), torch.randn(10, channels, *size)
    want = torch.nn.functional.conv3d(x, w, padding=padding, dilation=step)
    out = torch.empty_like(want)
    shifted.convolved(x, w, out, shifted.Walk(padding, step, False))
    torch.testing.assert_close(out, want, atol=1e-4, rtol=1e-4)
    want = torch.nn.functional.conv_transpose3d(
        x, w.transpose(0, 1).contiguous(), padding=padding, dilation=step
    )
    out = torch.empty_like(want)
    before = tuple(d * (k - 1) - p for d, k, p in zip(step, size, padding, strict=True))
    shifted.convolved(x, w, out, shifted.Walk(before, step, True))
    torch.testing.assert_close(out, want, atol=1e-4, rtol=1e-4)
    half, taps, bias = x.half(), w.half(), torch.randn(10).half()
    want = torch.nn.functional.conv3d(half, taps, bias, padding=padding, dilation=step)
    out = torch.empty_like(want)
    shifted.convolved(half, taps, out, shifted.Walk(padding, step, False), bias)
    torch.testing.assert_close(out, want, atol=2e-2, rtol=2e-3)
    size, stride = (2, 3, 5), (2, 2, 3)
    w = torch.randn(10, channels, *size)
    want = torch.nn.functional.conv3d(x, w, padding=padding, stride=stride)
    out = torch.empty_like(want)
    shifted.convolved(x, w, out, shifted.Walk(padding, (1, 1, 1), False, stride))
    torch.testing.assert_close(out, want, atol=1e-4, rtol=1e-4)


def test_pools_of_negative_numbers(torch) -> None:
    """What is beside an image is no element of its largest ones."""
    x = -torch.rand(2, 3, 9, 11) - 1.0
    layer = torch.nn.MaxPool2d(3, 2, 1, 2)
    assert torch.equal(pools.most(torch.nn.Sequential(layer), x), layer(x))
    layer = torch.nn.AvgPool2d(3, 2, 1)
    torch.testing.assert_close(pools.mean(torch.nn.Sequential(layer), x), layer(x))

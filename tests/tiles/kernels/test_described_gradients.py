"""Gradients of attention by tensor descriptors: the programs of GPUs with tensor maps, on every
device, and their threads in the interpreter."""

from __future__ import annotations

import subprocess
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tests.frontends.ptx.bodies import PTXAS
from tests.frontends.triton.running import type_of
from tests.passes.tiles.test_groups import OPTIONS
from tests.passes.tiles.test_producers import Described, loads, lowered, run
from tests.tiles.kernels.test_attention import arrays

from gridlane.compiler import cuda as compiler
from gridlane.core.options import Target
from gridlane.frontends.triton import language as tl
from gridlane.frontends.triton.translation import translate
from gridlane.ir.values import Module
from gridlane.tiles import kernels
from gridlane.tiles.kernels import described_gradients
from gridlane.tiles.kernels.programs.described_gradients import (
    described_key_gradients,
    described_query_gradients,
)


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each call was by descriptors, as on a GPU with warpgroups."""
    found: list[bool] = []
    own = described_gradients.launch

    def launch(*args: Any) -> bool:
        found.append(own(*args))
        return found[-1]

    monkeypatch.setattr(described_gradients, "has_warpgroups", lambda: True)
    monkeypatch.setattr(described_gradients, "launch", launch)
    return found


def expected(q, k, v, grad, causal: bool, scale: float) -> tuple[np.ndarray, ...]:
    """The result, and the gradients, in float64."""
    q, k, v, grad = (np.asarray(each).astype(float) for each in (q, k, v, grad))
    group = q.shape[1] // k.shape[1]
    wide = [np.repeat(each, group, 1) for each in (k, v)]
    scores = scale * q @ wide[0].swapaxes(-1, -2)
    if causal:
        m, n = scores.shape[-2:]
        scores = np.where(np.arange(n) <= np.arange(m)[:, None] + n - m, scores, -np.inf)
    most = scores.max(-1, keepdims=True)
    with np.errstate(invalid="ignore"):
        powers = np.exp(scores - np.where(np.isinf(most), 0, most))
    total = powers.sum(-1, keepdims=True)
    powers /= np.where(total == 0, 1, total)
    out = powers @ wide[1]
    turned = powers * (grad @ wide[1].swapaxes(-1, -2) - (grad * out).sum(-1, keepdims=True))
    others = [scale * turned.swapaxes(-1, -2) @ q, powers.swapaxes(-1, -2) @ grad]
    shape = (k.shape[0], k.shape[1], group, k.shape[2])
    others = [each.reshape(*shape, -1).sum(2) for each in others]
    return out, scale * turned @ wide[0], *others


def close(got: Any, want: np.ndarray, far: float) -> None:
    assert np.abs(np.asarray(got).astype(float) - want).max() <= far * np.abs(want).max()


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    ("heads", "lengths", "widths", "kind"),
    [
        ((4, 2), (200, 300), (64, 64), np.float16),
        ((1, 1), (300, 130), (128, 64), ml_dtypes.bfloat16),
        ((2, 1), (64, 64), (64, 128), np.float16),
    ],
)
def test_gradients(device, rng, launched, causal, heads, lengths, widths, kind):
    """Lengths that end within a tile; queries in front of all keys, whose gradients are 0."""
    q, k, v = arrays(rng, heads, lengths, widths, kind, batch=2)
    grad = rng.standard_normal((*q.shape[:3], widths[1])).astype(kind)
    out, logs = kernels.attention(q, k, v, causal=causal, scale=0.3, return_logs=True)
    got = kernels.attention_backward(grad, q, k, v, out, logs, causal=causal, scale=0.3)
    _, *want = expected(q, k, v, grad, causal, 0.3)
    for each, other in zip(got, want, strict=True):
        close(each, other, 4e-3 if kind is np.float16 else 3e-2)
    assert launched == [True]


def test_others_are_by_addresses(device, rng, launched):
    q, k, v = arrays(rng, (1, 1), (130, 130), (64, 64), np.float16)
    for options in ({"window": 20}, {"softcap": 2.0}):
        out, logs = kernels.attention(q, k, v, return_logs=True, **options)
        kernels.attention_backward(out, q, k, v, out, logs, **options)
    q, k, v = arrays(rng, (1, 1), (130, 130), (72, 64), np.float16)
    out, logs = kernels.attention(q, k, v, return_logs=True)
    kernels.attention_backward(out, q, k, v, out, logs)
    assert launched == [False] * 3


def module_of(of_keys: bool, causal: bool, width: int, length: int) -> tuple[Module, list[Any]]:
    """The program of the gradients of one head, and its arguments."""
    rng = np.random.default_rng(4)
    q, k, v, grad = (
        rng.standard_normal((1, 1, length, width)).astype(np.float16) for _ in range(4)
    )
    out, _, _, _ = expected(q, k, v, grad, causal, 0.125)
    scores = 0.125 * q.astype(float) @ k.astype(float).swapaxes(-1, -2)
    if causal:
        scores = np.where(np.tri(length) > 0, scores, -np.inf)
    logs = np.log(np.exp(scores).sum(-1)).astype(np.float32).reshape(-1)
    sums = (grad.astype(float) * out).sum(-1).astype(np.float32).reshape(-1)
    short, long = ((1, 1, rows, width) for rows in (64, 128))
    blocks = (short, long, long, short) if of_keys else (long, short, short, long)
    given = {
        name: Described(each, block)
        for name, each, block in zip(("q", "k", "v", "grad"), (q, k, v, grad), blocks, strict=True)
    }
    given |= {"logs": logs, "sums": sums}
    names = ("out_k", "out_v") if of_keys else ("out",)
    given |= {name: np.zeros((1, 1, length, width), np.float32) for name in names}
    given |= {"blocks": -(-length // 128), "heads": 1, "group": 1}
    constants = {
        "queries": length, "keys": length, "width": width, "SCALE": 0.125, "CAUSAL": causal,
        "M": 64 if of_keys else 128, "N": 128 if of_keys else 64, "WIDTH": width,
        "VALUES": width, "INDEX": tl.int32,
    }  # fmt: skip
    constants |= {f"{name}_steps": (length * width, length * width, width, 1) for name in names}
    constants |= {"values": width} if of_keys else {}
    types = tuple([type_of(getattr(each, "memory", each)) for each in given.values()])
    mapped = {name: each.block for name, each in given.items() if isinstance(each, Described)}
    function = described_key_gradients if of_keys else described_query_gradients
    aligned = dict.fromkeys([*mapped, *names, "logs", "sums"], 16)
    module = translate(function, types, OPTIONS, constants, mapped, aligned, 8, stages=3)
    return module, [*given.values()]


@pytest.mark.parametrize("of_keys", [False, True])
@pytest.mark.parametrize("causal", [False, True])
def test_threads(of_keys, causal):
    """Two blocks of rows, the last of which ends within a tile."""
    module, args = module_of(of_keys, causal, 64, 200)
    changed = lowered(module)
    assert loads(changed) >= 4
    got, _ = run(changed, args, 8, 2)
    q, k, v, grad = (each.memory for each in args[:4])
    _, query, key, value = expected(q, k, v, grad, causal, 0.125)
    for each, want in zip(got[6:], (key, value) if of_keys else (query,), strict=True):
        close(each, want, 4e-3)


@pytest.mark.skipif(not PTXAS, reason="ptxas is not installed")
@pytest.mark.parametrize("of_keys", [False, True])
@pytest.mark.parametrize("causal", [False, True])
def test_code_is_not_serialized(of_keys, causal, tmp_path):
    """Products are in flight, and registers suffice, but for a few."""
    module, _ = module_of(of_keys, causal, 128, 2048)
    artifact = compiler.generate(module, Target("cuda", processor="sm_90a"), OPTIONS)
    (tmp_path / "kernel.ptx").write_bytes(artifact.code)
    command = ["ptxas", "-arch=sm_90a", "-v", "kernel.ptx", "-o", "kernel.cubin"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "serialized" not in done.stderr
    spilled = int(done.stderr.split("bytes spill stores")[0].split()[-1])
    assert spilled <= (48 if of_keys and causal else 0)

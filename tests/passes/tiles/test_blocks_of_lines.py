"""Factors that are blocks of several axes of lines: parts of images, of which a warp of its own
copies boxes."""

from __future__ import annotations

import subprocess
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tests.frontends.ptx.bodies import PTXAS
from tests.frontends.triton.running import jit
from tests.passes.tiles.test_groups import OPTIONS
from tests.passes.tiles.test_producers import Described, loads, lowered, program, run, whole, why

from gridlane.compiler import cuda as compiler
from gridlane.core.options import Target
from gridlane.frontends.triton import language as tl
from gridlane.ir.ops import copies
from gridlane.tiles.kernels.programs.described_convolutions import described_convolution_tiles


@jit
def convolved(x, w, c, height, width, channels, pad, A: tl.constexpr, B: tl.constexpr,
              C: tl.constexpr, N: tl.constexpr, K: tl.constexpr, TURNED: tl.constexpr):  # fmt: skip
    """Places of images by filters: A images, B lines and C columns at once. Images lie with their
    channels last, filters as (filter, tap, channel)."""
    across, blocks = tl.cdiv(width, C), tl.cdiv(channels, K)
    tile = tl.program_id(0)
    y, z = tile // across * B, tile % across * C
    total = tl.zeros((N, A * B * C) if TURNED else (A * B * C, N), tl.float32)
    for step in range(0, 9 * blocks):
        tap, at = step // blocks, step % blocks * K
        image = x.load([0, y + tap // 3 - pad, z + tap % 3 - pad, at]).reshape(A * B * C, K)
        taps = w.load([0, tap, at]).reshape(N, K)
        if TURNED:
            total = tl.dot(taps, image.T, total)
        else:
            total = tl.dot(image, taps.T, total)
    if TURNED:
        c.store([tile, 0, 0], total.reshape(1, N, A * B * C))
    else:
        c.store([tile, 0, 0], total.reshape(1, A * B * C, N))


def case(block: tuple[int, int, int], shape: tuple[int, ...], n: int, k: int, turned: bool,
         pad: int, kind: Any = np.float16) -> Any:  # fmt: skip
    """The arguments, the constants, how many tiles there are, and their results."""
    images, height, width, channels = shape
    x, w = whole(shape, kind), whole((n, 9, channels), kind)
    rows, columns = height + 2 * pad - 2, width + 2 * pad - 2
    a, b, c = block
    m, down, across = a * b * c, -(-rows // b), -(-columns // c)
    out = np.zeros((down * across, n, m) if turned else (down * across, m, n), np.float32)
    args = [
        Described(x, (*block, k)), Described(w, (n, 1, k)), Described(out, (1, *out.shape[1:])),
        rows, columns, channels, pad,
    ]  # fmt: skip
    constants = {"A": a, "B": b, "C": c, "N": n, "K": k, "TURNED": turned}
    beyond = ((0, a - images), (pad, pad + b), (pad, pad + c), (0, 0))
    wide = np.pad(x.astype(int), beyond)
    want = np.zeros((a, down * b, across * c, n), int)
    for tap in range(9):
        seen = wide[:, tap // 3 :, tap % 3 :][:, : down * b, : across * c]
        rest = [(0, e - f) for e, f in zip(want.shape[1:3], seen.shape[1:3], strict=True)]
        want += np.pad(seen, ((0, 0), *rest, (0, 0))) @ w[:, tap].astype(int).T
    want = want.reshape(a, down, b, across, c, n).transpose(1, 3, 0, 2, 4, 5)
    want = want.reshape(down * across, m, n)
    return args, constants, len(out), want.swapaxes(1, 2) if turned else want


@pytest.mark.parametrize(
    "turned, pad, kind", [(False, 1, np.float16), (True, 0, ml_dtypes.bfloat16)]
)
@pytest.mark.parametrize(
    ("block", "shape", "n", "k", "warps", "stages"),
    [
        ((2, 4, 8), (2, 5, 9, 40), 64, 32, 4, 3),
        ((1, 8, 8), (1, 7, 7, 64), 64, 64, 4, 2),
        ((2, 1, 64), (1, 3, 67, 72), 128, 64, 8, 3),
        ((4, 4, 8), (3, 5, 8, 16), 128, 16, 8, 1),
    ],
)
def test_parts_of_images(block, shape, n, k, warps, stages, turned, pad, kind):
    """What is beside the images is zero, in front of them as well as behind."""
    args, constants, tiles, want = case(block, shape, n, k, turned, pad, kind)
    module = program(convolved, args, warps, stages, **constants)
    assert why(module) == [
        f"a warp of its own copies the 2 blocks by tensor maps, in {stages} stages"
    ]
    changed = lowered(module)
    (filters, images) = sorted(changed.tensor_maps, key=lambda use: len(use.box))
    assert loads(changed) == 2 and images.box == (*block, k) and filters.box == (n, 1, k)
    assert not any(isinstance(op, copies.AsyncCopy) for op in changed.kernel.body.walk())
    got, watch = run(changed, args, warps, tiles)
    np.testing.assert_array_equal(got[2], want)
    assert watch.most == int(stages > 1)


@pytest.mark.parametrize("turned", [False, True])
def test_panels(turned):
    """Lines of 256 bytes are two panels of all lines."""
    args, constants, tiles, want = case((2, 8, 4), (2, 8, 6, 136), 64, 128, turned, 1)
    changed = lowered(program(convolved, args, 4, 2, **constants))
    assert loads(changed) == 4
    np.testing.assert_array_equal(run(changed, args, 4, tiles)[0][2], want)


@pytest.mark.parametrize("turned", [False, True])
def test_without_tensor_maps(turned):
    """Threads load the same blocks."""
    args, constants, tiles, want = case((2, 4, 8), (2, 5, 9, 40), 64, 32, turned, 1)
    for each in args[:2]:
        each.block = type(each.block)(each.block.shape)
    changed = lowered(program(convolved, args, 4, 2, **constants))
    assert not loads(changed)
    np.testing.assert_array_equal(run(changed, args, 4, tiles)[0][2], want)


@jit
def mixed(x, w, c, A: tl.constexpr, B: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Lines are joined behind a transposition, so that they are not those of memory."""
    total = tl.zeros((A * B, N), tl.float32)
    for at in range(0, 2):
        image = x.load([at, 0, 0, 0]).permute(0, 1, 3, 2).reshape(A * B, K)
        total = tl.dot(image, w.load([0, 0]).T, total)
    c.store([0, 0], total)


def test_transposed_lines():
    x, w = whole((2, 4, 32, 16)), whole((64, 32))
    c = Described(np.zeros((64, 64), np.float32), (64, 64))
    args = [Described(x, (1, 4, 32, 16)), Described(w, (64, 32)), c]
    changed = lowered(program(mixed, args, 4, 2, A=4, B=16, N=64, K=32))
    assert loads(changed) < 2
    want = sum(x.transpose(0, 1, 3, 2).reshape(2, 64, 32).astype(int)) @ w.T.astype(int)
    np.testing.assert_array_equal(run(changed, args, 4)[0][2], want)


@jit
def of_whole_units(x, w, out, count, filters, images, height, width, far, near, line, step,
                   TURNED: tl.constexpr, STRIDED: tl.constexpr, A: tl.constexpr, B: tl.constexpr,
                   C: tl.constexpr, N: tl.constexpr):  # fmt: skip
    """The library's program, where 8 neighbours of the result are stored at once."""
    steps = (far, near, line, 1) if TURNED else (far, 1, near, line)
    stride = (2, 2) if STRIDED else (1, 1)
    described_convolution_tiles(
        x, w, None, out, count, 1, 128, filters, (images, height, width), stride, (1, 1), (1, 1),
        step, 1, steps, None, STRIDED, TURNED, 8, 3, 9, A, B, C, N, 64, tl.float32, tl.int32,
    )  # fmt: skip


@pytest.mark.skipif(not PTXAS, reason="no ptxas")
@pytest.mark.parametrize(
    "turned, strided, box, filters",
    [(False, False, (2, 8, 8), 256), (True, False, (4, 8, 8), 128), (False, True, (2, 8, 8), 128)],
)
def test_ptxas_keeps_products_in_flight(tmp_path, turned, strided, box, filters):
    """No spill, no serialised product; results are stored by 16 bytes."""
    x, w = np.zeros((8, 16, 16, 128), np.float16), np.zeros((256, 9, 128), np.float16)
    images = Described(x, (*box, 64))
    if strided:
        images = Described(x.reshape(8, 8, 2, 8, 256), (*box[:2], 1, box[2], 64))
    args = [images, Described(w, (filters, 1, 64)), x.reshape(-1)]
    numbers = [16, 256 if turned else 32, 8, 16, 2 if turned else 16, 8192, 32, 2, 16]
    constants = {"TURNED": turned, "STRIDED": strided, "N": filters}
    constants |= dict(zip("ABC", box, strict=True))
    module = program(of_whole_units, args + numbers, 8, 4, **constants)
    code = compiler.generate(module, Target("cuda", processor="sm_90a"), OPTIONS).code
    assert b"st.global.v4" in code and b"st.global.b16" not in code
    assert (b"tensor.5d" if strided else b"tensor.4d") in code
    source = tmp_path / "kernel.ptx"
    source.write_bytes(code)
    command = ["ptxas", "-arch", "sm_90a", "-v", str(source), "-o", str(tmp_path / "k.cubin")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "serialized" not in done.stderr and " 0 bytes spill stores" in done.stderr

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
from gridlane.interp import machine
from gridlane.ir.ops import copies, tensors
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
def of_library(x, w, out, tiles, filters, images, height, width, step, PAD: tl.constexpr,
               TURNED: tl.constexpr, STRIDED: tl.constexpr, A: tl.constexpr, B: tl.constexpr,
               C: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
               CHANNELS: tl.constexpr):  # fmt: skip
    """The library's program, of 3 by 3 taps; extents along the columns are in units of 8."""
    stride = (2, 2) if STRIDED else (1, 1)
    described_convolution_tiles(
        x, w, None, out, tiles, 1, CHANNELS, filters, (images, height, width), stride, (PAD, PAD),
        (1, 1), step, 1, (1, 1, 1, 1), "relu", True, STRIDED, TURNED, 8, 3, 9, A, B, C, N, K,
        "tf32", tl.float32, tl.int32,
    )  # fmt: skip


def library_case(turned: bool, strided: bool, box: Any, n: int, k: int, shape: Any,
                 kind: Any = np.float16) -> Any:  # fmt: skip
    """Arguments, constants, how many tiles there are, and the results."""
    (images, height, width, channels), pad = shape, 1
    x, w = whole(shape, kind), whole((n + 8, 9, channels), kind)
    around = np.pad(x.astype(int), ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    every = 2 if strided else 1
    rows, columns = -(-height // every), -(-width // every)
    want = np.zeros((images, rows, columns, n + 8), int)
    for tap in range(9):
        seen = around[:, tap // 3 :: every, tap % 3 :: every][:, :rows, :columns]
        want += seen @ w[:, tap].astype(int).T
    want = np.maximum(want, 0).transpose(3, 0, 1, 2) if turned else np.maximum(want, 0)
    out = np.full(want.shape, 7, kind)
    blocks = [(*box, k), (n, *box) if turned else (*box, n)]
    source = Described(x, blocks[0])
    if strided:
        there = images, height // 2, 2, width // 2, 2 * channels
        source = Described(x.reshape(there), (*box[:2], 1, box[2], k))
    tiles = 2 * int(
        np.prod([-(-e // b) for e, b in zip((images, rows, columns), box, strict=True)])
    )
    args = [source, Described(w, (n, 1, k)), Described(out, blocks[1])]
    units = (n + 8, columns // 8) if turned else ((n + 8) // 8, columns)
    args += [tiles, units[0], images, rows, units[1], channels * x.itemsize // 16]
    constants = {"PAD": pad, "TURNED": turned, "STRIDED": strided, "N": n, "K": k}
    constants |= {"CHANNELS": channels, **dict(zip("ABC", box, strict=True))}
    return args, constants, tiles, want


@pytest.mark.parametrize(
    "turned, strided, box, kind",
    [
        (False, False, (2, 4, 8), np.float16),
        (True, False, (1, 2, 32), np.float16),
        (True, True, (2, 4, 8), np.float16),
        (False, False, (2, 4, 8), np.float32),
    ],
)
def test_programs_of_the_library(turned, strided, box, kind):
    """Results beyond the array are left out, also of whole vectors; programs have several tiles,
    and the producer waits for none of their stores."""
    waits = list[bool]()

    def fence(frame: Any, op: tensors.ProxyFence, mask: Any) -> None:
        if not op.shared:
            waits.append(True)

    args, constants, tiles, want = library_case(turned, strided, box, 64, 32, (3, 6, 16, 32), kind)
    changed = lowered(program(of_library, args, 4, 3, **constants))
    assert loads(changed) == 2
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(machine.OBSERVE, tensors.ProxyFence, fence)  # type: ignore[arg-type]
        got, watch = run(changed, args, 4, min(tiles, 5))
    np.testing.assert_array_equal(got[2][..., : want.shape[-1]], want)
    assert watch.most == 1
    assert not waits


@pytest.mark.skipif(not PTXAS, reason="no ptxas")
@pytest.mark.parametrize(
    "turned, strided, box, n",
    [(0, 0, (2, 8, 8), 256), (1, 0, (4, 8, 8), 128), (0, 1, (2, 8, 8), 128)],
)
def test_ptxas_keeps_products_in_flight(tmp_path, turned, strided, box, n):
    """No spill, no serialised product; results are stored by 16 bytes where these are whole."""
    args, constants, _, _ = library_case(bool(turned), bool(strided), box, n, 64, (2, 16, 16, 64))
    module = program(of_library, args, 8, 4, **constants)
    code = compiler.generate(module, Target("cuda", processor="sm_90a"), OPTIONS).code
    assert code.count(b"st.global.v4") == n * 8 * 8 * box[0] // 256 // 8
    assert (b"tensor.5d" if strided else b"tensor.4d") in code
    source = tmp_path / "kernel.ptx"
    source.write_bytes(code)
    command = ["ptxas", "-arch", "sm_90a", "-v", str(source), "-o", str(tmp_path / "k.cubin")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "serialized" not in done.stderr and " 0 bytes spill stores" in done.stderr

"""Products of matrices of single bits, on each device, against numpy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.frontends.ptx.bodies import PTXAS, refused_by_ptxas, results, text_of

SHAPES = [(shape, op) for shape in ("m8n8k128", "m16n8k128", "m16n8k256") for op in ("xor", "and")]


def body(shape: str, op: str) -> str:
    """Each thread's registers are words of ``source``, and its sums replace them."""
    high, deep = 1 + (shape[:3] == "m16"), 1 + (shape[-3:] == "256")
    counts = high * deep, deep, 2 * high
    lines = ["mul.wide.u32 %rd1, %t, 64; add.u64 %rd1, %source, %rd1;"]
    lists = []
    for first, count in zip((1, 5, 7), counts, strict=True):
        names = [f"%r{first + n}" for n in range(count)]
        lines += [f"ld.global.u32 {name}, [%rd1+{4 * int(name[2:])}];" for name in names]
        lists.append("{" + ", ".join(names) + "}")
    made = [f"%r{20 + n}" for n in range(counts[2])]
    form = f"mma.sync.aligned.{shape}.row.col.s32.b1.b1.s32.{op}.popc"
    lines.append(f"{form} {{{', '.join(made)}}}, {', '.join(lists)};")
    lines += [f"st.global.u32 [%rd1+{4 * (12 + n)}], {name};" for n, name in enumerate(made)]
    return "\n".join((*lines, "mov.u32 %result, %t;"))


def wanted(words: np.ndarray, shape: str, op: str) -> np.ndarray:
    """The sums of each lane; the matrices are put together by the figures of the ISA."""
    high, deep = 1 + (shape[:3] == "m16"), 1 + (shape[-3:] == "256")
    a = np.zeros((8 * high, 4 * deep), np.uint32)
    b = np.zeros((8, 4 * deep), np.uint32)
    for lane in range(32):
        group, place = divmod(lane, 4)
        for half in range(deep):
            b[group, 4 * half + place] = words[lane, 5 + half]
            for side in range(high):
                a[group + 8 * side, 4 * half + place] = words[lane, 1 + high * half + side]
    bits_a, bits_b = (np.unpackbits(each.view(np.uint8), axis=1) for each in (a, b))
    bits_a, bits_b = bits_a.astype(np.int64), bits_b.astype(np.int64)
    both = bits_a @ bits_b.T
    total = both if op == "and" else bits_a.sum(1)[:, None] + bits_b.sum(1) - 2 * both
    made = np.zeros((32, 2 * high), np.uint32)
    for lane in range(32):
        group, place = divmod(lane, 4)
        for number in range(2 * high):
            row, column = group + 8 * (number // 2), 2 * place + number % 2
            made[lane, number] = (int(words[lane, 7 + number]) + total[row, column]) & 0xFFFFFFFF
    return made


RUNS = [(device, *each) for device in ("interp", "cpu") for each in SHAPES]
RUNS += [(device, *SHAPES[-2]) for device in DEVICES if device != "cpu"]


@pytest.mark.parametrize("device, shape, op", RUNS)
def test_products_of_bits(device, shape, op):
    words = np.random.default_rng(len(shape)).integers(0, 1 << 32, (32, 16), np.uint32)
    words[3, 7] = 0xFFFFFFFF
    want = wanted(words, shape, op)
    flat = words.reshape(-1).copy()
    results(device, body(shape, op), source=flat)
    assert (flat.reshape(32, 16)[:, 12 : 12 + want.shape[1]] == want).all()


@pytest.mark.skipif(not PTXAS, reason="ptxas of CUDA is not installed")
@pytest.mark.parametrize("shape, op", SHAPES)
def test_ptxas_accepts_them(tmp_path: Path, shape, op):
    assert refused_by_ptxas(text_of(body(shape, op), target="sm_80"), tmp_path, "sm_80") == []


def wmma(kind: str, product: str, strides: str = "") -> str:
    """A product of matrices in memory: A, B, C by columns and D by rows, from ``source`` on."""
    shape, sums = ("m8n8k128" if kind == "b1" else "m8n8k32"), "%r3, %r4"
    a, c = (", 128", ", 8") if strides and kind == "b1" else (strides, ", 8" if strides else "")
    return f"""
    add.u64 %rd1, %source, 128; add.u64 %rd2, %rd1, 128; add.u64 %rd3, %rd2, 256;
    wmma.load.a.sync.aligned.row.{shape}.global.{kind} {{%r1}}, [%source]{a};
    wmma.load.b.sync.aligned.col.{shape}.global.{kind} {{%r2}}, [%rd1]{a};
    wmma.load.c.sync.aligned.col.{shape}.global.s32 {{{sums}}}, [%rd2]{c};
    wmma.mma.{product} {{{sums}}}, {{%r1}}, {{%r2}}, {{{sums}}};
    wmma.store.d.sync.aligned.row.{shape}.global.s32 [%rd3], {{{sums}}}{c};
    mov.u32 %result, %t;"""


WMMA = [
    ("b1", "xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32"),
    ("b1", "and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32"),
    ("s4", "sync.aligned.row.col.m8n8k32.s32.s4.s4.s32"),
    ("u4", "sync.aligned.row.col.m8n8k32.s32.u4.u4.s32.satfinite"),
]


@pytest.mark.parametrize("device", ["interp", "cpu"])
@pytest.mark.parametrize("kind, product", WMMA)
@pytest.mark.parametrize("strides", ["", ", 32"])
def test_matrices_of_less_than_bytes_in_memory(device, kind, product, strides):
    words = np.random.default_rng(5).integers(0, 1 << 32, 192, np.uint32)
    words[64:128] >>= 8
    bits = np.unpackbits(words[:64].view(np.uint8), bitorder="little").astype(np.int64)
    if kind != "b1":
        bits = (bits.reshape(-1, 4) * [1, 2, 4, 8]).sum(1)
        bits = np.where(bits > 7, bits - 16, bits) if kind == "s4" else bits
    a, b = bits.reshape(2, 8, -1)
    total = a @ b.T
    if "xor" in product:
        total = a.sum(1)[:, None] + b.sum(1) - 2 * total
    want = total + words[64:128].reshape(8, 8).T
    results(device, wmma(kind, product, strides), source=words)
    assert (words[128:].view(np.int32).reshape(8, 8) == want).all()


@pytest.mark.skipif(not PTXAS, reason="ptxas of CUDA is not installed")
@pytest.mark.parametrize("kind, product", WMMA)
def test_ptxas_accepts_wmma(tmp_path: Path, kind, product):
    text = text_of(wmma(kind, product, ", 32"), target="sm_80")
    assert refused_by_ptxas(text, tmp_path, "sm_80") == []

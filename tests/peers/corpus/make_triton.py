"""Triton kernels as PTX for sm_80 and sm_90: ``python make_triton.py OUT.json``, with Triton.

``triton_programs.py`` launches them and knows their results.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path

os.environ.setdefault("TRITON_CACHE_DIR", str(Path(sys.argv[-1]).parent / "triton_cache"))
os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.language.extra import libdevice

KERNELS = {}


def kernel(signature, warps=4, stages=2, **constants):
    """Compile a kernel for arguments of these types, with these constants."""

    def keep(function):
        KERNELS[function.__name__] = (
            triton.jit(function),
            signature.split(),
            warps,
            stages,
            constants,
        )
        return function

    return keep


@kernel("*fp32 *fp32 *fp32 i32", B=256)
def add(x, y, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    tl.store(o + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)


@kernel("*fp32:16 *fp32:16 i32:16", B=1024)
def wide_copy(x, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    tl.store(o + i, tl.load(x + i, mask=m, other=0.0) * 2.0, mask=m)


@kernel("*fp32 *fp32 i32", B=128)
def softmax(x, o, n, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, B)
    m = c < n
    v = tl.load(x + row * n + c, mask=m, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(o + row * n + c, e / tl.sum(e, 0), mask=m)


@kernel("*fp32 *fp32 *fp32 *fp32 i32 fp32", B=256)
def layer_norm(x, w, b, o, n, eps, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, B)
    m = c < n
    v = tl.load(x + row * n + c, mask=m, other=0.0)
    mean = tl.sum(v, 0) / n
    d = tl.where(m, v - mean, 0.0)
    scale = tl.rsqrt(tl.sum(d * d, 0) / n + eps)
    made = d * scale * tl.load(w + c, mask=m) + tl.load(b + c, mask=m)
    tl.store(o + row * n + c, made, mask=m)


@kernel("*fp32 *fp32 *fp32 i32 i32 i32", M=32, N=32, K=16)
def matmul(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    cols = tl.program_id(1) * N + tl.arange(0, N)
    total = tl.zeros((M, N), dtype=tl.float32)
    for at in range(0, k, K):
        i = at + tl.arange(0, K)
        left = tl.load(
            a + rows[:, None] * k + i[None, :],
            mask=(rows[:, None] < m) & (i[None, :] < k),
            other=0.0,
        )
        right = tl.load(
            b + i[:, None] * n + cols[None, :],
            mask=(i[:, None] < k) & (cols[None, :] < n),
            other=0.0,
        )
        total += tl.dot(left, right, input_precision="ieee")
    tl.store(
        c + rows[:, None] * n + cols[None, :], total, mask=(rows[:, None] < m) & (cols[None, :] < n)
    )


def _matrix(a, b, c, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, cols = tl.arange(0, M), tl.arange(0, N)
    total = tl.zeros((M, N), dtype=tl.float32)
    for at in range(0, k, K):
        i = at + tl.arange(0, K)
        left = tl.load(a + rows[:, None] * k + i[None, :])
        right = tl.load(b + i[:, None] * N + cols[None, :])
        total = tl.dot(left, right, total)
    tl.store(c + rows[:, None] * N + cols[None, :], total)


_matrix = triton.jit(_matrix)


@kernel("*fp16:16 *fp16:16 *fp32:16 i32:16", M=32, N=32, K=32)
def matmul_half(a, b, c, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    _matrix(a, b, c, k, M, N, K)


@kernel("*bf16:16 *bf16:16 *fp32:16 i32:16", stages=3, M=64, N=32, K=32)
def matmul_bf16(a, b, c, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    _matrix(a, b, c, k, M, N, K)


@kernel("*fp32:16 *fp32:16 *fp32:16 i32:16", stages=3, M=64, N=64, K=32)
def matmul_tf32(a, b, c, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    _matrix(a, b, c, k, M, N, K)


@kernel("*fp32:16 *fp32:16 *fp32:16 i32:16", stages=3, M=32, N=32, K=32)
def matmul_pipelined(a, b, c, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, cols = tl.arange(0, M), tl.arange(0, N)
    total = tl.zeros((M, N), dtype=tl.float32)
    for at in range(0, k, K):
        i = at + tl.arange(0, K)
        left = tl.load(a + rows[:, None] * k + i[None, :])
        right = tl.load(b + i[:, None] * N + cols[None, :])
        total = tl.dot(left, right, total, input_precision="ieee")
    tl.store(c + rows[:, None] * N + cols[None, :], total)


@kernel("*fp32 *fp32 *i32 *fp32", R=16, C=64)
def reductions(x, most, where, total, R: tl.constexpr, C: tl.constexpr):
    r, c = tl.arange(0, R), tl.arange(0, C)
    v = tl.load(x + r[:, None] * C + c[None, :])
    tl.store(most + r, tl.max(v, 1))
    tl.store(where + r, tl.argmin(v, 1))
    tl.store(total + c, tl.sum(v, 0))


@kernel("*i32 *i32 *i32 *i32", B=128)
def scans(x, sums, products, folded, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    tl.store(sums + i, tl.cumsum(v, 0))
    tl.store(products + i, tl.cumprod(v | 1, 0))
    tl.store(folded + i, tl.associative_scan(v, 0, _xored))


@triton.jit
def _xored(a, b):
    return a ^ b


@kernel("*fp32 *i32 *fp32 *i32 i32", B=128)
def atomics(x, at, total, edges, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    k = tl.load(at + i, mask=m, other=0)
    tl.atomic_add(total + k, tl.load(x + i, mask=m), mask=m)
    same = tl.zeros((B,), tl.int32)
    tl.atomic_max(edges + same, k, mask=m)
    tl.atomic_min(edges + 1 + same, k, mask=m)
    tl.atomic_xor(edges + 2 + same, k, mask=m)


@kernel("*i32 *i32 *i32")
def locked(lock, total, done):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(total, tl.load(total, volatile=True) + tl.program_id(0))
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)
    tl.store(done + tl.program_id(0), 1)


@kernel("*fp32 *fp32 *fp32 fp32 i32 i32", B=256)
def dropout(x, o, draws, p, seed, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    draw = tl.rand(seed, i)
    tl.store(draws + i, draw, mask=m)
    tl.store(o + i, tl.where(draw > p, tl.load(x + i, mask=m) / (1 - p), 0.0), mask=m)


@kernel("*i32 *i32 i32", B=64)
def philox(a, b, seed, B: tl.constexpr):
    i = tl.arange(0, B)
    first, second, _, _ = tl.randint4x(seed, i)
    tl.store(a + i, first)
    tl.store(b + i, second)


def _attention(
    q, k, v, o, n, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr, P: tl.constexpr
):
    rows, d = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, D)
    query = tl.load(q + rows[:, None] * D + d[None, :])
    most = tl.full((M,), -float("inf"), tl.float32)
    total = tl.zeros((M,), tl.float32)
    made = tl.zeros((M, D), tl.float32)
    for at in range(0, n, N):
        c = at + tl.arange(0, N)
        key = tl.load(k + c[None, :] * D + d[:, None])
        value = tl.load(v + c[:, None] * D + d[None, :])
        s = tl.dot(query, key, input_precision=P) * scale
        s = tl.where(rows[:, None] >= c[None, :], s, -float("inf"))
        above = tl.maximum(most, tl.max(s, 1))
        p = tl.exp(s - above[:, None])
        shrink = tl.exp(most - above)
        total = total * shrink + tl.sum(p, 1)
        made = made * shrink[:, None] + tl.dot(p.to(query.dtype), value, input_precision=P)
        most = above
    tl.store(o + rows[:, None] * D + d[None, :], made / total[:, None])


_attention = triton.jit(_attention)


@kernel("*fp32 *fp32 *fp32 *fp32 i32 fp32", M=32, N=32, D=16, P="ieee")
def attention(
    q, k, v, o, n, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr, P: tl.constexpr
):
    _attention(q, k, v, o, n, scale, M, N, D, P)


@kernel("*fp16:16 *fp16:16 *fp16:16 *fp32:16 i32:16 fp32", M=32, N=32, D=16, P="tf32")
def attention_half(
    q, k, v, o, n, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr, P: tl.constexpr
):
    _attention(q, k, v, o, n, scale, M, N, D, P)


@kernel("*fp32 *fp32 i32", B=128)
def functions(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    made = tl.exp(v) + tl.log(v) + tl.sin(v) * tl.cos(v) + tl.exp2(v) + tl.log2(v) + tl.sqrt(v)
    made += tl.erf(v) + tl.floor(v) + tl.ceil(v) + tl.abs(-v) + tl.sqrt_rn(v) + tl.div_rn(v, 3.0)
    tl.store(o + i, made + tl.sigmoid(v) + tl.fma(v, v, 1.0))


@kernel("*fp32 *fp32 i32", B=128)
def library(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    made = libdevice.tanh(v) + libdevice.pow(v, 1.3) + libdevice.cbrt(v) + libdevice.atan2(v, 2.0)
    tl.store(o + i, made + libdevice.log1p(v) + libdevice.asin(v / 8) + libdevice.lgamma(v + 1))


@kernel("*fp64 *fp64 i32", B=64)
def doubles(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    tl.store(o + i, tl.exp(v) / (1 + tl.sqrt(v)) + tl.sin(v) + tl.sum(v, 0))


@kernel("*fp16 *fp16 *bf16 *bf16", B=128)
def halves(x, o, y, p, B: tl.constexpr):
    i = tl.arange(0, B)
    v, w = tl.load(x + i), tl.load(y + i)
    tl.store(o + i, v * v + v)
    tl.store(p + i, tl.maximum(w * 2, -w) - w)


@kernel("*fp32 *fp16 *bf16 *i8 *fp32", B=128)
def conversions(x, h, b, c, o, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    tl.store(h + i, v.to(tl.float16))
    tl.store(b + i, v.to(tl.bfloat16))
    tl.store(c + i, v.to(tl.int8))
    tl.store(
        o + i,
        v.to(tl.bfloat16).to(tl.float32)
        + v.to(tl.float16).to(tl.float32)
        + v.to(tl.int32).to(tl.float32),
    )


@kernel("*fp32 *fp8e5 *fp32", B=128)
def floats_of_8_bits(x, f, o, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i).to(tl.float8e5)
    tl.store(f + i, v)
    tl.store(o + i, v.to(tl.float32))


@kernel("*i32 *u32 *i32 *i64", B=128)
def integers(x, y, o, w, B: tl.constexpr):
    i = tl.arange(0, B)
    a, b = tl.load(x + i), tl.load(y + i)
    made = a // 7 + a % 11 + (a << 3) + (a >> 2) + (a & 0xFF) + (a | 3) - (a ^ i) + tl.abs(a)
    made += (b // 9 + b % 13 + (b >> 5)).to(tl.int32) + tl.minimum(a, i) + tl.maximum(a, i)
    tl.store(o + i, made + tl.where(a > 5, a, -a) + tl.umulhi(b, b >> 1).to(tl.int32))
    tl.store(
        w + i, a.to(tl.int64) * b.to(tl.int64) + tl.clamp(a.to(tl.float32), -3.0, 9.0).to(tl.int64)
    )


@kernel("*fp32 *fp32", R=32, C=32)
def transposed(x, o, R: tl.constexpr, C: tl.constexpr):
    r, c = tl.arange(0, R), tl.arange(0, C)
    v = tl.load(x + r[:, None] * C + c[None, :])
    tl.store(o + c[:, None] * R + r[None, :], tl.trans(v))


@kernel("*i32 *i32 *i32", B=128)
def sorted_(x, o, h, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    tl.store(o + i, tl.sort(v))
    tl.store(h + tl.arange(0, 32), tl.histogram(v & 31, 32))


@kernel("*fp32 *i32 *fp32", B=64)
def gathered(x, at, o, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.gather(tl.load(x + i), tl.load(at + i), 0)
    a, b = tl.split(tl.reshape(v, (B // 2, 2)))
    tl.store(o + i, tl.interleave(b, a))
    tl.store(o + B + i, tl.flip(v, 0))


@kernel("*i32 *i32", B=128)
def collatz(x, o, B: tl.constexpr):
    n = tl.load(x + tl.program_id(0))
    steps = 0
    while n > 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    tl.store(o + tl.program_id(0), steps)


@kernel("*fp32 *fp32 *fp32 i32", B=128)
def welford(x, means, variances, n, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, B)
    v = tl.load(x + row * B + c)
    mean, m2, weight = tl.reduce((v, tl.zeros_like(v), tl.full((B,), 1.0, tl.float32)), 0, _merged)
    tl.store(means + row, mean)
    tl.store(variances + row, m2 / weight)


@triton.jit
def _merged(mean, m2, weight, mean_2, m2_2, weight_2):
    d = mean_2 - mean
    w = weight + weight_2
    share = weight_2 / w
    return mean + d * share, m2 + m2_2 + d * d * weight * share, w


@kernel("*i8 *i8 *i32", M=16, N=16, K=32)
def matmul_bytes(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    r, k, n = tl.arange(0, M), tl.arange(0, K), tl.arange(0, N)
    left = tl.load(a + r[:, None] * K + k[None, :])
    right = tl.load(b + k[:, None] * N + n[None, :])
    tl.store(c + r[:, None] * N + n[None, :], tl.dot(left, right))


@kernel("*fp32 *fp32", warps=1, B=32)
def printed(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    tl.device_print("v", v)
    tl.store(o + i, v + 1)


@kernel("*fp32 *fp32", B=128)
def asserted(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    tl.device_assert(v > -100.0, "too small")
    tl.store(o + i, v + 1)


@kernel("*fp32 *fp32 i32", warps=8, H=16, W=32)
def blurred(x, o, w, H: tl.constexpr, W: tl.constexpr):
    r = tl.program_id(1) * H + tl.arange(0, H)
    c = tl.program_id(0) * W + tl.arange(0, W)
    total = tl.zeros((H, W), tl.float32)
    for dy in tl.static_range(-1, 2):
        for dx in tl.static_range(-1, 2):
            y, z = r[:, None] + dy, c[None, :] + dx
            total += tl.load(x + y * w + z, mask=(y >= 0) & (y < w) & (z >= 0) & (z < w), other=0.0)
    tl.store(o + r[:, None] * w + c[None, :], total / 9, mask=(r[:, None] < w) & (c[None, :] < w))


def compiled(name, arch):
    function, types, warps, stages, constants = KERNELS[name]
    names = [each for each in function.arg_names if each not in constants]
    signature = {n: t.partition(":")[0] for n, t in zip(names, types, strict=True)}
    signature |= {n: "constexpr" for n in constants}
    attributes = {
        (number,): [["tt.divisibility", 16]] for number, t in enumerate(types) if t.endswith(":16")
    }
    source = ASTSource(function, signature, constants, attributes)
    options = {"num_warps": warps, "num_stages": stages, "debug": name == "asserted"}
    made = triton.compile(source, target=GPUTarget("cuda", arch, 32), options=options)
    return {
        "name": name,
        "variant": f"sm_{arch}",
        "ptx": made.asm["ptx"],
        "meta": {"entry": made.metadata.name, "block": 32 * warps, "shared": made.metadata.shared},
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    made = [compiled(name, arch) for name in KERNELS for arch in (80, 90)]
    Path(sys.argv[1]).write_text(json.dumps(made))

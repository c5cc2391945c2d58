"""The kernels of the self-test. Each writes one row of ``out`` per tested feature; ROWS has their
names, in order."""

# pyright: reportMissingParameterType=false
# Kernels: their arguments have the types of each launch.

from __future__ import annotations

import math

from gridlane import cuda
from gridlane.cuda.types import float32, int32, uint32

ROWS: dict[str, tuple[str, ...]] = {
    "arithmetic": ("add", "sub", "mul", "neg", "abs", "min", "max", "mul add"),
    "division": ("floor div", "mod"),
    "quotients": ("div", "sqrt", "floor", "ceil", "trunc"),
    "bits": ("and", "or", "xor", "not", "shl", "shr"),
    "counts": ("popc", "clz", "brev"),
    "comparisons": ("eq", "ne", "lt", "le", "gt", "ge"),
    "functions": (
        "sin",
        "cos",
        "tan",
        "exp",
        "log",
        "log2",
        "log10",
        "expm1",
        "log1p",
        "sinh",
        "cosh",
        "tanh",
        "atan",
        "asin",
        "erf",
        "erfc",
        "pow",
        "atan2",
        "hypot",
        "lgamma",
    ),
    "atomics": ("add", "min", "max", "and", "or", "xor", "exchange", "swap"),
    "warps": ("up", "down", "xor", "index", "ballot", "any", "all"),
}


def arithmetic(a, b, out):
    i = cuda.grid(1)
    if i < a.size:
        x, y = a[i], b[i]
        out[0, i] = x + y
        out[1, i] = x - y
        out[2, i] = x * y
        out[3, i] = -x
        out[4, i] = abs(x)
        out[5, i] = min(x, y)
        out[6, i] = max(x, y)
        out[7, i] = x * y + x


def division(a, b, out):
    i = cuda.grid(1)
    if i < a.size:
        out[0, i] = a[i] // b[i]
        out[1, i] = a[i] % b[i]


def quotients(a, b, out):
    i = cuda.grid(1)
    if i < a.size:
        out[0, i] = a[i] / b[i]
        out[1, i] = math.sqrt(a[i])
        out[2, i] = math.floor(a[i])
        out[3, i] = math.ceil(a[i])
        out[4, i] = math.trunc(a[i])


def bits(a, b, out):
    i = cuda.grid(1)
    if i < a.size:
        x, y = a[i], b[i]
        out[0, i] = x & y
        out[1, i] = x | y
        out[2, i] = x ^ y
        out[3, i] = ~x
        out[4, i] = x << (y & 7)
        out[5, i] = x >> (y & 7)


def counts(a, b, out):
    i = cuda.grid(1)
    if i < a.size:
        out[0, i] = cuda.popc(a[i])
        out[1, i] = cuda.clz(a[i])
        out[2, i] = cuda.brev(a[i])


def comparisons(a, b, out):
    i = cuda.grid(1)
    if i < a.size:
        x, y = a[i], b[i]
        out[0, i] = x == y
        out[1, i] = x != y
        out[2, i] = x < y
        out[3, i] = x <= y
        out[4, i] = x > y
        out[5, i] = x >= y


def conversion(a, b, out):
    i = cuda.grid(1)
    if i < a.size:
        out[0, i] = a[i]


def functions(a, b, out):
    i = cuda.grid(1)
    if i < a.size:
        x, y = a[i], b[i]
        out[0, i] = math.sin(x)
        out[1, i] = math.cos(x)
        out[2, i] = math.tan(x)
        out[3, i] = math.exp(x)
        out[4, i] = math.log(x)
        out[5, i] = math.log2(x)
        out[6, i] = math.log10(x)
        out[7, i] = math.expm1(x)
        out[8, i] = math.log1p(x)
        out[9, i] = math.sinh(x)
        out[10, i] = math.cosh(x)
        out[11, i] = math.tanh(x)
        out[12, i] = math.atan(x)
        out[13, i] = math.asin(x)
        out[14, i] = math.erf(x)
        out[15, i] = math.erfc(x)
        out[16, i] = math.pow(x, y)
        out[17, i] = math.atan2(x, y)
        out[18, i] = math.hypot(x, y)
        out[19, i] = math.lgamma(x)


def atomics(a, b, out):
    """All threads update the first words of each row; their order must not matter."""
    i = cuda.grid(1)
    if i < a.size:
        k = i % 5
        cuda.atomic.add(out, (0, k), a[i])
        cuda.atomic.min(out, (1, k), a[i])
        cuda.atomic.max(out, (2, k), a[i])
        cuda.atomic.and_(out, (3, k), a[i])
        cuda.atomic.or_(out, (4, k), a[i])
        cuda.atomic.xor(out, (5, k), a[i])
        cuda.atomic.exch(out, (6, i), a[i])
        cuda.atomic.cas(out, (7, i), 0, a[i])


def atomic_sums(a, b, out):
    """Sums of small integers are exact in floats, in any order."""
    i = cuda.grid(1)
    if i < a.size:
        cuda.atomic.add(out, (0, i % 3), float32(i % 7))


def warps(a, b, out):
    i = cuda.grid(1)
    lane = cuda.threadIdx.x % 32
    x = a[i % a.size]
    out[0, i] = cuda.shfl_up_sync(0xFFFFFFFF, x, 3)
    out[1, i] = cuda.shfl_down_sync(0xFFFFFFFF, x, 5)
    out[2, i] = cuda.shfl_xor_sync(0xFFFFFFFF, x, 9)
    out[3, i] = cuda.shfl_sync(0xFFFFFFFF, x, (lane * 7) % 32)
    out[4, i] = int32(cuda.ballot_sync(0xFFFFFFFF, x % 3 == 0) & uint32(0x7FFFFFFF))
    out[5, i] = cuda.any_sync(0xFFFFFFFF, x == 1)
    out[6, i] = cuda.all_sync(0xFFFFFFFF, x < 100)


def shared_memory(a, b, out):
    tile = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = a[i % a.size]
    cuda.syncthreads()
    step = 32
    while step > 0:
        if t < step:
            tile[t] += tile[t + step]
        cuda.syncthreads()
        step //= 2
    out[0, i] = tile[0] + tile[t]


def dynamic_memory(a, b, out):
    tile = cuda.shared.array(0, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = a[i % a.size]
    cuda.syncthreads()
    out[0, i] = tile[cuda.blockDim.x - 1 - t]


def divergence(a, b, out):
    """Divergent trip counts, with breaks in the middle."""
    i = cuda.grid(1)
    if i >= a.size:
        return
    n = abs(a[i]) % 97 + 1
    steps = 0
    while True:
        if n == 1:
            break
        steps += 1
        if steps > 60:
            steps = -1
            break
        n = n // 2 if n % 2 == 0 else 3 * n + 1
    local = cuda.local.array(8, int32)
    for k in range(8):
        local[k] = steps * k
    out[0, i] = local[i % 8]


def places(a, b, out):
    """The position that each thread reads, in three dimensions."""
    x, y, z = cuda.grid(3)
    gx, gy, _ = cuda.gridsize(3)
    out[0, (z * gy + y) * gx + x] = (
        cuda.threadIdx.x + 10 * cuda.blockIdx.y + 100 * cuda.gridDim.z + 1000 * cuda.blockDim.x
    )


def many_blocks(a, b, out):
    i = cuda.grid(1)
    if i % 64 == 0:
        cuda.atomic.add(out, (0, i % 640 // 64), 1)


def raising(a, b, out):
    i = cuda.grid(1)
    out[0, i % 4] = 1
    if i == 5:
        raise ValueError("as it should")


def printing(a, b, out):
    i = cuda.grid(1)
    if i % 16 == 3:
        print("thread", i, a[i])
    out[0, i] = i

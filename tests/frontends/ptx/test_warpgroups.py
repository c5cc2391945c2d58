"""Products of warpgroups against numpy, with the layouts of shared memory that CUTLASS lists."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tests.devices import DEVICES
from tests.frontends.ptx.bodies import PTXAS, refused_by_ptxas

from gridlane import cuda
from gridlane.core.errors import KernelError, PtxError
from gridlane.launch import current
from gridlane.launch.devices import get_device

ON = ["interp", *(each for each in DEVICES if each in ("cpu", "vulkan"))]
BYTES = 16384
TYPES: dict[str, Any] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "tf32": np.float32,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "s8": np.int8,
    "u8": np.uint8,
}
SUMS = {"f32": np.float32, "f16": np.float16, "s32": np.int32}

TEXT = """.version 8.4
.target sm_90a
.address_size 64
{dynamic}
.visible .entry k(.param .u64 source, .param .u64 made) .reqntid 128
{{
.reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .b32 %a<4>; {registers}
{static}
ld.param.u64 %rd1, [source]; cvta.to.global.u64 %rd1, %rd1;
ld.param.u64 %rd2, [made]; cvta.to.global.u64 %rd2, %rd2;
mov.u32 %r1, %tid.x; mov.u32 %r2, tile; mov.u32 %r3, 0;
COPY: shl.b32 %r4, %r3, 7; add.u32 %r4, %r4, %r1; shl.b32 %r4, %r4, 2;
cvt.u64.u32 %rd3, %r4; add.u64 %rd3, %rd1, %rd3; ld.global.u32 %r5, [%rd3];
add.u32 %r6, %r2, %r4; st.shared.u32 [%r6], %r5;
add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 32; @%p1 bra COPY;
add.u64 %rd4, %rd1, 16384; mul.wide.u32 %rd5, %r1, 16; add.u64 %rd5, %rd4, %rd5;
ld.global.v4.u32 {{%a0, %a1, %a2, %a3}}, [%rd5];
fence.proxy.async;
bar.sync 0;
shr.u32 %r7, %r2, 4; and.b32 %r7, %r7, 0x3FFF; cvt.u64.u32 %rd6, %r7;
or.b64 %rd7, %rd6, {left}; add.u64 %rd8, %rd6, 512; or.b64 %rd8, %rd8, {right};
setp.ne.u32 %p2, {scale}, 0;
{start}
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.{opcode} {{{sums}}}, {a}, %rd8, %p2{numbers};
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
mul.wide.u32 %rd9, %r1, {pitch}; add.u64 %rd9, %rd2, %rd9;
{stores}
ret;
}}
"""


@dataclass(frozen=True)
class Product:
    """A product: its types, columns and layouts."""

    left: str
    right: str
    sums: str
    columns: int
    swizzle: int = 128
    across: tuple[int, int] = (0, 0)
    in_memory: bool = True
    signs: tuple[int, int] = (1, 1)
    limited: bool = False
    scale: bool = True
    dynamic: bool = False

    @property
    def size(self) -> int:
        return np.dtype(TYPES[self.left]).itemsize

    @property
    def depth(self) -> int:
        return 32 // self.size


def offsets(lines: int, items: int, size: int, swizzle: int, across: int):
    """The byte of each element, and the leading and stride byte offsets, by CUTLASS's shapes and
    strides in units of 16 bytes (``include/cute/atom/mma_traits_sm90_gmma.hpp``)."""
    units, per = max(1, swizzle // 16), 16 // size
    places = np.zeros((lines, items), np.int64)
    if not across:
        stride, leading = 8 * units + (0 if swizzle else 8), 8 * units * (lines // 8) * 2
        step = 1 if swizzle else leading
        for low, high, unit in itertools.product(range(8), range(lines // 8), range(items // per)):
            at = low * units + high * stride + unit * step
            for part in range(per):
                places[8 * high + low, unit * per + part] = 16 * at + part * size
    else:
        # ((1, n), (8, k)) : ((X, SBO), (1, LBO)); with a swizzle of W units
        # ((W, n), (8, k)) : ((1, LBO), (W, SBO)).
        stride = 8 * units if swizzle else 8
        leading = 16 * units if swizzle else 8 * (lines // per)
        outer, inner = (leading, stride) if swizzle else (stride, leading)
        for line, item in itertools.product(range(lines), range(items)):
            unit, part = divmod(line, per)
            at = unit % units + unit // units * outer + item % 8 * units + item // 8 * inner
            places[line, item] = 16 * at + part * size
    bits = {0: 0, 32: 1, 64: 2, 128: 3}[swizzle]
    mask = ((1 << bits) - 1) << 7
    return places ^ ((places & mask) >> 3), 16 * leading, 16 * stride


def descriptor(leading: int, stride: int, swizzle: int) -> int:
    return leading >> 4 << 16 | stride >> 4 << 32 | {0: 0, 128: 1, 64: 2, 32: 3}[swizzle] << 62


def text(product: Product, start: str = "") -> str:
    """The program; the sums begin with a constant, by default 0."""
    start = start or ("0f00000000" if product.sums == "f32" else "0")
    halves = product.sums == "f16"
    count = product.columns // (4 if halves else 2)
    kind = "f32" if product.sums == "f32" else "b32"
    of = [
        descriptor(
            *offsets(n, product.depth, product.size, product.swizzle, across)[1:], product.swizzle
        )
        for n, across in zip((64, product.columns), product.across, strict=True)
    ]
    numbers = "" if product.sums == "s32" else ", {}, {}".format(*product.signs)
    if product.size == 2:
        across = product.across if product.in_memory else product.across[1:]
        numbers += "".join(f", {each}" for each in across)
    shape = f"m64n{product.columns}k{product.depth}"
    limited = ".satfinite" * product.limited
    opcode = f"{shape}{limited}.{product.sums}.{product.left}.{product.right}"
    sums = [f"%c{n}" for n in range(count)]
    memory = ".shared .align 1024 .b8 "
    return TEXT.format(
        dynamic=f".extern {memory}tile[];" if product.dynamic else "",
        static=".shared .align 8 .b8 other[24]; st.shared.u32 [other], 0;"
        if product.dynamic
        else f"{memory}tile[{BYTES}];",
        registers=f".reg .{kind} %c<{count}>;",
        left=of[0],
        right=of[1],
        scale=int(product.scale),
        start=" ".join(f"mov.{kind} {each}, {start};" for each in sums),
        opcode=opcode,
        sums=", ".join(sums),
        a="%rd7" if product.in_memory else "{%a0, %a1, %a2, %a3}",
        numbers=numbers,
        pitch=4 * count,
        stores="\n".join(
            f"st.global.{kind} [%rd9+{4 * n}], {each};" for n, each in enumerate(sums)
        ),
    )


def numbers(product: Product, which: int, shape: tuple[int, int]) -> np.ndarray:
    kind, rng = TYPES[(product.left, product.right)[which]], np.random.default_rng(3 + which)
    if np.issubdtype(kind, np.integer):
        info = np.iinfo(kind)
        return rng.integers(info.min, info.max + 1, shape).astype(kind)
    return (rng.integers(-16, 17, shape) / 8).astype(kind)


def arranged(sums: np.ndarray, halves: bool) -> np.ndarray:
    """What each thread holds of the sums: PTX ISA, "Register Fragments for wgmma: D"."""
    count = sums.shape[1] // 2
    thread, n = np.arange(128)[:, None], np.arange(count)[None, :]
    row = thread // 32 * 16 + thread % 32 // 4 + 8 * (n // 2 % 2)
    return sums[row, n // 4 * 8 + thread % 4 * 2 + n % 2]


def run(device: str, product: Product, start: str = "", first: float = 0) -> tuple[np.ndarray, ...]:
    """The sums, and what they are by numpy."""
    current.choose(get_device(device))
    memory = np.zeros(BYTES + 2048, np.uint8)
    factors = []
    for which, lines in enumerate((64, product.columns)):
        array = numbers(product, which, (lines, product.depth))
        factors.append(array)
        places, _, _ = offsets(
            lines, product.depth, product.size, product.swizzle, product.across[which]
        )
        bytes_ = array.view(np.uint8).reshape(*array.shape, product.size)
        for part in range(product.size):
            memory[which * BYTES // 2 + places + part] = bytes_[..., part]
    thread = np.arange(128)[:, None]
    row = thread // 32 * 16 + thread % 32 // 4
    per = 4 // product.size
    for word in range(4):
        item = thread % 4 * per + word // 2 * 4 * per + np.arange(per)
        words = factors[0][row + 8 * (word % 2), item]
        memory[BYTES:].reshape(128, 4, 4)[:, word] = words.view(np.uint8).reshape(128, 4)
    count = product.columns // (4 if product.sums == "f16" else 2)
    made = np.zeros((128, count), np.uint32)
    kernel = cuda.RawModule(code=text(product, start)).get_function("k")
    kernel((1,), (128,), (memory, made), shared_mem=BYTES if product.dynamic else 0)
    wide = np.int64 if product.sums == "s32" else np.float64
    sums = factors[0].astype(wide) @ factors[1].astype(wide).T * np.prod(product.signs)
    sums = sums + (first if product.scale else 0)
    if product.limited:
        sums = np.clip(sums, -(2**31), 2**31 - 1)
    with np.errstate(over="ignore"):
        wanted = arranged(sums, product.sums == "f16").astype(SUMS[product.sums])
    return made.view(SUMS[product.sums]), wanted


PRODUCTS = [
    *(Product("f16", "f16", "f32", 16, swizzle) for swizzle in (0, 32, 64)),
    *(Product("bf16", "bf16", "f32", 16, swizzle, (1, 1)) for swizzle in (0, 32, 64, 128)),
    Product("f16", "f16", "f16", 16, 128, (0, 1), in_memory=False, signs=(-1, 1)),
    Product("f16", "f16", "f32", 8, 128, (1, 0), signs=(-1, -1), dynamic=True),
    Product("tf32", "tf32", "f32", 16, 128, signs=(1, -1)),
    Product("tf32", "tf32", "f32", 8, 0, in_memory=False),
    Product("e4m3", "e5m2", "f32", 16, 64),
    Product("e5m2", "e4m3", "f16", 8, in_memory=False),
    Product("s8", "u8", "s32", 16),
    Product("u8", "s8", "s32", 8, 32, in_memory=False),
]


@pytest.mark.parametrize(
    ("product", "device"),
    [(each, on) for n, each in enumerate(PRODUCTS) for on in ON if on != "vulkan" or n % 6 == 1],
    ids=str,
)
def test_products(device: str, product: Product) -> None:
    got, wanted = run(device, product)
    assert wanted.any()
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("device", ON)
def test_what_the_sums_begin_with(device: str) -> None:
    """Also sums of integers that wrap, and that saturate."""
    got, wanted = run(device, Product("f16", "f16", "f32", 8), "0f40600000", 3.5)
    np.testing.assert_array_equal(got, wanted)
    nan = Product("f16", "f16", "f32", 8, scale=False)
    got, wanted = run(device, nan, "0f7FC00000", np.nan)
    np.testing.assert_array_equal(got, wanted)
    for limited in (False, True):
        product = Product("s8", "s8", "s32", 8, limited=limited)
        got, wanted = run(device, product, str(2**31 - 1000), 2**31 - 1000)
        np.testing.assert_array_equal(got, wanted)
        assert (got == 2**31 - 1).any() == limited


def test_sums_that_are_not_written_before() -> None:
    """Compilers leave them so where the first product is added to nothing."""
    program = text(Product("f16", "f16", "f32", 8, scale=True))
    current.choose(get_device("interp"))
    for scale in (0, 1):
        changed = program.replace("mov.f32 %c3, 0f00000000;", "")
        changed = changed.replace("setp.ne.u32 %p2, 1, 0;", f"setp.ne.u32 %p2, {scale}, 0;")
        kernel = cuda.RawModule(code=changed).get_function("k")
        arrays = np.zeros(BYTES + 2048, np.uint8), np.zeros((128, 4), np.float32)
        if not scale:
            kernel((1,), (128,), arrays)
            continue
        with pytest.raises(KernelError, match="depends on %c3"):
            kernel((1,), (128,), arrays)


def test_a_warp_of_which_lanes_are_elsewhere() -> None:
    changed = text(PRODUCTS[0]).replace(
        "wgmma.fence.sync.aligned;", "setp.lt.u32 %p3, %r1, 5; @%p3 bra END;"
    )
    current.choose(get_device("interp"))
    kernel = cuda.RawModule(code=changed.replace("ret;", "END: ret;")).get_function("k")
    arrays = np.zeros(BYTES + 2048, np.uint8), np.zeros((128, 12), np.uint32)
    with pytest.raises(KernelError, match="not all 32 lanes of a warp are here"):
        kernel((1,), (128,), arrays)


OVERWRITTEN = """.version 8.4
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 made) .maxntid 256
{
.reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .f32 %c<4>;
.shared .align 1024 .b8 tile[2048]; .shared .align 8 .b8 bar[8];
ld.param.u64 %rd1, [made]; cvta.to.global.u64 %rd1, %rd1;
mov.u32 %r1, %tid.x; mov.u32 %r2, tile; mov.u32 %r9, bar;
shl.b32 %r3, %r1, 2; add.u32 %r3, %r2, %r3;
st.shared.u32 [%r3], 0x3C003C00; st.shared.u32 [%r3+1024], 0x3C003C00;
setp.eq.u32 %p1, %r1, 128; @%p1 mbarrier.init.shared.b64 [%r9], 1;
fence.proxy.async; bar.sync 0;
setp.lt.u32 %p2, %r1, 128; @%p2 bra WRITER;
setp.lt.u32 %p2, %r1, 160; @%p2 bra MULTIPLY;
mov.u32 %r5, 0;
LATER: mbarrier.test_wait.parity.shared.b64 %p3, [%r9], 1;
add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 40; @%p2 bra LATER;
MULTIPLY:
mov.f32 %c0, 0f00000000; mov.f32 %c1, %c0; mov.f32 %c2, %c0; mov.f32 %c3, %c0;
shr.u32 %r4, %r2, 4; and.b32 %r4, %r4, 0x3FFF; cvt.u64.u32 %rd2, %r4;
or.b64 %rd2, %rd2, 0x0000001000080000;
wgmma.fence.sync.aligned;
setp.ne.u32 %p3, 1, 0;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%c0, %c1, %c2, %c3}, %rd2, %rd2, %p3, 1, 1, 0, 0;
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
@%p1 mbarrier.arrive.shared.b64 _, [%r9];
sub.u32 %r1, %r1, 128; mul.wide.u32 %rd3, %r1, 16; add.u64 %rd3, %rd1, %rd3;
st.global.v4.f32 [%rd3], {%c0, %c1, %c2, %c3};
ret;
WRITER: mbarrier.try_wait.parity.shared.b64 %p3, [%r9], 0; @!%p3 bra WRITER;
st.shared.u32 [%r3], 0; st.shared.u32 [%r3+512], 0;
st.shared.u32 [%r3+1024], 0; st.shared.u32 [%r3+1536], 0;
ret;
}
"""


@pytest.mark.parametrize("device", [each for each in ON if each != "vulkan"])
def test_memory_is_free_once_one_thread_has_waited(device: str) -> None:
    """Its arrival lets others overwrite what the products of all four warps read, three of which
    are late."""
    current.choose(get_device(device))
    made = np.zeros((128, 4), np.float32)
    cuda.RawModule(code=OVERWRITTEN).get_function("k")((1,), (256,), (made,))
    assert (made == 16).all()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (
            "m64n8k16.f32.f16.f16 {%c0,%c1,%c2,%c3}, %rd1, %rd2, %p1, 1, 1, 0",
            "whether it is transp",
        ),
        ("m64n8k16.f32.f16.f16 {%c0,%c1,%c2,%c3}, %rd1, %rd2, %p1, 2, 1, 0, 0", "by 1 or -1"),
        ("m64n8k16.f32.f16.f16 {%c0,%c1}, %rd1, %rd2, %p1, 1, 1, 0, 0", "4 operands in braces"),
        ("m64n40k32.s32.s8.s8 {%c0,%c1}, %rd1, %rd2, %p1", "is not translated"),
        ("m64n8k16.f32.f16.bf16 {%c0,%c1}, %rd1, %rd2, %p1, 1, 1, 0, 0", "is not translated"),
    ],
)
def test_products_that_are_none(line: str, reason: str) -> None:
    body = f"wgmma.mma_async.sync.aligned.{line};"
    head = ".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry k() {\n"
    registers = ".reg .pred %p<2>; .reg .b64 %rd<4>; .reg .f32 %c<4>;\n"
    current.choose(get_device("interp"))
    with pytest.raises(PtxError, match=reason):
        cuda.RawModule(code=head + registers + body + " ret; }").get_function("k")((1,), (128,), ())


@pytest.mark.skipif(not PTXAS, reason="ptxas is absent")
def test_ptxas_accepts_them(tmp_path: Path) -> None:
    for product in PRODUCTS:
        assert refused_by_ptxas(text(product), tmp_path, "sm_90a") == []
    assert refused_by_ptxas(OVERWRITTEN, tmp_path, "sm_90a") == []

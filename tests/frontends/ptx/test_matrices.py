"""mma.sync, ldmatrix, stmatrix, movmatrix against numpy, by the layouts of the PTX ISA."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from tests.codegen.test_nvptx import checked_by_ptxas, ptx_of
from tests.devices import DEVICES
from tests.frontends.ptx.bodies import PTXAS, refused_by_ptxas, text_of

from gridlane import cuda
from gridlane.core.options import KernelOptions
from gridlane.frontends.ptx import PtxSource, parse_ptx
from gridlane.launch import current
from gridlane.launch.devices import get_device

ALL = ["interp", *DEVICES]
NATIVE = ["interp", *(each for each in DEVICES if each in ("cpu", "cuda"))]
SHADERS = [each for each in DEVICES if each not in NATIVE]
RNG = np.random.default_rng(11)
HEAD = ".version 8.8\n.target sm_90\n.address_size 64\n"


def run(device: str, body: str, registers: str, *arrays: np.ndarray) -> None:
    """Run a warp on arrays, whose addresses for the own lane are ``%x0`` on: it has 128 bytes of
    each."""
    current.choose(get_device(device))
    params = ", ".join(f".param .u64 p{n}" for n in range(len(arrays)))
    loads = "\n".join(
        f"ld.param.u64 %x{n}, [p{n}]; cvta.to.global.u64 %x{n}, %x{n}; add.u64 %x{n}, %x{n}, %own;"
        for n in range(len(arrays))
    )
    text = f"""{HEAD}.visible .entry k({params}) {{
    .reg .b64 %x<9>, %own; .reg .b32 %lane; {registers}
    mov.u32 %lane, %tid.x; mul.wide.u32 %own, %lane, 128;
    {loads}
    {body}
    ret; }}"""
    cuda.RawModule(code=text).get_function("k")((1,), (32,), arrays)


def regs(name: str, count: int) -> str:
    return "{" + ", ".join(f"%{name}{n}" for n in range(count)) + "}"


EIGHT = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}
BITS = {
    "e4m3": 8,
    "e5m2": 8,
    "f16": 16,
    "bf16": 16,
    "tf32": 32,
    "f64": 64,
    "s8": 8,
    "u8": 8,
    "s4": 4,
    "u4": 4,
}
SHAPES = [
    ("m8n8k4", "f64", "f64", "f64"),
    ("m16n8k8", "f64", "f64", "f64"),
    ("m16n8k16", "f64", "f64", "f64"),
    ("m16n8k8", "f16", "f16", "f32"),
    ("m16n8k16", "f16", "f16", "f32"),
    ("m16n8k16", "f16", "f16", "f16"),
    ("m16n8k8", "bf16", "bf16", "f32"),
    ("m16n8k16", "bf16", "bf16", "f32"),
    ("m16n8k4", "tf32", "tf32", "f32"),
    ("m16n8k8", "tf32", "tf32", "f32"),
    ("m16n8k16", "e4m3", "e4m3", "f32"),
    ("m16n8k32", "e4m3", "e5m2", "f32"),
    ("m16n8k32", "e5m2", "e5m2", "f16"),
    ("m8n8k16", "s8", "u8", "s32"),
    ("m16n8k16", "u8", "s8", "s32"),
    ("m16n8k32", "s8", "s8", "s32"),
    ("m8n8k32", "s4", "u4", "s32"),
    ("m16n8k32", "u4", "u4", "s32"),
    ("m16n8k64", "s4", "s4", "s32"),
]


def drawn(kind: str, shape: tuple[int, int]) -> np.ndarray:
    """A matrix, whose products are exact."""
    bits = BITS[kind]
    if kind[0] in "su":
        low = -(1 << bits - 1) if kind[0] == "s" else 0
        return RNG.integers(low, low + (1 << bits), shape)
    if kind in EIGHT:  # subnormal ones too
        return RNG.integers(-8, 9, shape) / RNG.choice([4, 64, 512], shape)
    return RNG.integers(-8, 9, shape) / 4


def bits_of(values: np.ndarray, kind: str) -> np.ndarray:
    """Elements as the bits of a register."""
    if kind == "f64":
        return values.astype(np.float64).view(np.uint64)
    if kind == "tf32":  # whose lower bits do not count
        return values.astype(np.float32).view(np.uint32).astype(np.uint64) | 0x1234 & 0x1FFF
    if kind in ("f16", "bf16"):
        half = np.float16 if kind == "f16" else ml_dtypes.bfloat16
        return values.astype(half).view(np.uint16).astype(np.uint64)
    if kind in EIGHT:
        return values.astype(EIGHT[kind]).view(np.uint8).astype(np.uint64)
    return (values & (1 << BITS[kind]) - 1).astype(np.uint64)


def held(matrix: np.ndarray, kind: str, place) -> np.ndarray:
    """The registers of each lane, with the elements of the ISA's table: ``place`` has the row and
    the column of element ``i`` of a lane."""
    bits = bits_of(matrix, kind)
    per_word = max(1, 32 // BITS[kind])
    count = matrix.size // 32
    width = np.uint64 if kind == "f64" else np.uint32
    made = np.zeros((32, count // per_word), np.uint64)
    for lane in range(32):
        for i in range(count):
            word = int(bits[place(lane >> 2, lane & 3, i)])
            made[lane, i // per_word] |= np.uint64(
                word << i % per_word * BITS[kind] & (1 << 64) - 1
            )
    return made.astype(width)


def left(kind: str, rows: int):
    """The elements of A, as the tables of "Matrix Fragments for mma" have them."""
    n = max(1, 32 // BITS[kind])

    def place(group: int, thread: int, i: int) -> tuple[int, int]:
        if rows == 8:
            return group, i // n * 4 * n + thread * n + i % n
        return group + 8 * (i // n % 2), i // (2 * n) * 4 * n + thread * n + i % n

    return place


def right(kind: str):
    n = max(1, 32 // BITS[kind])
    return lambda group, thread, i: (i // n * 4 * n + thread * n + i % n, group)


def sums(group: int, thread: int, i: int) -> tuple[int, int]:
    return group + 8 * (i // 2), 2 * thread + i % 2


def padded(registers: np.ndarray) -> np.ndarray:
    """128 bytes for each lane."""
    made = np.zeros((32, 128 // registers.itemsize), registers.dtype)
    made[:, : registers.shape[1]] = registers
    return made


def spelled(shape: str, a: str, b: str, c: str, limited: str = "") -> tuple[str, str]:
    """The registers of a product, and the body that runs it."""
    rows, depth = int(shape[1 : shape.index("n")]), int(shape.split("k")[1])
    wide = a == "f64"
    counts = rows * depth // 32 // max(1, 32 // BITS[a]), 8 * depth // 32 // max(1, 32 // BITS[b])
    total = rows // 4 // (2 if c == "f16" else 1)
    word = "f64" if wide else "b32"
    of_sum = {"f16": "b32", "s32": "b32"}.get(c, c)
    names = f".reg .{word} %a<9>, %b<9>; .reg .{of_sum} %c<9>, %d<9>;"
    size = 8 if wide else 4
    loads = [
        *(f"ld.global.{word} %a{n}, [%x0+{size * n}];" for n in range(counts[0])),
        *(f"ld.global.{word} %b{n}, [%x1+{size * n}];" for n in range(counts[1])),
        *(f"ld.global.{of_sum} %c{n}, [%x2+{size * n}];" for n in range(total)),
    ]
    operands = (
        f"{regs('d', total)}, {regs('a', counts[0])}, {regs('b', counts[1])}, {regs('c', total)}"
    )
    body = f"mma.sync.aligned.{shape}.row.col{limited}.{c}.{a}.{b}.{c} {operands};"
    stores = [f"st.global.{of_sum} [%x2+{size * n}], %d{n};" for n in range(total)]
    return names, "\n".join((*loads, body, *stores))


def product(device: str, shape: str, a: str, b: str, c: str, limited: str = "", scale: int = 1):
    """What a device makes of a product, and what numpy does."""
    rows, depth = int(shape[1 : shape.index("n")]), int(shape.split("k")[1])
    first, second = drawn(a, (rows, depth)), drawn(b, (depth, 8))
    third = RNG.integers(-9, 10, (rows, 8)) * scale
    names, body = spelled(shape, a, b, c, limited)
    kind = {"s32": "s32", "f32": "f32"}.get(c, c)
    old = {"s32": np.int32, "f32": np.float32, "f16": np.float16, "f64": np.float64}[kind]
    places = [[sums(l >> 2, l & 3, i) for i in range(rows // 4)] for l in range(32)]
    given = np.array([[third[p] for p in row] for row in places]).astype(old)
    lines = padded(given.view(np.uint32) if c == "f16" else given)
    run(
        device,
        body,
        names,
        padded(held(first, a, left(a, rows))),
        padded(held(second, b, right(b))),
        lines,
    )
    made = lines[:, : given.view(lines.dtype).shape[1]].copy().view(old)
    want = first.astype(np.float64) @ second.astype(np.float64) + third
    if c in ("f16", "f32"):  # rounded to f32, and from that to f16
        want = want.astype(np.float32).astype(old)
    return made, np.array([[want[p] for p in row] for row in places])


ON_SHADERS = [SHAPES[n] for n in (0, 5, 6, 9, 11, 15, 17)]
"""One of each kind of factors: the devices' compilers take most of the time."""


@pytest.mark.parametrize(
    "device, shape, a, b, c",
    [
        *((device, *each) for device in NATIVE for each in SHAPES),
        *((device, *each) for device in SHADERS for each in ON_SHADERS),
    ],
)
def test_products(device, shape, a, b, c):
    made, want = product(device, shape, a, b, c)
    if device == "cuda" and a in EIGHT and c == "f16":  # whose sums GPUs round on the way
        assert np.allclose(made.astype(float), want.astype(float), rtol=4e-3, atol=1e-2)
    else:
        assert (made == want).all()


@pytest.mark.skipif(not PTXAS, reason="ptxas of CUDA is not installed")
def test_ptxas_accepts_what_is_made_of_them(tmp_path: Path):
    made: list[str] = []
    for shape, a, b, c in SHAPES:
        names, body = spelled(shape, a, b, c)
        source = PtxSource(parse_ptx(text_of(names + body.replace("%x", "%rd"))), "k")
        made.append(ptx_of(source.translate((), KernelOptions())))
    checked_by_ptxas(made, "sm_90", tmp_path)


@pytest.mark.parametrize("device", ALL)
def test_sums_that_are_limited(device):
    scale = (1 << 31) // 10 + 4000
    made, want = product(device, "m16n8k16", "s8", "s8", "s32", ".satfinite", scale)
    assert (made == np.clip(want, -(1 << 31), (1 << 31) - 1)).all()
    made, want = product(device, "m16n8k16", "s8", "s8", "s32", "", scale)
    assert (made == want.astype(np.int64).astype(np.int32)).all()


def test_sums_of_halves_are_rounded_once():
    """A sum of f32 that no f32 in between would hold."""
    names, body = spelled("m16n8k8", "f16", "f16", "f32")
    first, second = np.zeros((16, 8)), np.zeros((8, 8))
    first[:, 0], first[:, 1], second[0], second[1] = 2.0**12, 2.0**-12, 2.0**12, 2.0**-12
    third = padded(np.full((32, 4), -(2.0**24), np.float32))
    for device in (each for each in ALL if each != "cuda"):
        lines = third.copy()
        run(
            device,
            body,
            names,
            padded(held(first, "f16", left("f16", 16))),
            padded(held(second, "f16", right("f16"))),
            lines,
        )
        assert (lines[:, :4] == np.float32(2.0**-24)).all()


def rounded_sums(a: str, b: str, c: str, rows: int, depth: int):
    """Registers of random numbers, and the sums in the order and the precision of the op ``mma``,
    over numpy's binary64."""
    first, second = (
        RNG.standard_normal(shape).astype(np.float16 if kind == "f16" else ml_dtypes.bfloat16)
        for kind, shape in ((a, (rows, depth)), (b, (depth, 8)))
    )
    third = RNG.standard_normal((rows, 8)).astype(np.float32)
    total = third.astype(np.float64)
    for k in range(depth):
        total += first[:, k, None].astype(np.float64) * second[k].astype(np.float64)
    return first, second, third, total.astype(np.float32)


@pytest.mark.parametrize("device", [each for each in ALL if each != "cuda"])
@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_sums_are_rounded_alike(device, kind):
    """No device rounds otherwise than numpy's binary64, and f32 at the end."""
    names, body = spelled("m16n8k16", kind, kind, "f32")
    first, second, third, want = rounded_sums(kind, kind, "f32", 16, 16)
    want[0, 0] = third[0, 0] = np.inf
    places = [[sums(l >> 2, l & 3, i) for i in range(4)] for l in range(32)]
    lines = padded(np.array([[third[p] for p in row] for row in places]))
    factors = padded(held(first, kind, left(kind, 16))), padded(held(second, kind, right(kind)))
    run(device, body, names, *factors, lines)
    assert (lines[:, :4] == np.array([[want[p] for p in row] for row in places])).all()


# --- matrices in memory

TILE = ".shared .align 16 .b8 tile[512];"
FILL = """
ld.global.v4.u32 {%w0, %w1, %w2, %w3}, [%x0]; mov.u32 %s, tile; shl.b32 %r, %lane, 4;
add.u32 %s, %s, %r; st.shared.v4.u32 [%s], {%w0, %w1, %w2, %w3}; bar.sync 0;
"""
NAMES = ".reg .b32 %w<9>, %m<9>, %s, %r;"


def fragment(matrix: np.ndarray) -> np.ndarray:
    """The word of each lane of a matrix of 8 rows of 8 halves."""
    return matrix.reshape(8, 4, 2).copy().view(np.uint32).reshape(32)


def rows_of(matrices: np.ndarray) -> np.ndarray:
    """The 16 bytes of each lane: a row."""
    made = np.zeros((32, 64), np.uint16)
    made[:, :8] = matrices.reshape(32, 8)
    return made


@pytest.mark.parametrize(
    "device, count",
    [*((device, count) for device in NATIVE for count in (1, 2, 4)), *((d, 1) for d in SHADERS)],
)
@pytest.mark.parametrize("turned", [False, True])
def test_ldmatrix(device, count, turned):
    matrices = RNG.integers(0, 1 << 16, (4, 8, 8)).astype(np.uint16)
    made = np.zeros((32, 32), np.uint32)
    trans = ".trans" if turned else ""
    # Lanes without a row have no address.
    body = f"""{TILE}{FILL}
    setp.ge.u32 %p, %lane, {8 * count}; @%p mov.u32 %s, 0;
    ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {regs("m", count)}, [%s];
    """
    body += "".join(f"st.global.u32 [%x1+{4 * n}], %m{n};" for n in range(count))
    run(device, body, NAMES + ".reg .pred %p;", rows_of(matrices), made)
    for n in range(count):
        want = fragment(matrices[n].T.copy() if turned else matrices[n])
        assert (made[:, n] == want).all()


@pytest.mark.parametrize(
    "device, count, turned",
    [
        *((device, *how) for device in NATIVE for how in ((1, False), (2, True), (4, False))),
        *((device, 1, True) for device in SHADERS),
    ],
)
def test_stmatrix(device, count, turned):
    matrices = RNG.integers(0, 1 << 16, (4, 8, 8)).astype(np.uint16)
    words = np.zeros((32, 32), np.uint32)
    for n in range(count):
        words[:, n] = fragment(matrices[n].T.copy() if turned else matrices[n])
    made = np.zeros((32, 32), np.uint32)
    trans = ".trans" if turned else ""
    body = f"""{TILE}
    ld.global.v4.u32 {{%m0, %m1, %m2, %m3}}, [%x0]; mov.u32 %s, tile; shl.b32 %r, %lane, 4;
    add.u32 %s, %s, %r; mov.u32 %w0, 0; st.shared.v4.u32 [%s], {{%w0, %w0, %w0, %w0}}; bar.sync 0;
    stmatrix.sync.aligned.m8n8.x{count}{trans}.shared::cta.b16 [%s], {regs("m", count)};
    bar.sync 0; ld.shared.v4.u32 {{%w0, %w1, %w2, %w3}}, [%s];
    st.global.v4.u32 [%x1], {{%w0, %w1, %w2, %w3}};
    """
    run(device, body, NAMES, words, made)
    want = np.where(np.arange(4)[:, None, None] < count, matrices, 0).astype(np.uint16)
    assert (made[:, :4].copy().view(np.uint16).reshape(4, 8, 8) == want).all()


@pytest.mark.parametrize("device", ALL)
def test_movmatrix(device):
    matrix = RNG.integers(0, 1 << 16, (8, 8)).astype(np.uint16)
    words, made = np.zeros((32, 32), np.uint32), np.zeros((32, 32), np.uint32)
    words[:, 0] = fragment(matrix)
    body = """ld.global.u32 %m0, [%x0];
    movmatrix.sync.aligned.m8n8.trans.b16 %m1, %m0; st.global.u32 [%x1], %m1;"""
    run(device, body, NAMES, words, made)
    assert (made[:, 0] == fragment(matrix.T.copy())).all()


@pytest.mark.skipif(not PTXAS, reason="ptxas of CUDA is not installed")
def test_ptxas_accepts_them(tmp_path: Path):
    lines: list[str] = []
    for shape, a, b, c in SHAPES:
        names, body = spelled(shape, a, b, c)
        lines.append("{" + names + body.replace("%x", "%rd") + "}")
    assert refused_by_ptxas(text_of("\n".join(lines)), tmp_path) == []


# --- wmma

WMMA = [
    ("m16n16k16", "f16", "f32"),
    ("m16n16k16", "f16", "f16"),
    ("m32n8k16", "f16", "f32"),
    ("m8n32k16", "f16", "f16"),
    ("m16n16k16", "bf16", "f32"),
    ("m8n32k16", "bf16", "f32"),
    ("m16n16k8", "tf32", "f32"),
    ("m8n8k4", "f64", "f64"),
    ("m16n16k16", "s8", "s32"),
    ("m32n8k16", "u8", "s32"),
]
ORDERS = [("row", "col", "row"), ("col", "row", "col")]
COUNTS = {
    ("f16", 16): 8,
    ("f16", 8): 8,
    ("f16", 32): 8,
    ("bf16", 8): 2,
    ("bf16", 16): 4,
    ("bf16", 32): 8,
    ("tf32", 16): 4,
    ("f64", 8): 1,
    ("s8", 16): 2,
    ("u8", 32): 4,
    ("u8", 8): 1,
}
"""The registers of a factor, by its rows or columns."""


def wmma_body(shape: str, kind: str, total: str, orders: tuple[str, str, str]) -> tuple[str, str]:
    """The registers of a product of three matrices in memory, and its body."""
    rows, columns, depth = (int(n) for n in shape[1:].replace("n", "k").split("k"))
    a, b, c = orders
    word = "f64" if kind == "f64" else "b32"
    of_sum = {"f16": "b32", "s32": "b32"}.get(total, total)
    counts = COUNTS[kind, rows], COUNTS[kind, columns]
    sums = rows * columns // 32 // (2 if total == "f16" else 1)
    kinds = f"{total}.{total}" if kind == "f16" else f"{total}.{kind}.{kind}.{total}"
    strides = (
        depth if a == "row" else rows,
        columns if b == "row" else depth,
        columns if c == "row" else rows,
    )
    held = [regs("a", counts[0]), regs("b", counts[1]), regs("c", sums), regs("d", sums)]
    body = f"""
    wmma.load.a.sync.aligned.{a}.{shape}.global.{kind} {held[0]}, [%x0], {strides[0]};
    wmma.load.b.sync.aligned.{b}.{shape}.global.{kind} {held[1]}, [%x1], {strides[1]};
    wmma.load.c.sync.aligned.{c}.{shape}.global.{total} {held[2]}, [%x2], {strides[2]};
    wmma.mma.sync.aligned.{a}.{b}.{shape}.{kinds} {held[3]}, {", ".join(held[:3])};
    wmma.store.d.sync.aligned.{c}.{shape}.global.{total} [%x2], {held[3]}, {strides[2]};
    """
    return f".reg .{word} %a<9>, %b<9>; .reg .{of_sum} %c<9>, %d<9>;", body


def in_memory(matrix: np.ndarray, kind: str, order: str) -> np.ndarray:
    types = {"tf32": np.float32, "f32": np.float32, "f16": np.float16, "f64": np.float64}
    types |= {"bf16": ml_dtypes.bfloat16, "s8": np.int8, "u8": np.uint8, "s32": np.int32}
    made = np.ascontiguousarray(matrix if order == "row" else matrix.T).astype(types[kind])
    return made.view(np.uint16) if kind == "bf16" else made


@pytest.mark.parametrize(
    "device, shape, kind, total, orders",
    [
        *((d, *each, orders) for d in NATIVE for each in WMMA for orders in ORDERS),
        *((d, *WMMA[n], ORDERS[n % 2]) for d in SHADERS for n in (2, 8)),
    ],
)
def test_wmma(device, shape, kind, total, orders):
    rows, columns, depth = (int(n) for n in shape[1:].replace("n", "k").split("k"))
    first, second = drawn(kind, (rows, depth)), drawn(kind, (depth, columns))
    third = RNG.integers(-9, 10, (rows, columns))
    names, body = wmma_body(shape, kind, total, orders)
    result = in_memory(third, total, orders[2])
    # All lanes have the address of the whole.
    body = (
        "mul.wide.u32 %own, %lane, 128;"
        + "".join(f"sub.u64 %x{n}, %x{n}, %own;" for n in range(3))
        + body
    )
    run(
        device,
        body,
        names,
        in_memory(first, kind, orders[0]),
        in_memory(second, kind, orders[1]),
        result,
    )
    want = first.astype(np.float64) @ second.astype(np.float64) + third
    assert (result == (want if orders[2] == "row" else want.T)).all()


@pytest.mark.skipif(not PTXAS, reason="ptxas of CUDA is not installed")
def test_ptxas_accepts_wmma(tmp_path: Path):
    lines: list[str] = []
    for shape, kind, total in WMMA:
        names, body = wmma_body(shape, kind, total, ("row", "col", "row"))
        lines.append("{" + names + body.replace("%x", "%rd") + "}")
    assert refused_by_ptxas(text_of("\n".join(lines)), tmp_path) == []

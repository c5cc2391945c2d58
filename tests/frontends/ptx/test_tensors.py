"""Copies of boxes of tensors against numpy: descriptions by CUDA's interface, and by kernels."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tests.devices import DEVICES
from tests.frontends.ptx.bodies import PTXAS, refused_by_ptxas

from gridlane import cuda
from gridlane.core.errors import GridlaneError, KernelError
from gridlane.cuda import driver as cu
from gridlane.launch import current
from gridlane.launch.devices import get_device

ON = ["interp", *(each for each in DEVICES if each == "cpu")]
SHARED = 4096
BF16 = ml_dtypes.bfloat16

HEAD = ".version 8.6\n.target sm_90a\n.address_size 64\n"
START = """.shared .align 8 .b8 bar[8];
.visible .entry NAME(.param .align 64 .b8 map[128], .param .u64 words, .param .u32 x,
  .param .u32 y, .param .u32 z)
{{
.reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %rd<20>;
mov.b64 %rd1, map; cvta.param.u64 %rd1, %rd1;
ld.param.u64 %rd2, [words]; cvta.to.global.u64 %rd2, %rd2;
ld.param.u32 %r1, [x]; ld.param.u32 %r2, [y]; ld.param.u32 %r3, [z];
mov.u32 %r4, %tid.x; mov.u32 %r5, tile; mov.u32 %r6, bar; setp.eq.u32 %p1, %r4, 0;
"""
LOADS = (
    HEAD
    + ".extern .shared .align 128 .b8 tile[];\n"
    + START.replace("NAME", "load")
    + """
mov.u32 %r7, 0x7B7B7B7B; mov.u32 %r8, %r4;
FILL: shl.b32 %r9, %r8, 2; add.u32 %r9, %r5, %r9; st.shared.u32 [%r9], %r7;
add.u32 %r8, %r8, 32; setp.lt.u32 %p2, %r8, 1024; @%p2 bra FILL;
@%p1 mbarrier.init.shared::cta.b64 [%r6], 1;
fence.proxy.async; bar.sync 0;
@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r6], {bytes};
@%p1 prefetch.tensormap [%rd1];
@%p1 cp.async.bulk.tensor.{rank}d.shared::cta.global.tile.mbarrier::complete_tx::bytes
  [%r5], [%rd1, {{{place}}}], [%r6];
WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r6], 0; @!%p3 bra WAIT;
mov.u32 %r8, %r4;
COPY: shl.b32 %r9, %r8, 2; add.u32 %r10, %r5, %r9; ld.shared.u32 %r7, [%r10];
cvt.u64.u32 %rd3, %r9; add.u64 %rd3, %rd2, %rd3; st.global.u32 [%rd3], %r7;
add.u32 %r8, %r8, 32; setp.lt.u32 %p2, %r8, 1024; @%p2 bra COPY;
ret;
}}
"""
)
STORES = (
    HEAD
    + ".shared .align 1024 .b8 tile[4096];\n"
    + START.replace("NAME", "store")
    + """
mov.u32 %r8, %r4;
FILL: shl.b32 %r9, %r8, 2; add.u32 %r10, %r5, %r9;
cvt.u64.u32 %rd3, %r9; add.u64 %rd3, %rd2, %rd3; ld.global.u32 %r7, [%rd3];
st.shared.u32 [%r10], %r7;
add.u32 %r8, %r8, 32; setp.lt.u32 %p2, %r8, 1024; @%p2 bra FILL;
fence.proxy.async.shared::cta; bar.sync 0;
@%p1 {opcode}.{rank}d.global.shared::cta{kind}.bulk_group [%rd1, {{{place}}}], [%r5];
cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
ret;
}}
"""
)

TYPES = cu.CUtensorMapDataType
KINDS: dict[Any, Any] = {
    np.uint8: TYPES.CU_TENSOR_MAP_DATA_TYPE_UINT8,
    np.uint16: TYPES.CU_TENSOR_MAP_DATA_TYPE_UINT16,
    np.float16: TYPES.CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
    BF16: TYPES.CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
    np.int32: TYPES.CU_TENSOR_MAP_DATA_TYPE_INT32,
    np.uint32: TYPES.CU_TENSOR_MAP_DATA_TYPE_UINT32,
    np.float32: TYPES.CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
    np.float64: TYPES.CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
}


def encoded(
    array: np.ndarray,
    box: Sequence[int],
    swizzle: int = 0,
    nan: bool = False,
    steps: Sequence[int] = (),
    address: int | None = None,
    **changes: Any,
) -> tuple[int, bytes]:
    """What ``cuTensorMapEncodeTiled`` returns of an array; numpy's last axis is the first."""
    rank = array.ndim
    cu.cuInit(0)
    cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(0)[1])
    given: dict[str, Any] = {
        "extents": list(array.shape[::-1]),
        "strides": list(array.strides[::-1][1:]) or [0],
        "box": list(box),
        "steps": list(steps) or [1] * rank,
        "kind": KINDS.get(array.dtype.type, TYPES.CU_TENSOR_MAP_DATA_TYPE_UINT8),
        "interleave": 0,
    } | changes
    counts = {"extents": ctypes.c_uint64, "strides": ctypes.c_uint64}
    fields = [
        (counts.get(name, ctypes.c_uint32) * len(given[name]))(*given[name])
        for name in ("extents", "strides", "box", "steps")
    ]
    code, description = cu.cuTensorMapEncodeTiled(
        given["kind"], rank, array.ctypes.data if address is None else address,
        *map(ctypes.addressof, fields), given["interleave"], swizzle, 0, int(nan),
    )  # fmt: skip
    return int(code), b"" if description is None else bytes(description)


def box_of(
    array: np.ndarray, box: Sequence[int], corner: Sequence[int], steps: Sequence[int], fill: Any
) -> np.ndarray:
    """The elements of a box, with what is outside; axes as numpy has them."""
    steps = tuple(steps) or (1,) * array.ndim
    spans = [
        range(first, first + span, step)
        for first, span, step in zip(corner[::-1], box[::-1], steps[::-1], strict=True)
    ]
    made = np.full([len(each) for each in spans], fill, array.dtype)
    for index in np.ndindex(*made.shape):
        place = tuple(span[n] for span, n in zip(spans, index, strict=True))
        if all(0 <= n < extent for n, extent in zip(place, array.shape, strict=True)):
            made[index] = array[place]
    return made


def arranged(box: np.ndarray, swizzle: int) -> tuple[np.ndarray, np.ndarray]:
    """The bytes of a box and where they are in shared memory: 16 bytes of a row change places."""
    rows = np.ascontiguousarray(box).view(np.uint8).reshape(-1, box.shape[-1] * box.itemsize)
    width = 16 << swizzle if swizzle else rows.shape[1]
    row, byte = np.indices(rows.shape)
    unit = byte // 16
    if swizzle:
        unit = unit ^ {1: row // 4 % 2, 2: row // 2 % 4, 3: row % 8}[swizzle]
    return rows, row * width + unit * 16 + byte % 16


def ones(kind: Any) -> Any:
    """The NaN outside of a tensor."""
    return np.frombuffer(b"\xff" * 8, kind)[0]


def numbers(kind: Any, shape: Sequence[int]) -> np.ndarray:
    values = np.random.default_rng(11).integers(0, 120, shape)
    return values.astype(kind)


CASES: list[tuple[Any, tuple[int, ...], tuple[int, ...], tuple[int, ...], int, bool, Any]] = [
    (np.float16, (20, 80), (64, 8), (8, 3), 3, False, ()),
    (np.float16, (20, 80), (64, 8), (40, -3), 3, True, ()),
    (BF16, (9, 48), (16, 5), (-8, 6), 1, True, ()),
    (np.float32, (7, 12), (8, 4), (8, 5), 2, False, ()),
    (np.uint8, (80,), (48,), (-16,), 0, False, ()),
    (np.uint16, (3, 5, 24), (16, 3, 2), (-8, 1, 2), 0, False, ()),
    (np.float64, (4, 6, 6), (4, 5, 3), (2, -1, 0), 0, True, (1, 2, 3)),
]


def launch(text: str, name: str, description: bytes, words: Any, corner: Sequence[int]) -> None:
    kernel = cuda.RawModule(code=text).get_function(name)
    place = [np.int32(each) for each in (*corner, 0, 0)[:3]]
    shared = SHARED if ".extern" in text else 0
    kernel((1,), (32,), (description, words, *place), shared_mem=shared)


@pytest.mark.parametrize("device", ON)
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{np.dtype(case[0])}-{case[2]}")
def test_loads(device: str, case: Any) -> None:
    kind, shape, box, corner, swizzle, nan, steps = case
    current.choose(get_device(device))
    array = numbers(kind, shape)
    whole = cuda.to_device(array)
    address = whole.address
    code, description = encoded(array, box, swizzle, nan, steps, address)
    assert code == 0
    wanted = np.full(SHARED, 0x7B, np.uint8)
    rows, places = arranged(box_of(array, box, corner, steps, ones(kind) if nan else 0), swizzle)
    wanted[places] = rows
    made = np.zeros(SHARED // 4, np.uint32)
    place = ", ".join(f"%r{n + 1}" for n in range(len(shape)))
    text = LOADS.format(bytes=rows.size, rank=len(shape), place=place)
    launch(text, "load", description, made, corner)
    np.testing.assert_array_equal(made.view(np.uint8), wanted)


@pytest.mark.parametrize("device", ON)
@pytest.mark.parametrize("swizzle", range(4))
def test_boxes_that_begin_at_no_multiple_of_16_bytes(device: str, swizzle: int) -> None:
    """An H200 ends such launches with an illegal instruction."""
    current.choose(get_device(device))
    array = numbers(np.float16, (20, 80))
    whole = cuda.to_device(array)
    _, description = encoded(array, (8 << swizzle, 8), swizzle, address=whole.address)
    texts = [LOADS.format(bytes=128 << swizzle, rank=2, place="%r1, %r2")]
    for opcode, kind in (("cp.async.bulk.tensor", ""), ("cp.reduce.async.bulk.tensor", ".add")):
        texts.append(STORES.format(opcode=opcode, kind=kind, rank=2, place="%r1, %r2"))
    for text in texts:
        name = "load" if "load(" in text else "store"
        for corner in (4, -1):
            with pytest.raises(GridlaneError, match="begins at a multiple of 16 bytes"):
                launch(text, name, description, np.zeros(SHARED // 4, np.uint32), (corner, 0))
    np.testing.assert_array_equal(whole.copy_to_host(), array)


@pytest.mark.parametrize("device", ON)
@pytest.mark.parametrize("corner", [(-8, 0), (0, -1), (8, -20)])
def test_stores_at_negative_coordinates(device: str, corner: tuple[int, int]) -> None:
    """An H200 ends such launches with an illegal instruction."""
    current.choose(get_device(device))
    array = numbers(np.float16, (20, 80))
    whole = cuda.to_device(array)
    _, description = encoded(array, (16, 8), address=whole.address)
    for opcode, kind in (("cp.async.bulk.tensor", ""), ("cp.reduce.async.bulk.tensor", ".add")):
        text = STORES.format(opcode=opcode, kind=kind, rank=2, place="%r1, %r2")
        with pytest.raises(GridlaneError, match="stored at a negative coordinate"):
            launch(text, "store", description, np.zeros(SHARED // 4, np.uint32), corner)
    np.testing.assert_array_equal(whole.copy_to_host(), array)


@pytest.mark.parametrize("device", ON)
@pytest.mark.parametrize("case", CASES[:6], ids=lambda case: f"{np.dtype(case[0])}-{case[2]}")
def test_stores(device: str, case: Any) -> None:
    kind, shape, box, corner, swizzle, _, _ = case
    corner = tuple([max(0, each) for each in corner])
    current.choose(get_device(device))
    array = numbers(kind, shape)
    whole = cuda.to_device(array)
    address = whole.address
    _, description = encoded(array, box, swizzle, address=address)
    new = numbers(kind, [len(range(span)) for span in box[::-1]]) + kind(3)
    rows, places = arranged(new.astype(kind), swizzle)
    words = np.zeros(SHARED, np.uint8)
    words[places] = rows
    place = ", ".join(f"%r{n + 1}" for n in range(len(shape)))
    text = STORES.format(opcode="cp.async.bulk.tensor", kind="", rank=len(shape), place=place)
    launch(text, "store", description, words, corner)
    wanted = array.copy()
    for index in np.ndindex(*new.shape):
        at = tuple(n + first for n, first in zip(index, corner[::-1], strict=True))
        if all(0 <= n < extent for n, extent in zip(at, shape, strict=True)):
            wanted[at] = new[index]
    np.testing.assert_array_equal(whole.copy_to_host(), wanted)
    assert (wanted != array).any()


ENDS: list[tuple[Any, tuple[int, ...], tuple[int, ...], tuple[int, ...], int, int]] = [
    (np.uint8, (77,), (32,), (48,), 0, 3),
    (np.float16, (8, 470), (64, 8), (448, 0), 0, 4),
    (np.float16, (8, 470), (64, 8), (448, 0), 3, 4),
    (np.float16, (8, 470), (8, 8), (464, 0), 0, 4),
    (np.float16, (8, 470), (8, 8), (472, 0), 0, 0),
    (np.float16, (8, 3), (8, 4), (0, 2), 0, 10),
    (BF16, (9, 50), (16, 4), (48, 4), 0, 12),
    (np.uint16, (4, 5, 21), (16, 3, 2), (8, 3, 2), 0, 6),
    (np.float32, (9, 15), (8, 8), (8, 1), 0, 4),
    (np.float64, (4, 7), (4, 4), (4, 1), 0, 8),
]
"""Boxes over ends of lines, and the bytes behind each that an H200 changed."""


@pytest.mark.parametrize("device", ON)
@pytest.mark.parametrize("kind", ["", ".add"])
@pytest.mark.parametrize("case", ENDS, ids=lambda case: f"{np.dtype(case[0])}-{case[1]}-{case[4]}")
def test_chunks_behind_lines(device: str, kind: str, case: Any) -> None:
    dtype, shape, box, corner, swizzle, behind = case
    if kind and dtype in (np.uint8, np.uint16):
        return
    current.choose(get_device(device))
    size = np.dtype(dtype).itemsize
    columns = -(-shape[-1] * size // 16) * 16 // size + 16 // size
    array = numbers(dtype, (*shape[:-1], columns))
    whole = cuda.to_device(array)
    _, description = encoded(array[..., : shape[-1]], box, swizzle, address=whole.address)
    new = (numbers(dtype, box[::-1]) + dtype(3)).astype(dtype)
    rows, places = arranged(new, swizzle)
    words = np.zeros(16384 if swizzle else SHARED, np.uint8)
    words[places] = rows
    place = ", ".join(f"%r{n + 1}" for n in range(len(shape)))
    opcode = "cp.reduce.async.bulk.tensor" if kind else "cp.async.bulk.tensor"
    text = STORES.format(opcode=opcode, kind=kind, rank=len(shape), place=place)
    text = text.replace("4096", "8192").replace("1024;", "2048;")
    launch(text, "store", description, np.resize(words, 8192), corner)
    wanted = array.copy()
    end = shape[-1] + behind // size
    for index in np.ndindex(*new.shape):
        at = tuple(n + first for n, first in zip(index, corner[::-1], strict=True))
        if at[-1] < end and all(n < extent for n, extent in zip(at[:-1], shape, strict=False)):
            wanted[at] = wanted[at] + new[index] if kind else new[index]
    np.testing.assert_array_equal(whole.copy_to_host(), wanted)
    changed = (wanted != array)[..., shape[-1] :].any()
    assert changed == (behind > 0)


def test_chunks_behind_the_last_line() -> None:
    """Of an array that has no memory there: the interpreter refuses it, the CPU leaves it."""
    for device in ON:
        current.choose(get_device(device))
        array = np.zeros(90, np.uint8)
        whole = cuda.to_device(array)
        _, description = encoded(array[:77], (32,), address=whole.address)
        text = STORES.format(opcode="cp.async.bulk.tensor", kind="", rank=1, place="%r1")
        words = np.full(SHARED, 7, np.uint8)
        launch(text, "store", description, words, (64,))
        assert (whole.copy_to_host()[64:80] == 7).all()
        _, description = encoded(array, (32,), address=whole.address)
        if device == "interp":
            with pytest.raises(KernelError, match="byte 90 of the array of 90 bytes"):
                launch(text, "store", description, words, (80,))
        else:
            launch(text, "store", description, words, (80,))
            assert (whole.copy_to_host()[80:] == 7).all()


REDUCTIONS: list[tuple[str, Any, Any]] = [
    ("add", np.float32, np.add),
    ("add", np.float16, np.add),
    ("add", np.int32, np.add),
    ("min", np.int32, np.minimum),
    ("max", np.uint32, np.maximum),
    ("xor", np.uint32, np.bitwise_xor),
    ("inc", np.uint32, lambda old, new: np.where(old >= new, 0, old + 1)),
    ("dec", np.uint32, lambda old, new: np.where((old == 0) | (old > new), new, old - 1)),
]


@pytest.mark.parametrize("device", ON)
@pytest.mark.parametrize(
    ("name", "kind", "change"),
    REDUCTIONS,
    ids=[f"{each[0]}-{np.dtype(each[1])}" for each in REDUCTIONS],
)
def test_reductions(device: str, name: str, kind: Any, change: Any) -> None:
    current.choose(get_device(device))
    array = numbers(kind, (6, 16))
    whole = cuda.to_device(array)
    address = whole.address
    _, description = encoded(array, (8, 4), address=address)
    new = numbers(kind, (4, 8))[::-1].astype(kind)
    words = np.zeros(SHARED, np.uint8)
    words[: new.nbytes] = new.reshape(-1).view(np.uint8)
    text = STORES.format(
        opcode="cp.reduce.async.bulk.tensor", kind=f".{name}", rank=2, place="%r1, %r2"
    )
    inside = 16 // new.itemsize
    first = 16 - inside
    launch(text, "store", description, words, (first, 3))
    wanted = array.copy()
    wanted[3:, first:] = change(array[3:, first:], new[:3, :inside])
    np.testing.assert_array_equal(whole.copy_to_host(), wanted)


def test_factors_of_tf32_are_rounded() -> None:
    """As ``cvt.rna.tf32.f32`` does."""
    current.choose(get_device("interp"))
    array = np.array([[1 + 2.0**-11, 1 + 2.0**-12, -1 - 2.0**-11, np.inf]], np.float32)
    kind = TYPES.CU_TENSOR_MAP_DATA_TYPE_TFLOAT32
    for device in ON:
        current.choose(get_device(device))
        whole = cuda.to_device(array)
        address = whole.address
        _, description = encoded(array, (4, 1), address=address, kind=kind)
        made = np.zeros(SHARED // 4, np.uint32)
        launch(LOADS.format(bytes=16, rank=2, place="%r1, %r2"), "load", description, made, (0, 0))
        wanted = [1 + 2.0**-10, 1.0, -1 - 2.0**-10, np.inf]
        assert made.view(np.float32)[:4].tolist() == wanted


def test_another_number_of_dimensions() -> None:
    """And elements without such a reduction."""
    array = numbers(np.float32, (6, 16))
    text = LOADS.format(bytes=128, rank=1, place="%r1")
    wrong = STORES.format(
        opcode="cp.reduce.async.bulk.tensor", kind=".min", rank=2, place="%r1, %r2"
    )
    for device in ON:
        current.choose(get_device(device))
        whole = cuda.to_device(array)
        address = whole.address
        _, description = encoded(array, (8, 4), address=address)
        with pytest.raises(GridlaneError, match="other than 1 dimensions"):
            launch(text, "load", description, np.zeros(SHARED // 4, np.uint32), (0,))
        with pytest.raises(GridlaneError, match="have no reduction min"):
            launch(wrong, "store", description, np.zeros(SHARED, np.uint8), (0, 0))


def test_a_box_that_begins_elsewhere() -> None:
    current.choose(get_device("interp"))
    array = numbers(np.float32, (6, 16))
    whole = cuda.to_device(array)
    _, description = encoded(array, (8, 4), address=whole.address)
    text = LOADS.format(bytes=128, rank=2, place="%r1, %r2")
    text = text.replace("[%r5], [%rd1", "[%r5+16], [%rd1")
    with pytest.raises(KernelError, match="begins at a multiple of 128 bytes"):
        launch(text, "load", description, np.zeros(SHARED // 4, np.uint32), (0, 0))


WRONG: list[tuple[str, dict[str, Any]]] = [
    ("the address", {"address": 8}),
    ("a null address", {"address": 0}),
    ("a stride", {"strides": [200]}),
    ("a large stride", {"strides": [1 << 40]}),
    ("an extent of 0", {"extents": [0, 6]}),
    ("a large extent", {"extents": [(1 << 32) + 1, 6]}),
    ("a box of 257", {"box": [8, 257]}),
    ("a box of 0", {"box": [0, 4]}),
    ("a row of 24 bytes", {"box": [6, 4]}),
    ("a row beyond the swizzle", {"box": [16, 4], "swizzle": 1}),
    ("a step of 9", {"steps": [1, 9]}),
    ("a step of 0", {"steps": [1, 0]}),
    ("a swizzle of 7", {"swizzle": 7}),
    ("a type of 16", {"kind": 16}),
    ("an interleave of 3", {"interleave": 3}),
    ("integers with NaN", {"kind": 3, "nan": True}),
]


@pytest.mark.parametrize(("what", "changes"), WRONG, ids=lambda each: str(each))
def test_descriptions_that_are_invalid(what: str, changes: dict[str, Any]) -> None:
    array = numbers(np.float32, (6, 64))
    given: dict[str, Any] = {"array": array, "box": (8, 4), "address": 4096} | changes
    assert encoded(**given)[0] == cu.CUresult.CUDA_ERROR_INVALID_VALUE, what
    assert encoded(array, (8, 4), address=4096)[0] == 0


def test_descriptions_that_are_refused() -> None:
    array = numbers(np.float32, (6, 64))
    changes: list[dict[str, Any]] = [{"interleave": 1}, {"kind": 10}, {"kind": 14}, {"swizzle": 5}]
    for each in changes:
        code, _ = encoded(array, (8, 4), address=4096, **each)
        assert code == cu.CUresult.CUDA_ERROR_NOT_SUPPORTED


def test_another_address() -> None:
    array = numbers(np.float32, (6, 16))
    _, before = encoded(array, (8, 4), address=4096)
    _, after = encoded(array, (8, 4), address=8192)
    description = cu.CUtensorMap()
    ctypes.memmove(description.getPtr(), before, 128)
    assert cu.cuTensorMapReplaceAddress(description, 8192)[0] == 0
    assert ctypes.string_at(description.getPtr(), 128) == after
    assert cu.cuTensorMapReplaceAddress(description, 8)[0] == cu.CUresult.CUDA_ERROR_INVALID_VALUE


MADE = (
    HEAD
    + """.shared .align 128 .b8 tile[4096]; .shared .align 128 .b8 own[128];
.shared .align 8 .b8 bar[8];
.visible .entry made(.param .u64 array, .param .u64 other, .param .u64 maps)
{
.reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %rd<20>;
ld.param.u64 %rd1, [array]; ld.param.u64 %rd2, [other]; ld.param.u64 %rd3, [maps];
mov.u32 %r4, %tid.x; mov.u32 %r5, tile; mov.u32 %r6, bar; setp.eq.u32 %p1, %r4, 0;
mov.b64 %rd4, own; mov.u32 %r7, own; shl.b32 %r8, %r4, 2; add.u32 %r8, %r7, %r8;
st.shared.u32 [%r8], 0; bar.warp.sync -1;
@!%p1 bra PUBLISH;
tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%rd4], %rd1;
tensormap.replace.tile.rank.shared::cta.b1024.b32 [%rd4], 1;
tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%rd4], 0, 8;
tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%rd4], 1, 4;
tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%rd4], 0, 10;
tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%rd4], 1, 6;
tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%rd4], 0, 64;
tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%rd4], 0, 1;
tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%rd4], 1, 1;
tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%rd4], 7;
tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [%rd4], 0;
tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%rd4], 0;
tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [%rd4], 0;
mbarrier.init.shared.b64 [%r6], 1;
PUBLISH: bar.warp.sync -1; cvta.to.global.u64 %rd5, %rd3;
tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned
  [%rd5], [%rd4], 128;
fence.proxy.tensormap::generic.acquire.gpu [%rd3], 128;
@!%p1 bra DONE;
mbarrier.arrive.expect_tx.shared.b64 _, [%r6], 128;
cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes
  [%r5], [%rd3, {4, 3}], [%r6];
WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [%r6], 0; @!%p2 bra WAIT;
tensormap.replace.tile.global_address.global.b1024.b64 [%rd5], %rd2;
fence.proxy.tensormap::generic.acquire.gpu [%rd3], 128;
cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd3, {4, 3}], [%r5];
cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;
DONE: ret;
}
"""
)


@pytest.mark.parametrize("device", ON)
def test_descriptions_that_a_kernel_makes(device: str) -> None:
    current.choose(get_device(device))
    array, other = numbers(np.float32, (6, 16)), np.zeros((6, 16), np.float32)
    maps = np.zeros(128, np.uint8)
    cuda.RawModule(code=MADE).get_function("made")((1,), (32,), (array, other, maps))
    wanted = np.zeros_like(other)
    wanted[3:6, 4:10] = array[3:6, 4:10]
    np.testing.assert_array_equal(other, wanted)


@pytest.mark.skipif(not PTXAS, reason="ptxas is absent")
def test_ptxas_accepts_them(tmp_path: Path) -> None:
    loads = [
        LOADS.format(bytes=128, rank=rank, place=", ".join(["%r1"] * rank)) for rank in range(1, 6)
    ]
    how = {"rank": 2, "place": "%r1, %r2"}
    stores = [STORES.format(opcode="cp.async.bulk.tensor", kind="", **how)]
    stores += [
        STORES.format(opcode="cp.reduce.async.bulk.tensor", kind=f".{name}", **how)
        for name, _, _ in REDUCTIONS
    ]
    for text in (*loads, *stores, MADE):
        assert refused_by_ptxas(text, tmp_path, "sm_90a") == []

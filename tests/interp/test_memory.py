"""Memory is checked, atomics go one after the other, shared and local memory belong to whom they
should."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.devices import bits, run_on
from tests.interp import oracle

from gridlane import interp
from gridlane.conformance.kernels import Kernel
from gridlane.conformance.special import special
from gridlane.core.dtypes import FLOATS, INTEGERS, i32, u32
from gridlane.core.errors import KernelError
from gridlane.core.source import Loc
from gridlane.interp.memory import Fault, Memory
from gridlane.ir.ops import atomic
from gridlane.ir.parser import parse_module
from gridlane.ir.types import pointer
from gridlane.ir.verifier import verify


def at(*addresses: int) -> np.ndarray:
    return np.array(addresses, np.uint64)


def test_map_shares_the_array():
    memory, array = Memory(), np.arange(6, dtype=np.int16).reshape(2, 3)
    base = memory.map(array)
    memory.scatter(at(base + 4, base + 10), np.array([70, 80], np.int16))
    assert array.tolist() == [[0, 1, 70], [3, 4, 80]]
    assert memory.gather(at(base + 10), array.dtype).tolist() == [80]


def test_the_last_of_several_writes_wins():
    memory, array = Memory(), np.zeros(1, np.int32)
    base = memory.map(array)
    memory.scatter(at(base, base, base), np.array([1, 2, 3], np.int32))
    assert array[0] == 3


def test_a_real_address_can_be_mapped():
    memory, array = Memory(), np.arange(4, dtype=np.float64)
    address = array.ctypes.data
    assert memory.map(array, base=address) == address
    assert memory.gather(at(address + 8), array.dtype)[0] == 1


def test_strided_arrays_cannot_be_mapped():
    with pytest.raises(ValueError, match="contiguous"):
        Memory().map(np.zeros((4, 4))[:, 1])


def test_freed_memory_is_gone():
    memory = Memory()
    base = memory.allocate(8, "gone")
    memory.free(base)
    with pytest.raises(Fault, match="there is no memory"):
        memory.gather(at(base), np.dtype(np.int8))
    with pytest.raises(ValueError, match="no allocation starts"):
        memory.free(base)


@pytest.mark.parametrize(
    ("offset", "dtype", "message"),
    [
        (-4, "i4", "byte -4 of a of 16 bytes"),
        (16, "i4", "byte 16 of a of 16 bytes"),
        (14, "i2", None),
        (12, "i8", "not a multiple of 8"),
        (1, "i2", "not a multiple of 2"),
        (1 << 40, "i4", "out of bounds"),
    ],
)
def test_bad_accesses(offset, dtype, message):
    memory = Memory()
    base = memory.allocate(16, "a")
    memory.allocate(16, "b")
    if message is None:
        memory.gather(at(base, base + offset), np.dtype(dtype))
        return
    with pytest.raises(Fault, match=message) as caught:
        memory.gather(at(base, base + offset), np.dtype(dtype))
    assert caught.value.position == 1


def test_read_only_memory():
    array = np.zeros(4, np.int32)
    array.flags.writeable = False
    memory = Memory()
    base = memory.map(array, "table")
    with pytest.raises(Fault, match="read-only table"):
        memory.scatter(at(base), np.array([1], np.int32))


def test_an_access_may_not_span_allocations():
    memory, array = Memory(), np.zeros(8, np.uint8)
    address = 4096
    memory.map(array[:6], "first", base=address)
    memory.map(array[6:], "second", base=address + 6)
    assert memory.gather(at(address + 5, address + 6), np.dtype("u1")).tolist() == [0, 0]
    with pytest.raises(Fault, match="byte 4 of first"):
        memory.gather(at(address + 4), np.dtype("u4"))


def test_error_names_place_and_thread():
    module = parse_module(
        """kernel @k(%p: ptr<f32, global>) {
             %t: i32 = thread_idx y
             %a: ptr<f32, global> = offset %p, %t
             %v: f32 = load %a
           }"""
    )
    verify(module)
    module.kernel.body.ops[-1].loc = Loc("k.py", 8, 2)
    memory = Memory()
    base = memory.map(np.zeros(3, np.float32), "x")
    with pytest.raises(KernelError) as caught:
        interp.run(module, (2, 1, 1), (1, 5, 1), [base], memory)
    assert str(caught.value).startswith(
        f"load: 4 bytes at {base + 12:#x} are out of bounds: byte 12 of x of 12 bytes at "
        f"{base:#x} (at k.py:8:2; block (0, 0, 0), thread (0, 3, 0))"
    )


def run_text(text: str, *arrays: np.ndarray, grid=1, block=32, shared=0) -> interp.RunResult:
    module = parse_module(text)
    verify(module)
    memory = Memory()
    params = [memory.map(array) for array in arrays]
    result = interp.run(module, grid, block, params, memory, shared)
    assert len(list(memory)) == len(arrays)
    return result


def test_a_local_array_ends_at_its_end():
    text = """kernel @k(%p: ptr<i32, global>) {
        %l: ptr<i32, local> = local_array i32, 4
        %n: i32 = const %N%
        %a: ptr<i32, local> = offset %l, %n
        store %a, %n
    }"""
    run_text(text.replace("%N%", "3"), np.zeros(1, np.int32))
    for bad in ("4", "-1", "100"):
        with pytest.raises(KernelError, match="out of bounds"):
            run_text(text.replace("%N%", bad), np.zeros(1, np.int32))


def test_memory_starts_poisoned():
    text = """global @s: f32 * 32 [space=shared]
    kernel @k(%p: ptr<f32, global>) {
        %s: ptr<f32, shared> = global @s
        %v: f32 = load %s
        store %p, %v
        %one: f32 = const 0x1p+0
        store %s, %one
    }"""
    array = np.zeros(1, np.float32)
    run_text(text, array, grid=3)  # what a block wrote is gone in the next
    assert np.isnan(array[0])


def test_dynamic_shared_is_as_large_as_asked():
    text = """kernel @k(%p: ptr<i32, global>) {
        %s: ptr<i32, shared> = dynamic_shared
        %t: i32 = thread_idx x
        %a: ptr<i32, shared> = offset %s, %t
        store %a, %t
    }"""
    run_text(text, np.zeros(1, np.int32), shared=128)
    with pytest.raises(KernelError, match=r"thread \(31, 0, 0\)"):
        run_text(text, np.zeros(1, np.int32), shared=124)


def test_packed_structs_need_no_alignment():
    text = """kernel @k(%p: ptr<struct<r, {a: u8 @0, b: i32 @1}, 5, 1>, global>) {
        %t: i32 = thread_idx x
        %a: ptr<struct<r, {a: u8 @0, b: i32 @1}, 5, 1>, global> = offset %p, %t
        %v: struct<r, {a: u8 @0, b: i32 @1}, 5, 1> = load %a
        %x: u8 = part %v, 0
        %y: i32 = part %v, 1
        %z: i32 = add %y, %y
        %w: struct<r, {a: u8 @0, b: i32 @1}, 5, 1> = pack (%x, %z)
        store %a, %w
    }"""
    records = np.zeros(32, [("a", "u1"), ("b", "<i4")])
    records["a"], records["b"] = 7, np.arange(32)
    run_text(text, records)
    assert records["a"].tolist() == [7] * 32
    assert records["b"].tolist() == [2 * n for n in range(32)]


STORED = {
    "ADD": lambda old, x, t: old + x,
    "SUB": lambda old, x, t: old - x,
    "AND": lambda old, x, t: old & x,
    "OR": lambda old, x, t: old | x,
    "XOR": lambda old, x, t: old ^ x,
    "EXCHANGE": lambda old, x, t: x,
    "MIN": lambda old, x, t: x if x < old else old,
    "MAX": lambda old, x, t: x if x > old else old,
    "NANMIN": lambda old, x, t: oracle.minimum(old, x, t) if t.is_float else min(old, x),
    "NANMAX": lambda old, x, t: oracle.maximum(old, x, t) if t.is_float else max(old, x),
    "INC": lambda old, x, t: 0 if old >= x else old + 1,
    "DEC": lambda old, x, t: x if old == 0 or old > x else old - 1,
}


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS], ids=str)
@pytest.mark.parametrize("kind", atomic.AtomicKind)
def test_atomics_go_in_order(kind, dtype):
    """Old values and memory, when many lanes hit few cells."""
    if dtype.is_float and kind in atomic.INTEGER_ONLY:
        return
    if dtype.is_signed and kind.name in ("INC", "DEC"):
        return
    rng = random.Random(f"{kind}{dtype}")
    count, values = 96, special(dtype, 10)
    operand = values[[rng.randrange(len(values)) for _ in range(count)]]
    where = np.array([rng.randrange(5) for _ in range(count)], np.int32)
    cells = values[:5].copy()
    kernel = Kernel()
    b = kernel.builder
    whole, value, index = kernel.array(dtype), kernel.load(dtype), kernel.load(i32)
    kernel.store(b.value(atomic.Atomic(kind, b.offset(whole, index), value)))
    arrays = [cells, operand, where, np.zeros(count, dtype.numpy)]
    got = run_on("interp", kernel.module, (1, 1, 1), (count, 1, 1), arrays).arrays
    old = np.zeros(count, dtype.numpy)
    number = float if dtype.is_float else int
    for lane in range(count):
        at_ = where[lane]
        old[lane] = cells[at_]
        with np.errstate(all="ignore"):
            if dtype.is_float and kind.name in ("ADD", "SUB"):
                function = oracle.add if kind.name == "ADD" else oracle.sub
                new = function(float(cells[at_]), float(operand[lane]), dtype)
            else:
                new = STORED[kind.name](number(cells[at_]), number(operand[lane]), dtype)
            cells[at_] = new if dtype.is_float else dtype.wrap(new)
    assert bits(got[3]).tolist() == bits(old).tolist()
    assert bits(got[0]).tolist() == bits(cells).tolist()


def test_compare_and_swap_lets_one_win():
    """A lock that every lane asks for once: the first gets it; NaN and -0 compare by bits."""
    kernel = Kernel()
    b = kernel.builder
    cell = kernel.array(u32)
    wanted, new = b.const(0, u32), b.add(b.cast(kernel.local, u32), b.const(1, u32))
    kernel.store(b.value(atomic.AtomicCas(cell, wanted, new)))
    arrays = [np.zeros(1, np.uint32), np.full(64, 9, np.uint32)]
    got = run_on("interp", kernel.module, (1, 1, 1), (64, 1, 1), arrays).arrays
    assert got[0].tolist() == [1]
    assert got[1].tolist() == [0] + [1] * 63


def test_pointers_are_values():
    """Null, selected and stored pointers."""
    kernel = Kernel()
    b = kernel.builder
    first, second = kernel.array(i32), kernel.array(i32)
    var = b.variable("p", pointer(i32))
    odd = b.eq(b.and_(kernel.thread, b.const(1, i32)), b.const(1, i32))
    with b.if_(odd):
        b.write(var, b.select(odd, second, first))
    null = b.eq(b.read(var), b.const(0, pointer(i32)))
    kernel.store(null)
    with b.if_(odd):
        b.store(kernel.own(first), b.load(b.read(var)))
    arrays = [np.zeros(4, np.int32), np.array([5], np.int32), np.zeros(4, np.bool_)]
    got = run_on("interp", kernel.module, (1, 1, 1), (4, 1, 1), arrays).arrays
    assert got[0].tolist() == [0, 5, 0, 5]
    assert got[2].tolist() == [True, False, True, False]

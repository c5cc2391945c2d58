"""Read-only memory: kernels read it on every device, and what would store there is refused."""

from __future__ import annotations

import mmap
from collections import namedtuple

import numpy as np
import pytest
from tests.devices import DEVICES

from gridlane import cuda
from gridlane.core.errors import ArgumentError, CompileError, DeviceError
from gridlane.cuda.types import Array, uint8, void
from gridlane.launch import current
from gridlane.launch.devices import get_device

RECORD = np.dtype([("x", "i4"), ("y", "i4", (2,)), ("z", [("w", "i4")])])
Pair = namedtuple("Pair", "a b")


@pytest.fixture(params=["interp", *DEVICES], autouse=True)
def device(request, monkeypatch):
    found = get_device(request.param)
    current.choose(found)
    return found


def plain(octets):
    return np.frombuffer(octets, np.int32)


def records(octets):
    return np.frombuffer(octets, RECORD)


def inc(a):
    a[cuda.threadIdx.x] += 1


def slices(a):
    a[1:3] = 7


def fill(a):
    a.fill(7)


def view(a):
    a.reshape(2, a.size // 2).T[0] = 7


def add(a):
    cuda.atomic.add(a, 0, 1)


def field(a):
    a[0].x = 7


def field_of_all(a):
    a["x"][0] = 7


def fields(a):
    a.x = 7


def nested(a):
    a[1].y[0] = 7


def inner(a):
    a[0].z.w = 7


def whole(a):
    a[0] = a[1]


def later(a):
    record = a[0]
    for i in range(2):
        record = a[i]
    record.x = 7


@cuda.jit(device=True)
def store(record):
    record.x = 7


def called(a):
    store(a[0])


def in_tuple(t):
    t[0][0] = 7


def in_pair(t):
    t.b[0] = 7


STORES = [
    *[(kernel, plain) for kernel in (inc, slices, fill, view, add)],
    *[(kernel, records) for kernel in (field, field_of_all, nested, inner, whole, later, called)],
    (in_tuple, lambda octets: (plain(octets),)),
    (in_pair, lambda octets: Pair(1, plain(octets))),
]


@pytest.mark.parametrize("kernel, make", STORES, ids=lambda item: item.__name__)
def test_a_kernel_that_stores_is_refused(kernel, make):
    compiled, octets = cuda.jit(kernel), bytes(48)
    for _ in range(2):
        with pytest.raises(CompileError, match="read-only") as refused:
            compiled[1, 2](make(octets))
        assert octets == bytes(48) and "^" in str(refused.value)
    compiled[1, 1](make(bytearray(48)))
    with pytest.raises(CompileError, match="read-only"):
        compiled[1, 2](make(octets))


def test_a_kernel_that_reads_runs():
    @cuda.jit
    def kernel(a, r, t, out):
        out[0] = a[1] + r[0].x + r[1].y[1] + r["x"][1] + r[0].z.w + t[1][2]

    octets = np.arange(12, dtype=np.int32).tobytes()
    numbers, out = np.frombuffer(octets, np.int32), np.zeros(1, np.int32)
    kernel[1, 1](numbers, np.frombuffer(octets, RECORD), (1, numbers), out)
    assert out[0] == 1 + 0 + 6 + 4 + 3 + 2


def test_a_file_that_is_mapped_for_reading(tmp_path):
    """On the CPU the kernel reads it in place: storing there would end the process."""
    path = tmp_path / "data"
    path.write_bytes(np.arange(1024, dtype=np.int32).tobytes())
    mapped = np.memmap(path, np.int32, "r")
    out = np.zeros(1, np.int32)

    @cuda.jit
    def reads(a, out):
        out[0] = a[1000]

    reads[1, 1](mapped, out)
    assert out[0] == 1000
    compiled = cuda.jit(inc)
    compiled[1, 2](np.zeros(2, np.int32))
    with open(path, "rb") as file:
        again = np.frombuffer(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ), np.int32)
    for array in (mapped, again, memoryview(bytes(8)).cast("i")):
        with pytest.raises(CompileError, match="read-only"):
            compiled[1, 2](array)


@pytest.mark.parametrize("signatures", [void(uint8[:]), [void(uint8[:]), "void(uint16[:])"]])
def test_signatures_take_read_only_arrays_to_read(signatures):
    octets, out = bytes([5] * 8), np.zeros(8, np.uint8)
    compiled = cuda.jit(signatures)(inc)
    with pytest.raises(CompileError, match="read-only"):
        compiled[1, 2](np.frombuffer(octets, np.uint8))
    compiled[1, 2](cuda.In(np.frombuffer(octets, np.uint8)))  # a copy of the kernel's own
    compiled[1, 2](out)
    assert octets == bytes([5] * 8) and out.tolist() == [1, 1, 0, 0, 0, 0, 0, 0]

    def copy(a, out):
        out[0] = a[0]

    types = (uint8[:], uint8[:])
    one = [types] if isinstance(signatures, list) else types
    for chosen in (one, (Array(uint8, 1, "A", True), uint8[:])):
        reader = cuda.jit(chosen)(copy)
        reader[1, 1](np.frombuffer(octets, np.uint8), out)
        assert out[0] == 5
        out[0] = 0


def test_records_that_are_read_only():
    @cuda.jit
    def reads(record, out):
        out[0] = record.x

    @cuda.jit
    def stores(record):
        record.x = 7

    octets, out = np.arange(4, dtype=np.int32).tobytes(), np.zeros(1, np.int32)
    record = np.frombuffer(octets, RECORD)[0]
    out[0] = 9
    reads[1, 1](record, out)
    assert out[0] == 0
    with pytest.raises(ArgumentError, match="wrote into a read-only record"):
        stores[1, 1](record)
    writable = np.zeros(1, RECORD)
    stores[1, 1](writable[0])
    assert writable[0]["x"] == 7


def test_device_memory_that_an_interface_says_is_read_only(device):
    class Shown:
        def __init__(self, readonly):
            self.array = cuda.to_device(np.arange(4, dtype=np.int32))
            found = self.array.__gridlane_array__
            self.__cuda_array_interface__ = {**found, "data": (found["data"][0], readonly)}

    @cuda.jit
    def reads(a, out):
        out[0] = a[3]

    compiled, out = cuda.jit(inc), np.zeros(1, np.int32)
    for readonly in (False, True, False):
        shown = Shown(readonly)
        if device.target((1, 1, 1)).name not in ("cpu", "cuda"):
            with pytest.raises(DeviceError, match=r"the device .* has other memory"):
                reads[1, 1](shown, out)
            continue
        reads[1, 1](shown, out)
        assert out[0] == 3
        if not readonly:
            compiled[1, 4](shown)
            assert shown.array.copy_to_host().tolist() == [1, 2, 3, 4]
            continue
        with pytest.raises(CompileError, match="read-only"):
            compiled[1, 4](shown)
        assert cuda.as_cuda_array(shown).readonly


def test_constant_arrays_cannot_be_filled():
    table = np.arange(4)

    @cuda.jit
    def kernel(out):
        table.fill(3)
        out[0] = table[0]

    with pytest.raises(CompileError, match="read-only"):
        kernel[1, 1](np.zeros(1, np.int32))

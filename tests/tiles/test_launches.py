"""Launches of tile programs like one before: they are native, and differ where the program does."""

from __future__ import annotations

import os
import threading
from collections import namedtuple

import numpy as np
import pytest
from tests.devices import DEVICES

import gridlane
from gridlane import cuda, tiles
from gridlane.core.errors import ArgumentError, KernelError
from gridlane.tiles import knobs
from gridlane.tiles.descriptors import TensorDescriptor

tl = tiles.language


@pytest.fixture
def slow(monkeypatch):
    """The launches on the slow path, as their functions' names."""
    names, own = [], tiles.JITFunction.launch_slowly

    def launch_slowly(self, *args):
        names.append(self.__name__)
        return own(self, *args)

    monkeypatch.setattr(tiles.JITFunction, "launch_slowly", launch_slowly)
    return names


def is_native(slow, call) -> bool:
    """Whether the second of two calls is without the slow path."""
    call()
    count = len(slow)
    call()
    return len(slow) == count


@tiles.jit
def copied(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)


class Tensor:
    """An array like torch's on the CPU."""

    is_cpu, is_cuda = True, False
    dtype = property(lambda self: self.array.dtype)

    def __init__(self, array, negative=False):
        self.array, self._negative = array, negative
        self.__array_interface__ = array.__array_interface__

    def is_neg(self):
        return self._negative

    def data_ptr(self):
        return self.array.ctypes.data


def arrays(make, dtype=np.float32):
    return make(np.arange(64, dtype=dtype)), make(np.zeros(64, dtype))


def values_of(array):
    return (
        getattr(array, "array", array).copy_to_host()
        if hasattr(array, "copy_to_host")
        else (np.asarray(getattr(array, "array", array)))
    )


@pytest.mark.parametrize("kind", ["host", "own", "tensor"])
def test_arrays(slow, kind):
    """Of one class and type, and of others behind them, whose programs are others."""
    make = {"host": np.array, "own": cuda.to_device, "tensor": Tensor}[kind]
    for dtype in (np.float32, np.int32, np.float64, np.int8):
        x, out = arrays(make, dtype)
        assert is_native(slow, lambda x=x, out=out: copied[(2,)](x, out, 50, BLOCK=32))
        wanted = np.where(np.arange(64) < 50, np.arange(64), 0).astype(dtype)
        assert (values_of(out) == wanted).all()
    slow.clear()
    x, out = arrays(make)
    copied[(2,)](x, out, 64, BLOCK=32)  # the code for multiples of 16
    slow.clear()
    for n in (7, 33, 64, 63, 48):
        copied[lambda given: tiles.cdiv(given["n"], given["BLOCK"])](x, out, n, BLOCK=32)
        assert (values_of(out)[:n] == np.arange(n)).all()
    assert not slow


@pytest.mark.parametrize("name", ["interp", *DEVICES])
def test_every_device(slow, name):
    with gridlane.device(name):
        x, out = arrays(cuda.to_device)
        assert is_native(slow, lambda: copied[(2,)](x, out, 64, BLOCK=32))
        assert (out.copy_to_host() == np.arange(64)).all()
        out[:] = 0
        copied[(1,)](x, out, 64, BLOCK=32)
        assert (out.copy_to_host() == np.where(np.arange(64) < 32, np.arange(64), 0)).all()


def test_two_devices(slow):
    x, out = arrays(cuda.to_device)
    for _ in range(2):
        copied[(2,)](x, out, 64, BLOCK=32)
    slow.clear()
    with gridlane.device("interp"):
        with pytest.raises(Exception, match="is in memory of the device 'cpu'"):
            copied[(2,)](x, out, 64, BLOCK=32)
        there, result = arrays(cuda.to_device)
        assert is_native(slow, lambda: copied[(2,)](there, result, 64, BLOCK=32))
        assert (result.copy_to_host() == np.arange(64)).all()
    slow.clear()
    copied[(2,)](x, out, 64, BLOCK=32)
    assert not slow


def test_arrays_that_differ_from_earlier_ones():
    """Read-only ones are not written, and gaps and types are respected, behind a native launch."""
    x, out = arrays(np.array)
    for _ in range(2):
        copied[(2,)](x, out, 64, BLOCK=32)
    frozen = np.zeros(64, np.float32)
    frozen.flags.writeable = False
    for _ in range(2):
        with pytest.raises(ArgumentError, match="read-only"):
            copied[(2,)](x, frozen, 64, BLOCK=32)
        assert not frozen.any()
        copied[(2,)](frozen, out, 64, BLOCK=32)
        assert not out.any()
    for _ in range(2):
        with pytest.raises(ArgumentError, match="strides"):
            copied[(2,)](x[::-1], out, 64, BLOCK=32)
        other = np.arange(64, dtype=">f4")
        with pytest.raises(Exception, match=">f4"):
            copied[(2,)](other, out, 64, BLOCK=32)
    negative = Tensor(x, negative=True)
    with pytest.raises(ArgumentError, match="negated"):
        copied[(2,)](negative, Tensor(out), 64, BLOCK=32)


@tiles.jit
def shown(out, x, BLOCK: tl.constexpr = 4):
    kind: tl.constexpr = 1 if isinstance(x, tl.constexpr) else 2
    if isinstance(x, tl.tensor):
        tl.store(out, x.dtype.primitive_bitwidth * 10 + kind)
        tl.store(out + 1, x.to(tl.int32))
    else:
        tl.store(out, kind)
        tl.store(out + 1, x)


@pytest.mark.parametrize("calls", [2, 3])
def test_numbers(calls):
    """1 is a constant, True is not, and integers have the type that holds them, whichever comes
    first."""
    values = [2, 1, True, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**63, 1.0, np.int64(1), 0]
    bits = [32, 0, 1, 32, 64, 32, 64, 64, 32, 64, 32]
    for order in (values, values[::-1]):
        found = {}
        for _ in range(calls):
            for value in order:
                out = np.zeros(2, np.int32)
                shown[(1,)](out, value)
                found.setdefault(repr(value), []).append(int(out[0]) // 10)
        wanted = {repr(value): [size] * calls for value, size in zip(values, bits, strict=True)}
        assert found == wanted


@tiles.jit
def chosen(out, X: tl.constexpr, Y: tl.constexpr = -0.0):
    tl.store(out, X)
    tl.store(out + 1, Y)


def test_constants():
    """Equal ones of other types are others, behind native launches too."""
    out = np.zeros(2, np.float64)
    for _ in range(3):
        for value in (0.0, -0.0):
            chosen[(1,)](out, value, value)
            assert (np.signbit(out) == np.signbit(value)).all()
        chosen[(1,)](out, 3)
        assert out[0] == 3 and np.signbit(out[1])
        chosen[(1,)](out, Y=2.0, X=True)
        assert out.tolist() == [1, 2]


Pair = namedtuple("Pair", "shift other")  # as programs write it


@tiles.jit
def moved(pair, out, both):
    tl.store(out + tl.arange(0, 8), tl.load(pair[1] + tl.arange(0, 8)) + pair[0] + both[0][0])


def test_tuples(slow):
    x, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    for make in (lambda *items: items, Pair):
        for shift, inner in ((3, 4), (5, 6)):
            native = is_native(
                slow, lambda m=make, s=shift, i=inner: moved[1](m(s, x), out, ((i,),))
            )
            assert native and (out == x + shift + inner).all()
    moved[1]((1, x), out, ((2.5,),))
    assert (out == x + 3.5).all()


@tiles.jit
def block_copied(source, target, at):
    target.store([0, 0], source.load([at, 0]))


def test_descriptors(slow):
    x = np.arange(64, dtype=np.float32).reshape(8, 8)
    out = np.zeros((8, 8), np.float32)

    def call(at, rows=8, block=4):
        source = TensorDescriptor(x, [rows, 8], [8, 1], [block, 4])
        target = TensorDescriptor(out, [8, 8], [8, 1], [block, 4])
        out[:] = 0
        block_copied[(1,)](source, target, at)

    assert is_native(slow, lambda: call(2))
    assert (out[:4, :4] == x[2:6, :4]).all() and not out[4:].any()
    slow.clear()
    call(3, rows=5)
    assert (out[:2, :4] == x[3:5, :4]).all() and not out[2:].any()
    assert not slow
    call(4, block=2)
    assert (out[:2, :4] == x[4:6, :4]).all() and not out[2:].any()
    assert slow == ["block_copied"]


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.float64])
def test_descriptors_whose_rows_are_multiples_of_16_bytes(slow, dtype):
    x, out = np.arange(1024).astype(dtype).reshape(16, 64), np.zeros((16, 64), dtype)

    def call(base, columns, step):
        source = TensorDescriptor(base, [8, columns], [step, 1], [4, 16])
        target = TensorDescriptor(out, [8, 64], [64, 1], [4, 16])
        out[:] = 0
        block_copied[(1,)](source, target, 2)

    assert is_native(slow, lambda: call(x, 64, 64))
    assert (out[:4, :16] == x[2:6, :16]).all()
    slow.clear()
    call(x, 32, 64)
    assert not slow
    for columns, step, base in ((9, 64, x), (16, 57, x), (16, 64, x.reshape(-1)[1:])):
        call(base, columns, step)
        slow.clear()
        want = np.zeros((4, 16), dtype)
        for row in range(4):
            first = (row + 2) * step
            want[row, : min(columns, 16)] = base.reshape(-1)[first : first + min(columns, 16)]
        assert (out[:4, :16] == want).all()


@tiles.jit
def checked(x, limit):
    tl.device_assert(tl.load(x) < limit, "too large")


def test_settings_that_change(slow, monkeypatch):
    x = np.full(1, 5, np.int32)
    assert is_native(slow, lambda: checked[(1,)](x, 4))
    monkeypatch.setattr(knobs.runtime, "debug", True)
    for _ in range(2):
        with pytest.raises(KernelError, match="too large"):
            checked[(1,)](x, 4)
        checked[(1,)](x, 6)
    monkeypatch.setattr(knobs, "runtime", knobs.Runtime(False))
    checked[(1,)](x, 4)
    with pytest.raises(KernelError, match="too large"):
        checked[(1,)](x, 4, debug=True)


def test_hooks(slow):
    x, out = arrays(np.array)
    kernel, seen = tiles.jit(copied.fn), []
    assert is_native(slow, lambda: kernel[(2,)](x, out, 64, BLOCK=32))
    kernel.add_pre_run_hook(lambda *args, **keywords: seen.append(keywords))
    kernel[(2,)](x, out, 64, BLOCK=32)
    assert seen == [{"BLOCK": 32}]


def test_arguments_of_a_native_launch():
    x, out = arrays(np.array)
    for _ in range(2):
        result = copied[(2,)](x, out, 64, BLOCK=32, num_warps=2, waves_per_eu=0)
    assert result.metadata.num_warps == 2
    for call, message in (
        (lambda: copied[(2,)](x, out, 64), "missing a required argument: 'BLOCK'"),
        (lambda: copied[(2,)](x, out, 64, x=x, BLOCK=32), "multiple values for argument 'x'"),
        (lambda: copied[(2,)](x, out, 64, 32, 5), "too many positional"),
        (lambda: copied[(2,)](x, out, 64, BLOCK=32, block=1), "block was specified but"),
        (lambda: copied[(2,)](x, out, 64, BLOCK=32, num_warps=3), "power of 2"),
        (lambda: copied[(2, -1)](x, out, 64, BLOCK=32, num_warps=2), "whole numbers"),
        (lambda: copied[(2, 2**20)](x, out, 64, BLOCK=32, num_warps=2), "the most is"),
    ):
        with pytest.raises(Exception, match=message):
            call()


def test_threads_and_forks():
    """Threads launch one program at once; the child of a fork launches what its parent did."""
    outs = [np.zeros(64, np.float32) for _ in range(4)]
    x = np.arange(64, dtype=np.float32)

    def work(out):
        for n in range(1, 65):
            copied[(2,)](x, out, n, BLOCK=32)

    threads = [threading.Thread(target=work, args=(out,)) for out in outs]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert all((out == x).all() for out in outs)
    child = os.fork()
    if not child:
        outs[0][:] = 0
        copied[(2,)](x, outs[0], 64, BLOCK=32)
        os._exit(0 if (outs[0] == x).all() else 1)
    assert os.waitpid(child, 0)[1] == 0

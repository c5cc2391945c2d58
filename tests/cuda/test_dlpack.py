"""DLPack on the CPU: what device arrays export, and what is taken of other libraries' tensors.

Each test runs with the native capsules and with their twin. numpy is the other side, both ways;
where it lacks something, ``tensors.Tensor`` is.
"""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
import threading
import weakref

import ml_dtypes
import numpy as np
import pytest
from tests.cuda.tensors import Tensor
from tests.waiting import when_blocked

from gridlane import cuda
from gridlane.core.dlpack_abi import COPIED, CPU, CUDA, READ_ONLY
from gridlane.core.errors import ArgumentError, CompileError
from gridlane.cuda.arrays import allocation
from gridlane.cuda.interop import dlpack, dlpack_python
from gridlane.launch import current
from gridlane.launch.devices import get_device

try:
    from gridlane.cuda.interop import _dlpack
except ImportError:  # no C compiler where this was installed
    _dlpack = None

WAYS = [dlpack_python] + ([_dlpack] if _dlpack else [])
DTYPES = "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split()


@pytest.fixture(autouse=True, params=WAYS, ids=lambda way: way.__name__.rpartition(".")[2])
def ways(request, monkeypatch):
    monkeypatch.setattr(dlpack, "capsules", request.param)
    return request.param


@pytest.fixture(autouse=True)
def device(monkeypatch):
    found = get_device("cpu")
    current.choose(found)
    return found


def add_one(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


def write_first(x):
    x[0] = 1


def total(x, out):
    for i in range(x.size):
        out[0] += x[i]


def flags_of(capsule):
    """Whether a capsule is versioned, and its flags; it is consumed."""
    tensor = dlpack.capsules.Tensor(capsule)
    return tensor.versioned, tensor.flags


# --- out ---


@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_reads_an_array(dtype):
    values = np.arange(24).reshape(2, 3, 4).astype(dtype)
    array = cuda.to_device(values)
    shown = np.from_dlpack(array)
    assert shown.dtype == values.dtype and (shown == values).all()
    assert shown.ctypes.data == array.address and array.__dlpack_device__() == (CPU, 0)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,) * 32])
def test_shapes_at_the_edge(shape):
    values = np.full(shape, 7, np.int32)
    array = cuda.to_device(values)
    assert np.from_dlpack(array).tolist() == values.tolist()
    back = cuda.from_dlpack(values)
    assert back.shape == shape and back.copy_to_host().tolist() == values.tolist()


def test_strides():
    array = cuda.to_device(np.arange(24, dtype=np.int32).reshape(4, 6))
    want = np.arange(24).reshape(4, 6)[1:, ::-2]
    assert (np.from_dlpack(array[1:, ::-2]) == want).all()
    assert (np.from_dlpack(array[1:, ::-2], copy=True) == want).all()


def test_bfloat16_goes_out_and_comes_in():
    values = np.arange(5).astype(ml_dtypes.bfloat16)
    array = cuda.to_device(values)
    same = cuda.from_dlpack(Shown(array))
    assert same.dtype == values.dtype and same.address == array.address


class Shown:
    """Nothing but an array's DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **asked):
        return self.array.__dlpack__(**asked)


def test_versions_and_copies():
    array = cuda.to_device(np.arange(3.0))
    assert flags_of(array.__dlpack__()) == (0, 0)
    assert flags_of(array.__dlpack__(max_version=(0, 8))) == (0, 0)
    assert flags_of(array.__dlpack__(max_version=(1, 3))) == (1, 0)
    assert flags_of(array.__dlpack__(max_version=(1, 0), copy=True)) == (1, COPIED)
    assert np.from_dlpack(array, copy=False).ctypes.data == array.address
    copied = np.from_dlpack(array, copy=True)
    assert copied.tolist() == [0, 1, 2] and copied.ctypes.data != array.address
    here = np.from_dlpack(array, device="cpu")
    assert here.ctypes.data == array.address
    here[1] = 7
    assert array[1] == 7


def test_what_is_refused():
    array = cuda.to_device(np.zeros(2))
    with pytest.raises(BufferError, match="kDLCPU 0 and is not exported to kDLCUDA 0"):
        array.__dlpack__(dl_device=(CUDA, 0))
    with pytest.raises(ValueError, match="kDLCPU has no streams, so stream is None; got 1"):
        array.__dlpack__(stream=1)
    array.__dlpack__(stream=-1)
    with pytest.raises(TypeError):
        array.__dlpack__(strem=1)
    with pytest.raises(BufferError, match="no element type for"):
        cuda.to_device(np.zeros(2, [("x", "i4")])).__dlpack__()
    raw = cuda.to_device(np.zeros(9, np.uint8))
    odd = cuda.from_cuda_array_interface(
        dict(raw.__cuda_array_interface__, shape=(2,), typestr="<i2", strides=(3,), descr=None)
    )
    with pytest.raises(BufferError, match=r"strides \(3,\) are not multiples of 2 bytes"):
        odd.__dlpack__()


def test_the_stream_s_work_is_done():
    stream, gate = cuda.stream(), threading.Event()
    array = cuda.to_device(np.zeros(3), stream=stream)
    stream.submit(lambda: (gate.wait(60), array.bind().copy_to_device(np.ones(3))))
    when_blocked(gate.set)
    assert np.from_dlpack(array).tolist() == [1, 1, 1]


def test_the_cpu_s_memory_is_not_shown_to_libraries_of_cuda(monkeypatch):
    array = cuda.to_device(np.zeros(3))
    assert array.__cuda_array_interface__["data"] == (array.address, False)
    monkeypatch.setattr(allocation, "has_cuda_driver", lambda: True)
    assert not hasattr(array, "__cuda_array_interface__") and cuda.is_cuda_array(array)
    with pytest.raises(AttributeError, match="this process has loaded CUDA's driver"):
        array.__cuda_array_interface__
    cuda.jit(add_one)[1, 3](array)
    assert array.copy_to_host().tolist() == [1, 1, 1]


# --- capsules ---


def test_the_consumer_keeps_the_memory_alive():
    array = cuda.to_device(np.arange(1000.0))
    memory = weakref.ref(array.buffer)
    shown = np.from_dlpack(array)
    del array
    gc.collect()
    assert memory() is not None and shown[999] == 999
    del shown
    gc.collect()
    assert memory() is None


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_a_capsule_that_nobody_takes(version):
    array = cuda.to_device(np.zeros(3))
    before = sys.getrefcount(array)
    for _ in range(100):
        array.__dlpack__(max_version=version)
    assert sys.getrefcount(array) == before


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_a_capsule_dies_while_an_exception_is_on_its_way(version, capfd):
    array = cuda.to_device(np.zeros(3))
    before = sys.getrefcount(array)

    def fails():
        capsule = array.__dlpack__(max_version=version)
        raise KeyError("mine", capsule is not None)

    for _ in range(100):
        with pytest.raises(KeyError, match="mine"):
            fails()
    gc.collect()
    assert sys.getrefcount(array) == before and capfd.readouterr().err == ""


@pytest.mark.parametrize("versioned", [False, True])
def test_a_taken_tensor_dies_while_an_exception_is_on_its_way(versioned, capfd):
    tensor = Tensor(np.arange(3.0), versioned=versioned)

    def fails():
        taken = cuda.from_dlpack(tensor)
        raise KeyError("mine", taken.size)

    with pytest.raises(KeyError, match="mine"):
        fails()
    gc.collect()
    assert tensor.deleted == 1 and capfd.readouterr().err == ""


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_a_capsule_is_taken_once(version, ways):
    array = cuda.to_device(np.arange(3.0))
    capsule = array.__dlpack__(max_version=version)
    taken = ways.Tensor(capsule)
    with pytest.raises(BufferError, match=r"consumed before; .* call __dlpack__ again"):
        ways.Tensor(capsule)
    before = sys.getrefcount(array)
    del taken
    assert sys.getrefcount(array) == before - 1
    del capsule
    assert sys.getrefcount(array) == before - 1


def test_threads_take_a_capsule_once(ways):
    tensor = Tensor(np.arange(3.0))
    for _ in range(50):
        capsule, outcomes = tensor.capsule(), []
        start = threading.Barrier(4)

        def take():
            start.wait()
            try:
                outcomes.append(ways.Tensor(capsule))
            except BufferError:
                outcomes.append(None)

        threads = [threading.Thread(target=take) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(outcome is not None for outcome in outcomes) == 1
    outcomes.clear()
    assert tensor.deleted == 50


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_the_consumer_is_done_on_a_thread_without_python(version, ways):
    """As a library's own thread: it has no thread state, and does not hold the GIL."""
    array = cuda.to_device(np.zeros(3))
    memory = weakref.ref(array.buffer)
    capsule = array.__dlpack__(max_version=version)
    name = b"dltensor" if version is None else b"dltensor_versioned"
    address = ctypes.pythonapi.PyCapsule_GetPointer
    address.restype, address.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    pointer = address(capsule, name)
    rename = ctypes.pythonapi.PyCapsule_SetName
    rename.argtypes = (ctypes.py_object, ctypes.c_char_p)
    rename(capsule, used := b"used_" + name)
    kind = dlpack_python.Plain if version is None else dlpack_python.Versioned
    libc, thread = ctypes.CDLL(None), ctypes.c_ulong()
    deleter = ctypes.c_void_p(kind.from_address(pointer).deleter)
    del array
    gc.collect()
    assert memory() is not None
    assert not libc.pthread_create(ctypes.byref(thread), None, deleter, ctypes.c_void_p(pointer))
    libc.pthread_join(thread, None)
    assert memory() is None and used


ENDS = """
import atexit, ctypes, sys, threading, numpy as np
from gridlane import cuda
from gridlane.cuda.interop import dlpack, dlpack_python
assert (dlpack.capsules is dlpack_python) == {python}
arrays = [cuda.to_device(np.arange(3.0)) for _ in range(4)]
kept = np.from_dlpack(arrays[0])          # goes when modules are cleared
untaken = arrays[1].__dlpack__()          # likewise, and nobody took it
taken = cuda.from_dlpack(np.arange(3.0))
pointer = ctypes.pythonapi.PyCapsule_GetPointer
pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
late = arrays[2].__dlpack__()
address = pointer(late, b"dltensor")
ctypes.pythonapi.PyCapsule_SetName(ctypes.py_object(late), b"used_dltensor")
deleter = dlpack_python.Plain.from_address(address).deleter
# By the C library's own list: after the interpreter has ended.
ctypes.CDLL(None).__cxa_atexit(ctypes.c_void_p(deleter), ctypes.c_void_p(address), None)
sys.stdout.write("ready")
"""


def test_what_is_left_when_the_interpreter_ends(ways):
    python = ways is dlpack_python
    environment = {"GRIDLANE_NATIVE": "0" if python else "1"}
    done = subprocess.run(
        [sys.executable, "-c", ENDS.format(python=python)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "ready", "")


# --- in ---


@pytest.mark.parametrize("versioned", [False, True])
@pytest.mark.parametrize("dtype", [*DTYPES, ml_dtypes.bfloat16])
def test_every_element_type_is_an_argument(dtype, versioned):
    values = np.zeros(4, dtype)
    tensor = Tensor(values, versioned=versioned)

    @cuda.jit
    def fill(x):
        x[cuda.grid(1)] = x[0] == x[0]

    fill[1, 4](tensor)
    assert (values == np.ones(4, dtype)).all() and tensor.deleted == len(tensor.asked) == 1


@pytest.mark.parametrize("versioned", [False, True])
def test_tensors_are_arguments_without_a_copy(versioned):
    values, kernel = np.arange(24.0).reshape(4, 6), cuda.jit(add_one)
    tensor = Tensor(values[1:, ::-2].reshape(-1), versioned=versioned)
    kernel[1, 32](tensor)
    assert (tensor.array == values[1:, ::-2].reshape(-1) + 1).all()
    tensor = Tensor(values[::2, 1], versioned=versioned, byte_offset=48)
    kernel[1, 32](tensor)
    assert values[:, 1].tolist() == [1, 8, 13, 20] and tensor.deleted == 1


def test_a_tensor_is_asked_once_a_launch():
    tensor, kernel = Tensor(np.zeros(4)), cuda.jit(add_one)
    for _ in range(3):
        kernel[1, 4](tensor)
    assert tensor.array.tolist() == [3] * 4
    assert tensor.asked == [{"max_version": (1, 0)}] * 3 and tensor.deleted == 3


def test_tensors_in_tuples_and_hints():
    @cuda.jit
    def kernel(pair, given):
        pair[0][0] = pair[1][0] + given[0]
        given[0] = 9

    out, one, two = (Tensor(np.full(1, value, np.float32)) for value in (0, 1, 2))
    kernel[1, 1]((out, one), cuda.In(two))
    assert out.array[0] == 3 and two.array[0] == 2


def test_from_dlpack_shares_memory():
    values = np.arange(6, dtype=np.float32)
    array = cuda.from_dlpack(values)
    cuda.jit(add_one)[1, 32](array)
    assert values.tolist() == [1, 2, 3, 4, 5, 6] and array.address == values.ctypes.data
    copied = cuda.from_dlpack(values, copy=True)
    values[0] = 77
    assert copied.copy_to_host()[0] == 1 and array[0] == 77
    assert cuda.from_dlpack(array) is array
    assert cuda.from_dlpack(array, copy=True).address != array.address
    assert cuda.from_dlpack(values, device="cpu", copy=False).address == values.ctypes.data
    with pytest.raises(ArgumentError, match="device 'vulkan' is not this thread's, 'cpu'"):
        cuda.from_dlpack(values, device="vulkan")
    with pytest.raises(ArgumentError, match="type list has no __dlpack__"):
        cuda.from_dlpack([1, 2])


def test_what_is_read_only_is_not_written():
    values = np.arange(3.0)
    tensor = Tensor(values, flags=READ_ONLY)
    kernel, read = cuda.jit(write_first), cuda.jit(total)
    signed = cuda.jit("void(float64[::1])")(add_one)
    array, out = cuda.from_dlpack(tensor), np.zeros(1)
    assert array.readonly and array[1:].readonly and array.reshape(3, 1).readonly
    for value in (tensor, array):
        with pytest.raises(CompileError, match=r"read-?only"):
            kernel[1, 3](value)
        read[1, 1](value, out)
        with pytest.raises(CompileError, match=r"read-?only"):
            signed[1, 3](value)
    assert out[0] == 6
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        array.copy_to_device(np.zeros(3))
    assert values.tolist() == [0, 1, 2]
    assert flags_of(array.__dlpack__(max_version=(1, 0))) == (1, READ_ONLY)
    assert flags_of(array.__dlpack__(max_version=(1, 0), copy=True)) == (1, COPIED)
    assert not np.from_dlpack(array).flags.writeable
    with pytest.raises(BufferError, match=r"read-only, which DLPack says from version 1.0 on"):
        array.__dlpack__()
    assert array.__cuda_array_interface__["data"][1] is True


def test_immutable_arrays_of_libraries_that_cannot_say_so():
    class Immutable(Tensor):
        def __array__(self, dtype=None, copy=None):
            view = self.array.view()
            view.flags.writeable = False
            return view

    with pytest.raises(CompileError, match=r"read-?only"):
        cuda.jit(write_first)[1, 3](Immutable(np.arange(3.0), versioned=False))


def test_numpy_s_own_read_only_arrays():
    values = np.arange(3.0)
    values.flags.writeable = False
    assert cuda.from_dlpack(values).readonly


HOSTILE = {
    "negative": (dict(shape=(-1,)), r"negative extent in its shape \(-1,\)"),
    "axes": (dict(ndim=65), "65 axes; 0 to 64"),
    "fewer axes": (dict(ndim=-1), "-1 axes; 0 to 64"),
    "many axes": (dict(ndim=2**31 - 1), "2147483647 axes"),
    "lanes": (dict(lanes=4), "64 bits of float in vectors of 4"),
    "float8": (dict(code=10, bits=8), "8 bits of float8_e4m3fn are not among those of kernels"),
    "float6": (dict(code=15, bits=6), "6 bits of float6_e2m3fn"),
    "handles": (dict(code=3), "64 bits of opaque handle"),
    "unknown type": (dict(code=200), "64 bits of type 200"),
    "int7": (dict(code=0, bits=7), "7 bits of int"),
    "float128": (dict(bits=128), "128 bits of float"),
    "no memory": (dict(data=None), r"shape \(3,\) has no memory"),
    "too large": (dict(shape=(2**62,)), "does not fit into memory"),
    "wraps": (dict(strides=(2**61 + 1,)), "does not fit into memory"),
    "offset": (dict(byte_offset=2**64 - 1), "does not fit into memory"),
    "elsewhere": (dict(device_type=2), "memory of kDLCUDA 0, and __dlpack_device__ .* kDLCPU 0"),
}


@pytest.mark.parametrize("what", HOSTILE)
@pytest.mark.parametrize("versioned", [False, True])
def test_hostile_tensors(what, versioned):
    changes, text = HOSTILE[what]
    tensor = Tensor(np.zeros(3), versioned=versioned, **changes)
    with pytest.raises(BufferError, match=text):
        cuda.from_dlpack(tensor)
    with pytest.raises(ArgumentError, match=f"argument 1, 'x': .*{text}"):
        cuda.jit(add_one)[1, 1](tensor)
    gc.collect()
    assert tensor.deleted == 2 and not tensor.alive


def test_a_tensor_without_a_shape():
    null = ctypes.POINTER(ctypes.c_int64)()

    class Shapeless(Tensor):
        def capsule(self):
            capsule = super().capsule()
            next(iter(self.alive.values()))[0].tensor.shape = null
            return capsule

    tensor = Shapeless(np.zeros(3))
    with pytest.raises(BufferError, match="1 axes and no shape"):
        cuda.from_dlpack(tensor)
    assert tensor.deleted == 1


def test_other_capsules():
    class Odd:
        given = None

        def __dlpack_device__(self):
            return CPU, 0

        def __dlpack__(self, **asked):
            return self.given

    odd = Odd()
    for given, text in ((None, "of type NoneType"), (3, "of type int"), (b"dltensor", "bytes")):
        odd.given = given
        with pytest.raises(BufferError, match=f"{text}, and not a capsule"):
            cuda.from_dlpack(odd)
    for name, text in ((b"datetime", '"datetime"'), (None, "NULL"), (b"dltensor2", '"dltensor2"')):
        tensor = Tensor(np.zeros(3), name=name)
        odd.given = tensor.capsule()
        with pytest.raises(BufferError, match=f"a capsule named {text} is not DLPack's"):
            cuda.from_dlpack(odd)
        assert not tensor.deleted
    for place in (None, 3, ("cpu", 0), (1,), (1, 2, 3)):
        Odd.__dlpack_device__ = lambda self: place
        with pytest.raises(BufferError, match=r"__dlpack_device__ of Odd gives .* two integers"):
            cuda.from_dlpack(odd)


def test_a_later_version_is_given_back():
    tensor = Tensor(np.zeros(3), major=2, ndim=99)
    with pytest.raises(BufferError, match=r"version 2\.0, and 1 is read here"):
        cuda.from_dlpack(tensor)
    assert tensor.deleted == 1


def test_a_tensor_without_a_deleter():
    tensor = Tensor(np.ones(3), deleter=None)
    assert cuda.from_dlpack(tensor).copy_to_host().tolist() == [1, 1, 1]


@pytest.mark.parametrize("place, name", [((2, 1), "kDLCUDA 1"), ((10, 0), "kDLROCM 0")])
def test_memory_of_other_devices_is_refused(place, name):
    tensor = Tensor(np.zeros(3), place=place)
    for use in (cuda.from_dlpack, cuda.jit(add_one)[1, 1], cuda.to_device):
        with pytest.raises(ArgumentError, match=f"Tensor is in memory of {name}.* 'cpu'"):
            use(tensor)
    assert not tensor.asked


def test_libraries_from_before_the_version():
    class Old(Tensor):
        def __dlpack__(self, stream=None):
            return super().__dlpack__(stream=stream)

    tensor = Old(np.zeros(3), versioned=False)
    cuda.jit(add_one)[1, 3](tensor)
    assert tensor.array.tolist() == [1, 1, 1]


class Raises:
    def __init__(self, error):
        self.error = error

    def __dlpack_device__(self):
        return CPU, 0

    def __dlpack__(self, **asked):
        raise self.error


@pytest.mark.parametrize("error", [RuntimeError("grad"), BufferError("grad"), TypeError("grad")])
def test_dlpack_that_raises(error):
    with pytest.raises(ArgumentError, match=r"argument 1, 'x': .*Raises .*grad") as caught:
        cuda.jit(add_one)[1, 1](Raises(error))
    assert caught.value.__cause__ is error
    with pytest.raises(type(error), match="grad"):
        cuda.from_dlpack(Raises(error))
    with pytest.raises(KeyboardInterrupt):
        cuda.jit(add_one)[1, 1](Raises(KeyboardInterrupt()))


def test_a_deleter_that_launches():
    kernel, values = cuda.jit(add_one), np.zeros(3)
    tensor = Tensor(np.zeros(3), work=lambda: kernel[1, 3](values))
    kernel[1, 3](tensor)
    gc.collect()
    assert tensor.deleted == 1 and values.tolist() == [1, 1, 1]


def test_a_tensor_is_held_until_its_launch_is_done():
    kernel, stream, gate = cuda.jit(add_one), cuda.stream(), threading.Event()
    values = np.zeros(3)
    array = cuda.from_dlpack(tensor := Tensor(values))
    stream.submit(lambda: gate.wait(60))
    kernel[1, 3, stream](array)
    del array
    gc.collect()
    assert tensor.deleted == 0
    gate.set()
    stream.synchronize()
    gc.collect()
    assert values.tolist() == [1, 1, 1] and tensor.deleted == 1


def test_nothing_leaks(ways):
    """Deleters are called once for each capsule; what was taken, exported or refused goes."""
    array, count = cuda.to_device(np.zeros(3)), 100_000 if ways is _dlpack else 5_000
    tensor, hostile = Tensor(np.zeros(3)), Tensor(np.zeros(3), ndim=-1)
    before = sys.getrefcount(array)
    for n in range(count):
        capsule = array.__dlpack__(stream=-1, max_version=(1, 0) if n % 2 else None)
        if n % 3:
            ways.Tensor(capsule)
        if n % 10 == 0:
            ways.Tensor(tensor.capsule())
            with pytest.raises(BufferError):
                ways.Tensor(hostile.capsule())
    del capsule
    assert sys.getrefcount(array) == before
    assert tensor.deleted == hostile.deleted == count // 10
    assert not tensor.alive and not hostile.alive

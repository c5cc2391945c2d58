"""Arrays of CuPy and PyTorch on the device ``cuda``, by objects that show memory as theirs do."""

from __future__ import annotations

import gc
import struct
import threading

import numpy as np
import pytest
from cuda.bindings import driver
from tests.cuda.tensors import Tensor

from gridlane import cuda
from gridlane.core.errors import ArgumentError, DeviceError
from gridlane.cuda.arrays import allocation
from gridlane.cuda.interop import dlpack
from gridlane.launch import current, geometry
from gridlane.launch.devices import get_device


class Memory:
    """Bytes that another library has allocated."""

    def __init__(self, size):
        current.device().activate()
        self.address = int(driver.cuMemAlloc(max(1, size))[1])

    def __del__(self):
        driver.cuMemFree(self.address)


class CuPy:
    """As cupy.ndarray: a new interface at each look, with its stream's number."""

    def __init__(self, shape, dtype, strides=None, stream=1, memory=None, address=None):
        self.shape, self.dtype, self.strides = shape, np.dtype(dtype), strides
        self.memory = memory or Memory(int(np.prod(shape)) * self.dtype.itemsize)
        self.address = self.memory.address if address is None else address
        self.stream, self.reads, self.changes = stream, 0, {}

    @property
    def __cuda_array_interface__(self):
        self.reads += 1
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "descr": self.dtype.descr,
            "stream": self.stream,
            "version": 3,
            "strides": self.strides,
            "data": (self.address, False),
            **self.changes,
        }


class Torch:
    """As torch.Tensor: its interface is Python, its parts are cheap."""

    is_cuda, requires_grad, negated, conjugated = True, False, False, False
    dtype = shape = None

    def __init__(self, shape, dtype, strides=None, memory=None):
        self.dtype = _TORCH.setdefault(np.dtype(dtype), object())
        self._dtype, self.shape = np.dtype(dtype), shape
        self.steps = strides or np.empty(shape, np.int8).strides
        self.memory = memory or Memory(int(np.prod(shape)) * self._dtype.itemsize)
        self.reads = 0

    @property
    def __cuda_array_interface__(self):
        self.reads += 1
        if self.requires_grad:
            raise RuntimeError("Can't get __cuda_array_interface__ on Variable that requires grad")
        return {
            "shape": self.shape,
            "typestr": self._dtype.str,
            "strides": tuple(step * self._dtype.itemsize for step in self.steps),
            "data": (self.data_ptr(), False),
            "version": 2,
        }

    def stride(self):
        return self.steps

    def data_ptr(self):
        return self.memory.address

    def is_neg(self):
        return self.negated

    def is_conj(self):
        return self.conjugated


_TORCH = {}


def packed(*arrays):
    parts = []
    for address, shape, strides in arrays:
        parts.append(struct.pack(f"<Q{2 * len(shape)}q", address, *shape, *strides))
    return b"".join(parts)


@pytest.mark.parametrize("make", [CuPy, Torch])
def test_the_second_launch_is_fast(machine, scale, slow, make):
    x, out = make((8,), np.float32), make((8,), np.float32)
    run = scale[2, 32]
    for n in range(5):
        run(x, out, 1.5)
        (ran,) = machine.launches[-1:]
        want = packed(*((each.memory.address, (8,), (4,)) for each in (x, out)))
        assert ran.params == want + struct.pack("<d", 1.5)
    assert len(machine.launches) == 5 and len(slow) == 1
    assert x.reads == (6 if make is CuPy else 1)  # once a launch, and when the profile is made
    other = make((5,), np.float32)
    run(other, other, 2.0)
    assert len(slow) == 1 and len(machine.launches) == 6
    assert struct.unpack_from("<Q", machine.launches[-1].params)[0] == other.memory.address
    x = out = other = None
    gc.collect()


@pytest.mark.parametrize(
    "shape, strides, layout",
    [
        ((), None, "C"),
        ((3, 4), None, "C"),
        ((3, 4), (4, 12), "F"),
        ((3, 2), (16, 4), "A"),
        ((0, 5), None, "C"),
        ((2, 2), (-16, 4), "A"),
        ((4, 3), (0, 4), "A"),
        ((1, 3), (999, 4), "C"),
    ],
)
def test_every_layout(machine, slow, shape, strides, layout):
    kernel = cuda.jit(lambda_of_size)
    machine.on_launch("*", lambda ran: None)
    memory = Memory(4096)
    x = CuPy(shape, np.float32, strides, memory=memory, address=memory.address + 64)
    for _ in range(3):
        kernel[1, 1](x)
    assert len(slow) == 1 and len(machine.launches) == 3
    steps = strides or geometry.contiguous_strides(shape, 4)
    assert {ran.params for ran in machine.launches} == {packed((x.address, shape, steps))}
    assert cuda.typeof(x).layout == layout
    memory = x = None


def lambda_of_size(x):
    if x.size < 0:
        cuda.threadfence()


CHANGES = {
    "dtype": dict(typestr="<i4"),
    "shape": dict(shape=(2, 4)),
    "layout": dict(strides=(8,)),
    "read-only": None,
    "foreign stream": dict(stream=2),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_changes_between_launches_goes_the_slow_way(machine, slow, what):
    kernel = cuda.jit(lambda_of_size)
    machine.on_launch("*", lambda ran: None)
    x = CuPy((8,), np.float32)
    kernel[1, 1](x)
    kernel[1, 1](x)
    assert len(slow) == 1
    x.changes = CHANGES[what] or dict(data=(x.address, True))
    kernel[1, 1](x)
    assert len(slow) == 2
    kernel[1, 1](x)
    # Another type has its own profile now; a stream that must be waited for never has one.
    assert len(slow) == (3 if what == "foreign stream" else 2)
    x = None


def test_torch_s_lazy_views_and_gradients_are_refused(machine, scale, slow):
    x = Torch((8,), np.float32)
    run = scale[1, 8]
    run(x, x, 1.0)
    for name, text in (
        ("requires_grad", "requires grad"),
        ("negated", r"pass its resolve_neg\(\)"),
        ("conjugated", r"pass its resolve_conj\(\)"),
    ):
        setattr(x, name, True)
        with pytest.raises(ArgumentError, match=f"argument 1, 'x': .*{text}"):
            run(x, x, 1.0)
        setattr(x, name, False)
    run(x, x, 1.0)
    assert len(machine.launches) == 2 and len(slow) == 4
    x = None


def test_memory_that_was_freed_is_refused(machine, scale, slow):
    x = CuPy((8,), np.float32)
    run = scale[1, 8]
    run(x, x, 1.0)
    x.memory = None
    gc.collect()
    with pytest.raises(DeviceError, match="not memory of a CUDA device"):
        run(x, x, 1.0)
    host = np.zeros(8, np.float32)
    x.address = host.ctypes.data
    with pytest.raises(DeviceError, match="not memory of a CUDA device"):
        run(x, x, 1.0)
    assert len(machine.launches) == 1


def test_an_interface_that_raises_is_explained_and_one_that_interrupts_is_not_hidden(
    machine,
    scale,
    slow,
):
    class Sly(CuPy):
        error = None

        @property
        def __cuda_array_interface__(self):
            if self.error:
                raise self.error
            return CuPy.__cuda_array_interface__.fget(self)

    x = Sly((8,), np.float32)
    run = scale[1, 8]
    run(x, x, 1.0)
    x.error = ValueError("no more")
    with pytest.raises(ArgumentError, match=r"Sly does not show its memory .*no more"):
        run(x, x, 1.0)
    for error in (KeyboardInterrupt, RecursionError, MemoryError):
        x.error = error()
        with pytest.raises(error):
            run(x, x, 1.0)
    x = None
    gc.collect()


def test_streams_of_interfaces(machine, scale, slow):
    stream = cuda.stream()
    x = CuPy((8,), np.float32, stream=stream.handle)
    for queue, waits in ((stream, 0), (0, 4), (cuda.stream(), 4)):
        machine.clear_log()
        scale[1, 8, queue](x, x, 1.0)
        scale[1, 8, queue](x, x, 1.0)
        assert machine.calls.count("cuStreamSynchronize") == waits
    x.stream = 1
    machine.clear_log()
    for queue in (stream, 0):
        scale[1, 8, queue](x, x, 1.0)
    assert "cuStreamSynchronize" not in machine.calls
    cuda.synchronize()
    x = None


def test_threads(machine, scale, slow):
    x, errors = CuPy((8,), np.float32), []
    run = scale[1, 8]
    run(x, x, 1.0)

    def work():
        try:
            for _ in range(20):
                run(x, x, 1.0)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and len(machine.launches) == 61
    x = None


# --- several GPUs


def test_an_array_of_another_gpu(machine, scale, slow):
    machine.reset(2)
    with cuda.gpus[1]:
        theirs = cuda.to_device(np.ones(8, np.float32))
        foreign = CuPy((8,), np.float32)
    x = cuda.to_device(np.ones(8, np.float32))
    run = scale[1, 8]
    run(x, x, 1.0)
    text = r"\(8,\) is in memory of the device 'cuda:1', and the launch is on 'cuda', which does"
    for there in (theirs, foreign):
        for _ in range(2):
            with pytest.raises(DeviceError, match=text):
                run(there, x, 1.0)
    assert len(machine.launches) == 1
    here, there = get_device("cuda"), get_device("cuda:1")
    here.enable_peer(there)
    for value in (theirs, foreign):
        run(value, x, 1.0)
        run(value, x, 1.0)
    assert len(machine.launches) == 5
    x = theirs = foreign = there = here = value = None
    gc.collect()


def test_memory_of_another_gpu_is_known_by_its_buffer(machine):
    machine.reset(2)
    with cuda.gpus[1]:
        theirs = cuda.to_device(np.full(8, 3, np.float32))
    same = cuda.from_cuda_array_interface(theirs.__cuda_array_interface__, theirs)
    assert same.buffer is theirs.buffer
    assert same.copy_to_host().tolist() == [3] * 8
    same = theirs = None


def test_addresses_are_found_without_the_driver(machine):
    arrays = [cuda.to_device(np.zeros(8)) for _ in range(20)]
    shown = [array[2:].__cuda_array_interface__ for array in arrays]
    machine.clear_log()
    found = [cuda.from_cuda_array_interface(each) for each in shown]
    assert [f.buffer for f in found] == [a.buffer for a in arrays]
    assert "cuPointerGetAttribute" not in machine.calls
    arrays = shown = found = None


# --- DLPack


def test_kinds_of_cuda_s_memory(machine):
    array, managed = cuda.to_device(np.zeros(4)), cuda.managed_array(4)
    mapped = cuda.mapped_array(4)
    assert array.__dlpack_device__() == (2, 0)
    assert cuda.as_cuda_array(managed).__dlpack_device__() == (13, 0)
    assert cuda.as_cuda_array(mapped).__dlpack_device__() == (3, 0)
    assert cuda.device_array(0).__dlpack_device__() == (2, 0)
    managed[:] = 0
    shown = np.from_dlpack(cuda.as_cuda_array(managed))
    managed[2] = 5
    assert shown.tolist() == [0, 0, 5, 0]
    array = managed = mapped = shown = None


def test_a_gpu_s_number_is_its_own(machine):
    machine.reset(2)
    with cuda.gpus[1]:
        array = cuda.to_device(np.zeros(4))
    assert array.__dlpack_device__() == (2, 1)
    array = None


@pytest.mark.parametrize("stream, events", [(None, 0), (1, 0), (2, 1), (-1, 0), ("own", 1)])
def test_the_consumer_s_stream_waits_for_the_array_s_work(machine, stream, events):
    array, queue = cuda.to_device(np.zeros(4)), cuda.stream()
    machine.clear_log()
    array.__dlpack__(stream=queue.handle if stream == "own" else stream, max_version=(1, 0))
    assert machine.calls.count("cuStreamWaitEvent") == events
    assert "cuStreamSynchronize" not in machine.calls
    array = queue = None


def test_streams_that_dlpack_has_not(machine):
    array = cuda.to_device(np.zeros(4))
    with pytest.raises(ValueError, match="DLPack has no stream 0"):
        array.__dlpack__(stream=0)
    array = None


def test_a_copy_on_the_device(machine):
    array = cuda.to_device(np.arange(4.0))
    tensor = dlpack.capsules.Tensor(array.__dlpack__(max_version=(1, 0), copy=True))
    assert (tensor.device_type, tensor.flags) == (2, 2) and tensor.data != array.address
    host = np.zeros(4)
    get_device("cuda").download(host.view(np.uint8).data, tensor.data)
    assert host.tolist() == [0, 1, 2, 3]
    assert np.from_dlpack(array, device="cpu").tolist() == [0, 1, 2, 3]
    array = tensor = None


class OnGpu(Tensor):
    """A tensor of DLPack alone, over memory that another library has allocated."""

    def __init__(self, place=(2, 0), **changes):
        self.memory = Memory(32)
        super().__init__(np.zeros(8, np.float32), place, data=self.memory.address, **changes)


@pytest.mark.parametrize("versioned", [False, True])
def test_tensors_of_dlpack_alone(machine, scale, slow, versioned):
    tensor = OnGpu(versioned=versioned)
    run = scale[1, 8]
    run(tensor, tensor, 1.0)
    run(tensor, tensor, 1.0)
    assert [struct.unpack_from("<Q", ran.params)[0] for ran in machine.launches] == (
        [tensor.memory.address] * 2
    )
    gc.collect()
    assert tensor.deleted == 4 and tensor.asked == [{"stream": 1, "max_version": (1, 0)}] * 4
    array = cuda.from_dlpack(tensor)
    assert array.address == tensor.memory.address
    array = tensor = None
    gc.collect()


def test_the_producer_is_told_the_launch_s_stream(machine, scale):
    tensor, stream = OnGpu(), cuda.stream()
    scale[1, 8, stream](tensor, tensor, 1.0)
    assert [asked["stream"] for asked in tensor.asked] == [stream.handle] * 2
    pinned = OnGpu(place=(3, 0))
    scale[1, 8, stream](pinned, pinned, 1.0)
    assert pinned.asked == [{"max_version": (1, 0)}] * 2
    stream.synchronize()
    tensor = pinned = stream = None


def test_a_tensor_of_another_gpu_is_refused(machine):
    tensor = OnGpu(place=(2, 1))
    with pytest.raises(ArgumentError, match=r"kDLCUDA 1, .* is 'cuda'; cuda.select_device\(1\)"):
        cuda.from_dlpack(tensor)
    tensor = None


def test_tensors_of_the_host_are_copied(machine, scale, slow):
    x, out = Tensor(np.arange(4, dtype=np.float32)), Tensor(np.zeros(4, np.float32))
    scale[1, 4](x, out, 2.0)
    assert out.array.tolist() == [0, 2, 4, 6]


def test_the_cpu_s_arrays_do_not_look_like_cuda_s_here(machine, monkeypatch):
    assert allocation.has_cuda_driver()
    cpu = get_device("cpu")
    current.choose(cpu)
    array = cuda.to_device(np.zeros(4))
    assert not hasattr(array, "__cuda_array_interface__")
    assert array.__dlpack_device__() == (1, 0)
    current.choose(None)
    x = cuda.to_device(np.zeros(4))
    with pytest.raises(DeviceError, match=r"is in memory of the device 'cpu', .* is on 'cuda'"):
        cuda.jit(lambda_of_size)[1, 1](array)
    x = array = None

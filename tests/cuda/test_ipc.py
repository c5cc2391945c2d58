"""Device memory that two processes share."""

from __future__ import annotations

import gc
import itertools
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from tests.devices import DEVICES

from gridlane import cuda
from gridlane.core.errors import DeviceError
from gridlane.launch import current
from gridlane.launch.devices import get_device
from gridlane.memory import shared_pages
from gridlane.memory.host import PAGE, HostResource

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is shared on Linux only")


@pytest.fixture(autouse=True)
def cpu():
    current.choose(get_device("cpu"))
    yield
    current.choose(None)


class Child:
    """Another process, which runs statements by and by."""

    LOOP = """
        import pickle, sys
        import numpy as np
        from gridlane import cuda
        @cuda.jit
        def add(x):
            i = cuda.grid(1)
            if i < x.size:
                x[i] += 1
        names = {"cuda": cuda, "np": np, "add": add}
        while True:
            text, values = pickle.load(sys.stdin.buffer)
            names |= values
            try:
                exec(text, names)
                answer = names.get("answer")
            except Exception as error:
                answer = f"{type(error).__name__}: {error}"
            sys.stdout.buffer.write(pickle.dumps(answer))
            sys.stdout.buffer.flush()
    """

    def __init__(self, **options):
        environment = os.environ | {"GRIDLANE_DEVICE": "cpu"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(self.LOOP)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            **options,
        )

    def run(self, text, **values):
        """Run statements with names; returns what they call ``answer``."""
        self.process.stdin.write(pickle.dumps((text, values)))
        self.process.stdin.flush()
        return pickle.load(self.process.stdout)

    def end(self):
        """End it at once."""
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


@pytest.fixture(scope="module")
def child():
    started = Child()
    yield started
    started.end()


@cuda.jit
def add(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


OPEN = "array = handle.open(); answer = array.copy_to_host()"


@pytest.mark.parametrize("count", [1, 10, 512, 513, 20_000, 1 << 20])
def test_both_sides_see_each_others_writes(child, count):
    array = cuda.to_device(np.arange(count))
    handle = array.get_ipc_handle()
    assert (child.run(OPEN, handle=handle) == np.arange(count)).all()
    blocks = (count + 255) // 256
    add[blocks, 256](array)
    text = f"add[{blocks}, 256](array); cuda.synchronize(); answer = array.copy_to_host()"
    assert (child.run(text) == np.arange(count) + 2).all()
    assert (array.copy_to_host() == np.arange(count) + 2).all()
    child.run("handle.close(); array = None; answer = None")


def test_views_and_records(child):
    table = np.arange(60, dtype="f4").reshape(6, 10)
    array = cuda.to_device(table)
    for view, expected in [
        (array[2:4], table[2:4]),
        (array[:, 3], table[:, 3]),
        (array[::-1, ::-2], table[::-1, ::-2]),
        (array.T, table.T),
    ]:
        assert (child.run(OPEN, handle=view.get_ipc_handle()) == expected).all()
    record = cuda.to_device(np.array([(1, 2.5)], [("a", "i4"), ("b", "f8")]))
    assert child.run(OPEN, handle=record.get_ipc_handle())[0].item() == (1, 2.5)
    child.run("handle = array = answer = None")


def test_numbas_forms(child):
    array = cuda.to_device(np.arange(10, dtype=np.intp))
    handle = cuda.current_context().get_ipc_handle(array[4:].gpu_data)
    again = pickle.loads(pickle.dumps(handle))
    assert again.base is None and again.size == handle.size == 48
    assert again.handle.reserved == handle.handle.reserved and len(handle.handle.reserved) == 64
    text = """
with cuda.open_ipc_array(reserved, 6, np.intp, offset=offset) as opened:
    answer = opened.copy_to_host().tolist()
"""
    found = child.run(text, reserved=handle.handle.reserved, offset=handle.offset)
    assert found == [4, 5, 6, 7, 8, 9]
    text = """
array = handle.open_array(cuda.current_context(), shape=6, dtype=np.intp)
copy = copied.open_staged(cuda.current_context())
add[1, 8](array)
from gridlane.cuda.numba_compat.driver import device_to_host
back = np.zeros(6, np.intp)
device_to_host(back, copy, 48)
answer = array.copy_to_host().tolist(), back.tolist()
"""
    found = child.run(text, handle=handle, copied=again)
    assert found == ([5, 6, 7, 8, 9, 10], [4, 5, 6, 7, 8, 9])
    child.run("handle = copied = array = copy = None")


def test_a_handle_opens_once_but_memory_twice(child):
    array = cuda.to_device(np.arange(4))
    handle = array.get_ipc_handle()
    assert child.run(OPEN, handle=handle).tolist() == [0, 1, 2, 3]
    assert child.run("handle.open()") == "ValueError: IpcHandle is already opened"
    text = "other = second.open(); add[1, 4](array); answer = other.copy_to_host().tolist()"
    assert child.run(text, second=array.get_ipc_handle()) == [1, 2, 3, 4]
    child.run("handle.close(); answer = None")
    assert child.run("answer = array.copy_to_host().tolist()") == [1, 2, 3, 4]  # stays valid
    assert "not opened" in child.run("handle.close()")
    with pytest.raises(ValueError, match="original process"):
        handle.open()
    with pytest.raises(DeviceError, match="this process's"):
        shared_pages.opened(handle._ipc_handle.handle.reserved, 8)
    child.run("handle = second = array = other = None")


def test_the_owner_ends_first():
    owner = Child()
    try:
        text = "a = cuda.to_device(np.arange(5)); answer = a.get_ipc_handle()"
        first, second = owner.run(text), owner.run("answer = a.get_ipc_handle()")
        opened = first.open()
        owner.process.send_signal(signal.SIGKILL)
        owner.process.wait()
        add[1, 8](opened)
        assert opened.copy_to_host().tolist() == [1, 2, 3, 4, 5]
        with pytest.raises(DeviceError, match="has ended or freed it"):
            second.open()
    finally:
        owner.end()


def test_freed_memory_is_gone(child):
    array = cuda.to_device(np.arange(5))
    handle = pickle.loads(pickle.dumps(array.get_ipc_handle()))
    descriptors = len(os.listdir("/proc/self/fd"))
    del array
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == descriptors - 1
    assert "has ended or freed it" in child.run(OPEN, handle=handle)
    with open(os.devnull) as taken:  # another file may have the number
        assert taken.fileno() >= 0
        assert "has ended or freed it" in child.run(OPEN, handle=handle)
    new = cuda.to_device(np.arange(5) + 7)
    new.get_ipc_handle()
    assert "has ended or freed it" in child.run(OPEN, handle=handle)


def test_pages_are_the_process_own_again():
    resource = HostResource()
    for size in 100, 3 * PAGE, 5 << 20:
        buffer = resource.allocate(size)
        address = buffer.address
        shared_pages.export(buffer)
        mapped = [line for line in open("/proc/self/maps") if "gridlane-shared" in line]
        assert any(int(line.split("-")[0], 16) <= address for line in mapped)
        del buffer
        assert not [line for line in open("/proc/self/maps") if "gridlane-shared" in line]


def test_buffers_do_not_touch():
    resource = HostResource()
    for size in 1, 256, 3840, PAGE - 257, PAGE - 1, PAGE, PAGE + 1:
        held = sorted((b.address, b.size) for b in [resource.allocate(size) for _ in range(40)])
        assert all(a + size < b for (a, size), (b, _) in itertools.pairwise(held))


def test_only_memory_that_is_alone_in_its_pages():
    resource = HostResource()
    held = [resource.allocate(64) for _ in range(1100)]
    shared_pages.export(held[0])
    pages = {each.address // PAGE for each in held[:1024]}
    assert len(pages) == 1024
    with pytest.raises(DeviceError, match="not alone in their pages"):
        shared_pages.export(held[-1])
    first = held[0].address // PAGE * PAGE
    del held[0]
    again = resource.allocate(10)
    assert again.address // PAGE * PAGE == first
    with pytest.raises(DeviceError, match="empty array"):
        cuda.device_array(0).get_ipc_handle()


def test_memory_of_others_is_not_shared():
    context, own = cuda.current_context(), np.arange(100_000)
    with cuda.mapped(own) as there, pytest.raises(DeviceError, match="not alone"):
        context.get_ipc_handle(there.gpu_data)
    held = context.mempin(own, own.ctypes.data, own.nbytes, mapped=True)
    with pytest.raises(DeviceError, match="not alone"):
        context.get_ipc_handle(held)
    tensor = cuda.from_dlpack(own)
    with pytest.raises(DeviceError, match=r"not alone|not in an array"):
        tensor.get_ipc_handle()
    del held, tensor
    gc.collect()
    assert own.sum() == 4_999_950_000


def test_the_end_of_python_says_nothing():
    child = Child(stderr=subprocess.PIPE)
    child.run("arrays = [cuda.to_device(np.arange(n)) for n in (5, 5000)]")
    child.run("handles = [each.get_ipc_handle() for each in arrays]; answer = None")
    child.process.stdin.close()  # the loop ends in an error
    told = child.process.stderr.read()
    child.process.stdout.close()
    child.process.stderr.close()
    child.process.wait()
    assert b"Exception ignored" not in told


def test_handles_that_are_none():
    context = cuda.current_context()
    for wrong in b"", b"x" * 64:
        with pytest.raises(DeviceError, match="no handle of memory"):
            context.open_ipc_handle(wrong, 8)
    array = cuda.to_device(np.arange(4))
    handle = bytearray(array.get_ipc_handle()._ipc_handle.handle.reserved)
    handle[8:12] = (1).to_bytes(4, "little")  # another process's number
    with pytest.raises(DeviceError, match=r"no handle|gone|another user"):
        context.open_ipc_handle(bytes(handle), 8)
    with pytest.raises(DeviceError, match="are asked for"):
        context.open_ipc_handle(bytes(handle), 1 << 20)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root starts processes of other users")
def test_another_users_process():
    array = cuda.to_device(np.arange(4))
    reserved = array.get_ipc_handle()._ipc_handle.handle.reserved
    reader, writer = os.pipe()
    process = os.fork()
    if not process:
        os.setuid(65534)
        try:
            shared_pages.opened(reserved, 8)
            told = "opened"
        except BaseException as error:
            told = str(error)
        os.write(writer, told.encode())
        os._exit(0)
    os.close(writer)
    told = os.read(reader, 4096).decode()
    os.close(reader)
    os.waitpid(process, 0)
    assert "another user's" in told


def _in_fork(handle, queue):
    opened = handle.open()
    add[1, 8](opened)
    queue.put(opened.copy_to_host().tolist())


def test_a_forked_process_opens_it_by_a_handle():
    start = multiprocessing.get_context("fork")
    array, queue = cuda.to_device(np.arange(4)), start.Queue()
    handle = pickle.loads(pickle.dumps(array.get_ipc_handle()))
    process = start.Process(target=_in_fork, args=(handle, queue))
    process.start()
    assert queue.get(timeout=60) == [1, 2, 3, 4]
    process.join()
    assert array.copy_to_host().tolist() == [1, 2, 3, 4]
    del array
    gc.collect()


@pytest.mark.parametrize("name", [n for n in ["interp", *DEVICES] if n not in ("cpu", "cuda")])
def test_devices_that_share_nothing_refuse(name):
    current.choose(get_device(name))
    array = cuda.to_device(np.arange(4))
    with pytest.raises(DeviceError, match=f"the device {name} shares no memory"):
        array.get_ipc_handle()
    with pytest.raises(DeviceError, match=f"the device {name} shares no memory"):
        cuda.current_context().open_ipc_handle(b"x" * 64, 8)


def test_other_systems_refuse(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(DeviceError, match="this system is not Linux"):
        cuda.to_device(np.arange(4)).get_ipc_handle()

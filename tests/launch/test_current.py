"""The device that a thread uses: several kinds of them in one process."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest
from tests import on_shaders, on_vulkan

import gridlane
from gridlane import cuda
from gridlane.core.errors import DeviceError
from gridlane.launch import current

SIZE = 100


@cuda.jit
def scale(x, factor):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= factor


@cuda.jit
def total(x, out):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(out, 0, x[i])


@pytest.fixture(params=["interp", "vulkan", "opengl", "webgpu"])
def other(request):
    """Another kind than the first one, which is the CPU."""
    kind = request.param
    if kind == "vulkan" and not on_vulkan.found():
        pytest.skip("no device of Vulkan")
    if kind in ("opengl", "webgpu") and kind not in on_shaders.found():
        pytest.skip(f"no device of {kind}")
    return kind


def test_a_block_uses_another_device(other):
    host = np.arange(SIZE, dtype=np.float32)
    here = cuda.to_device(host)
    launch = scale[4, 32]
    launch(here, 2.0)
    with gridlane.device(other) as device:
        assert current.device() is device and device.name == other
        assert cuda.get_current_device().native is device
        there = cuda.to_device(host)
        for _ in range(3):
            launch(there, 3.0)
        mine = host.copy()
        launch(mine, 5.0)
        assert (mine == host * 5).all()
    launch(here, 2.0)
    assert current.device().name == "cpu"
    assert (here.copy_to_host() == host * 4).all()
    # Its memory can be read from anywhere, and is launched on where it is.
    assert (there.copy_to_host() == host * 27).all()
    assert f"device={other!r}" in repr(there) and "device='cpu'" in repr(here)


def test_blocks_nest_and_end_with_errors(other):
    with gridlane.device(other):
        with gridlane.device("cpu"):
            assert current.kind() == "cpu"
            with pytest.raises(ZeroDivisionError), gridlane.device(other):
                raise ZeroDivisionError
            assert current.kind() == "cpu"
        assert current.kind() == other
        with pytest.raises(DeviceError, match="NO_DEVICE"), gridlane.device("abacus"):
            pass
        assert current.kind() == other
    assert current.kind() == "cpu"


def test_an_array_of_another_device_is_refused(other):
    x = cuda.to_device(np.ones(SIZE, np.float32))
    scale[4, 32](x, 1.0)
    with gridlane.device(other):
        y = cuda.to_device(np.ones(SIZE, np.float32))
        for _ in range(2):
            with pytest.raises(DeviceError, match=r"memory of the device 'cpu'(.|\n)*copy it to"):
                scale[4, 32](x, 2.0)
        with pytest.raises(DeviceError, match="memory of the device 'cpu'"):
            total[4, 32](y, x)
    with pytest.raises(DeviceError, match=f"memory of the device '{other}'"):
        scale[4, 32](y, 2.0)
    assert (x.copy_to_host() == 1).all() and (y.copy_to_host() == 1).all()


def test_copies_between_kinds_go_by_the_host(other):
    host = np.arange(SIZE, dtype=np.float32).reshape(4, 25)
    here = cuda.to_device(host)
    with gridlane.device(other):
        there = cuda.to_device(here)
        assert there.buffer.device.name == other
        assert cuda.to_device(there) is there
        scale[1, 128](there.ravel(), 2.0)
        view = there[1:3]
    here.copy_to_device(there)
    assert (here.copy_to_host() == host * 2).all()
    here[1:3] = view
    there[0] = 7
    there[2, 3] = here[0, 1]
    assert (there.copy_to_host()[0] == 7).all() and there[2, 3] == 2
    assert (view.copy_to_host()[0] == host[1] * 2).all()
    back = cuda.device_array_like(there)
    assert back.buffer.device.name == "cpu"
    back.copy_to_device(there)
    assert (back.copy_to_host() == there.copy_to_host()).all()


def test_a_stream_is_its_devices(other):
    stream = cuda.stream()
    launch = scale[4, 32, stream]
    x = cuda.to_device(np.ones(SIZE, np.float32))
    launch(x, 2.0)
    with gridlane.device(other):
        y = cuda.to_device(np.ones(SIZE, np.float32))
        for _ in range(2):
            with pytest.raises(DeviceError, match="the stream is of the device 'cpu'"):
                launch(y, 2.0)
        own = cuda.stream()
        scale[4, 32, own](y, 3.0)
        own.synchronize()
    with pytest.raises(DeviceError, match=f"the stream is of the device '{other}'"):
        scale[4, 32, own](x, 2.0)
    launch(x, 2.0)
    stream.synchronize()
    assert (x.copy_to_host() == 4).all() and (y.copy_to_host() == 3).all()


def test_threads_use_devices_of_their_own(other):
    host, results = np.arange(SIZE, dtype=np.float32), {}
    launch = scale[4, 32]

    def work(kind, factor):
        with gridlane.device(kind):
            for _ in range(20):
                x = cuda.to_device(host)
                launch(x, factor)
                results.setdefault(kind, []).append((x.copy_to_host() == host * factor).all())

    threads = [threading.Thread(target=work, args=args) for args in (("cpu", 2.0), (other, 3.0))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {kind: (len(all_), all(all_)) for kind, all_ in results.items()} == {
        "cpu": (20, True),
        other: (20, True),
    }
    assert current.kind() == "cpu"


def test_another_object_for_the_first_device_is_the_first():
    with gridlane.device("cpu") as device:
        assert device is current.device()
        x = np.ones(4)
        scale[1, 4](x, 3.0)
    assert (x == 3).all()


def test_an_empty_array_of_another_device_opens_no_door(other):
    empty = cuda.to_device(np.zeros(0, np.float32))
    x = cuda.to_device(np.ones(SIZE, np.float32))
    with gridlane.device(other):
        own = cuda.to_device(np.ones(SIZE, np.float32))
        for _ in range(3):
            scale[4, 32](empty, 2.0)
            scale[4, 32](empty[:0], 2.0)
        for array in (x, x[2:], x.reshape(10, 10).ravel()):
            with pytest.raises(DeviceError, match="memory of the device 'cpu'"):
                scale[4, 32](array, 2.0)
        cuda.synchronize()
        assert (own.copy_to_host() == 1).all()
    assert (x.copy_to_host() == 1).all()
    scale[4, 32](x, 2.0)
    with gridlane.device(other):
        nothing = cuda.to_device(np.zeros(0, np.float32))
    scale[4, 32](nothing, 2.0)
    with pytest.raises(DeviceError, match=f"memory of the device '{other}'"):
        scale[4, 32](own, 2.0)


def test_events_between_kinds_are_refused(other):
    event, stream = cuda.event(), cuda.stream()
    event.record()
    with gridlane.device(other):
        there, queue = cuda.event(), cuda.stream()
        there.record()
        words = "another device's"
        if other == "interp":  # both keep the host's time, and order threads of the host
            return
        for work in (
            lambda: event.record(),
            lambda: event.wait(queue),
            lambda: there.record(stream),
            lambda: cuda.event_elapsed_time(event, there),
            lambda: cuda.event_elapsed_time(there, event),
        ):
            with pytest.raises(DeviceError, match=words):
                work()


def test_blocks_of_generators_end_in_any_order():
    def generator(kind):
        with gridlane.device(kind):
            yield current.kind()

    made = generator("interp")
    assert next(made) == "interp" and current.kind() == "interp"
    with gridlane.device("cpu"):
        assert next(made, None) is None
        assert current.kind() == "cpu"
    assert current.kind() == "cpu"
    again = generator("interp")
    next(again)
    thread = threading.Thread(target=again.close)  # which was never in the block
    thread.start()
    thread.join()
    assert current.kind() == "interp"
    current.choose(None)
    current._thread.blocks.clear()


def test_a_block_can_be_entered_again_and_decorate():
    block = gridlane.device("interp")
    for _ in range(2):
        with block, block:
            assert current.kind() == "interp"
        assert current.kind() == "cpu"

    @gridlane.device("interp")
    def kind():
        return current.kind()

    found = []
    threads = [threading.Thread(target=lambda: found.append(kind())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["interp"] * 4 and kind() == "interp" and current.kind() == "cpu"


@pytest.mark.parametrize("name", [None, 5, b"cpu", ("cpu",)])
def test_a_device_is_named_by_a_string(name):
    with pytest.raises(TypeError, match="named by a string"):
        gridlane.device(name)


SUSPENDED = """
import gridlane

def generator():
    with gridlane.device("interp"):
        yield

made = generator()
next(made)
"""


def test_a_block_that_the_interpreters_end_ends(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(SUSPENDED)
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")


def test_copies_by_another_devices_stream_are_refused(other):
    stream = cuda.stream()
    with gridlane.device(other):
        x, there = cuda.to_device(np.ones(4)), cuda.stream()
        for work in (
            lambda: x.copy_to_host(stream=stream),
            lambda: x.copy_to_device(np.zeros(4), stream=stream),
            lambda: cuda.to_device(np.zeros(4), stream=stream),
            lambda: x.bind(stream).copy_to_host(),
        ):
            with pytest.raises(DeviceError, match="stream is of the device 'cpu'"):
                work()
    y = cuda.to_device(np.ones(4))
    with pytest.raises(DeviceError, match=f"stream is of the device '{other}'"):
        y.copy_to_host(stream=there)
    assert (x.copy_to_host() == 1).all()


@pytest.mark.parametrize("stream", [1.5, [], "s", b"x", ()])
def test_what_is_no_stream(stream):
    with pytest.raises(TypeError, match="a stream is one of"):
        scale[1, 32, stream](np.ones(4, np.float32), 2.0)


def test_a_misspelt_device():
    with pytest.raises(DeviceError, match="'vulkn'; did you mean vulkan"), gridlane.device("vulkn"):
        pass

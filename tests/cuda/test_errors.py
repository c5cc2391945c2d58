"""cuda.errors: what programs do wrong, in the history once each, with kernel, device and line."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import numpy as np
import pytest
from tests import on_shaders

from gridlane import cuda
from gridlane.abi.errors import _answered
from gridlane.abi.failure import NOT_READY, Failure
from gridlane.actors.device.using import using
from gridlane.core.error_report import parse
from gridlane.core.errors import DeviceError, GridlaneError
from gridlane.cuda import driver
from gridlane.launch.devices import device_count, get_device


@pytest.fixture(autouse=True)
def empty():
    cuda.errors.clear()
    yield
    cuda.errors.clear()


@cuda.jit(debug=True, opt=False)
def beyond(x):
    x[99] = 1  # BEYOND


@cuda.jit
def refused(x):
    y = [1]  # REFUSED
    x[0] = y[0]


@cuda.jit
def right(x):
    x[0] = 1


def line_of(mark: str) -> int:
    with open(__file__) as file:
        return next(n for n, line in enumerate(file, 1) if line.rstrip().endswith(f"# {mark}"))


def launched(kernel, *args, threads=1):
    kernel[1, threads](*args)
    cuda.synchronize()


def only():
    (entry,) = cuda.errors.history()
    assert cuda.errors.report().counts.total == 1
    assert entry.suggestion and entry.thread == threading.current_thread().name
    return entry


def test_a_fault_has_kernel_device_and_line():
    with pytest.raises(IndexError):
        launched(beyond, np.ones(8))
    entry = only()
    assert (entry.category, entry.name, entry.kernel) == ("fault", "IndexError", "beyond")
    assert (entry.file, entry.line) == (__file__, line_of("BEYOND"))
    assert entry.device == "cpu"


def test_a_kernel_that_does_not_compile():
    for _ in range(2):  # each launch fails by itself
        with pytest.raises(GridlaneError):
            launched(refused, np.ones(8))
    first, second = cuda.errors.history()
    assert (first.category, first.name, first.kernel) == ("compile", "UnsupportedError", "refused")
    assert (first.file, first.line) == (__file__, line_of("REFUSED"))
    assert second.number == first.number + 1 and second.time >= first.time


def test_no_memory():
    with pytest.raises(DeviceError):
        cuda.device_array(1 << 50)
    entry = only()
    assert (entry.category, entry.code, entry.device) == ("memory", 2, "cpu")


def test_impossible_launches_and_wrong_arguments():
    with pytest.raises(GridlaneError):
        launched(right, np.ones(8), threads=2048)
    entry = only()
    assert (entry.category, entry.kernel, entry.device) == ("launch", "right", "cpu")
    cuda.errors.clear()
    with pytest.raises(GridlaneError):
        launched(right, np.ones(8), 3)
    assert only().category == "use"
    cuda.errors.clear()
    with pytest.raises(GridlaneError):
        launched(right, object())
    assert only().kernel == "right"


@pytest.mark.parametrize("name", ["nothing:3", "cpu:x", "cpu:7"])
def test_a_device_that_is_not_there(name):
    with pytest.raises(DeviceError):
        get_device(name)
    assert only().device in (name, name.partition(":")[0])


def test_questions_about_devices_are_no_errors():
    cuda.is_available()
    cuda.detect()
    for kind in ("cuda", "vulkan", "opengl", "webgpu", "metal"):
        device_count(kind)
    assert cuda.errors.history() == ()


def test_another_device_than_that_of_the_thread():
    with using(get_device("interp")), pytest.raises(IndexError):
        launched(beyond, np.ones(8))
    assert (only().device, only().line) == ("interp", line_of("BEYOND"))


def test_streams_and_threads():
    def fail():
        stream = cuda.stream()
        array = cuda.to_device(np.ones(8), stream=stream)
        with pytest.raises(IndexError):
            beyond[1, 1, stream](array)
            stream.synchronize()

    threads = [threading.Thread(target=fail) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    entries = cuda.errors.history()
    assert len(entries) == 8 and {entry.kernel for entry in entries} == {"beyond"}
    assert {entry.device for entry in entries} == {"cpu"}


def test_the_report_is_text_and_json():
    with pytest.raises(DeviceError):
        cuda.device_array(1 << 50)
    report = cuda.errors.report()
    text = str(report)
    assert "1 error; 1 in the last minute" in text and "CUDA_ERROR_OUT_OF_MEMORY (2)" in text
    assert "remedy: free arrays" in text
    assert parse(report.json()) == report
    cuda.errors.clear()
    assert str(cuda.errors.report()) == "no errors" and cuda.errors.history() == ()


@pytest.mark.parametrize("make", [cuda.mapped_array, cuda.managed_array, np.empty])
@pytest.mark.parametrize("kind", on_shaders.KINDS)
def test_a_lost_device_is_one_error_and_host_arrays_survive_it(kind, make, monkeypatch):
    if kind not in on_shaders.found():
        pytest.skip(f"no device of {kind}")
    device = get_device(kind)
    with using(device):
        array, gone = make(8, np.float32), cuda.to_device(np.zeros(8, np.float32))
        array[:] = np.arange(8)
        launched(right, array)
        expected = [1, *range(1, 8)]
        assert array.tolist() == expected

        def lose(*args):
            raise RuntimeError("unplugged")

        with monkeypatch.context() as patch:
            patch.setattr(device.engine, "submit", lose)
            for _ in range(3):
                with pytest.raises(DeviceError, match="is lost"):
                    launched(right, array)
        entry = only()
        assert (entry.category, entry.device) == ("lost", kind)
        assert array.tolist() == expected
        cuda.close()  # opens the device again
        array[0] = 0
        launched(right, array)
        assert array.tolist() == expected
        with pytest.raises(DeviceError):
            gone.copy_to_host()


def test_cudas_own_interface():
    driver.cuInit(0)
    driver.cuCtxSetCurrent(driver.cuDevicePrimaryCtxRetain(0)[1])
    assert int(driver.cuMemAlloc(0)[0]) == 1
    entry = only()
    assert (entry.code, entry.category) == (1, "use")
    assert int(driver.cuMemFree(12345)[0]) != 0
    assert cuda.errors.report().counts.total == 2


def test_a_poll_of_cudas_interface_is_no_error():
    row = SimpleNamespace(base="cuStreamQuery", api="driver", family="streams")
    assert _answered(row, Failure(NOT_READY, "the stream has work")) == (NOT_READY, ())
    assert cuda.errors.history() == ()

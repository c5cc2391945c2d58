"""The primary context: shared, current on each thread, lost and made anew, let go at the end."""

from __future__ import annotations

import gc
import struct
import threading

import pytest
from cuda.bindings import driver
from tests.fake_cuda.kernels import HELLO, artifact

from gridlane.core.errors import DeviceError
from gridlane.launch.devices import device_count, get_device
from gridlane.runtime.drivers.cuda import open_device

PARAMS = struct.pack("<Qq", 0, 1)


def test_a_device_is_described(machine):
    device = get_device("cuda")
    facts = device.describe()
    assert device.compute_capability == (9, 0) and facts["name"] == "Fake GPU 0"
    assert facts["uuid"] == "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"
    assert facts["cuda_version"] == "13.0" and facts["memory"] == 64 << 20
    assert device.limits.multiprocessors == 4 and device.limits.max_dynamic_shared == 227 * 1024
    assert device.attributes()["WARP_SIZE"] == 32


def test_there_is_no_such_device(machine):
    assert device_count("cuda") == 1
    with pytest.raises(DeviceError, match=r"CUDA_ERROR_INVALID_DEVICE \(101\).*this machine has 1"):
        get_device("cuda:1")
    assert machine.retained() == 0


def test_a_machine_without_devices(machine):
    machine.reset(0)
    assert device_count("cuda") == 0
    with pytest.raises(DeviceError, match="CUDA_ERROR_NO_DEVICE"):
        get_device("cuda")


def test_the_context_is_made_once_and_let_go_with_the_device(machine):
    device = open_device()
    device.synchronize()
    assert machine.calls.count("cuDevicePrimaryCtxRetain") == 1 == machine.retained()
    assert machine.calls.count("cuCtxSetCurrent") == 1  # once a thread
    del device
    gc.collect()
    assert machine.retained() == 0 and not machine.leaks()


def test_another_user_of_the_context_keeps_it(machine):
    driver.cuInit(0)
    theirs = driver.cuDevicePrimaryCtxRetain(0)[1]
    device = open_device()
    assert int(device.context.handle) == int(theirs)
    del device
    gc.collect()
    assert machine.alive("context") == 1 == machine.retained()
    assert machine.calls.count("cuDevicePrimaryCtxReset") == 0
    driver.cuDevicePrimaryCtxRelease(0)


def test_every_thread_gets_the_context(machine):
    device, seen = open_device(), []

    def work():
        device.allocate(16)
        seen.append(int(driver.cuCtxGetCurrent()[1]))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [int(device.context.handle)] * 3


def test_of_several_devices_the_right_one_is_current(machine):
    machine.reset(2)
    first, second = open_device(0), open_device(1)
    for device in (first, second, first):
        device.allocate(16)
        assert int(driver.cuCtxGetCurrent()[1]) == int(device.context.handle)


def test_a_second_context_of_the_same_number_is_made_current(machine):
    one = open_device()
    one.synchronize()
    del one
    gc.collect()
    machine.clear_log()
    open_device().synchronize()
    assert "cuCtxSetCurrent" in machine.calls


def test_after_forget_thread_the_context_is_made_current_again(machine):
    device = open_device()
    driver.cuCtxSetCurrent(driver.CUcontext(0))
    with pytest.raises(DeviceError, match="no context is current"):
        device.synchronize()
    device.forget_thread()
    device.synchronize()


def faulted(machine, number=700, name="plain", **options):
    """A device that a kernel has brought down, the kernel, and the error."""
    device = open_device()
    kernel = device.load(artifact(name, **options))
    machine.on_launch(name, lambda launch: number)
    kernel.bind((32, 1, 1)).launch(PARAMS, 1, 1, 1, 0)
    with pytest.raises(DeviceError) as caught:
        device.synchronize()
    return device, kernel, caught.value


@pytest.mark.parametrize("number, name", [(700, "ILLEGAL_ADDRESS"), (719, "LAUNCH_FAILED")])
def test_a_fault_names_the_kernel_and_stays(machine, number, name):
    device, _, error = faulted(machine, number)
    assert error.number == number and f"CUDA_ERROR_{name} ({number})" in str(error)
    assert "in kernel plain" in str(error) and "cuda.close()" in str(error)
    for again in (device.synchronize, lambda: device.allocate(8), device.new_stream):
        with pytest.raises(DeviceError) as caught:
            again()
        assert str(caught.value) == str(error)
    device.reset()


def test_only_kernels_that_may_run_are_suspects(machine):
    device = open_device()
    bound = {name: device.load(artifact(name)).bind((1, 1, 1)) for name in ("done", "one", "two")}
    bound["done"].launch(PARAMS, 1, 1, 1, 0)
    device.synchronize()
    machine.on_launch("two", lambda launch: 716)
    bound["one"].launch(PARAMS, 1, 1, 1, 0)
    bound["two"].launch(PARAMS, 1, 1, 1, 0)
    with pytest.raises(DeviceError, match="in one of the kernels one, two"):
        device.synchronize()
    device.reset()


def test_a_lost_context_is_made_anew(machine):
    device, kernel, _ = faulted(machine, prints=(HELLO,))
    old = int(device.context.handle)
    machine.on_launch("plain", lambda launch: 0)
    machine.clear_log()
    device.reset()
    order = [call for call in machine.calls if "PrimaryCtx" in call or "Pool" in call]
    assert order[:4] == [
        "cuDevicePrimaryCtxReset",
        "cuDevicePrimaryCtxRelease",
        "cuDevicePrimaryCtxRetain",
        "cuMemPoolCreate",
    ]
    assert int(device.context.handle) != old and machine.retained() == 1
    # The report of the earlier context is gone with it: nothing may look at its memory.
    assert kernel.report is None
    device.synchronize()
    kernel.bind((32, 1, 1)).launch(PARAMS, 1, 1, 1, 0)
    assert kernel.report is not None
    device.synchronize()
    device.allocate(8)


def test_what_a_lost_context_held_is_not_given_back(machine):
    device = open_device()
    kept = [device.allocate(100), device.new_stream(), device.new_event()]
    kept += [device.allocate_host(100, kind) for kind in ("pinned", "mapped", "managed")]
    kept.append(device.load(artifact()))
    machine.fault(700)
    with pytest.raises(DeviceError):
        device.synchronize()
    device.memory.limit = 1000
    device.reset()
    assert device.memory.limit == 1000 and device.memory.find(kept[0].address, 1) is None
    machine.clear_log()
    kept.clear()
    gc.collect()
    device.synchronize()
    assert not [call for call in machine.calls if "Free" in call or "Destroy" in call]
    assert device.memory.statistics().used == 0
    device.allocate(50)
    assert device.memory.statistics().used == 0  # the buffer is dropped at once


def test_a_driver_that_gives_no_new_context(machine):
    device, _, fault = faulted(machine)
    machine.fail("cuDevicePrimaryCtxRetain", 700)
    with pytest.raises(DeviceError, match="start the process again") as caught:
        device.reset()
    assert str(caught.value.__cause__) == str(fault) and machine.retained() == 0
    with pytest.raises(DeviceError) as again:
        device.synchronize()
    assert str(again.value) == str(fault)
    device.reset()  # a second try may find a driver in a better mood
    device.synchronize()
    assert machine.retained() == 1


def test_a_device_that_other_code_has_reset(machine):
    device = open_device()
    driver.cuDevicePrimaryCtxReset(0)
    with pytest.raises(DeviceError, match=r"\(709\).*other code") as caught:
        device.allocate(8)
    assert "kernel" not in str(caught.value)
    machine.clear_log()
    device.reset()
    assert "cuDevicePrimaryCtxReset" not in machine.calls  # the new one may be in use already
    device.allocate(8)


def test_an_error_that_stays_without_a_fault_is_raised(machine):
    device = open_device()
    machine.fail("cuCtxSynchronize", 304)
    with pytest.raises(DeviceError, match=r"OPERATING_SYSTEM \(304\)"):
        device.reset()


def test_a_number_that_the_bindings_have_no_name_for(machine):
    device = open_device()
    machine.fail("cuCtxSynchronize", 4711)
    with pytest.raises(DeviceError, match=r"CUDA_ERROR_UNKNOWN \(4711\).*cuCtxSynchronize"):
        device.synchronize()
    machine.fail("cuStreamQuery", 4711)
    with pytest.raises(DeviceError, match=r"CUDA_ERROR_UNKNOWN \(4711\)"):
        device.default_stream.query()

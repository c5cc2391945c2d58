"""Modules, launches, reports of the driver: what reaches cuLaunchKernel, and what comes back."""

from __future__ import annotations

import ctypes
import gc
import struct
import weakref
from dataclasses import replace

import pytest
from tests.fake_cuda.kernels import HELLO, TOO_LARGE, artifact

from gridlane.core import gpu_abi as abi
from gridlane.core.errors import DeviceError, LaunchError
from gridlane.launch.devices import get_device
from gridlane.launch.plan import Plan
from gridlane.runtime.drivers.cuda import open_device

PARAMS = struct.pack("<Qq", 0x1234, -5)


def poke(address, layout, *values):
    """Write to memory as a kernel does."""
    ctypes.memmove(address, struct.pack(layout, *values), struct.calcsize(layout))


def test_a_launch_arrives_as_it_was_asked_for(machine, device):
    kernel = device.load(artifact())
    kernel.bind((8, 4, 2)).launch(PARAMS, 3, 2, 1, 256)
    (launch,) = machine.launches
    assert (launch.name, launch.grid, launch.block) == ("plain", (3, 2, 1), (8, 4, 2))
    assert (launch.shared, launch.stream, launch.params) == (256, 0, PARAMS)
    assert not launch.cooperative and launch.device == 0


def test_a_launch_on_each_stream(machine, device):
    kernel = device.load(artifact()).bind((1, 1, 1))
    streams = [device.default_stream, device.new_stream(), device.new_stream(True)]
    for stream in streams:
        stream.launch(kernel, PARAMS, 1, 1, 1, 0)
    assert [launch.stream for launch in machine.launches] == [each.handle for each in streams]


def test_cooperative_launches(machine, device):
    kernel = device.load(artifact(cooperative=True)).bind((128, 1, 1))
    kernel.launch(PARAMS, 2, 1, 1, 0)
    (launch,) = machine.launches
    assert launch.cooperative and launch.params == PARAMS
    with pytest.raises(DeviceError, match=r"COOPERATIVE_LAUNCH_TOO_LARGE \(720\).*grid \(1000"):
        kernel.launch(PARAMS, 1000, 1, 1, 0)
    assert kernel.native_launch(device.default_stream) is None


@pytest.mark.parametrize("cooperative", [False, True])
def test_clusters(machine, device, cooperative):
    loaded = device.load(artifact(cooperative=cooperative, cluster=(2, 2, 1)))
    kernel = loaded.bind((128, 1, 1))
    kernel.launch(PARAMS, 4, 2, 1, 64)
    (launch,) = machine.launches
    assert (launch.cluster, launch.grid, launch.block) == ((2, 2, 1), (4, 2, 1), (128, 1, 1))
    assert (launch.shared, launch.cooperative, launch.params) == (64, cooperative, PARAMS)
    assert loaded.active_clusters(128) == 4 * (2048 // 128) // 4
    with pytest.raises(DeviceError, match=r"CLUSTER_SIZE \(912\).*clusters of \(2, 2, 1\)"):
        kernel.launch(PARAMS, 3, 2, 1, 0)
    assert kernel.native_launch(device.default_stream) is None


def test_a_plan_checks_clusters(machine, device):
    plan = planned(device, artifact(cluster=(4, 1, 1)))
    plan.launch((8, 1, 1), PARAMS)
    assert machine.launches[0].cluster == (4, 1, 1)
    with pytest.raises(LaunchError, match=r"grid \(6, 1, 1\) is no multiple"):
        plan.launch((6, 1, 1), PARAMS)
    with pytest.raises(LaunchError, match="a cluster has 1 to 8"):
        planned(device, artifact(cluster=(16, 1, 1))).launch((16, 1, 1), PARAMS)


def test_a_device_without_clusters(machine):
    machine.reset(CLUSTER_LAUNCH=0)
    plan = planned(get_device("cuda"), artifact(cluster=(2, 1, 1)))
    with pytest.raises(LaunchError, match=r"the device .* has none; cpu, interp and"):
        plan.launch((2, 1, 1), PARAMS)


def planned(device, made):
    return Plan(device.load(made).bind((1, 1, 1)), device, (1, 1, 1))


@pytest.mark.parametrize("block, grid, shared", [((1025, 1, 1), 1, 0), ((1, 1, 1), 1, 49 * 1024)])
def test_launches_that_the_device_refuses(machine, device, block, grid, shared):
    kernel = device.load(artifact()).bind(block)
    with pytest.raises(DeviceError, match=r"INVALID_VALUE \(1\).*kernel plain, grid .* block"):
        kernel.launch(PARAMS, grid, 1, 1, shared)
    device.synchronize()


def test_dynamic_shared_memory_is_asked_for(machine, device):
    most = device.limits.max_dynamic_shared
    kernel = device.load(artifact(dynamic=True)).bind((1, 1, 1))
    kernel.launch(PARAMS, 1, 1, 1, most)
    assert machine.launches[0].shared == most
    device.load(replace(artifact(dynamic=True), static_shared=1024))
    asked = [line for line in machine.log if line.startswith("cuFuncSetAttribute")]
    assert asked[-1].endswith(f" 8, {most - 1024})")


def test_arrays_of_the_code_in_dynamic_shared_memory(machine, device):
    made = replace(artifact(dynamic=True), own_dynamic=100 << 10)
    device.load(made).bind((1, 1, 1)).launch(PARAMS, 1, 1, 1, 256)
    planned(device, made).launch((1, 1, 1), PARAMS)
    assert [each.shared for each in machine.launches] == [(100 << 10) + 256, 100 << 10]
    with pytest.raises(LaunchError, match="more than a block's"):
        planned(device, made).launch((1, 1, 1), PARAMS, 200 << 10)


def test_threads_that_the_code_adds(machine, device):
    made = replace(artifact(), extra_threads=32)
    device.load(made).bind((64, 2, 1)).launch(PARAMS, 1, 1, 1, 0)
    planned(device, made).launch((1, 1, 1), PARAMS)
    assert [each.block for each in machine.launches] == [(96, 2, 1), (33, 1, 1)]


def test_what_the_driver_says_of_a_kernel(device):
    kernel = device.load(artifact())
    figures = kernel.figures()
    assert (figures.registers, figures.local_bytes, figures.constant_bytes) == (42, 16, 24)
    assert (figures.shared_bytes, figures.max_threads) == (0, 1024)
    assert kernel.occupancy(256) == 8
    assert kernel.potential_block_size() == (16, 512)


def test_ptx_is_compiled_as_a_whole_program(machine, device):
    """Linking would ignore setmaxnreg and serialize wgmma."""
    device.load(artifact())
    assert [call for call in machine.calls if "Load" in call or "Link" in call] == [
        "cuModuleLoadDataEx"
    ]


def test_ptx_that_is_refused(machine, device):
    code = b".version 8.0\n// refuse me\n"
    with pytest.raises(DeviceError, match=r"INVALID_PTX \(218\).*plain: ptxas fake, line 1: refus"):
        device.load(artifact(code=code))


@pytest.mark.parametrize(
    "change, wanted",
    [
        ({"code": b"\x7fELF"}, r"INVALID_PTX \(218\).*plain: ptxas fake: no .version"),
        (
            {"code": b"\x7fELF", "format": "cubin"},
            r"INVALID_IMAGE \(200\).*plain, 4 bytes of cubin",
        ),
        ({"entry": "other"}, r"NOT_FOUND \(500\)"),
        ({"format": "object"}, "runs PTX and cubins, not object"),
        ({"target": "cpu"}, "INVALID_IMAGE"),
    ],
)
def test_code_that_does_not_load(machine, device, change, wanted):
    with pytest.raises(DeviceError, match=wanted):
        device.load(replace(artifact(), **change))
    gc.collect()
    assert machine.alive("module") == 0


def test_a_module_lives_as_long_as_its_kernel(machine, device):
    kernel = device.load(artifact())
    bound = kernel.bind((1, 1, 1))
    native = bound.native_launch(device.default_stream)
    del kernel, bound
    gc.collect()
    assert machine.alive("module") == 1  # a prepared launch holds it
    del native
    gc.collect()
    assert machine.alive("module") == 0


def test_a_module_is_unloaded_behind_the_work_of_its_kernel(machine, device):
    machine.late()
    device.new_stream().launch(device.load(artifact()).bind((1, 1, 1)), PARAMS, 1, 1, 1, 0)
    gc.collect()
    assert machine.alive("module") == 0
    device.synchronize()
    assert len(machine.launches) == 1


def test_an_error_of_a_kernel_is_raised_at_its_launch(machine, device):
    kernel = device.load(artifact(errors=(TOO_LARGE,)))
    report = kernel.report.address

    def work(launch):
        poke(report, "<2I6I", 1, 1, 5, 0, 0, 2, 1, 0)

    machine.on_launch("plain", work)
    bound = kernel.bind((32, 1, 1))
    with pytest.raises(ValueError, match=r"tid=\[5, 0, 0\] ctaid=\[2, 1, 0\]: too large"):
        bound.launch(PARAMS, 1, 1, 1, 0)
    device.synchronize()  # it was told
    assert bound.native_launch(device.default_stream) is None
    with pytest.raises(ValueError, match="too large"):
        stream = device.new_stream()
        stream.launch(bound, PARAMS, 1, 1, 1, 0)
        stream.synchronize()


def test_the_report_s_address_is_in_the_module(machine, device):
    kernel, seen = device.load(artifact(prints=(HELLO,))), []
    copies = [line for line in machine.log if line.startswith("cuMemcpyHtoD")]
    assert len(copies) == 1 and copies[0].endswith(", 8)")
    assert machine.blocks("global") == 1 and kernel.report.address
    assert not seen


def test_printed_lines_come_out_where_work_is_waited_for(machine, device, capsys):
    kernel = device.load(artifact(prints=(HELLO,)))
    at = kernel.report.address

    def work(launch):
        for n in range(2):
            poke(at + abi.RECORDS_OFFSET + 16 * n, "<2Ii4x", 1, 0, 40 + n)
        poke(at + abi.PRINT_HEAD_OFFSET, "<I", 32)

    machine.on_launch("plain", work)
    kernel.bind((1, 1, 1)).launch(PARAMS, 1, 1, 1, 0)
    assert capsys.readouterr().out == ""
    device.synchronize()
    assert capsys.readouterr().out == "i = 40\ni = 41\n"
    device.synchronize()
    assert capsys.readouterr().out == ""


def test_lines_that_were_lost_are_counted(machine, device, capsys):
    kernel = device.load(artifact(prints=(HELLO,)))
    head = kernel.report.capacity + 160
    at = kernel.report.address
    machine.on_launch("plain", lambda launch: poke(at + abi.PRINT_HEAD_OFFSET, "<I", head))
    kernel.bind((1, 1, 1)).launch(PARAMS, 1, 1, 1, 0)
    device.synchronize()
    assert "bytes more than" in capsys.readouterr().err


def print_later(machine, kernel):
    """Have the next launch of a kernel print a line, once the work is waited for."""
    at = kernel.report.address

    def work(launch):
        poke(at + abi.RECORDS_OFFSET, "<2Ii4x", 1, 0, 40)
        poke(at + abi.PRINT_HEAD_OFFSET, "<I", 32)

    machine.on_launch("plain", work)
    machine.late()


@pytest.mark.parametrize("cycle", [False, True])
@pytest.mark.parametrize("own", [False, True])
def test_what_a_kernel_printed_comes_out_after_it_is_gone(machine, device, capsys, own, cycle):
    kernel = device.load(artifact(prints=(HELLO,)))
    kernel.itself = kernel if cycle else None
    stream = device.new_stream() if own else device.default_stream
    print_later(machine, kernel)
    stream.launch(kernel.bind((1, 1, 1)), PARAMS, 1, 1, 1, 0)
    gone = weakref.ref(kernel)
    del kernel
    gc.collect()
    assert own or gone() is None
    device.synchronize()
    device.synchronize()
    assert capsys.readouterr().out == "i = 40\n"
    gc.collect()
    assert gone() is None and not device.context.reporting


def test_the_error_of_a_kernel_that_is_gone_is_raised(machine, device):
    kernel = device.load(artifact(errors=(TOO_LARGE,)))
    kernel.explain = lambda stop: ArithmeticError(f"explained: {stop}")
    report = kernel.report.address
    machine.on_launch("plain", lambda launch: poke(report, "<2I6I", 1, 1, 5, 0, 0, 2, 1, 0))
    machine.late()
    kernel.bind((32, 1, 1)).launch_on(0, PARAMS, 1, 1, 1, 0)
    del kernel
    gc.collect()
    with pytest.raises(ArithmeticError, match=r"explained: tid=\[5, 0, 0\].*too large"):
        device.synchronize()
    device.synchronize()
    assert not device.context.reporting


def test_reports_of_kernels_that_are_gone_do_not_pile_up(machine, device):
    """With waits for one stream alone, which say nothing of other launches."""
    stream = device.new_stream()
    for _ in range(8):
        stream.launch(device.load(artifact(prints=(HELLO,))).bind((1, 1, 1)), PARAMS, 1, 1, 1, 0)
        stream.synchronize()
        gc.collect()
        assert len(device.context.reporting) <= 2


def fault_later(machine, kernel):
    """Have the next launch of a kernel fault, with two warps at line 12 and one at line 9."""
    slots = kernel.report.address + abi.RECORDS_OFFSET + kernel.report.capacity

    def work(launch):
        poke(slots, "<4I", 12, 12, 0, 9)
        return 700

    machine.on_launch("plain", work)


def test_a_kernel_that_is_gone_is_a_suspect_of_a_fault(machine, device):
    kernel = device.load(artifact(errors=(TOO_LARGE,)))
    fault_later(machine, kernel)
    machine.late()
    kernel.bind((1, 1, 1)).launch_on(0, PARAMS, 1, 1, 1, 0)
    del kernel
    gc.collect()
    with pytest.raises(DeviceError, match=r"in kernel plain\n.*2 warps at line 12"):
        device.synchronize()
    device.reset()
    assert not device.context.reporting


def test_after_a_fault_the_lines_where_warps_stood(machine, device):
    kernel = device.load(artifact(errors=(TOO_LARGE,)))
    fault_later(machine, kernel)
    with pytest.raises(DeviceError, match=r"2 warps at line 12\n.*1 warp at line 9"):
        kernel.bind((1, 1, 1)).launch(PARAMS, 1, 1, 1, 0)
    device.reset()


def test_a_prepared_launch_ends_with_its_context(machine, device):
    bound = device.load(artifact()).bind((1, 1, 1))
    native = bound.native_launch(device.default_stream)
    sound = (ctypes.c_ubyte * 1).from_address(native.sound)
    assert sound[0] == 1
    machine.fault(719)
    with pytest.raises(DeviceError):
        device.synchronize()
    device.reset()
    assert sound[0] == 0
    again = bound.native_launch(device.default_stream)
    assert (ctypes.c_ubyte * 1).from_address(again.sound)[0] == 1


def test_a_kernel_that_raises_is_not_prepared_after_a_new_context_either(machine, device):
    bound = device.load(artifact(errors=(TOO_LARGE,))).bind((1, 1, 1))
    machine.fault(719)
    with pytest.raises(DeviceError):
        device.synchronize()
    device.reset()
    assert bound.native_launch(device.default_stream) is None


def test_two_devices_have_kernels_of_their_own(machine):
    machine.reset(2)
    for device in (open_device(0), open_device(1)):
        device.load(artifact()).bind((1, 1, 1)).launch(PARAMS, 1, 1, 1, 0)
    assert [launch.device for launch in machine.launches] == [0, 1]

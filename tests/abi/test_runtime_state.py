"""The runtime's state: devices of threads, contexts, the last error, and faults of kernels."""

import ctypes
import subprocess
import sys
import threading

import numpy as np
import pytest
from tests.abi.runtime import OK, called, error, good
from tests.waiting import until

from gridlane.abi.state import devices
from gridlane.core import trace
from gridlane.core.config import read
from gridlane.core.cuda_table import enums
from gridlane.cuda import driver as cu
from gridlane.cuda import runtime as rt
from gridlane.launch import current

E = rt.cudaError_t

TRAP = b"""
.version 8.0
.target sm_80
.address_size 64
.visible .entry stop() { trap; ret; }
\0"""

ASSERT = b"""
.version 8.0
.target sm_80
.address_size 64
.extern .func __assertfail (.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d,
    .param .b64 e);
.global .align 1 .b8 text[4] = {49, 62, 50, 0};
.visible .entry stop() {
    .reg .b64 %rd<3>;
    mov.u64 %rd1, text;
    cvta.global.u64 %rd2, %rd1;
    {
    .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;
    st.param.b64 [a], %rd2; st.param.b64 [b], %rd2; st.param.b32 [c], 7;
    st.param.b64 [d], %rd2; st.param.b64 [e], 1;
    call.uni __assertfail, (a, b, c, d, e);
    }
    ret;
}
\0"""


def in_thread(work):
    """What a new thread returns from work on the same kind of device."""
    found = []
    device = current.device()

    def run():
        current.choose(device)
        found.append(work())

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found[0]


def test_the_first_call_makes_the_primary_context(device):
    assert good(rt.cudaGetDevice()) == 0
    assert good(cu.cuDevicePrimaryCtxGetState(0)) == (0, 0)
    assert cu.cuCtxGetCurrent()[1] == cu.CUcontext(0)
    good(rt.cudaFree(0))
    assert good(cu.cuDevicePrimaryCtxGetState(0)) == (0, 1)
    primary = good(cu.cuDevicePrimaryCtxRetain(0))
    assert good(cu.cuCtxGetCurrent()) == primary
    good(cu.cuDevicePrimaryCtxRelease(0))
    assert good(cu.cuDevicePrimaryCtxGetState(0)) == (0, 1)  # the runtime holds it


def test_all_threads_share_the_primary_context(device):
    x = good(rt.cudaMalloc(16))
    values = np.arange(16, dtype=np.uint8)

    def work():
        assert good(cu.cuCtxGetCurrent()) == cu.CUcontext(0)
        good(rt.cudaMemcpy(x, values, 16, rt.cudaMemcpyKind.cudaMemcpyHostToDevice))
        return good(cu.cuCtxGetCurrent())

    assert in_thread(work) == good(cu.cuCtxGetCurrent())
    back = np.zeros_like(values)
    good(rt.cudaMemcpy(back, x, 16, rt.cudaMemcpyKind.cudaMemcpyDeviceToHost))
    assert (back == values).all()


def test_a_context_of_the_driver_is_used(device):
    good(cu.cuInit(0))
    context = good(cu.cuCtxCreate(None, 0, 0))
    x = good(rt.cudaMalloc(16))
    assert good(rt.cudaGetDevice()) == 0
    assert good(cu.cuDevicePrimaryCtxGetState(0)) == (0, 0)
    good(rt.cudaDeviceReset())  # ends nothing of the driver's
    good(cu.cuMemFree(x))
    good(rt.cudaSetDevice(0))
    assert good(cu.cuCtxGetCurrent()) == good(cu.cuDevicePrimaryCtxRetain(0)) != context
    good(cu.cuCtxSetCurrent(context))
    good(cu.cuCtxDestroy(context))
    good(cu.cuCtxCreate(None, 0, 0))
    x = good(rt.cudaMalloc(16))
    in_thread(lambda: None)
    good(cu.cuMemFree(x))


def test_a_context_that_the_driver_destroyed_is_an_error(device):
    good(cu.cuInit(0))
    context = good(cu.cuCtxCreate(None, 0, 0))
    in_thread(lambda: good(cu.cuCtxDestroy(context)))
    assert error(rt.cudaMalloc(16)) == E.cudaErrorContextIsDestroyed


def test_wrong_devices(device):
    number = good(rt.cudaGetDeviceCount())
    for wrong in (-1, number, 2**31 - 1):
        assert error(rt.cudaSetDevice(wrong)) == E.cudaErrorInvalidDevice
        assert error(rt.cudaInitDevice(wrong, 0, 0)) == E.cudaErrorInvalidDevice
        assert error(rt.cudaGetDeviceProperties(wrong)) == E.cudaErrorInvalidDevice
        assert error(rt.cudaDeviceGetPCIBusId(20, wrong)) == E.cudaErrorInvalidDevice
    assert good(rt.cudaGetDevice()) == 0
    assert error(rt.cudaDeviceGetAttribute(99999, 0)) == E.cudaErrorInvalidValue


def test_places_on_the_bus_name_devices(device):
    for number in range(good(rt.cudaGetDeviceCount())):
        place = good(rt.cudaDeviceGetPCIBusId(20, number))
        assert good(rt.cudaDeviceGetByPCIBusId(place.rstrip(b"\0"))) == number
    assert error(rt.cudaDeviceGetByPCIBusId(b"FFFF:FF:FF.0")) == E.cudaErrorInvalidDevice
    assert error(rt.cudaDeviceGetByPCIBusId(None)) == E.cudaErrorInvalidValue


def test_the_last_error_is_the_threads_own(device):
    assert rt.cudaGetLastError() == (OK,)
    assert error(rt.cudaSetDevice(99)) == E.cudaErrorInvalidDevice
    assert error(rt.cudaMalloc(1 << 63)) == E.cudaErrorMemoryAllocation
    good(rt.cudaFree(0))  # a call that succeeds leaves it
    assert in_thread(rt.cudaPeekAtLastError) == (OK,)
    assert rt.cudaPeekAtLastError() == rt.cudaPeekAtLastError() == (E.cudaErrorMemoryAllocation,)
    assert rt.cudaGetLastError() == (E.cudaErrorMemoryAllocation,)
    assert rt.cudaGetLastError() == (OK,)

    def fails():
        rt.cudaSetDevice(99)
        return rt.cudaGetLastError()

    assert in_thread(fails) == (E.cudaErrorInvalidDevice,)
    assert rt.cudaGetLastError() == (OK,)


def test_each_thread_has_its_own_device(device, monkeypatch):
    monkeypatch.setattr(devices, "_visible", lambda: (0, 0))  # one device, by two numbers
    assert good(rt.cudaGetDeviceCount()) == 2
    good(rt.cudaSetDevice(1))
    x = good(rt.cudaMalloc(16))

    def other():
        assert good(rt.cudaGetDevice()) == 0
        good(rt.cudaFree(0))
        stream = good(rt.cudaStreamCreate())
        return good(rt.cudaStreamGetDevice(stream)), good(cu.cuCtxGetCurrent())

    number, context = in_thread(other)
    assert number == 0 and context != good(cu.cuCtxGetCurrent())
    assert good(rt.cudaGetDevice()) == 1
    good(cu.cuCtxSetCurrent(context))
    assert good(rt.cudaGetDevice()) == 0
    good(rt.cudaDeviceReset())
    good(rt.cudaSetDevice(1))
    good(rt.cudaFree(x))  # the other device was reset, not this one
    numbers = (ctypes.c_int * 2)(1, 0)
    assert called("cudaSetValidDevices", ctypes.addressof(numbers), 2) == (0, ())
    assert in_thread(lambda: good(rt.cudaGetDevice())) == 1


def test_threads_that_begin_at_once(device):
    kinds, kind, wrong = rt.cudaMemcpyKind, current.device(), []

    def run(number):
        current.choose(kind)
        for turn in range(8):
            x, stream = good(rt.cudaMalloc(1000)), good(rt.cudaStreamCreate())
            values = np.full(1000, 7 * number + turn, np.uint8)
            back = np.zeros_like(values)
            good(rt.cudaMemcpyAsync(x, values, 1000, kinds.cudaMemcpyHostToDevice, stream))
            good(rt.cudaMemcpyAsync(back, x, 1000, kinds.cudaMemcpyDefault, stream))
            good(rt.cudaStreamSynchronize(stream))
            expected = rt.cudaSetDevice(99) if number % 2 else rt.cudaMalloc(1 << 63)
            right = (back == values).all() and rt.cudaGetLastError()[0] == expected[0]
            good(rt.cudaFree(x))
            good(rt.cudaStreamDestroy(stream))
            if not right:
                wrong.append((number, turn))

    def work(number):
        try:
            run(number)
        except BaseException as failed:
            wrong.append(failed)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert wrong == []


def test_errors_of_the_driver_are_not_the_runtimes_last(device):
    good(rt.cudaFree(0))
    assert cu.cuMemAlloc(0)[0] == cu.CUresult.CUDA_ERROR_INVALID_VALUE
    assert rt.cudaGetLastError() == (OK,)


def launch_trap(text=TRAP):
    module = good(cu.cuModuleLoadData(text))
    stop = good(cu.cuModuleGetFunction(module, b"stop"))
    good(cu.cuLaunchKernel(stop, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0))


def test_the_fault_of_a_kernel_stays_until_the_reset(trapping):
    x = good(rt.cudaMalloc(16))
    launch_trap()
    assert error(rt.cudaDeviceSynchronize()) == E.cudaErrorLaunchFailure
    for _ in range(2):
        assert rt.cudaGetLastError() == (E.cudaErrorLaunchFailure,)
        assert error(rt.cudaMalloc(16)) == E.cudaErrorLaunchFailure
        assert error(rt.cudaFree(x)) == E.cudaErrorLaunchFailure
        assert error(rt.cudaStreamSynchronize(0)) == E.cudaErrorLaunchFailure
    assert in_thread(lambda: error(rt.cudaFree(0))) == E.cudaErrorLaunchFailure
    assert error(rt.cudaSetDevice(0)) == E.cudaErrorLaunchFailure
    good(rt.cudaDeviceReset())
    assert rt.cudaGetLastError() == (OK,)
    y = good(rt.cudaMalloc(16))
    good(rt.cudaMemset(y, 1, 16))
    good(rt.cudaDeviceSynchronize())


def test_a_failed_assertion_stays_until_the_reset(cpu):
    """With its own number, as CUDA's documentation of cudaErrorAssert has it."""
    good(rt.cudaFree(0))
    launch_trap(ASSERT)
    assert error(rt.cudaDeviceSynchronize()) == E.cudaErrorAssert
    assert error(rt.cudaMalloc(16)) == E.cudaErrorAssert
    assert error(rt.cudaDeviceSynchronize()) == E.cudaErrorAssert
    good(rt.cudaDeviceReset())
    good(rt.cudaFree(good(rt.cudaMalloc(16))))


def launch_trap_on_a_stream():
    module = good(cu.cuModuleLoadData(TRAP))
    stop = good(cu.cuModuleGetFunction(module, b"stop"))
    stream = good(cu.cuStreamCreate(1))
    good(cu.cuLaunchKernel(stop, 1, 1, 1, 1, 1, 1, 0, stream, 0, 0))
    return stream


def test_a_fault_on_a_stream_is_known_without_a_wait(cpu):
    x, other = good(rt.cudaMalloc(16)), good(rt.cudaStreamCreate())
    stream = launch_trap_on_a_stream()
    until(lambda: rt.cudaStreamGetFlags(other)[0] != OK)
    for call, *values in (
        (rt.cudaMemset, x, 0, 16),
        (rt.cudaMalloc, 16),
        (rt.cudaStreamCreate,),
        (rt.cudaStreamSynchronize, other),
        (rt.cudaStreamSynchronize, stream),
        (rt.cudaDeviceSynchronize,),
        (rt.cudaGetLastError,),
    ):
        assert error(call(*values)) == E.cudaErrorLaunchFailure
    good(rt.cudaDeviceReset())
    assert rt.cudaGetLastError() == (OK,)


def test_a_fault_stays_in_its_context(cpu):
    """Whoever waits for the device first."""
    good(cu.cuInit(0))
    contexts = [good(cu.cuCtxCreate(None, 0, 0)) for _ in range(3)]
    stream = launch_trap_on_a_stream()
    for each in contexts[:2]:
        good(cu.cuCtxSetCurrent(each))
        good(cu.cuCtxSynchronize())
        good(cu.cuMemAlloc(16))
        good(cu.cuCtxDestroy(each))
    good(cu.cuCtxSetCurrent(contexts[2]))
    assert error(cu.cuCtxSynchronize()) == cu.CUresult.CUDA_ERROR_LAUNCH_FAILED
    assert error(cu.cuStreamSynchronize(stream)) == cu.CUresult.CUDA_ERROR_LAUNCH_FAILED
    good(cu.cuCtxDestroy(contexts[2]))


def test_a_reset_ends_what_the_device_has(device):
    x, stream = good(rt.cudaMalloc(16)), good(rt.cudaStreamCreate())
    event = good(rt.cudaEventCreate())
    begun, go_on, seen = threading.Event(), threading.Event(), []
    kind = current.device()

    def other():
        current.choose(kind)
        good(rt.cudaFree(0))
        begun.set()
        go_on.wait(30)
        seen.append(rt.cudaMalloc(16)[0])

    thread = threading.Thread(target=other)
    thread.start()
    assert begun.wait(30)
    good(rt.cudaDeviceReset())
    assert good(cu.cuDevicePrimaryCtxGetState(0)) == (0, 0)
    assert error(rt.cudaFree(x)) == E.cudaErrorInvalidValue
    assert error(rt.cudaStreamSynchronize(stream)) == E.cudaErrorInvalidResourceHandle
    assert error(rt.cudaEventQuery(event)) == E.cudaErrorInvalidResourceHandle
    good(rt.cudaDeviceReset())
    go_on.set()
    thread.join()
    assert seen == [OK]  # threads that had the old context get the new one


def test_init_device_leaves_the_threads_context(device):
    flags = rt.cudaDeviceScheduleYield
    good(rt.cudaInitDevice(0, flags, rt.cudaInitDeviceFlagsAreValid))
    assert cu.cuCtxGetCurrent()[1] == cu.CUcontext(0)
    assert good(cu.cuDevicePrimaryCtxGetState(0)) == (flags, 1)
    assert good(rt.cudaGetDeviceFlags()) == flags | rt.cudaDeviceMapHost
    assert error(rt.cudaInitDevice(0, 0, 8)) == E.cudaErrorInvalidValue
    assert error(rt.cudaInitDevice(0, 1 << 20, 1)) == E.cudaErrorInvalidValue


def test_flags(device):
    assert good(rt.cudaGetDeviceFlags()) == rt.cudaDeviceMapHost
    good(rt.cudaSetDeviceFlags(rt.cudaDeviceScheduleBlockingSync))
    assert good(rt.cudaGetDeviceFlags()) == rt.cudaDeviceScheduleBlockingSync | rt.cudaDeviceMapHost
    assert good(cu.cuDevicePrimaryCtxGetState(0))[1] == 1
    good(rt.cudaSetDeviceFlags(0))
    assert good(cu.cuCtxGetFlags()) == 0
    assert error(rt.cudaSetDeviceFlags(1 << 16)) == E.cudaErrorInvalidValue
    good(cu.cuCtxCreate(None, 2, 0))
    assert good(rt.cudaGetDeviceFlags()) == 2


def test_limits_and_preferences(device):
    kind = rt.cudaLimit
    size = good(rt.cudaDeviceGetLimit(kind.cudaLimitStackSize))
    good(rt.cudaDeviceSetLimit(kind.cudaLimitStackSize, size // 2))
    assert good(rt.cudaDeviceGetLimit(kind.cudaLimitStackSize)) == size // 2
    assert error(rt.cudaDeviceSetLimit(kind.cudaLimitStackSize, 1 << 40)) == E.cudaErrorInvalidValue
    assert error(rt.cudaDeviceGetLimit(99)) == E.cudaErrorUnsupportedLimit
    good(rt.cudaDeviceSetCacheConfig(rt.cudaFuncCache.cudaFuncCachePreferL1))
    assert good(rt.cudaDeviceGetCacheConfig()) == rt.cudaFuncCache.cudaFuncCachePreferL1
    assert error(rt.cudaDeviceSetCacheConfig(9)) == E.cudaErrorInvalidValue
    eight = rt.cudaSharedMemConfig.cudaSharedMemBankSizeEightByte
    good(rt.cudaDeviceSetSharedMemConfig(eight))
    assert good(rt.cudaDeviceGetSharedMemConfig()) == eight
    assert called("cudaThreadGetLimit", 0) == (0, (size // 2,))
    assert called("cudaThreadGetCacheConfig") == (0, (2,))
    assert called("cudaThreadSynchronize") == (0, ())
    good(rt.cudaCtxResetPersistingL2Cache())
    assert called("cudaThreadExit") == (0, ())
    assert good(rt.cudaDeviceGetLimit(kind.cudaLimitStackSize)) == size


def test_valid_devices(device):
    numbers = (ctypes.c_int * 3)(0, 7, 0)
    address = ctypes.addressof(numbers)
    too_many = good(rt.cudaGetDeviceCount()) + 1
    assert called("cudaSetValidDevices", address, 1) == (0, ())
    assert good(rt.cudaGetDevice()) == 0
    assert called("cudaSetValidDevices", address + 4, 1)[0] == E.cudaErrorInvalidDevice
    assert called("cudaSetValidDevices", address, too_many)[0] == E.cudaErrorInvalidValue
    assert called("cudaSetValidDevices", 0, 1)[0] == E.cudaErrorInvalidValue
    assert called("cudaSetValidDevices", 0, 0) == (0, ())


def test_the_device_that_fits_best(device):
    wanted = rt.cudaDeviceProp()
    assert good(rt.cudaChooseDevice(wanted)) == 0
    wanted.major, wanted.totalGlobalMem = 99, 1
    assert good(rt.cudaChooseDevice(wanted)) == 0
    assert error(rt.cudaChooseDevice(None)) == E.cudaErrorInvalidValue


def test_versions_and_the_names_of_errors(device):
    assert good(rt.cudaRuntimeGetVersion()) == good(rt.cudaDriverGetVersion()) == 13000
    assert rt.CUDART_VERSION == cu.CUDA_VERSION == 13000
    for each in E:
        assert good(rt.cudaGetErrorName(each)) == each.name.encode()
        assert good(rt.cudaGetErrorString(each)) not in (b"", b"unrecognized error code")
    assert good(rt.cudaGetErrorName(12345)) == b"unrecognized error code"
    assert good(rt.cudaGetErrorString(-1)) == b"unrecognized error code"


def test_names_of_errors_are_those_of_nvidias_library():
    theirs = pytest.importorskip("cuda.bindings.runtime", reason="no bindings of NVIDIA's")
    try:
        theirs.cudaGetErrorName(theirs.cudaError_t.cudaSuccess)
    except RuntimeError:
        pytest.skip("libcudart is not installed")
    for each in theirs.cudaError_t:
        if each.name in E.__members__:
            assert good(rt.cudaGetErrorName(int(each))) == theirs.cudaGetErrorName(each)[1]


def test_every_error_of_the_driver_is_one_of_the_runtime():
    numbers = set(enums()["CUresult"].values.values()) - {int(each) for each in E}
    assert numbers == {202, 916}  # these two become cudaErrorUnknown


def test_functions_that_are_refused_say_so(device):
    assert rt.cudaDestroyExternalMemory(0) == (E.cudaErrorNotSupported,)
    assert "Refused: gridlane shares no memory" in rt.cudaDestroyExternalMemory.__doc__
    assert rt.cudaGetLastError() == (E.cudaErrorNotSupported,)


def test_the_profiler_is_a_line_of_the_trace(cpu, capsys, monkeypatch):
    good(rt.cudaFree(0))
    monkeypatch.setattr(trace, "enabled", lambda: True)
    for each in (rt.cudaProfilerStart, rt.cudaProfilerStop, cu.cuProfilerStart, cu.cuProfilerStop):
        good(each())
        assert "no profiler" in capsys.readouterr().err


FORKS = """
import os
from gridlane.cuda import runtime as rt
rt.cudaFree(0)
child = os.fork()
if not child:
    os._exit(rt.cudaMalloc(4)[0] + 10 * rt.cudaGetDeviceCount()[0])
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), int(rt.cudaMalloc(4)[0]))
"""


def test_a_fork_after_the_beginning_is_an_error():
    run = subprocess.run(
        [sys.executable, "-c", FORKS], capture_output=True, text=True, timeout=300, check=True
    )
    assert run.stdout.split() == ["33", "0"]  # cudaErrorInitializationError, in the child alone


@pytest.mark.parametrize(
    "setting, numbers",
    [
        ("0,1,2", (0, 1, 2)),
        ("2,0", (2, 0)),
        ("1, 0", (1, 0)),
        ("0,-1,1", (0,)),
        ("0,3,1", (0,)),
        ("1,1,0", (1,)),
        ("", ()),
        ("-1", ()),
        ("x", ()),
    ],
)
def test_visible_devices(setting, numbers):
    assert devices._named(setting, 3, "cpu") == numbers


def test_visible_devices_by_uuid(cpu):
    name = "GPU-" + good(rt.cudaGetDeviceProperties(0)).uuid.bytes.hex()[:8]
    assert devices._named(name, 1, "cpu") == (0,)
    assert devices._named("GPU-ffffffff", 1, "cpu") == ()


def test_no_visible_device(cpu, monkeypatch):
    hidden = read({"CUDA_VISIBLE_DEVICES": ""})
    monkeypatch.setattr(devices, "config", lambda: hidden)
    assert error(rt.cudaGetDeviceCount()) == E.cudaErrorNoDevice
    assert error(rt.cudaMalloc(1)) == E.cudaErrorNoDevice
    assert cu.cuInit(0)[0] == cu.CUresult.CUDA_ERROR_NO_DEVICE

"""Words that streams write and wait for: documented results and errors, on each device."""

import subprocess
import sys
import threading

import numpy as np
import pytest
from tests.abi.calling import BAD, NO_HANDLE, OK, REFUSED, downloaded, good, host_function, uploaded

from gridlane.cuda import driver as cu

GEQ, EQ, AND, NOR = range(4)
KIND = cu.CUstreamBatchMemOpType
BUSY = cu.CUresult.CUDA_ERROR_NOT_READY


@pytest.fixture
def stream(context):
    return good(cu.cuStreamCreate(1))


@pytest.fixture
def waits(device):
    """A device whose streams wait for memory."""
    if not device.host_visible:
        pytest.skip("streams of this device do not wait for memory")


def test_writes(stream):
    x = int(uploaded(np.zeros(4, np.uint32)))
    good(cu.cuStreamWriteValue32(stream, x, 0xDEADBEEF, 0))
    good(cu.cuStreamWriteValue64(stream, x + 8, 0x1122334455667788, 1))
    good(cu.cuStreamSynchronize(stream))
    good(cu.cuStreamWriteValue32(0, x + 4, 7, 0))
    assert list(downloaded(x, np.zeros(4, np.uint32))) == [0xDEADBEEF, 7, 0x55667788, 0x11223344]


def test_a_write_follows_the_work_of_its_stream(stream):
    x, go = int(uploaded(np.zeros(1, np.uint32))), threading.Event()
    kept, wait = host_function(go.wait)
    good(cu.cuLaunchHostFunc(stream, wait, 0))
    good(cu.cuStreamWriteValue32(stream, x, 5, 0))
    assert cu.cuStreamQuery(stream)[0] == BUSY
    go.set()
    good(cu.cuStreamSynchronize(stream))
    assert downloaded(x, np.zeros(1, np.uint32)) == 5 and kept


@pytest.mark.parametrize(
    "bits, how, value, fails, holds",
    [
        (32, GEQ, 5, (4, 0, 1 << 31), (5, 6, (1 << 31) + 4)),
        (32, GEQ, 0xFFFFFFFE, (0xFFFFFFFD,), (0xFFFFFFFE, 1)),
        (32, EQ, 5, (4, 6), (5,)),
        (32, AND, 6, (0, 9), (2, 15)),
        (32, NOR, 0xFFFFFFFC, (3, 0xFFFFFFFF), (2, 0)),
        (64, GEQ, 5, (4, 1 << 63), (5, 1 << 62)),
        (64, EQ, 1 << 40, (0,), (1 << 40,)),
        (64, AND, 1 << 40, (1,), ((1 << 40) + 1,)),
        (64, NOR, (1 << 64) - 2, (1,), (0,)),
    ],
)
def test_comparisons(waits, stream, bits, how, value, fails, holds):
    x = int(uploaded(np.zeros(1, np.uint64)))
    write, wait = (getattr(cu, f"cuStream{n}Value{bits}") for n in ("Write", "Wait"))
    other = good(cu.cuStreamCreate(1))
    for last in holds:
        for each in fails:
            good(write(other, x, each, 0))
            good(cu.cuStreamSynchronize(other))
            good(wait(stream, x, value, how))
            assert cu.cuStreamQuery(stream)[0] == BUSY
            good(write(other, x, last, 0))
            good(cu.cuStreamSynchronize(stream))
        good(wait(stream, x, value, how))
        good(cu.cuStreamSynchronize(stream))


def test_the_host_and_other_threads_write(waits, stream):
    x = good(cu.cuMemAllocHost(64))
    flags = np.ctypeslib.as_array((np.ctypeslib.ctypes.c_uint32 * 4).from_address(int(x)))
    flags[:] = 0
    good(cu.cuStreamWaitValue32(stream, x, 1, EQ))
    good(cu.cuStreamWriteValue32(stream, int(x) + 4, 9, 0))
    thread = threading.Thread(target=lambda: flags.__setitem__(0, 1))
    assert flags[1] == 0
    thread.start()
    good(cu.cuStreamSynchronize(stream))
    assert flags[1] == 9
    thread.join()


def operation(kind, address=0, value=0, flags=0):
    made = cu.CUstreamBatchMemOpParams()
    made.operation = kind
    part = {1: "waitValue", 4: "waitValue", 2: "writeValue", 5: "writeValue", 6: "memoryBarrier"}
    inner = getattr(made, part.get(int(kind), "flushRemoteWrites"))
    inner.operation, inner.flags = kind, flags
    if int(kind) in (1, 2, 4, 5):
        inner.address = address
        assert int(inner.address) == address
        setattr(inner, "value" if int(kind) < 4 else "value64", value)
    return made


def test_batches(stream, device):
    x = int(uploaded(np.zeros(2, np.uint64)))
    given = [
        operation(KIND.CU_STREAM_MEM_OP_WRITE_VALUE_32, x, 3),
        operation(KIND.CU_STREAM_MEM_OP_BARRIER),
        operation(KIND.CU_STREAM_MEM_OP_WRITE_VALUE_64, x + 8, 1 << 50),
    ]
    good(cu.cuStreamBatchMemOp(stream, 3, given, 0))
    good(cu.cuStreamSynchronize(stream))
    assert list(downloaded(x, np.zeros(2, np.uint64))) == [3, 1 << 50]
    waiting = operation(KIND.CU_STREAM_MEM_OP_WAIT_VALUE_64, x, 3, EQ)
    last = operation(KIND.CU_STREAM_MEM_OP_WRITE_VALUE_32, x, 8)
    error = cu.cuStreamBatchMemOp(stream, 2, [last, waiting], 0)[0]
    if device.host_visible:
        assert error == OK
        other = good(cu.cuStreamCreate(1))
        good(cu.cuStreamWaitValue64(other, x, 8, EQ))
        good(cu.cuStreamWriteValue64(other, x, 3, 0))
        good(cu.cuStreamSynchronize(stream))
    else:  # nothing of it is done
        assert error == REFUSED
        good(cu.cuStreamSynchronize(stream))
    assert downloaded(x, np.zeros(1, np.uint64)) == 3
    flush = operation(KIND.CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES)
    assert cu.cuStreamBatchMemOp(stream, 2, [last, flush], 0)[0] == REFUSED
    assert cu.cuStreamBatchMemOp(stream, 1, [last], 1)[0] == BAD
    assert cu.cuStreamBatchMemOp(stream, 256, [last] * 256, 0)[0] == BAD
    assert cu.cuStreamBatchMemOp(stream, 1, None, 0)[0] == BAD
    wrong = operation(KIND.CU_STREAM_MEM_OP_BARRIER, flags=9)
    assert cu.cuStreamBatchMemOp(stream, 1, [wrong], 0)[0] == BAD
    good(cu.cuStreamBatchMemOp(stream, 0, [], 0))
    assert downloaded(x, np.zeros(1, np.uint64)) == 3


def test_words_that_there_are_not(stream, device):
    x = int(good(cu.cuMemAlloc(16)))
    freed = int(good(cu.cuMemAlloc(16)))
    good(cu.cuMemFree(freed))
    for wrong in (0, 1 << 59, x + 2, x + 16, 1 << 63, freed):
        assert cu.cuStreamWriteValue32(stream, wrong, 0, 0)[0] == BAD, hex(wrong)
        assert cu.cuStreamWaitValue32(stream, wrong, 0, 0)[0] == BAD
    assert cu.cuStreamWriteValue64(stream, x + 4, 0, 0)[0] == BAD
    assert cu.cuStreamWriteValue32(stream, x, 0, 2)[0] == BAD
    assert cu.cuStreamWaitValue32(stream, x, 0, 4)[0] == BAD
    assert cu.cuStreamWaitValue32(stream, x, 0, 1 << 30)[0] == REFUSED
    assert cu.cuStreamWriteValue32(x, x, 0, 0)[0] == NO_HANDLE
    error, managed = cu.cuMemAllocManaged(16, 1)
    if not error:
        assert cu.cuStreamWriteValue32(stream, managed, 0, 0)[0] == BAD
    if not device.host_visible:
        assert cu.cuStreamWaitValue32(stream, x, 0, 0)[0] == REFUSED
        host = good(cu.cuMemAllocHost(16))
        assert cu.cuStreamWriteValue32(stream, host, 0, 0)[0] == BAD
    told = cu.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR
    assert good(cu.cuDeviceGetAttribute(told, 0)) == device.host_visible


def test_the_default_stream_waits_for_what_holds(waits, context):
    x = int(uploaded(np.ones(1, np.uint32)))
    good(cu.cuStreamWaitValue32(0, x, 1, EQ))
    assert cu.cuStreamWaitValue32(0, x, 2, EQ)[0] == REFUSED  # it would wait for its own caller


def test_the_default_stream_while_others_wait(waits, context):
    """It comes after their work, which the caller might have to let go on."""
    x = int(uploaded(np.zeros(4, np.uint32)))
    first, second, third = (good(cu.cuStreamCreate(0)) for _ in range(3))
    event = good(cu.cuEventCreate(2))
    good(cu.cuStreamWaitValue32(first, x, 1, EQ))
    assert cu.cuStreamWaitValue32(0, x + 4, 0, EQ)[0] == REFUSED
    good(cu.cuEventRecord(event, first))
    good(cu.cuStreamWaitEvent(second, event, 0))
    assert cu.cuStreamWaitValue32(0, x + 4, 0, EQ)[0] == REFUSED
    good(cu.cuStreamWriteValue32(third, x, 1, 0))  # which lets the others go on
    good(cu.cuStreamWriteValue32(second, x + 4, 7, 0))
    good(cu.cuStreamWaitValue32(0, x + 4, 7, EQ))
    for each in (first, second, third):
        assert good(cu.cuStreamQuery(each)) is None


def test_a_wait_for_nothing_does_not_hold_up_the_end_of_the_process():
    text = """
from gridlane.cuda import driver as cu
cu.cuInit(0)
cu.cuCtxCreate(None, 0, 0)
x = cu.cuMemAllocHost(64)[1]
stream = cu.cuStreamCreate(1)[1]
print(int(cu.cuStreamWaitValue32(stream, x, 12345, 1)[0]))
"""
    environment = {"GRIDLANE_DEVICE": "cpu", "PATH": "/usr/bin:/bin"}
    run = [sys.executable, "-c", text]
    done = subprocess.run(run, capture_output=True, text=True, timeout=300, env=environment)
    assert done.stdout == "0\n" and not done.returncode, done.stderr

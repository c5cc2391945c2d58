"""Pieces of an array on two streams: pinned memory, a fill, a kernel, and a host function behind
both."""

import ctypes

import numpy as np

from gridlane.cuda import driver, runtime

PTX = b"""
.version 8.0
.target sm_80
.address_size 64
.visible .entry square(.param .u64 x) {
    .reg .b32 %r<6>; .reg .b64 %rd<4>;
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    mul.wide.u32 %rd1, %r4, 4;
    ld.param.u64 %rd2, [x];
    add.s64 %rd3, %rd2, %rd1;
    ld.global.u32 %r5, [%rd3];
    mul.lo.u32 %r5, %r5, %r5;
    st.global.u32 [%rd3], %r5;
    ret;
}
\0"""

PIECES, LENGTH = 8, 1024


def checked(result):
    """What a call gives back; an exception after an error."""
    error, *rest = result
    if error:
        raise RuntimeError(str(error))
    return rest[0] if len(rest) == 1 else rest


def main():
    device = checked(runtime.cudaGetDevice())
    context = checked(driver.cuDevicePrimaryCtxRetain(device))
    checked(driver.cuCtxSetCurrent(context))  # the runtime uses the context that is current
    square = checked(driver.cuModuleGetFunction(checked(driver.cuModuleLoadData(PTX)), b"square"))

    size = 4 * LENGTH
    pinned = checked(runtime.cudaMallocHost(PIECES * size))
    host = np.ctypeslib.as_array((ctypes.c_uint32 * (PIECES * LENGTH)).from_address(int(pinned)))
    host[:] = np.arange(PIECES * LENGTH)
    expected = host * host
    memory = checked(runtime.cudaMalloc(PIECES * size))
    checked(runtime.cudaMemset(memory, 0xFF, PIECES * size))

    kinds = runtime.cudaMemcpyKind
    streams = [
        checked(runtime.cudaStreamCreateWithFlags(runtime.cudaStreamNonBlocking)) for _ in range(2)
    ]
    for piece in range(PIECES):
        stream, start = streams[piece % 2], piece * size
        there, here = int(memory) + start, int(pinned) + start
        checked(runtime.cudaMemcpyAsync(there, here, size, kinds.cudaMemcpyHostToDevice, stream))
        arguments = (there,), (ctypes.c_void_p,)
        checked(
            driver.cuLaunchKernel(square, LENGTH // 128, 1, 1, 128, 1, 1, 0, stream, arguments, 0)
        )
        checked(runtime.cudaMemcpyAsync(here, there, size, kinds.cudaMemcpyDefault, stream))

    done, finished = checked(runtime.cudaEventCreateWithFlags(2)), []
    checked(runtime.cudaEventRecord(done, streams[1]))
    checked(runtime.cudaStreamWaitEvent(streams[0], done, 0))
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(finished.append)
    checked(runtime.cudaLaunchHostFunc(streams[0], call, 7))
    checked(runtime.cudaDeviceSynchronize())
    assert finished == [7]
    assert np.array_equal(host, expected)

    checked(runtime.cudaFreeHost(pinned))
    checked(runtime.cudaFree(memory))
    checked(driver.cuDevicePrimaryCtxRelease(device))
    print("the squares are right")


if __name__ == "__main__":
    main()

"""Add two vectors: memory and streams of the runtime, a module and a launch of the driver."""

import ctypes

import numpy as np

from gridlane.cuda import driver, runtime

PTX = b"""
.version 8.0
.target sm_80
.address_size 64
.visible .entry add(.param .u64 a, .param .u64 b, .param .u64 sum, .param .u64 n) {
    .reg .b32 %r<5>; .reg .b64 %rd<9>; .reg .f32 %f<4>; .reg .pred %p;
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    cvt.u64.u32 %rd1, %r4;
    ld.param.u64 %rd2, [n];
    setp.ge.u64 %p, %rd1, %rd2;
    @%p bra DONE;
    shl.b64 %rd3, %rd1, 2;
    ld.param.u64 %rd4, [a]; ld.param.u64 %rd5, [b]; ld.param.u64 %rd6, [sum];
    add.s64 %rd4, %rd4, %rd3; add.s64 %rd5, %rd5, %rd3; add.s64 %rd6, %rd6, %rd3;
    ld.global.f32 %f1, [%rd4]; ld.global.f32 %f2, [%rd5];
    add.f32 %f3, %f1, %f2;
    st.global.f32 [%rd6], %f3;
DONE:
    ret;
}
\0"""


def checked(result):
    """What a call gives back; an exception after an error."""
    error, *rest = result
    if error:
        kind = driver if isinstance(error, driver.CUresult) else runtime
        get = kind.cuGetErrorName if kind is driver else kind.cudaGetErrorName
        raise RuntimeError(get(error)[1].decode())
    return rest[0] if len(rest) == 1 else rest


def main():
    checked(runtime.cudaSetDevice(0))
    properties = checked(runtime.cudaGetDeviceProperties(0))
    print(f"{properties.name.decode()}, {properties.major}.{properties.minor}")

    n = 10_000
    a, b = (np.random.default_rng(seed).random(n, np.float32) for seed in (1, 2))
    total = np.zeros_like(a)
    stream = checked(runtime.cudaStreamCreate())
    places = [checked(runtime.cudaMalloc(a.nbytes)) for _ in range(3)]
    up = runtime.cudaMemcpyKind.cudaMemcpyHostToDevice
    for place, data in zip(places, (a, b)):
        checked(runtime.cudaMemcpyAsync(place, data, data.nbytes, up, stream))

    module = checked(driver.cuModuleLoadData(PTX))
    add = checked(driver.cuModuleGetFunction(module, b"add"))
    values = (*places, n)
    types = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
    begin, end = (checked(runtime.cudaEventCreate()) for _ in range(2))
    checked(runtime.cudaEventRecord(begin, stream))
    grid = -(-n // 256)
    checked(driver.cuLaunchKernel(add, grid, 1, 1, 256, 1, 1, 0, stream, (values, types), 0))
    checked(runtime.cudaEventRecord(end, stream))
    down = runtime.cudaMemcpyKind.cudaMemcpyDeviceToHost
    checked(runtime.cudaMemcpyAsync(total, places[2], total.nbytes, down, stream))
    checked(runtime.cudaStreamSynchronize(stream))
    assert checked(runtime.cudaEventElapsedTime(begin, end)) >= 0
    assert np.array_equal(total, a + b)

    for place in places:
        checked(runtime.cudaFree(place))
    checked(driver.cuModuleUnload(module))
    checked(runtime.cudaStreamDestroy(stream))
    print("the sums are right")


if __name__ == "__main__":
    main()

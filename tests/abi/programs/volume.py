"""A box out of a volume: pitched memory, copies and fills of three dimensions, and errors."""

import numpy as np

from gridlane.cuda import runtime


def checked(result):
    """What a call gives back; an exception after an error."""
    error, *rest = result
    if error:
        name, words = (f(error)[1] for f in (runtime.cudaGetErrorName, runtime.cudaGetErrorString))
        raise RuntimeError(f"{name.decode()}: {words.decode()}")
    return rest[0] if len(rest) == 1 else rest


def main():
    width, height, depth = 50, 20, 10
    volume = np.random.default_rng(3).integers(0, 256, (depth, height, width), np.uint8)
    extent = runtime.make_cudaExtent(width, height, depth)
    memory = checked(runtime.cudaMalloc3D(extent))
    assert memory.pitch >= width
    checked(runtime.cudaMemset3D(memory, 0, extent))

    parameters = runtime.cudaMemcpy3DParms()
    parameters.srcPtr = runtime.make_cudaPitchedPtr(volume.ctypes.data, width, width, height)
    parameters.dstPtr, parameters.extent = memory, extent
    parameters.kind = runtime.cudaMemcpyKind.cudaMemcpyHostToDevice
    checked(runtime.cudaMemcpy3D(parameters))

    box = np.zeros((4, 5, 6), np.uint8)
    parameters = runtime.cudaMemcpy3DParms()
    parameters.srcPtr, parameters.srcPos = memory, runtime.make_cudaPos(30, 12, 5)
    parameters.dstPtr = runtime.make_cudaPitchedPtr(box.ctypes.data, 6, 6, 5)
    parameters.extent = runtime.make_cudaExtent(6, 5, 4)
    parameters.kind = runtime.cudaMemcpyKind.cudaMemcpyDeviceToHost
    checked(runtime.cudaMemcpy3D(parameters))
    assert np.array_equal(box, volume[5:9, 12:17, 30:36])

    parameters.srcPos = runtime.make_cudaPos(0, 16, 8)  # reaches over the end
    try:
        checked(runtime.cudaMemcpy3D(parameters))
    except RuntimeError as error:
        assert str(error).startswith("cudaErrorInvalidValue: ")
        assert runtime.cudaGetLastError() == (runtime.cudaError_t.cudaErrorInvalidValue,)
    else:
        raise AssertionError("a copy from outside was made")
    assert runtime.cudaGetLastError() == (runtime.cudaError_t.cudaSuccess,)
    checked(runtime.cudaFree(memory.ptr))
    checked(runtime.cudaDeviceReset())
    print("the box is right")


if __name__ == "__main__":
    main()

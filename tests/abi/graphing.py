"""What the tests of graphs share: a kernel, memory, nodes."""

import ctypes

import numpy as np
from tests.abi.kernels import HEAD, scale

from gridlane.cuda import driver as cu

OK, BAD = cu.CUresult.CUDA_SUCCESS, cu.CUresult.CUDA_ERROR_INVALID_VALUE
RELAXED = cu.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
GLOBAL = cu.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL
LOCAL = cu.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
KIND = cu.CUgraphNodeType

_SCALE = scale(".param .u32 factor, .param .u32 more", "ld.param.u32 %r7, [more];")
TEXT = f"{HEAD}{_SCALE}.visible .entry nothing() {{ ret; }}\n\0".encode()

TYPES = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint32


def good(result):
    """What a call gives back, if it succeeded."""
    assert result[0] == OK, result
    return result[1] if len(result) == 2 else result[1:] or None


def name_of(result):
    """The name of a call's error, without what all have in front."""
    return result[0].name.removeprefix("CUDA_ERROR_")


def kernel(name=b"scale"):
    """A kernel: ``scale(x, factor, more, n)`` computes x * factor + more."""
    return good(cu.cuModuleGetFunction(good(cu.cuModuleLoadData(TEXT)), name))


def device_array(values):
    """Memory of the device with values."""
    data = np.ascontiguousarray(values)
    address = good(cu.cuMemAlloc(data.nbytes))
    good(cu.cuMemcpyHtoD(address, data, data.nbytes))
    return address


def host_array(address, like):
    """The values in memory of the device."""
    good(cu.cuCtxSynchronize())
    made = np.empty_like(like)
    good(cu.cuMemcpyDtoH(made, address, made.nbytes))
    return made


def scaling(function, x, factor, more, n):
    """The description of a launch of ``scale``."""
    made = cu.CUDA_KERNEL_NODE_PARAMS()
    made.func = function
    made.gridDimX, made.gridDimY, made.gridDimZ = -(-n // 32), 1, 1
    made.blockDimX, made.blockDimY, made.blockDimZ = 32, 1, 1
    made.kernelParams = (x, factor, more, n), TYPES
    return made


def launch(function, stream, x, factor, more, n):
    """Launch ``scale`` on a stream."""
    values = (x, factor, more, n), TYPES
    return cu.cuLaunchKernel(function, -(-n // 32), 1, 1, 32, 1, 1, 0, stream, values, 0)


def copying(to, source, size):
    """The description of a copy of so many bytes between any two addresses."""
    box = cu.CUDA_MEMCPY3D()
    box.srcMemoryType = box.dstMemoryType = cu.CUmemorytype.CU_MEMORYTYPE_UNIFIED
    box.srcDevice, box.dstDevice = address(source), address(to)
    box.WidthInBytes, box.Height, box.Depth = size, 1, 1
    return box


def address(value):
    """Where an array or memory of the device is."""
    return value.ctypes.data if isinstance(value, np.ndarray) else int(value)


def filling(to, value, count, size=4):
    """The description of a fill of a row."""
    made = cu.CUDA_MEMSET_NODE_PARAMS()
    made.dst, made.value, made.elementSize = to, value, size
    made.width, made.height = count, 1
    return made


def calling(function, data=0):
    """The description of a call of a function of ctypes."""
    made = cu.CUDA_HOST_NODE_PARAMS()
    made.fn, made.userData = ctypes.cast(function, ctypes.c_void_p).value, data
    return made


def host_function(function):
    """A function of Python's as one of C's."""
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(function)


def new_graph():
    """A graph without nodes."""
    return good(cu.cuGraphCreate(0))


def new_stream():
    """A stream that does not wait for the legacy default one."""
    return good(cu.cuStreamCreate(cu.CUstream_flags.CU_STREAM_NON_BLOCKING))


def run(graph, stream=None):
    """Instantiate a graph, launch it once, and wait."""
    made = good(cu.cuGraphInstantiate(graph, 0))
    stream = new_stream() if stream is None else stream
    good(cu.cuGraphLaunch(made, stream))
    good(cu.cuStreamSynchronize(stream))
    return made


def nodes_of(graph):
    """The nodes of a graph."""
    return good(cu.cuGraphGetNodes(graph, good(cu.cuGraphGetNodes(graph))[1]))[0]


def edges_of(graph):
    """The edges of a graph as pairs."""
    count = good(cu.cuGraphGetEdges(graph))[3]
    first, then, _, _ = good(cu.cuGraphGetEdges(graph, count))
    return set(zip(first, then))

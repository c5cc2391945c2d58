"""What each group of the names that the host calls is for, with an example.

tests/site/test_reference.py runs the examples.
"""

from __future__ import annotations

TEXTS: dict[str, str] = {
    "Kernels": "Functions that a device runs, their arguments, and code that they call.",
    "Arrays": "Memory of a device, and memory of the host that a device reaches.",
    "Streams and events": "Work in order beside other work, and points in it.",
    "Graphs": "Work that is recorded once and launched as a whole.",
    "Devices": "Which devices there are, and which one a thread uses.",
    "Ufuncs and reductions": "A function of elements becomes one of arrays.",
    "Compilation": "The text of kernels and device functions for a device.",
    "PTX and CUDA C++": "Kernels of other languages.",
    "Host": "The time of kernels and copies, and errors that kernels raise.",
    "numba": "Programs of `numba.cuda` on gridlane.",
    "Textures and surfaces": "Arrays that kernels read between elements. Of "
    "`gridlane.cuda.texture`.",
}
"""What each group is for."""

EXAMPLES: dict[str, str] = {
    "Kernels": """
@cuda.jit("void(float32[:], float32)")  # compiled now; without types, at the first launch
def scale(values, factor):
    i = cuda.grid(1)
    if i < values.size:
        values[i] *= factor

x = np.ones(100, np.float32)
scale[4, 32](cuda.InOut(x), 3)  # copied to the device, and back at the end of the launch
assert (x == 3).all()
""",
    "Arrays": """
x = np.arange(12, dtype=np.float32).reshape(3, 4)
d = cuda.to_device(x)
row = d[1]  # a view
row[:] = np.zeros(4, np.float32)
assert (d.copy_to_host()[1] == 0).all()

out = cuda.device_array_like(d)  # not initialised
out.copy_to_device(d)
assert out.shape == (3, 4) and out.copy_to_host().sum() == x[0].sum() + x[2].sum()
""",
    "Streams and events": """
@cuda.jit
def add(values, n):
    values[cuda.grid(1)] += n

stream, begin, end = cuda.stream(), cuda.event(), cuda.event()
x = cuda.pinned_array(64, np.int32)
x[:] = 1
begin.record(stream)
d = cuda.to_device(x, stream=stream)
add[2, 32, stream](d, 5)
d.copy_to_host(x, stream=stream)
end.record(stream)
end.synchronize()
assert (x == 6).all() and cuda.event_elapsed_time(begin, end) >= 0  # milliseconds
""",
    "Graphs": """
@cuda.jit
def double(values):
    values[cuda.grid(1)] *= 2

d, stream = cuda.to_device(np.ones(32, np.int32)), cuda.stream()
with cuda.capture(stream) as graph:
    double[1, 32, stream](d)
    double[1, 32, stream](d)
work = graph.instantiate()
for _ in range(3):
    work.launch(stream)
stream.synchronize()
assert (d.copy_to_host() == 4**3).all()
""",
    "Devices": """
assert cuda.is_available()
device = cuda.get_current_device()
assert device.WARP_SIZE == 32
assert len(cuda.gpus) >= 1
with cuda.gpus[0]:
    d = cuda.device_array(10, np.float32)
""",
    "Ufuncs and reductions": """
@cuda.vectorize(["float32(float32, float32)"])
def larger(a, b):
    return a if a > b else b

@cuda.reduce
def total(a, b):
    return a + b

x = np.arange(100, dtype=np.float32)
y = larger(x, np.float32(50))  # broadcasts as numpy does
assert y[0] == 50 and y[99] == 99
assert total(x) == x.sum()
""",
    "Compilation": """
def axpy(a, x, y):
    return a * x + y

from numba import types  # under `gridlane run`, or after cuda.install_as_numba()

f32 = types.float32
ptx, returned = cuda.compile_ptx(axpy, (f32, f32, f32), device=True)
assert "axpy" in ptx and returned == f32
""",
    "PTX and CUDA C++": '''
kernel = cuda.RawKernel("""
.version 8.0
.target sm_80
.address_size 64
.visible .entry set(.param .u64 out, .param .u32 value) {
    .reg .b64 %rd<3>;
    .reg .b32 %r<3>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [value];
    mov.u32 %r2, %tid.x;
    mad.wide.u32 %rd2, %r2, 4, %rd1;
    st.global.u32 [%rd2], %r1;
    ret;
}
""", "set")
out = cuda.to_device(np.zeros(32, np.uint32))
kernel((1,), (32,), (out, np.uint32(7)))
assert (out.copy_to_host() == 7).all()
''',
    "Host": """
@cuda.jit
def half(values):
    values[cuda.grid(1)] /= 2

d = cuda.to_device(np.ones(64, np.float32))
with cuda.profiling() as profile:
    half[2, 32](d)
print(profile)  # a line for each kernel, with its launches and their time
""",
    "numba": """
cuda.install_as_numba()  # as `gridlane run PROGRAM` does before the program

import numba.cuda

@numba.cuda.jit
def one(values):
    values[numba.cuda.grid(1)] = 1

x = np.zeros(32, np.int32)
one[1, 32](x)
assert (x == 1).all()
""",
    "Textures and surfaces": '''
from gridlane.cuda import texture

code = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry between(.param .u64 image, .param .u64 out) {
    .reg .b64 %rd<4>;
    .reg .b32 %r<2>;
    .reg .f32 %f<6>;
    ld.param.u64 %rd1, [image];
    ld.param.u64 %rd2, [out];
    mov.u32 %r1, %tid.x;
    mad.wide.u32 %rd3, %r1, 4, %rd2;
    cvt.rn.f32.u32 %f1, %r1;
    add.f32 %f1, %f1, 0f3F800000;  // 1.0: between the middles of two texels
    tex.1d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%rd1, {%f1}];
    st.global.f32 [%rd3], %f2;
    ret;
}
"""
floats = texture.ChannelFormatDescriptor(32, 0, 0, 0, texture.cudaChannelFormatKindFloat)
texels = texture.CUDAarray(floats, 4)
texels.copy_from(np.array([0, 10, 20, 40], np.float32))
image = texture.TextureObject(
    texture.ResourceDescriptor(texture.cudaResourceTypeArray, cuArr=texels),
    texture.TextureDescriptor(filterMode=texture.cudaFilterModeLinear),
)
out = cuda.to_device(np.zeros(3, np.float32))
cuda.RawKernel(code, "between")((1,), (3,), (image, out))
assert out.copy_to_host().tolist() == [5, 15, 30]
''',
}
"""A program for each group, after the imports of numpy and gridlane.cuda."""

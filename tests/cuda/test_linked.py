"""Functions of PTX and CUDA C++ in kernels on every device, against numpy."""

from __future__ import annotations

import ctypes
from typing import Any

import cffi
import numpy as np
import pytest
from tests.devices import DEVICES

from gridlane import cuda
from gridlane.core.errors import CompileError, PtxError, TargetError, TypingError, UnsupportedError
from gridlane.cuda import types
from gridlane.frontends.cuda_cpp.clang import find_clang
from gridlane.frontends.python.pointer_stubs import carray, farray
from gridlane.launch import current
from gridlane.launch.devices import get_device

needs_clang = pytest.mark.skipif(find_clang() is None, reason="needs clang, as of ziglang")
ffi: Any = cffi.FFI()
HEAD = ".version 7.0\n.target sm_70\n.address_size 64\n"

TWICE = cuda.PTXSource(
    HEAD
    + """
.visible .func (.param .b32 status) twice(.param .b64 out, .param .b32 a) {
    .reg .b32 %r<3>; .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [a];
    shl.b32 %r2, %r1, 1;
    st.u32 [%rd1], %r2;
    mov.u32 %r2, 0;
    st.param.b32 [status], %r2;
    ret;
}"""
)
FOUR = cuda.PTXSource(
    HEAD
    + """
.extern .func (.param .b32 status) twice(.param .b64 out, .param .b32 a);
.visible .func (.param .b32 status) four(.param .b64 out, .param .b32 a) {
    .reg .b32 %r<4>; .reg .b64 %rd<5>;
    .local .align 4 .b8 middle[4];
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [a];
    mov.u64 %rd2, middle;
    cvta.local.u64 %rd3, %rd2;
    { .param .b32 s; .param .b64 p; .param .b32 q;
      st.param.b64 [p], %rd3;
      st.param.b32 [q], %r1;
      call.uni (s), twice, (p, q);
      ld.param.b32 %r3, [s]; }
    ld.local.u32 %r2, [%rd2];
    { .param .b32 s; .param .b64 p; .param .b32 q;
      st.param.b64 [p], %rd1;
      st.param.b32 [q], %r2;
      call.uni (s), twice, (p, q);
      ld.param.b32 %r3, [s]; }
    st.param.b32 [status], %r3;
    ret;
}"""
)
SUM = """
.visible .func (.param .b32 result) total(.param .b64 x, .param .b32 n) {
    .reg .b32 %r<4>; .reg .f32 %f<3>; .reg .b64 %rd<2>; .reg .pred %p;
    ld.param.u64 %rd1, [x];
    ld.param.u32 %r1, [n];
    mov.f32 %f1, 0f00000000;
loop:
    setp.lt.s32 %p, %r1, 1;
    @%p bra done;
    ld.f32 %f2, [%rd1];
    add.f32 %f1, %f1, %f2;
    add.u64 %rd1, %rd1, 4;
    sub.u32 %r1, %r1, 1;
    bra loop;
done:
    st.param.f32 [result], %f1;
    ret;
}"""

twice = cuda.declare_device("twice", "int32(int32)", link=TWICE)
four = cuda.declare_device("four", "int32(int32)", link=[FOUR, TWICE])
total = cuda.declare_device(
    "total", "float32(CPointer(float32), int32)", link=cuda.PTXSource(HEAD + SUM), abi="c"
)


@pytest.fixture(params=["interp", *DEVICES])
def on(request):
    current.choose(get_device(request.param))
    return request.param


def numbers(kernel: Any, *arguments: Any, threads: int = 8, dtype: Any = np.int32) -> np.ndarray:
    made = np.zeros(threads, dtype)
    kernel[1, threads](made, *arguments)
    return made


def test_a_result_by_its_address(on):
    @cuda.jit(device=True)
    def both(x):
        return twice(x) + four(x)

    @cuda.jit
    def kernel(r, x):
        i = cuda.grid(1)
        r[i] = both(x[i]) + twice(x[i] + i)

    x = np.arange(8, dtype=np.int32) - 3
    assert np.array_equal(numbers(kernel, x), 6 * x + 2 * (x + np.arange(8)))


def test_pointers_to_each_memory(on):
    @cuda.jit
    def kernel(r, x):
        i = cuda.grid(1)
        shared, own = cuda.shared.array(8, np.float32), cuda.local.array(2, np.float32)
        shared[i] = x[i]
        own[0] = x[i]
        own[1] = i
        cuda.syncthreads()
        r[i] = total(ffi.from_buffer(x), i) + 100 * total(ffi.from_buffer(shared), 8)
        r[i] += 10000 * total(ffi.from_buffer(own), 2)

    x = np.arange(8, dtype=np.float32)
    wanted = x.cumsum() - x + 100 * x.sum() + 10000 * (x + np.arange(8))
    assert np.array_equal(numbers(kernel, x, dtype=np.float32), wanted)


@needs_clang
def test_cuda_cpp(on):
    code = cuda.CUSource("""
        extern "C" __device__ int swap(float2 *out, float a, float b) {
            *out = make_float2(b, a);
            return 0;
        }
        extern "C" __device__ signed char low(long long x, bool odd, unsigned char up) {
            return (x & 1) == odd ? x + up : -1;
        }
    """)
    swap = cuda.declare_device("swap", "complex64(complex64)", link=code)
    low = cuda.declare_device("low", "int8(int64, boolean, uint8)", link=code, abi="c")

    @cuda.jit
    def kernel(r, x):
        i = cuda.grid(1)
        z = swap(x[i] + 2j)
        r[i] = z.real * 10 + z.imag + 100 * low(i - 3, i % 2 == 0, 200)

    x = np.arange(8, dtype=np.float32)
    odd = np.where((np.arange(8) - 3) % 2 == (np.arange(8) % 2 == 0), 1, 0)
    wrapped = (np.arange(8) - 3 + 200).astype(np.uint8).view(np.int8).astype(int)
    wanted = 20 + x + 100 * np.where(odd, wrapped, -1)
    assert np.array_equal(numbers(kernel, x), wanted)


@needs_clang
def test_another_signature_of_cpp():
    code = cuda.CUSource(
        'extern "C" __device__ void put(int *there, short x, double y) { *there = x * (int)y; }'
    )
    put = cuda.declare_device("put", "void(CPointer(int32), int16, float32)", code, abi="c")

    @cuda.jit
    def kernel(r):
        put(ffi.from_buffer(r), 1, 2.0)

    with pytest.raises(TypingError, match=r"parameter 3 is f32, and .* is \.b64 of 8 bytes"):
        numbers(kernel)


@needs_clang
def test_addresses_that_functions_hand_on(on):
    code = cuda.CUSource("""
        __device__ __noinline__ void add(int *x, int by) { *x += by; }
        extern "C" __device__ int step(void *, int *x, int by) {
            add(x, by);
            add(x + 1, by);
            return 0;
        }
    """)
    step = cuda.declare_device("step", types.void(types.CPointer(types.int32), types.int32), code)

    @cuda.jit
    def kernel(r):
        i = cuda.grid(1)
        own = cuda.local.array(3, np.int32)
        for k in range(3):
            own[k] = i
        step(ffi.from_buffer(own[1:]), 10)
        r[i] = own[0] * 10000 + own[1] * 100 + own[2]

    n = np.arange(8)
    assert np.array_equal(numbers(kernel), n * 10000 + (n + 10) * 101)


def test_a_status_that_is_not_zero(on):
    text = HEAD + (
        ".visible .func (.param .b32 s) bad(.param .b64 out) "
        "{ .reg .b32 %r; mov.u32 %r, 1; st.param.b32 [s], %r; ret; }"
    )
    bad = cuda.declare_device("bad", "void()", link=cuda.PTXSource(text))

    @cuda.jit(debug=True, opt=False)
    def kernel(r):
        bad()

    with pytest.raises(RuntimeError, match=r"bad\(\) returned a status that is not 0"):
        numbers(kernel)
        cuda.synchronize()


POOL = cuda.PTXSource(
    HEAD
    + """
.extern .shared .align 16 .b8 pool[];
.func hidden(.param .b32 x) {
    .reg .b32 %r<2>;
    ld.param.u32 %r1, [x];
    st.shared.u32 [pool+4], %r1;
    ret;
}
.visible .func (.param .b32 result) exchange(.param .b32 x) {
    .reg .b32 %r<3>;
    ld.param.u32 %r1, [x];
    ld.shared.u32 %r2, [pool+4];
    { .param .b32 q; st.param.b32 [q], %r1; call.uni hidden, (q); }
    st.param.b32 [result], %r2;
    ret;
}"""
)
exchange = cuda.declare_device("exchange", "int32(int32)", link=POOL, abi="c")


def test_extern_shared_memory_is_the_launchs(on):
    """As in CUDA it is that of the array of no size, and apart from arrays of a known size."""

    @cuda.jit(runtime_shared=True)
    def kernel(r):
        own, launched = cuda.shared.array(2, np.int32), cuda.shared.array(0, np.int32)
        own[0] = own[1] = 7
        launched[1] = 5
        r[0], r[1] = exchange(99), launched[1]
        r[2] = own[0] + own[1]

    r = np.zeros(3, np.int32)
    kernel[1, 1, 0, 64](r)
    assert r.tolist() == [5, 99, 14]


@pytest.mark.parametrize("first", [True, False])
def test_extern_shared_memory_beside_parts_of_it(first):
    @cuda.jit(device=True)
    def called(x):
        return exchange(x)

    @cuda.jit(runtime_shared=True)
    def kernel(r, n):
        if first:
            r[0] = called(98)
        held = cuda.shared.array(n, np.int32)
        held[1] = 7
        called(99)
        r[0] = held[1]

    with pytest.raises(UnsupportedError, match=r"exchange\(\) has extern __shared__ memory"):
        kernel[1, 1, 0, 64](np.zeros(1, np.int32), 4)


def test_the_links_of_a_kernel(tmp_path):
    path = tmp_path / "functions.ptx"
    path.write_text(TWICE.text)
    declared = cuda.declare_device("twice", types.int32(types.int32))

    @cuda.jit(link=[str(path)])
    def kernel(r):
        r[cuda.grid(1)] = declared(cuda.grid(1))

    assert np.array_equal(numbers(kernel), 2 * np.arange(8))

    @cuda.jit
    def bare(r):
        r[0] = declared(1)

    with pytest.raises(TypingError, match="declared, and nothing defines it"):
        numbers(bare)


DECLARED = {
    "int32(int32, int32)": "it takes 2 scalars, and 1 are parameters",
    "int32(int64)": r"parameter 1 is i64, and a is \.b32 of 4 bytes",
}


@pytest.mark.parametrize("signature", DECLARED)
def test_another_signature(signature):
    other = cuda.declare_device("twice", signature, link=TWICE)
    given = (1,) * signature.count("int", 3)

    @cuda.jit
    def kernel(r):
        r[0] = other(*given)

    with pytest.raises(TypingError, match=DECLARED[signature]):
        numbers(kernel)


def test_another_convention():
    plain = cuda.declare_device("total", "float32(uint64, int32)", link=cuda.PTXSource(HEAD + SUM))
    missing = cuda.declare_device("sum", "float32(int32)", link=cuda.PTXSource(HEAD + SUM))

    @cuda.jit
    def kernel(r):
        r[0] = plain(1, 2)

    @cuda.jit
    def unknown(r):
        r[0] = missing(1)

    with pytest.raises(TypingError, match="it takes 2 scalars, and 1 are parameters"):
        numbers(kernel)
    with pytest.raises(PtxError, match="sum is not defined here; the functions are: total"):
        numbers(unknown)


def test_variables_of_the_module():
    text = ".visible .global .u32 count;\n.visible .func next() { .reg .b32 %r; .reg .b64 %d; "
    text += "mov.u64 %d, count; ld.global.u32 %r, [%d]; st.global.u32 [%d], %r; ret; }"
    function = cuda.declare_device("next", "void()", cuda.PTXSource(HEAD + text), abi="c")

    @cuda.jit
    def kernel(r):
        function()

    with pytest.raises(PtxError, match="a variable of its module is written"):
        numbers(kernel)


@needs_clang
def test_constants_of_the_module(on):
    code = cuda.CUSource("""
        __constant__ float table[4] = {0.5f, 1.5f, 2.5f, 3.5f};
        __device__ const short bent[2][3] = {{1, 2, 3}, {-4, 5, -6}};
        static __device__ __noinline__ int pick(const short *row, int i) { return row[i % 3]; }
        extern "C" __device__ float look(int i) {
            return table[i % 4] * 10 + pick(bent[i / 4], i) * 100;
        }
    """)
    look = cuda.declare_device("look", "float32(int32)", code, abi="c")

    @cuda.jit
    def kernel(r):
        r[cuda.grid(1)] = look(cuda.grid(1))

    n = np.arange(8)
    bent = np.array([[1, 2, 3], [-4, 5, -6]])
    wanted = 10 * (n % 4 + 0.5) + 100 * bent[n // 4, n % 3]
    assert np.array_equal(numbers(kernel, dtype=np.float32), wanted)


def test_what_is_no_link(tmp_path):
    for given, told in {
        "header.cuh": "Don't know how to link file with extension .cuh",
        "data": "Don't know how to link file with no extension",
        "absent.ptx": "absent.ptx not found",
    }.items():
        with pytest.raises(RuntimeError, match=told):
            cuda.jit("void()", link=[given])(lambda: None)
    with pytest.raises(UnsupportedError, match="run on NVIDIA GPUs alone"):
        cuda.declare_device("f", "void()", link=cuda.Cubin(b""))
    with pytest.raises(TypeError, match="Return type must be provided"):
        cuda.declare_device("f", (types.int32,))
    with pytest.raises(NotImplementedError, match="Unsupported ABI: fast"):
        cuda.declare_device("f", "void()", abi="fast")


@needs_clang
@pytest.mark.parametrize("directive", ["#include", "#import", "#inc\\\nlude"])
def test_headers_are_part_of_the_key(tmp_path, directive):
    found = []
    for n in (3, 5):
        (tmp_path / "n.h").write_text(f"#define N {n}\n")
        (tmp_path / "f.cu").write_text(
            f'{directive} "n.h"\nextern "C" __device__ int n() {{ return N; }}\n'
        )
        function = cuda.declare_device("n", "int32()", str(tmp_path / "f.cu"), abi="c")
        found.append(_fresh(function))
    assert found == [3, 5]


def _fresh(function) -> int:
    @cuda.jit
    def kernel(r):
        r[cuda.grid(1)] = function()

    return int(numbers(kernel)[0])


# ---- addresses as arguments


def test_addresses_of_a_launch(on):
    pointer = types.CPointer(types.int32)

    @cuda.jit(types.void(pointer, types.int32, pointer, types.uint32))
    def kernel(r, a, x, n):
        i = cuda.grid(1)
        if i < n:
            r[i] = a * x[i]
            r[i] += _last(x, n)

    x, r = cuda.to_device(np.arange(8, dtype=np.int32)), cuda.to_device(np.zeros(8, np.int32))
    kernel[1, 32](_address(r), 5, _address(x), 8)
    assert np.array_equal(r.copy_to_host(), 5 * np.arange(8) + 7)


@cuda.jit(device=True)
def _last(x, n):
    return x[n - 1]


def _address(array) -> int:
    return array.device_ctypes_pointer.value


def test_arrays_at_addresses(on):
    @cuda.jit("void(CPointer(float32), voidptr, int64, int64)")
    def kernel(x, y, n, m):
        c = carray(x, (n, m))
        f = farray(y, (n, m), np.float32)
        i, j = cuda.grid(2)
        if i < c.shape[0] and j < c.shape[1]:
            f[i, j] = c[i, j] + 100

    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    there, result = cuda.to_device(x), cuda.to_device(np.zeros(6, np.float32))
    kernel[1, (4, 4)](_address(there), _address(result), 2, 3)
    assert np.array_equal(result.copy_to_host().reshape(2, 3, order="F"), x + 100)


def test_what_is_no_address():
    @cuda.jit("void(CPointer(float32))")
    def kernel(x):
        x[0] = 1

    with pytest.raises(TypeError, match=r"is array.*and the kernel's signature takes float32\*"):
        kernel[1, 1](np.zeros(4, np.float32))
    with pytest.raises(CompileError, match=r"void\* has no elements"):
        cuda.jit("void(voidptr)")(lambda x: x[0])


def test_arrays_of_the_host():
    data = (ctypes.c_float * 6)(*range(6))
    there = ctypes.cast(data, ctypes.POINTER(ctypes.c_float))
    assert np.array_equal(carray(there, (2, 3)), np.arange(6).reshape(2, 3))
    assert np.array_equal(farray(there, (2, 3), np.float32), np.arange(6).reshape(3, 2).T)
    carray(there, 6)[0] = 7
    assert data[0] == 7
    with pytest.raises(TypeError, match="mismatching dtype 'int32'"):
        carray(there, 6, types.int32)
    with pytest.raises(TypeError, match=r"explicit dtype required for void\* argument"):
        carray(ctypes.cast(data, ctypes.c_void_p), 6)
    with pytest.raises(TypeError, match="expected a ctypes pointer"):
        carray(5, 6)


# ---- what CUDA C++ has beside arithmetic

RICH = cuda.CUSource("""
    #include <cuda_fp16.h>
    #include <cstdio>
    extern "C" __device__ float2 turned(float x, float y) { return make_float2(-y, x); }
    extern "C" __device__ int sum(__half *out, __half *a, __half *b) { *out = *a + *b; return 0; }
    extern "C" __device__ __half twice(__half a) { return a + a; }
    extern "C" __device__ bool odd(int x) { return x & 1; }
    extern "C" __device__ float of_block(float x) {
        __shared__ float part[8];
        part[threadIdx.x] = x;
        __syncthreads();
        for (int s = blockDim.x / 2; s; s /= 2) {
            if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
            __syncthreads();
        }
        float all = part[0];
        __syncthreads();
        return all;
    }
    extern "C" __device__ void count(int *n, int by) { atomicAdd(n, by); }
    extern "C" __device__ int factorial(int *out, int n) {
        *out = 1;
        if (n < 2) return 0;
        int before;
        factorial(&before, n - 1);
        *out = n * before;
        return 0;
    }
    extern "C" __device__ void say(int x) { printf("said %d\\n", x); }
""")


def _of_rich(name: str, signature: str, abi: str = "c") -> Any:
    return cuda.declare_device(name, signature, link=RICH, abi=abi)


@needs_clang
def test_structs_halves_bools_barriers_and_atomics(on):
    turned = _of_rich("turned", "complex64(complex64)")
    add = _of_rich("sum", "float16(CPointer(float16), CPointer(float16))", "numba")
    double, odd = _of_rich("twice", "float16(float16)"), _of_rich("odd", "boolean(int32)")
    of_block = _of_rich("of_block", "float32(float32)")
    count = _of_rich("count", "void(CPointer(int32), int32)")

    @cuda.jit
    def kernel(r, n, h):
        i = cuda.grid(1)
        z = turned(i + 3j)
        a, b = cuda.local.array(1, np.float16), cuda.local.array(1, np.float16)
        a[0] = i
        b[0] = 2
        r[i, 0] = z.real
        r[i, 1] = z.imag
        r[i, 2] = add(ffi.from_buffer(a), ffi.from_buffer(b))
        r[i, 3] = double(h[i])
        r[i, 4] = odd(i)
        r[i, 5] = of_block(i) + of_block(1)
        count(ffi.from_buffer(n), i)

    made, counted = np.zeros((8, 6), np.float32), np.zeros(1, np.int32)
    kernel[1, 8](made, counted, np.arange(8).astype(np.float16))
    n = np.arange(8)
    wanted = np.stack([n * 0 - 3, n, n + 2, 2 * n, n % 2, n * 0 + 36], axis=1)
    assert np.array_equal(made, wanted) and counted[0] == 28


@needs_clang
def test_recursion(on):
    factorial = _of_rich("factorial", "int32(int32)", "numba")

    @cuda.jit
    def kernel(r):
        r[cuda.grid(1)] = factorial(cuda.grid(1))

    if on in ("interp", "cpu", "cuda"):
        assert numbers(kernel).tolist() == [1, 1, 2, 6, 24, 120, 720, 5040]
        return
    with pytest.raises(TargetError, match="factorial calls itself"):
        numbers(kernel)


@needs_clang
def test_printing(on, capfd):
    say = _of_rich("say", "void(int32)")

    @cuda.jit
    def kernel(r):
        say(cuda.grid(1) + 5)

    numbers(kernel, threads=2)
    cuda.synchronize()
    assert "said 5\nsaid 6\n" in capfd.readouterr().out


STRUCTS = (
    HEAD
    + """
.visible .func (.param .align 4 .b8 result[8]) pair(.param .align 4 .b8 p[8]) {
    .reg .b32 %r<3>;
    ld.param.b32 %r1, [p];
    ld.param.b32 %r2, [p+4];
    st.param.b32 [result], %r2;
    st.param.b32 [result+4], %r1;
    ret;
}
.visible .func (.param .align 4 .b8 result[8]) made(.param .b32 a) {
    .reg .b32 %r<2>;
    ld.param.b32 %r1, [a];
    st.param.b32 [result], %r1;
    st.param.b32 [result+4], %r1;
    ret;
}"""
)


@pytest.mark.parametrize(
    ("name", "signature", "told"),
    [
        ("pair", "int64(int64)", "its result has an alignment of 8"),
        ("pair", types.UniTuple(types.int32, 2)(types.int64), "struct of smaller members"),
        ("made", "int64(int32)", "a struct with one of 4 is returned"),
    ],
)
def test_numbers_for_structs_of_smaller_members_are_refused(name, signature, told):
    function = cuda.declare_device(name, signature, link=cuda.PTXSource(STRUCTS), abi="c")

    @cuda.jit
    def kernel(r):
        function(r[0])

    with pytest.raises(TypingError, match=told):
        kernel[1, 1](np.zeros(1, np.int32))

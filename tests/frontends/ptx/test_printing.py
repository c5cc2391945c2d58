"""printf and assert of CUDA C++, on each device."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.frontends.ptx.bodies import results

from gridlane import cuda
from gridlane.core.errors import PtxError
from gridlane.launch import current
from gridlane.launch.devices import get_device

ALL = ["interp", *DEVICES]
CODE = r"""
#include <cassert>
__device__ __noinline__ void shown(float x, unsigned char c) {
    printf("<%c %e %*d>", c, x, 4, (int)c);
}
extern "C" __global__ void k(const int *x, int limit) {
    int i = threadIdx.x;
    if (i < 2) {
        long long wide = 0x123456789abLL * (i + 1);
        double half = x[i] * 0.5;
        printf("t %d: %5.2f|%-6s|%c|%llx|%%|%g %s\n", i, half, "ab", 'A' + i, wide, 0.1, "end");
        printf("%u %hd %05d %+d %#x %lu\n", -1u - i, (short)-7, -42, i, 255, (unsigned long)-1);
    }
    if (i == 2) {
        printf("no arguments ");
        shown(x[2], 'z');
        int n = printf("\n%d%d", 1, 2);
        printf(" %d\n", n);
    }
    assert(x[i] < limit);
}
"""
PRINTED = [
    "t 0:  0.50|ab    |A|123456789ab|%|0.1 end",
    "4294967295 -7 -0042 +0 0xff 18446744073709551615",
    "t 1:  1.00|ab    |B|2468acf1356|%|0.1 end",
    "4294967294 -7 -0042 +1 0xff 18446744073709551615",
    "no arguments <z 3.000000e+00  122>",
    "12 2",
]


@pytest.mark.parametrize("device", ALL)
def test_formats(device, capfd):
    current.choose(get_device(device))
    kernel = cuda.RawModule(code=CODE).get_function("k")
    kernel((1,), (4,), (np.array([1, 2, 3, 4], np.int32), 9))
    cuda.synchronize()
    # Threads print in no order.
    assert sorted(capfd.readouterr().out.splitlines()) == sorted(PRINTED)


@pytest.mark.parametrize("device", ALL)
def test_an_assertion(device):
    current.choose(get_device(device))
    kernel = cuda.RawModule(code=CODE, via="ir").get_function("k")
    with pytest.raises(AssertionError, match=r"kernel.cu:20: .*Assertion `x\[i\] < limit` failed"):
        kernel((1,), (4,), (np.array([1, 2, 3, 40], np.int32), 9))
        cuda.synchronize()


MODULE = r"""
.extern .func (.param .b32 done) vprintf (.param .b64 format, .param .b64 arguments);
.global .align 1 .b8 $text[9] = {120, 61, 37, 100, 32, 37, 115, 10, 0};
.global .align 1 .b8 word[4] = {119, 119, 119, 0};
.global .align 1 .b8 wrong[3] = {37, 121, 0};
"""
CALL = """
{{ .param .b64 format; .param .b64 given; .param .b32 done;
st.param.b64 [format], {format}; st.param.b64 [given], {given};
call.uni (done), vprintf, (format, given); ld.param.b32 %result, [done]; }}
"""
DEPOT = """
.local .align 8 .b8 depot[16]; .reg .b64 %SP, %SPL;
mov.u64 %SPL, depot; cvta.local.u64 %SP, %SPL;
st.local.u32 [%SPL], %t;
mov.u64 %rd1, word; cvta.global.u64 %rd2, %rd1; st.local.u64 [%SPL+8], %rd2;
mov.u64 %rd3, $text; cvta.global.u64 %rd4, %rd3;
"""


@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_texts_of_the_module(device, capfd):
    body = DEPOT + CALL.format(format="%rd4", given="%SP")
    assert (results(device, body, 2, module=MODULE) == 2).all()
    assert capfd.readouterr().out == "x=0 www\nx=1 www\n"


@pytest.mark.parametrize(
    "body, told",
    [
        (CALL.format(format="%source", given="0"), "the format of vprintf is not a constant"),
        ("mov.u64 %rd4, wrong;" + CALL.format(format="%rd4", given="0"), "'%y' is no conversion"),
    ],
)
def test_a_text_that_is_not_known(body, told):
    with pytest.raises(PtxError, match=told):
        results("interp", body, module=MODULE)


TEXTS = r"""
#include <cstdio>
__device__ char changed[8] = "abc";
__device__ const char *names[] = {"zero", "one"};
extern "C" __global__ void k(const char *given, int digits) {
    int i = threadIdx.x;
    if (i == 0) changed[0] = 'X';
    __shared__ char shared[8];
    char local[8] = "local";
    local[4] += i;
    for (int n = 0; n < 4; n++) shared[n] = n < 3 ? 's' : 0;
    printf("%s %s %s ", changed, names[i % 2], i ? "odd" : "even");
    printf("%s %-4s|%8s|%.2s|%.*s %s\n", local, shared, given, given, digits, given,
           i ? nullptr : given);
}
extern "C" __global__ void two(const char *text) { printf("%s %s\n", text, text); }
"""


@pytest.mark.parametrize("device", [d for d in ALL if d not in ("webgpu", "opengl")])
def test_texts_in_memory(device, capfd):
    """They are what the memory has when the line is printed. WebGPU and OpenGL refuse kernels with
    addresses in memory."""
    current.choose(get_device(device))
    # NVIDIA's own printf prints a precision that is an argument as it stands, and takes that for
    # the text.
    code = (
        TEXTS
        if device != "cuda"
        else TEXTS.replace("%.*s", "%.3s").replace(" digits, given,", " given,")
    )
    module = cuda.RawModule(code=code)
    text = np.frombuffer(b"sixteen letters!\0", np.uint8)
    module.get_function("k")((1,), (1,), (text, 3))
    module.get_function("two")((1,), (1,), (text,))
    cuda.synchronize()
    expected = "Xbc zero even local sss |sixteen letters!|si|six sixteen letters!\n"
    assert capfd.readouterr().out == expected + "sixteen letters! sixteen letters!\n"


@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_a_text_that_is_too_long(device):
    current.choose(get_device(device))
    kernel = cuda.RawModule(code=TEXTS, via="ir").get_function("two")
    long = np.full(200, 97, np.uint8)
    with pytest.raises(RuntimeError, match=r"a text for %s is longer than 128 bytes.*in parts"):
        kernel((1,), (1,), (long,))
        cuda.synchronize()


def test_no_text(capfd):
    current.choose(get_device("cpu"))
    kernel = cuda.RawModule(code=TEXTS).get_function("k")
    kernel((1,), (2,), (np.frombuffer(b"yes\0", np.uint8), 3))
    cuda.synchronize()
    assert "|ye|yes (null)\n" in capfd.readouterr().out


@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_registers_that_are_used_anew(device, capfd):
    results(
        device,
        """.local .align 8 .b8 buffer[8];
        mov.u64 %rd1, buffer; st.local.u32 [%rd1], %t; cvta.local.u64 %rd1, %rd1;
        mov.u64 %rd2, %rd1; mov.u64 %rd1, text; cvta.global.u64 %rd1, %rd1; add.u64 %rd1, %rd1, 1;
        { .param .b64 a; .param .b64 b; .param .b32 c;
        st.param.b64 [a], %rd1; st.param.b64 [b], %rd2;
        call (c), vprintf, (a, b); ld.param.b32 %result, [c]; }""",
        threads=1,
        module=".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
        ".global .b8 text[6] = {35, 116, 37, 100, 10, 0};",
    )
    cuda.synchronize()
    assert capfd.readouterr().out == "t0\n"


HALF_WRITTEN = r"""
.extern .func (.param .b32 done) vprintf (.param .b64 format, .param .b64 arguments);
.global .align 1 .b8 text[11] = {37, 108, 108, 100, 32, 37, 108, 108, 100, 10, 0};
.visible .entry k()
{
    .local .align 8 .b8 depot[16];
    .reg .b64 %rd<4>;
    .reg .b32 %r<2>;
    mov.u64 %rd1, depot;
    mov.u32 %r1, %tid.x;
    st.local.u32 [%rd1], %r1;
    mov.u64 %rd2, 999;
    st.local.u64 [%rd1+8], %rd2;
    cvta.local.u64 %rd1, %rd1;
    mov.u64 %rd3, text;
    cvta.global.u64 %rd3, %rd3;
    {
    .param .b64 p0;
    .param .b64 p1;
    .param .b32 q;
    st.param.b64 [p0], %rd3;
    st.param.b64 [p1], %rd1;
    call.uni (q), vprintf, (p0, p1);
    }
    ret;
}
"""


@pytest.mark.parametrize("device", ALL)
def test_arguments_of_which_half_is_written(device, capfd):
    """A compiler stores 32 bits for ``%lld``: the others are zero, as on GPUs."""
    current.choose(get_device(device))
    text = ".version 8.0\n.target sm_80\n.address_size 64\n" + HALF_WRITTEN
    kernel = cuda.RawModule(code=text, via="ir").get_function("k")
    for _ in range(2):  # the memory of the first launch is that of the second
        kernel((1,), (4,), ())
        cuda.synchronize()
    lines = capfd.readouterr().out.splitlines()
    assert sorted(lines) == sorted([f"{n} 999" for n in range(4)] * 2)


CHOSEN = HALF_WRITTEN.replace(
    ".visible", ".global .align 1 .b8 other[6] = {37, 100, 33, 33, 10, 0};\n.visible"
).replace(
    "cvta.global.u64 %rd3, %rd3;",
    """
    cvta.global.u64 %rd3, %rd3;
    .reg .b64 %rd9;
    .reg .pred %p1;
    mov.u64 %rd9, other;
    cvta.global.u64 %rd9, %rd9;
    setp.lt.u32 %p1, %r1, 2;
    selp.b64 %rd3, %rd9, %rd3, %p1;""",
)


@pytest.mark.parametrize("device", ALL)
def test_a_condition_chooses_the_format(device, capfd):
    current.choose(get_device(device))
    text = ".version 8.0\n.target sm_80\n.address_size 64\n" + CHOSEN
    cuda.RawModule(code=text, via="ir").get_function("k")((1,), (4,), ())
    cuda.synchronize()
    assert sorted(capfd.readouterr().out.splitlines()) == ["0!!", "1!!", "2 999", "3 999"]

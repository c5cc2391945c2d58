"""Kernels in PTX for tests of CUDA's interface."""

from __future__ import annotations

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"


def scale(parameters: str, load: str) -> str:
    """A kernel: x[i] = x[i] * factor + %r7, which ``load`` reads."""
    return f"""
.visible .entry scale(.param .u64 x, {parameters}, .param .u32 n) {{
    .reg .b32 %r<9>; .reg .b64 %rd<4>; .reg .pred %p;
    ld.param.u64 %rd1, [x]; {load}
    ld.param.u32 %r4, [factor]; ld.param.u32 %r5, [n];
    mov.u32 %r1, %tid.x;
    mov.u32 %r6, %ctaid.x;
    mov.u32 %r8, %ntid.x;
    mad.lo.u32 %r1, %r6, %r8, %r1;
    setp.ge.u32 %p, %r1, %r5;
    @%p bra DONE;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.u32 %r2, [%rd3];
    mul.lo.u32 %r3, %r2, %r4;
    add.u32 %r3, %r3, %r7;
    st.global.u32 [%rd3], %r3;
DONE:
    ret;
}}
"""


COUNTED = """
.visible .global .align 4 .u32 count = 7;
.visible .entry counted(.param .u64 x) {
    .reg .b32 %r<3>; .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [x];
    ld.global.u32 %r1, [count];
    add.u32 %r2, %r1, 1;
    st.global.u32 [count], %r2;
    st.global.u32 [%rd1], %r2;
    ret;
}
"""
"""A kernel that tells the number of its launches, from a variable that begins with 7."""

SHARED = """
.const .align 8 .b8 facts[24];
.extern .shared .align 4 .b8 dynamic[];
.visible .entry shared(.param .u64 x)
.maxntid 96
{
    .shared .align 4 .b8 fixed[256];
    .local .align 8 .b8 own[40];
    .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .pred %p;
    ld.param.u64 %rd1, [x];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, dynamic;
    shl.b32 %r3, %r1, 2;
    add.u32 %r4, %r2, %r3;
    st.shared.u32 [%r4], %r1;
    st.shared.u32 [fixed], %r1;
    bar.sync 0;
    setp.ne.u32 %p, %r1, 0;
    @%p bra DONE;
    mov.u32 %r5, 0;
    mov.u32 %r6, %ntid.x;
LOOP:
    ld.shared.u32 %r7, [%r2];
    add.u32 %r5, %r5, %r7;
    add.u32 %r2, %r2, 4;
    sub.u32 %r6, %r6, 1;
    setp.ne.u32 %p, %r6, 0;
    @%p bra LOOP;
    st.global.u32 [%rd1], %r5;
DONE:
    ret;
}
"""
"""The sum of a block's indices by dynamic shared memory, 4 bytes for each thread, behind 256 static
ones."""

SCALE = scale(".param .u8 little, .param .u32 factor", "ld.param.u8 %r7, [little];")
TEXT = (HEAD + SCALE + COUNTED + SHARED).encode()

"""Spellings that ptxas takes beside those of the ISA's text: each does what the usual one does."""

from __future__ import annotations

import numpy as np
import pytest

from gridlane import cuda
from gridlane.core.errors import PtxError
from gridlane.frontends.ptx import parse_ptx
from gridlane.frontends.ptx.expressions import evaluate
from gridlane.frontends.ptx.forms.table import FORMS, find
from gridlane.launch import current
from gridlane.launch.devices import get_device

HEAD = """.version 8.8
.target sm_80
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y, .param .u32 n) {
.reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .pred %p<4>;
.shared .align 16 .b8 s[512];
ld.param.u64 %rd1, [x];
ld.param.u64 %rd2, [y];
ld.param.u32 %r1, [n];
mov.u32 %r2, %tid.x;
mul.wide.u32 %rd3, %r2, 4;
add.s64 %rd1, %rd1, %rd3;
"""


@pytest.fixture(params=["interp", "cpu"])
def run(request):
    current.choose(get_device(request.param))

    def launch(code: str, n: int = 0) -> tuple[np.ndarray, np.ndarray]:
        x, y = np.arange(1, 33, dtype=np.uint32), np.zeros(32, np.uint32)
        cuda.RawModule(code=HEAD + code + "ret; }").get_function("k")(1, 32, (x, y, n))
        return x, y

    return launch


@pytest.mark.parametrize(
    "usual, other",
    [
        ("atom.acq_rel.gpu.global.add.f32", "atom.global.gpu.acq_rel.add.f32"),
        ("atom.relaxed.cta.shared.cas.b32", "atom.shared.cas.cta.relaxed.b32"),
        ("ld.relaxed.gpu.global.v2.u32", "ld.global.gpu.relaxed.u32.v2"),
        ("st.release.sys.global.b32", "st.global.release.sys.b32"),
        ("add.rn.ftz.sat.f32", "add.f32.sat.ftz.rn"),
        ("cvt.rn.f32.s32", "cvt.f32.rn.s32"),
        ("setp.lt.f32", "setp.f32.lt"),
    ],
)
def test_modifiers_in_any_order(usual, other):
    root, *modifiers = usual.split(".")
    count = next(row.least for row in FORMS[root] if row.match(tuple(modifiers)))
    wanted = find(root, tuple(modifiers), count)
    assert wanted is not None and find(root, tuple(other.split(".")[1:]), count) == wanted


@pytest.mark.parametrize(
    "other", ["cvt.f32.rn.f32.s32", "cvt.pred.rn.s32", "mul.lo.hi.s32", "add.rn.rn.f32"]
)
def test_modifiers_that_are_none_of_a_form(other):
    root, *modifiers = other.split(".")
    assert find(root, tuple(modifiers), 2) is find(root, tuple(modifiers), 3) is None


def test_types_keep_their_order():
    assert find("cvt", ("s32", "rni", "f32"), 2) == find("cvt", ("rni", "s32", "f32"), 2)
    assert find("cvt", ("f32", "rni", "s32"), 2) is None


def test_a_vector_of_one(run):
    x, y = run("""
        ld.global.b32 { %r3 }, [ %rd1 + 0 ];
        add.u32 %r3, %r3, 7;
        add.s64 %rd2, %rd2, %rd3;
        st.global.b32 [ %rd2 + 0 ], { %r3 };""")
    assert (y == x + 7).all()


@pytest.mark.parametrize("present", [16, 0, 4, 7, "%r1", "%p1"])
def test_a_copy_of_the_first_bytes_of_a_source(run, present):
    count = present if isinstance(present, int) else {"%r1": 10, "%p1": 0}[present]
    x, y = run(
        f"""
        setp.lt.u32 %p1, %r2, 8;
        @!%p1 bra DONE;
        mul.wide.u32 %rd4, %r2, 12;
        add.s64 %rd4, %rd4, %rd1;
        shl.b32 %r3, %r2, 4;
        mov.u32 %r5, s;
        add.u32 %r4, %r3, %r5;
        mov.u32 %r6, -1;
        st.shared.v4.b32 [%r4], {{%r6, %r6, %r6, %r6}};
        cp.async.cg.shared.global [%r4], [%rd4], 16, {present};
        cp.async.wait_all;
        ld.shared.v4.b32 {{%r0, %r7, %r8, %r6}}, [%r4];
        mul.wide.u32 %rd4, %r2, 16;
        add.s64 %rd4, %rd4, %rd2;
        st.global.v4.b32 [%rd4], {{%r0, %r7, %r8, %r6}};
        DONE:""",
        n=10,
    )
    want = x.view(np.uint8).reshape(8, 16).copy()
    want[:, count:] = 0
    assert (y.view(np.uint8).reshape(8, 16) == want).all()


def test_a_policy_that_nothing_names(run):
    with pytest.raises(PtxError, match="a policy where"):
        run("""
            mov.u32 %r4, s;
            cp.async.cg.shared.global [%r4], [%rd1], 16, 16, %rd2;""")


@pytest.mark.parametrize(
    "text, value",
    [
        ("(3 + 4 * 5) << 2", 92),
        ("1+2*3", 7),
        ("-7 / 2", -3),
        ("-7 % 2", -1),
        ("(.u64) -7 >> 60", 15),
        ("-7 >> 1", -4),
        ("0xFFFFFFFFFFFFFFFF / 2", 2**63 - 1),
        ("~5 & 0xFF", 0xFA),
        ("!3 || 2 < 1U", 0),
        ("-1 < 1U", 0),
        ("-1 < 1 ? 6 : 7", 6),
        ("((((4))))", 4),
        ("1 << 63 >> 63", -1),
        ("(1 << 4) | ((3 > 2) ? 0x100 : 7) + (WARP_SZ * 2)", 0x150),
        ("WARP_SZ - 1", 31),
        ("(1.5 + .5) * -4e1 / 0f40000000", -40.0),
        ("2.5 > 1.5 ? .5 : 3.0", 0.5),
    ],
)
def test_constant_expressions(text, value):
    made = evaluate(text)
    assert made is not None and made.value == value


@pytest.mark.parametrize(
    "text",
    ["", "(", "1 +", "1 2", "4 / 0", "1.5 + 2", "x + 1", "~1.5", "09", "(" * 400 + ")" * 400],
)
def test_no_constant_expressions(text):
    assert evaluate(text) is None


def test_elements_of_arrays(run):
    _, y = run("""
        .shared .b32 e[8];
        .shared .b16 h[8];
        mov.u32 %r3, 70;
        st.shared.b32 e[3], %r3;
        st.shared.b16 h[5], %r3;
        ld.shared.b32 %r4, [e + 4 * 3];
        mov.u32 %r5, h[2];
        ld.shared.u16 %r6, [%r5 + 6];
        add.u32 %r4, %r4, %r6;
        add.s64 %rd2, %rd2, %rd3;
        st.global.u32 [%rd2], %r4;""")
    assert (y == 140).all()


@pytest.mark.parametrize("element", ["s[x]", "s[-1]", "none[3]", "%r1[2]", "s[]"])
def test_no_elements_of_arrays(run, element):
    with pytest.raises(PtxError, match=r"no (element|operand)"):
        run(f"mov.u32 %r3, {element};")


def test_operands_that_are_expressions(run):
    _, y = run("""
        mov.u32 %r3, (3 + 4 * 5) << 2;
        add.u32 %r3, %r3, (1);
        add.u32 %r3, %r3, 2 * 3;
        .reg .b32 %more<0x10>; .shared .align 0x8 .b8 wide[8];
        sub.u32 %more15, %r3, WARP_SZ | 1;
        add.u32 %r3, %more15, (32) | 1;
        cvt.rn.f32.u32 %f1, %r3;
        add.f32 %f1, %f1, (1.5 - 2.5);
        cvt.rzi.u32.f32 %r3, %f1;
        add.u32 %r3, %r3, 1;
        add.s64 %rd2, %rd2, %rd3;
        st.global.u32 [%rd2], %r3;""")
    assert (y == 99).all()


def test_the_end_of_a_c_string():
    made = parse_ptx(".version 8.8\n.target sm_80\n.address_size 64\n.entry k() { ret; }\n\0")
    assert made.entries == ("k",)


def test_the_shared_memory_of_libraries(run):
    _, y = run("""
        mov.u32 %r3, %reserved_smem_offset_1;
        cvt.u64.u32 %rd4, %r3;
        cvta.shared.u64 %rd4, %rd4;
        add.s64 %rd4, %rd4, %rd3;
        add.u32 %r4, %r2, 5;
        st.u32 [%rd4], %r4;
        shl.b32 %r5, %r2, 2;
        add.u32 %r5, %r5, %r3;
        ld.shared.u32 %r6, [%r5];
        add.s64 %rd2, %rd2, %rd3;
        st.global.u32 [%rd2], %r6;""")
    assert (y == np.arange(32) + 5).all()


def test_registers_of_vectors(run):
    x, y = run("""
        .reg .v2 .u32 pair, %pairs<3>;
        .reg .v4.f32 four;
        and.b32 %r3, %r2, 30;
        mul.wide.u32 %rd4, %r3, 4;
        sub.s64 %rd5, %rd1, %rd3;
        add.s64 %rd5, %rd5, %rd4;
        ld.global.v2.u32 pair, [%rd5];
        mov.v2.u32 %pairs1, {pair.y, pair.x};
        mov.v2.b32 %pairs2, %pairs1;
        cvt.rn.f32.u32 four.x, %pairs2.x;
        mov.f32 four.w, four.r;
        cvt.rzi.u32.f32 %r4, four.w;
        mad.lo.u32 %r4, %r4, 100, %pairs2.g;
        mov.b64 %rd6, pair;
        shr.u64 %rd6, %rd6, 32;
        cvt.u32.u64 %r5, %rd6;
        setp.eq.u32 %p1, %r5, pair.y;
        @!%p1 trap;
        add.s64 %rd2, %rd2, %rd3;
        st.global.u32 [%rd2], %r4;""")
    pairs = x.reshape(-1, 2)
    assert (y == np.repeat(pairs[:, 1] * 100 + pairs[:, 0], 2)).all()


@pytest.mark.parametrize(
    "code, told",
    [
        ("mov.f32 %f1, 1;", "a float is written 1.0 or 0f3F800000, not 1"),
        ("add.f32 %f1, %f1, 0x3f800000;", "a float is written 1.0"),
        ("add.u32 %rd1, %rd1, 4;", "64 bits, not the 32"),
        (".reg .f64 %d; ld.global.f32 %d, [%rd1];", "%d is .f64, and the result is .f32"),
        (".reg .f64 %d; mov.f64 %d, 1.0; st.global.f32 [%rd1], %d;", "is .f64, not .f32"),
        ("mov.u32 %r3, 09;", "no operand: 09"),
    ],
)
def test_operands_of_another_type(run, code, told):
    with pytest.raises(PtxError, match=told):
        run(code)


def test_a_pragma_before_the_body(run):
    head = HEAD.replace(".param .u32 n) {", '.param .u32 n)\n.maxntid 32 .pragma "a; {";\n{')
    x, y = np.zeros(32, np.uint32), np.zeros(32, np.uint32)
    kernel = cuda.RawModule(code=head + "st.global.u32 [%rd2], 7; ret; }").get_function("k")
    kernel(1, 32, (x, y, 0))
    assert y[0] == 7


@pytest.mark.parametrize(
    "code, told",
    [
        (".reg .v3 .u32 v;", "no registers of type"),
        (".reg .v2 .pred v;", "no registers of type"),
        (".reg .v2 .u32 v; mov.u32 %r3, v.z;", "no operand: v.z"),
        (".reg .v2 .u32 v; add.u32 %r3, v, 1;", "an operand is a register or a constant here"),
        (".reg .v2 .u32 v; mov.v4.u32 v, {%r1, %r1, %r1, %r1};", "4 operands in braces"),
    ],
)
def test_what_is_no_register_of_a_vector(run, code, told):
    with pytest.raises(PtxError, match=told):
        run(code)


def test_special_registers_as_vectors_and_halves(run):
    _, y = run("""
        .reg .v4 .u32 t; .reg .b16 %h<3>; .reg .b32 %more<4>;
        mov.v4.u32 t, %ntid;
        mov.v4.u32 {%more0, %more1, _, %r6}, %tid;
        mov.u16 %h1, %tid.x;
        cvt.u32.u16 %r3, %h1;
        mad.lo.u32 %r3, t.x, 1000, %r3;
        mad.lo.u32 %r3, %more0, 100000, %r3;
        add.u32 %r3, %r3, %r6;
        add.u32 %r3, %r3, %ctaid.w;
        add.s64 %rd2, %rd2, %rd3;
        st.global.u32 [%rd2], %r3;""")
    assert (y == 32000 + np.arange(32) * 100001).all()


@pytest.mark.parametrize(
    "code, told",
    [
        ("vadd.s32.s32.s32 %r3, -%r1, %r2;", "only vmad takes negated operands"),
        ("vadd.s32.s32.s32 %r3.b0, %r1, %r2;", "a third source goes with a part of the result"),
        ("vadd.s32.s32.s32 %r3, %r1, %r2, %r4;", "a third source goes with a part of the result"),
        ("vadd.s32.s32.s32 %r3, %r1.h2, %r2;", r"\.h2 is no byte or half of a word"),
        ("vadd.s32.s32.s32 %r3, %rd1.h1, %r2;", "take registers of 32 bits"),
        ("vadd2.s32.s32.s32 %r3, %r1.b10, %r2, %r4;", r"lanes are named by \.h"),
        ("vadd2.s32.s32.s32 %r3, %r1.h1, %r2, %r4;", "a selector names 2 of the lanes 0 to 3"),
        ("vadd4.s32.s32.s32 %r3.b13, %r1, %r2, %r4;", "from the highest to the lowest"),
        ("vmad.u32.u32.u32 %r3, -%r1, %r2, %r4;", "is not negated"),
        ("vmad.s32.s32.s32.po %r3, %r1, %r2, -%r4;", "is not negated"),
        ("vmad.s32.s32.s32 %r3, -%r1, %r2, -%r4;", "the product or the third source is negated"),
        ("vmad.s32.s32.s32 %r3, %r1, %r2, %r4.h0;", "the third source is a whole register"),
        ("vshl.s32.s32.u32.clamp.min %r3, %r1, %r2, %r4;", "is not translated"),
        ("add.s32 %r3, %r1, -%r2;", "an operand is a register or a constant here"),
        ("add.s32 %r3.h0, %r1, %r2;", "a result is a register"),
    ],
)
def test_parts_of_registers_where_none_stand(run, code, told):
    with pytest.raises(PtxError, match=told):
        run(code)


def test_hints_of_loads_that_have_no_use_for_them(run):
    x, y = run(
        """
        ld.weak.param.u32 %r3, [n];
        ld.param.ca.u32 %r4, [n];
        ld.param.cs.u64 %rd4, [y];
        add.s64 %rd4, %rd4, %rd3;
        ld.weak.global.u32 %r5, [%rd1];
        add.u32 %r3, %r3, %r4;
        add.u32 %r3, %r3, %r5;
        st.global.u32 [%rd4], %r3;""",
        n=9,
    )
    assert (y == x + 18).all()


def test_parameters_of_128_bits(run):
    head = HEAD.replace(".param .u32 n)", ".param .align 16 .b8 n[48])").replace(
        "ld.param.u32 %r1, [n];", ""
    )
    code = """
        .reg .b128 %q<2>;
        ld.param.b128 %q0, [n + 16];
        mov.b64 %rd4, n; cvta.param::entry.u64 %rd4, %rd4;
        ld.b128 %q1, [%rd4 + 32];
        mov.b128 {%rd5, %rd6}, %q0; mov.b128 {%rd7, %rd8}, %q1;
        sub.u64 %rd6, %rd6, %rd7;
        st.global.u64 [%rd2], %rd6; ret; }"""
    y = np.zeros(32, np.uint32)
    words = np.array([1, 2, 3, 400, 50, 6], np.uint64)  # a struct by value
    cuda.RawModule(code=head + code).get_function("k")(1, 32, (y, y, words))
    assert y[0] == 350


def test_an_old_sum_of_a_product(run):
    """Texts of PTX 3.1 and older do not say how it is rounded: as an fma, to nearest even."""
    _, y = run("""
        mov.f32 %f1, 0f3F800001;
        mad.f32 %f2, %f1, %f1, 0fBF800002;
        add.s64 %rd2, %rd2, %rd3;
        st.global.f32 [%rd2], %f2;""")
    assert (y.view(np.float32) == np.float32(2.0**-46)).all()


def test_a_loc_ends_without_a_newline(run):
    """ptxas reads tokens: what stands in the line of a ``.loc`` counts."""
    code = (
        "st.global.u32 [%rd1], 7; .loc 1 5 3 st.global.u32 [%rd1], 8; .loc 1 6\n 2, function_name "
        "$L_info + 4, inlined_at 1 2 3 add.s64 %rd2, %rd2, %rd3; st.global.u32 [%rd2], %r2;"
    )
    x, y = run(code)
    assert x.tolist() == [8] * 32 and y.tolist() == list(range(32))


def test_a_file_ends_without_a_newline():
    text = HEAD.replace(
        ".visible", '.file 1 "a.cu" .file 2 "b.cu", 12, 34 .global .u32 g; .visible'
    )
    assert set(parse_ptx(text + "ret; }").variables) >= {"g"}

"""Malformed and hostile PTX: PtxError with the place, in time that grows with the text alone."""

from __future__ import annotations

import gc
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests import on_shaders

from gridlane import cuda
from gridlane.core.errors import ArgumentError, LaunchError, PtxError
from gridlane.core.options import KernelOptions
from gridlane.frontends.ptx import PtxSource, parse_ptx
from gridlane.frontends.ptx.translate import translate
from gridlane.ir.stages import CFG
from gridlane.ir.verifier import verify
from gridlane.launch import current
from gridlane.launch.devices import get_device

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
KERNEL = Path(__file__).parent / "triple.ptx"


def read(body: str, params: str = ".param .u64 x", head: str = HEAD):
    """The IR of a kernel with this body."""
    made = translate(parse_ptx(f"{head}.visible .entry k({params})\n{{\n{body}\n}}"), "k")
    verify(made, CFG)
    return made


@pytest.mark.parametrize(
    "text, told",
    [
        ("", "begins with .version"),
        (".version 99.0\n.target sm_80", "no PTX ISA 99.0"),
        (".version 8.0\n", "second directive is .target"),
        (".version 8.0\n.target sm_80, sm_90\n", "2 targets"),
        (".version 8.0\n.target gpu\n", "the target 'gpu'"),
        (".version 8.0\n.target sm_80\n.address_size 32\n", "addresses of 32 bits"),
        (HEAD + ".version 8.0\n.target sm_80", "a second module"),
        (HEAD + ".visible .entry k() { ret;", "brace is not closed"),
        (HEAD + "hello", "no directive of a module: hello"),
        (HEAD + ".entry k() {ret;} .entry k() {ret;}", "k is defined a second time"),
        (HEAD + ".global .b32 a; .global .b32 a;", "a is defined a second time"),
        (HEAD + ".global .b8 a[9223372036854775808];", "more than 2^40 bytes"),
        (HEAD + ".global .quux a;", "no variable of type .quux"),
        (HEAD + ".global .align 3 .b8 a[4];", "a power of two, not 3"),
        (HEAD + ".entry k(.param .u32 a, .param .u32 a) {ret;}", "a is declared twice"),
        (HEAD + ".entry k() .fast 1 {ret;}", "no directive of a function: .fast"),
        ("\0.version 8.0", "zero byte"),
    ],
)
def test_a_malformed_module(text, told):
    with pytest.raises(PtxError) as caught:
        parse_ptx(text)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    "body, told",
    [
        ("frob.s32 %r1, %r2; ret;", "frob is not translated"),
        (".reg .b32 %r<3>; add.s32 %r1, %r2; ret;", "form add.s32 with 2 operands"),
        (".reg .b32 %r<3>; add.ftz.s32 %r1, %r2, %r2; ret;", "form add.ftz.s32 with 3"),
        (".reg .b32 %r<3>; add.s32 %r1, %r2, %r3; ret;", "%r3 is neither declared nor"),
        (".reg .b64 %r<3>; add.s32 %r1, %r2, %r2; ret;", "64 bits, not the 32"),
        (".reg .pred %p<3>; add.s32 %p1, 1, 2; ret;", "%p1 is .pred"),
        ("bra nowhere;", "no label nowhere in k"),
        ("a: a: ret;", "label a stands twice"),
        (".reg .b32 %r<4294967295>; ret;", "more than 2^24 registers"),
        (".reg .b32 %r<2>; .reg .b32 %r<2>; ret;", "%r<2> is declared twice"),
        (".reg .b32 r, r; ret;", "r is declared twice"),
        ("@%p1 ret;", "no predicate is called %p1"),
        ("}", "no directive of a module: }"),
        ("ret; 5", "no statement of PTX"),
        (".reg .b32 %r<3>; ld.global.u32 %r1, [nothing]; ret;", "nothing is not declared"),
        (".reg .pred %p; { .param .b32 a; @%p st.param.b32 [a], 1; } ret;", "under a guard"),
        (".reg .pred %p; @%p call (), k, (); ret;", "k is a kernel"),
        (".reg .b32 %r<3>; ld.global.u32 %r1, %r2; ret;", "an address stands in brackets"),
        (".reg .b32 %r<3>; ld.param.u32 %r1, [x+8]; ret;", "8 to 12 are read"),
        ("bar.sync 16; ret;", "barriers 0 to 15"),
        ("call f; ret;", "no function f is declared"),
        ("tcgen05.fence::before_thread_sync; ret;", "tcgen05 is not translated"),
        ("call (a), k, (b); ret;", "k is a kernel"),
        (".shared .b8 s[4] = {1}; ret;", "has no initial value"),
        (".reg .v3 .f32 %v; ret;", "no registers of type"),
        (".reg .b32 %r<2>; setp.eq.s32 %r1, 1, 2; ret;", "%r1 is .u32, and the result is .pred"),
    ],
)
def test_a_malformed_kernel(body, told):
    with pytest.raises(PtxError) as caught:
        read(body)
    assert told in str(caught.value)
    shown = str(caught.value).splitlines()
    assert shown[1].lstrip().startswith("File ") and "^" in shown[-1]


def test_the_line_and_the_caret():
    with pytest.raises(PtxError) as caught:
        read(".reg .b32 %r<3>;\n  add.sat.u32 %r1, %r2, 1;\nret;")
    assert str(caught.value).splitlines()[2:] == [
        "    7 |   add.sat.u32 %r1, %r2, 1;",
        "      |   ^^^^^^^^^^^",
    ]


def test_what_no_kernel_reaches_is_not_read():
    text = f"{HEAD}.entry k() {{ ret; tcgen05.fence; }}\n.entry other() {{ tcgen05.fence; ret; }}"
    module = parse_ptx(text)
    verify(translate(module, "k"), CFG)
    with pytest.raises(PtxError, match="tcgen05 is not translated"):
        translate(module, "other")
    with pytest.raises(PtxError, match="no kernel third here; the kernels are: k, other"):
        PtxSource(module, "third")


def test_variables_of_one_name():
    """In nested scopes, and where names differ in what no IR name has."""
    made = read(
        ".shared .b32 a; .shared .b32 s$; .shared .b32 s_; "
        "{ .shared .b32 a; st.shared.b32 [a], 2; } st.shared.b32 [a], 1; "
        "st.shared.b32 [s$], 3; st.shared.b32 [s_], 4; ret;"
    )
    assert len(made.globals) == 4


def test_recursion_without_an_end():
    f = ".func f() { call.uni g; ret; }\n.func g() { call.uni f; ret; }\n"
    current.choose(get_device("cpu"))
    kernel = cuda.RawModule(code=HEAD + f + ".entry k() { call.uni f; ret; }").get_function("k")
    with pytest.raises(RecursionError, match=r"(?s)the stack of a thread is full.*line \d"):
        kernel(1, 1, ())


@pytest.mark.parametrize("count", [2_000_000])
@pytest.mark.parametrize("piece", ["{", "(", "[", "}", '"', "/*", "a:", ".reg", "@", ";"])
def test_long_repetitions(piece, count):
    """Linear work: these end."""
    text = piece * (count // len(piece))
    for whole in (HEAD + text, f"{HEAD}.entry k() {{ {text} ret; }}"):
        with pytest.raises(PtxError):
            translate(parse_ptx(whole), "k")


DIGITS = "9" * 10_000
"""More than Python makes an integer of."""


@pytest.mark.parametrize(
    "body",
    [
        f".reg .b32 %r; mov.u32 %r, {DIGITS};",
        f".reg .b32 %r; mov.u32 %r, ({DIGITS}+1);",
        f".reg .b64 %a; .reg .b32 %r; mov.u64 %a, 0; ld.global.u32 %r, [%a+{DIGITS}];",
        f"bar.sync {DIGITS};",
    ],
)
def test_numbers_of_thousands_of_digits(body):
    with pytest.raises(PtxError):
        read(body + " ret;")


def test_places_of_thousands_of_digits():
    """They are no part of what a kernel does."""
    file, loc = f'.file {DIGITS} "a.cu"\n', f".loc {DIGITS} {DIGITS} {DIGITS}"
    read(f"{loc}\n ret;", head=HEAD + file)


def test_a_file_that_is_cut_anywhere():
    text = KERNEL.read_text()
    ends = 0
    for at in range(len(text)):
        try:
            module = parse_ptx(text[:at])
            if "triple" in module.functions:
                verify(translate(module, "triple"), CFG)
                ends += 1
        except PtxError:
            pass
    assert ends == text.count("}") + len(text) - text.rindex("}") - 2


def test_random_changes():
    """Each gives PtxError, or IR that the verifier takes."""
    text, made = KERNEL.read_text(), random.Random(3)
    alphabet = [*" \n%.;,{}[]()@!:0123456789abcrdsuf", "%r1", ".u32", "ld", "bra", ".reg"]
    read_anyway = 0
    for _ in range(400):
        changed = text
        for _ in range(made.randint(1, 4)):
            at = made.randrange(len(changed))
            changed = changed[:at] + made.choice(alphabet) + changed[at + made.randint(0, 3) :]
        try:
            module = parse_ptx(changed)
            for name in module.entries:
                verify(translate(module, name), CFG)
                read_anyway += 1
        except PtxError:
            pass
    assert read_anyway > 10


@pytest.mark.parametrize("space", ["shared", "local", "const"])
def test_parameters_that_point_to_memory_of_no_launch(space):
    with pytest.raises(PtxError, match=f"points to .{space} is refused"):
        read("ret;", params=f".param .u64 .ptr .{space} .align 4 x")


def test_what_is_no_ptx():
    with pytest.raises(ArgumentError, match="a cubin or fatbin is not read"):
        cuda.RawModule(code=b"\x7fELF\x02\xff\xfe")
    with pytest.raises(ArgumentError, match="code=, or a file as path="):
        cuda.RawModule()
    with pytest.raises(PtxError, match=r"begins with \.version"):
        cuda.RawModule(code="hello")
    with pytest.raises(ArgumentError, match="not an object of type int"):
        cuda.RawModule(code=5)  # type: ignore[arg-type]


@pytest.fixture
def triple():
    current.choose(get_device("cpu"))
    return cuda.RawModule(path=KERNEL).get_function("triple")


@pytest.mark.parametrize(
    "args, told",
    [
        ((), "takes 2 arguments"),
        ((np.zeros(4, np.int32), 1.5), "a float, and the parameter is a pointer or an integer"),
        ((np.zeros(4, np.int32), np.int64(4)), "8 bytes, and the parameter has 4"),
        ((np.zeros(4, np.int32), 1 << 40), "more than 4 bytes"),
        ((np.zeros(4, np.int32), np.zeros(2)), "an array, and the parameter has 4 bytes"),
        ((np.zeros(4, np.int32), object()), "an object of type object"),
        ((np.zeros(4, np.int32)[::-1], 4), "strides (-4,)"),
        ((np.broadcast_to(np.int32(0), 4), 4), "strides (0,)"),
    ],
)
def test_arguments_of_another_kind(triple, args, told):
    with pytest.raises(ArgumentError) as caught:
        triple(1, 4, args)
    assert told in str(caught.value)


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.parametrize("dtype", [object, ">i4", ">U2", [("f", "i4"), ("o", object)]])
def test_elements_that_kernels_cannot_hold(triple, device, dtype):
    current.choose(get_device(device))
    x = np.zeros(4, dtype)
    before = x.tobytes()
    with pytest.raises(TypeError, match="kernels cannot hold elements of numpy dtype"):
        triple(1, 4, (x, 4))
    assert x.tobytes() == before


@pytest.mark.parametrize("kind", on_shaders.found())
def test_arrays_of_several_buffers(kind, monkeypatch):
    """Behind the first buffer, which has no room for both."""
    opened = get_device(kind)
    monkeypatch.setattr(opened.engine, "facts", replace(opened.engine.facts, largest=1 << 20))
    current.choose(opened)
    arrays = [cuda.to_device(np.full(150_000, n, np.int32)) for n in range(1, 5)]
    kernel = cuda.RawModule(path=KERNEL).get_function("triple")
    for array in arrays:
        kernel(1, 4, (array, 4))
    for n, array in enumerate(arrays, 1):
        assert array.copy_to_host()[:6].tolist() == [3 * n] * 4 + [n] * 2
    del arrays, array
    gc.collect()
    opened.memory.trim()


def test_blocks_that_the_ptx_excludes(triple):
    with pytest.raises(LaunchError, match="at most 128 threads"):
        triple(1, 256, (np.zeros(4, np.int32), 4))


def test_notes_of_a_newer_version():
    module = parse_ptx(".version 12.3\n.target sm_80\n.entry k() { ret; }")
    assert module.notes == ("PTX ISA 12.3 is read as 9.5",)


def test_translated_once():
    source = PtxSource(parse_ptx(KERNEL.read_text()), "triple")
    made = source.translate((), KernelOptions())
    assert made is source.translate((), KernelOptions())
    assert source.parameters == ("x", "n")
    other = PtxSource(parse_ptx(KERNEL.read_text() + "\n"), "triple")
    assert source.key() != other.key()

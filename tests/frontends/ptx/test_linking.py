"""Several units of PTX as one module, beside NVIDIA's linker."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.frontends.ptx.linking import (
    ACCEPTED,
    CALLS_F,
    EXTERN_F,
    HEAD,
    NVLINK,
    READS_X,
    REFUSED,
    STRICTER,
    F,
    linked,
    parsed,
    refused_by_nvlink,
    refused_by_ptxas,
)

from gridlane.core.errors import PtxError
from gridlane.cuda.raw.code import RawCode
from gridlane.cuda.raw.module import RawKernel
from gridlane.frontends.ptx import PtxModule, PtxSource, parse_ptx
from gridlane.frontends.ptx.linking import link
from gridlane.frontends.ptx.translate import translate
from gridlane.launch import current
from gridlane.launch.devices import get_device

with_nvlink = pytest.mark.skipif(not NVLINK, reason="ptxas or nvlink of CUDA is not installed")


def ran(module: PtxModule, name: str = "k", count: int = 1) -> list[int]:
    """What a kernel writes, on the interpreter."""
    current.choose(get_device("interp"))
    x = np.full(count, -1, np.int32)
    RawKernel(RawCode(module, ""), name)(1, 1, (x,))
    return list(x)


@with_nvlink
@pytest.mark.parametrize("name", [*ACCEPTED, *STRICTER])
def test_nvlink_accepts(name, tmp_path):
    assert refused_by_nvlink({**ACCEPTED, **STRICTER}[name], tmp_path) == ""


@with_nvlink
@pytest.mark.parametrize("name", REFUSED)
def test_nvlink_refuses(name, tmp_path):
    assert refused_by_nvlink(REFUSED[name], tmp_path) != ""


@pytest.mark.parametrize("turned", [False, True], ids=["", "turned"])
@pytest.mark.parametrize("name", ACCEPTED)
def test_units_in_any_order(name, turned, tmp_path):
    units = ACCEPTED[name]
    made = linked(*(units[::-1] if turned else units))
    assert made.entries
    for each in made.entries:
        if not made.entries[0].startswith("k$"):
            translate(made, each)
    if NVLINK:
        assert refused_by_ptxas(made.text.text, tmp_path) == ""


@pytest.mark.parametrize("turned", [False, True], ids=["", "turned"])
@pytest.mark.parametrize("name", [*REFUSED, *STRICTER])
def test_refused_units(name, turned):
    units = {**REFUSED, **STRICTER}[name]
    with pytest.raises(PtxError) as caught:
        linked(*(units[::-1] if turned else units))
    told = str(caught.value)
    assert "1.ptx:4:" in told or 'File "1.ptx", line 4' in told
    assert "2.ptx:4:" in told or 'File "2.ptx", line 4' in told


def test_what_is_linked_runs():
    assert ran(linked(*ACCEPTED["function"])) == [7]
    assert ran(linked(*ACCEPTED["alias"])) == [7]
    assert ran(linked(*ACCEPTED["variable"])) == [5]
    assert ran(linked(*ACCEPTED["weak variable"])) == [2]
    assert ran(linked(*ACCEPTED["weak variables"])) == [1]
    assert ran(linked(*ACCEPTED["common and defined"])) == [5]


def test_common_variables_get_the_largest_size_and_alignment():
    made = linked(*ACCEPTED["common variables"]).variables["x"]
    assert (made.size, made.align, made.linking) == (36, 16, "common")


def test_common_variables_have_the_one_value(tmp_path):
    for units in (ACCEPTED["common with a value"], ACCEPTED["common with a value"][::-1]):
        made = linked(*units)
        x = made.variables["x"]
        assert (x.size, x.align, x.value) == (8, 16, "{5, 6}")
        assert ran(made) == [5]
    own = ".global .u32 own; .common .global .align 8 .u64 x = generic(own);"
    made = linked(own, ".global .u32 own; .common .global .align 32 .b8 x[8];")
    x = made.variables["x"]
    assert (x.size, x.align, x.value) == (8, 32, "generic(own$unit1$)")
    if NVLINK:
        assert refused_by_ptxas(made.text.text, tmp_path) == ""


@pytest.mark.parametrize(
    "name, align",
    [
        ("less alignment", 16),
        ("less alignment without a word", 64),
        ("managed", 32),
        ("weak and less alignment", 32),
        ("constants with less alignment", 16),
    ],
)
@pytest.mark.parametrize("turned", [False, True], ids=["", "turned"])
def test_variables_get_the_largest_alignment(name, align, turned):
    units = ACCEPTED[name]
    assert linked(*(units[::-1] if turned else units)).variables["x"].align == align


def test_dynamic_shared_memory_gets_the_largest_alignment():
    assert linked(*ACCEPTED["dynamic shared memory"]).variables["s"].align == 16


def test_undefined_names_are_refused_where_a_kernel_reaches_them(tmp_path):
    made = linked(f"{EXTERN_F} {CALLS_F} .visible .entry other() {{ ret; }}", ".global .u32 y;")
    translate(made, "other")
    with pytest.raises(PtxError, match="f is extern, and nothing defines it") as caught:
        translate(made, "k")
    assert 'File "1.ptx", line 7' in str(caught.value)
    made = linked(f".extern .global .u32 x; {READS_X}", ".global .u32 x;")
    with pytest.raises(PtxError, match=r"x is extern, and nothing defines it; 2.ptx:4.* \.visible"):
        translate(made, "k")
    own = f".func (.param .b32 r) {F}"
    with pytest.raises(PtxError, match=r"f is extern.*2.ptx:4.*make it \.visible"):
        translate(linked(f"{EXTERN_F} {CALLS_F}", own), "k")
    if NVLINK:
        assert "Undefined reference to 'f'" in refused_by_nvlink(
            (f"{EXTERN_F} {CALLS_F}", own), tmp_path
        )


def test_shared_memory_that_another_unit_lacks(tmp_path):
    uses = """.extern .shared .align 4 .b8 s[16];
    .visible .entry k(.param .u64 p) {
      .reg .b32 %r<2>; .reg .b64 %d<2>; ld.param.u64 %d1, [p];
      st.shared.u32 [s], 7; ld.shared.u32 %r1, [s]; st.global.u32 [%d1], %r1; ret; }"""
    for other in (".shared .align 4 .b8 s[16];", ".extern .shared .align 4 .b8 s[];"):
        with pytest.raises(PtxError, match="s is extern, and nothing defines it"):
            translate(linked(uses, other), "k")
        if NVLINK:
            assert "Undefined reference to 's'" in refused_by_nvlink((uses, other), tmp_path)
    # Alone, NVIDIA's assembler ignores the qualifier.
    assert ran(linked(uses)) == [7]
    if NVLINK:
        assert refused_by_ptxas(HEAD + uses, tmp_path) == ""


def test_an_initial_value_that_names_nothing_defined():
    units = ".extern .global .u32 y;\n.visible .global .u64 x = generic(y);\n" + READS_X, ""
    with pytest.raises(PtxError, match="names y, which is not defined") as caught:
        ran(linked(*units))
    assert 'File "1.ptx", line 5' in str(caught.value)


def test_functions_of_the_language_stay_undefined(tmp_path):
    vprintf = ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);"
    made = linked(
        f"{vprintf} {EXTERN_F} {CALLS_F}", f"{vprintf} .visible .func (.param .b32 r) {F}"
    )
    assert made.text.text.count("vprintf") == 1
    assert ran(made) == [7]


# --- names of a unit's own

_OWN = """
.global .u32 own = {value};
.func (.param .b32 r) helper() {{
  .reg .b32 %r<2>;
  ld.global.u32 %r1, [own]; // own "own
  st.param.b32 [r], %r1;
  ret;
}}
.visible .entry {kernel}(.param .u64 p) {{
  .reg .b32 %r<2>; .reg .b64 %d<2>;
  ld.param.u64 %d1, [p];
  {{ .param .b32 r; call (r), helper; ld.param.b32 %r1, [r]; }}
  st.global.u32 [%d1], %r1;
  ret;
}}"""


def test_what_is_a_units_own_stays_apart(tmp_path):
    units = [_OWN.format(value=each, kernel=f"k{each}") for each in range(1, 4)]
    made = link(parsed(units))
    assert [ran(made.module, f"k{each}") for each in range(1, 4)] == [[1], [2], [3]]
    assert made.names[1] == {"own": "own$unit2$", "helper": "helper$unit2$"}
    assert '// own "own\n' in made.module.text.text
    if NVLINK:
        assert refused_by_ptxas(made.module.text.text, tmp_path) == ""


def test_aliases_of_a_units_own(tmp_path):
    unit = """.func (.param .b32 r) g() {{ st.param.b32 [r], {n}; ret; }}
    .func (.param .b32 r) f(); .alias f, g;
    .visible .entry k{n}(.param .u64 p) {{
      .reg .b32 %r<2>; .reg .b64 %d<2>; ld.param.u64 %d1, [p];
      {{ .param .b32 r; call (r), f; ld.param.b32 %r1, [r]; }}
      st.global.u32 [%d1], %r1; ret;
    }}"""
    made = linked(unit.format(n=1), unit.format(n=2))
    assert [ran(made, each) for each in ("k1", "k2")] == [[1], [2]]
    if NVLINK:
        assert refused_by_ptxas(made.text.text, tmp_path) == ""


def test_lists_of_names_and_lines_of_windows():
    unit = """.global .u32 own = {n};
    .func (.param .b32 r) one() {{ st.param.b32 [r], {n}; ret; }}
    .global .u64 table[1] = {{one}};
    .visible .entry k{n}(.param .u64 p) {{ // own
      .reg .b32 %r<3>; .reg .b64 %d<3>; ld.param.u64 %d1, [p];
      ld.global.u64 %d2, [table];
      {{ .param .b32 r; list: .calltargets one; call (r), %d2, (), list; ld.param.b32 %r1, [r]; }}
      ld.global.u32 %r2, [own+0]; add.u32 %r1, %r1, %r2;
      st.global.u32 [%d1], %r1; ret;
    }}"""
    unit = unit.replace("\n", "\r\n")
    made = linked(unit.format(n=1), unit.format(n=2))
    assert [ran(made, each) for each in ("k1", "k2")] == [[2], [4]]


def test_new_names_are_no_units(tmp_path):
    more = _OWN.format(value=4, kernel="k4")
    made = link([linked(*[_OWN.format(value=n, kernel=f"k{n}") for n in (1, 2)]), *parsed([more])])
    more = more.replace("own", "own$unit2$").replace("k4", "k5")
    made = link([made.module, *parsed([more])])
    assert made.names[1] == {"own$unit2$": "own$unit2$$unit2$$", "helper": "helper$unit2$$"}
    assert [ran(made.module, f"k{each}") for each in (1, 2, 4, 5)] == [[1], [2], [4], [4]]
    if NVLINK:
        assert refused_by_ptxas(made.module.text.text, tmp_path) == ""
    with pytest.raises(PtxError, match="a name ends like those"):
        linked(".global .u32 x; // x$unit3$", f".global .u32 x; .global .u32 y$unit1{'$' * 16};")


def test_get_function_lists_the_new_names():
    made = linked(".entry k() { ret; }", ".entry k() { ret; }")
    with pytest.raises(
        PtxError, match=r"no kernel k here; the kernels are: k\$unit1\$, k\$unit2\$"
    ):
        PtxSource(made, "k")


HIDES = {
    "a register": ".reg .b32 x; mov.b32 x, 9; st.global.u32 [%d1], x;",
    "registers together": ".reg .b32 x<2>; mov.b32 x1, 9; st.global.u32 [%d1], x1;",
    "registers of a scope": """
        { .reg .b32 x<2>; mov.b32 x1, 9; { mov.b32 x0, x1; st.global.u32 [%d1], x0; } }""",
    "registers of other scopes": """
        { .reg .b32 x<2>; mov.b32 x1, 8; }
        { .reg .b32 x<1>; ld.global.u32 x0, [x1]; st.global.u32 [%d1], x0; }""",
    "an opcode": """
        { .reg .b32 add; mov.b32 add, 4; add.u32 add, add, 5; st.global.u32 [%d1], add; }""",
    "a type": "{ .reg .b32 u32; mov.u32 u32, 9; st.global.u32 [%d1], u32; }",
    "a label": "bra.uni skip; st.global.u32 [%d1], 8; skip: st.global.u32 [%d1], 9;",
    "a guard": """.reg .pred q; setp.eq.u32 q, 1, 1; st.global.u32 [%d1], 8;
        @q st.global.u32 [%d1], 9; @!q st.global.u32 [%d1], 7;""",
    "a prototype": """
        { .param .b32 r; .reg .b64 %f; mov.u64 %f, nine; mark: .callprototype (.param .b32 _) _ ();
          .reg .b32 %v; call (r), %f, (), mark; ld.param.b32 %v, [r]; st.global.u32 [%d1], %v; }""",
    "numbers": """
        .reg .f32 %v; .reg .b32 %w; mov.f32 %v, 0f41100000; cvt.rni.s32.f32 %w, %v;
        st.global.u32 [%d1], %w;""",
}
_HIDDEN = "x x0 add u32 skip q mark f41100000 st generic tid d1 p r".split()


@pytest.mark.parametrize("hides", HIDES)
def test_names_that_functions_hide(hides, tmp_path):
    """A unit has variables of its own that are called as what its kernel calls otherwise."""
    own = "".join(f".global .u32 {each} = 1;\n" for each in _HIDDEN)
    own += ".global .u32 x1 = 9;\n.global .u64 at = generic(generic);\n"
    own += ".func (.param .b32 r) nine() { st.param.b32 [r], 9; ret; }\n"
    kernel = (
        ".visible .entry k(.param .u64 p) {{ .reg .b64 %d<2>; ld.param.u64 %d1, [p];\n"
        "{body}\nret; }}"
    )
    made = linked(own + kernel.format(body=HIDES[hides]), own)
    assert ran(made) == [9]
    if NVLINK and hides != "a label":  # which ptxas wants to be no variable
        assert refused_by_ptxas(made.text.text, tmp_path) == ""


@pytest.mark.parametrize("name", ["_", "WARP_SZ"])
def test_names_that_are_no_names(name):
    with pytest.raises(PtxError, match=f"{name} is in several units"):
        linked(f".global .u32 {name};", f".global .u32 {name};")


@pytest.mark.parametrize("body", ["{} ??", "ret; ??", 'ret; " x'])
def test_a_body_whose_names_are_not_known(body):
    bad = f".global .u32 x;\n.func f() {{ {body} }}"
    with pytest.raises(PtxError, match="no statement of PTX") as caught:
        linked(".global .u32 x;", bad)
    assert 'File "2.ptx", line 5' in str(caught.value)


# --- places


def test_errors_name_the_line_of_the_unit():
    first = _OWN.format(value=1, kernel="a")
    second = _OWN.format(value=2, kernel="k").replace(
        "  st.global", "  own.quux [own], %r1; st.global"
    )
    made = linked(first, second)
    with pytest.raises(PtxError, match=r"own\.quux|own is not translated") as caught:
        translate(made, "k")
    told = str(caught.value)
    assert 'File "2.ptx", line 16' in told


def test_errors_of_texts_without_names_show_the_line():
    units = [
        HEAD + EXTERN_F + CALLS_F,
        HEAD + ".visible .func (.param .b32 r) f(.param .b32 a)\n{ quux; }",
    ]
    made = link([parse_ptx(text) for text in units]).module
    with pytest.raises(PtxError, match="quux is not translated") as caught:
        translate(made, "k")
    assert "    5 | { quux; }\n      |   ^^^^" in str(caught.value)


def test_a_key_covers_the_places():
    texts = [
        [".global .u32 a;\n.visible .entry k() { trap; }", ""],
        [".global .u32 a;", ".visible .entry k() { trap; }"],
    ]
    made = [linked(*each) for each in texts]
    assert made[0].text.text == made[1].text.text
    keys = {PtxSource(each, "k").key() for each in made}
    assert len(keys) == 2


_LINES = """
.visible .entry {name}(.param .u64 p) {{
  .reg .b32 %r<2>; .reg .b64 %d<2>;
  .loc {number} 10 3
  ld.param.u64 %d1, [p];
  .loc {number} 20 5, function_name $L__info_string0, inlined_at {number} 10 3
  st.global.u32 [%d1], {number}; // .loc 7 7 7
  .loc 0{number} 30 7
  trap;
}}
.file {number} "{name}.cu"
.section .debug_str {{
$L__info_string0:
  .b8 102, 0
}}"""


def test_lines_of_source_files(tmp_path):
    units = [_LINES.format(name=name, number=2) for name in "abc"]
    made = linked(*units)
    assert made.files == {1: "a.cu", 2: "b.cu", 3: "c.cu"}
    assert any(".section" in note for note in made.notes)
    for name in "abc":
        (site,) = translate(made, name).errors
        assert (site.loc.file, site.loc.line) == (f"{name}.cu", 30)
    if NVLINK:
        assert refused_by_ptxas(made.text.text, tmp_path, "-lineinfo") == ""


UNKNOWN = {
    "variable": "{ .reg .b32 %a; ld.global.u32 %a, [x]; }",
    "address": "{ .reg .b64 %a; mov.u64 %a, x; }",
    "function": "call f;",
    "address of a function": "{ .reg .b64 %a; mov.u64 %a, f; }",
}


@pytest.mark.parametrize("linking", [".visible", ".weak", ""])
@pytest.mark.parametrize("use", UNKNOWN)
def test_names_that_a_unit_does_not_declare(use, linking, tmp_path):
    other = f"{linking} .global .u32 x; {linking} .func f() {{ ret; }}"
    unit = f".visible .entry k() {{\n{UNKNOWN[use]}\nret; }}"
    with pytest.raises(PtxError) as caught:
        translate(linked(other, unit), "k")
    assert 'File "2.ptx", line 5' in str(caught.value)
    if NVLINK:
        assert refused_by_nvlink((other, unit), tmp_path)
    declared = ".extern .global .u32 x; .extern .func f();"
    if linking:
        translate(linked(other, declared + unit), "k")


# --- versions and targets


@pytest.mark.parametrize(
    "targets, told",
    [
        (("8.0 sm_70", "7.8 sm_86"), "8.0 sm_86"),
        (("8.6 sm_100", "9.0 sm_100a"), "9.0 sm_100a"),
        (("8.6 sm_100f", "8.6 sm_100a", "8.6 sm_80"), "8.6 sm_100a"),
        (("8.0 sm_80, debug", "8.0 sm_80"), "8.0 sm_80"),
        (("8.0 sm_80, texmode_unified", "8.0 sm_80,texmode_unified"), "8.0 sm_80, texmode_unified"),
    ],
)
def test_the_newest_version_and_the_highest_target(targets, told, tmp_path):
    units = [_unit(each, f"k{number}") for number, each in enumerate(targets)]
    made = link([parse_ptx(each) for each in units]).module
    version, _, target = told.partition(" ")
    assert made.text.text.startswith(f".version {version}\n.target {target}\n.address_size 64\n")
    if NVLINK:
        processor = f"-arch={made.target}"
        assert refused_by_ptxas(made.text.text, tmp_path, processor) == ""


def _unit(target: str, name: str) -> str:
    version, _, target = target.partition(" ")
    return f".version {version}\n.target {target}\n.visible .entry {name}() {{ ret; }}"


@pytest.mark.parametrize(
    "targets, told",
    [
        (("8.0 sm_90a", "8.6 sm_100"), "sm_90a is of one generation alone"),
        (("8.6 sm_100f", "8.6 sm_120a"), "sm_100f is of one generation alone"),
        (("8.0 sm_80, texmode_unified", "8.0 sm_80"), "are none here and texmode_unified in"),
        (
            ("8.0 sm_80, texmode_unified", "8.0 sm_80, texmode_independent"),
            "are texmode_independent here and texmode_unified in",
        ),
    ],
)
def test_targets_that_do_not_go_together(targets, told):
    with pytest.raises(PtxError, match=told):
        link([parse_ptx(_unit(each, f"k{number}")) for number, each in enumerate(targets)])


# --- bad input


def test_a_single_unit_stays_as_it_is():
    (unit,) = parsed([READS_X])
    assert link([unit]).module is unit


def test_the_same_unit_twice():
    with pytest.raises(PtxError, match="k is defined a second time"):
        linked(*ACCEPTED["function"], ACCEPTED["function"][0])
    unit = f"{EXTERN_F} .weak .func (.param .b32 r) g() {{ ret; }} .global .u32 x;"
    assert len(linked(unit, unit, unit).variables) == 3
    (once,) = parsed([unit])
    assert len(link([once, once]).module.variables) == 2
    assert ran(link([*parsed(ACCEPTED["weak variables"][:1]), once, once]).module) == [1]


@pytest.mark.parametrize("unit", ["{ /* }", "} /*", "/*/"])
def test_a_comment_that_is_not_closed(unit):
    with pytest.raises(PtxError, match="comment is not closed"):
        linked(f".visible .entry k() {unit}", ".visible .entry q() { ret; } /* */")


def test_units_that_are_cut_anywhere(tmp_path):
    """Each cut is refused when it is read or linked, or defines no less than it shows."""
    text = (
        HEAD
        + _OWN.format(value=1, kernel="b")
        + '\n.file 1 "b.cu"\n.visible .global .u32 x[2] = {1, 2};'
    )
    other = parsed([f".extern .global .u32 x[2]; {READS_X} .global .u32 own;"])
    counts = {"refused": 0, "linked": 0}
    for end in range(len(text)):
        try:
            made = link([*other, parse_ptx(text[:end], "2.ptx")]).module
        except PtxError:
            counts["refused"] += 1
            continue
        counts["linked"] += 1
        for name in made.entries:
            try:
                translate(made, name)
            except PtxError as error:
                assert re.search(r'File "[12]\.ptx", line \d+', str(error))
    assert counts["linked"] > 10 and counts["refused"] > 300


def test_a_hundred_units():
    """Each function calls the next unit's."""
    callee = ".extern .func (.param .b32 r) f{next}(.param .b32 a);"
    caller = """
    .global .u32 own = {value};
    .visible .func (.param .b32 r) f{value}(.param .b32 a) {{
      .reg .b32 %r<4>; ld.param.b32 %r1, [a]; ld.global.u32 %r2, [own];
      {{ .param .b32 b; .param .b32 c; st.param.b32 [b], %r1; call (c), f{next}, (b);
        ld.param.b32 %r3, [c]; }}
      add.u32 %r3, %r3, %r2; st.param.b32 [r], %r3; ret;
    }}"""
    units = [(callee + caller).format(value=n, next=n + 1) for n in range(1, 99)]
    units.append(".visible .func (.param .b32 r) f99(.param .b32 a) { st.param.b32 [r], 50; ret; }")
    units.append(f"{EXTERN_F.replace('f(', 'f1(')} {CALLS_F.replace(' f,', ' f1,')}")
    assert ran(linked(*units)) == [sum(range(1, 99)) + 50]


def test_many_names():
    count = 20_000
    lines = [f".global .u32 own{n} = {n}; .visible .global .u32 v{n};" for n in range(count)]
    more = [
        f".extern .global .u32 v{n}; .global .u64 own{n} = generic(v{n});" for n in range(count)
    ]
    made = linked("\n".join(lines), "\n".join(more))
    assert len(made.variables) == 3 * count


@pytest.mark.parametrize("name", ["$$$", "%r1", "a.b", "é", "x" * 10_000, "__nv_sinf", "visible"])
def test_hostile_names(name):
    kernel = (
        READS_X.replace("[x]", f"[{name}]").replace("%r1, [", "%r2, [").replace("], %r1", "], %r2")
    )
    kernel = kernel.replace("%r<3>", "%r2")
    try:
        made = linked(f".global .u32 {name} = 3; {kernel}", f".global .u32 {name};")
    except PtxError:
        assert name in ("a.b", "é")
        return
    assert ran(made) == [3]


TEXT_OF_ERROR = """.extern .func (.param .b64 r) {function}(.param .b32 error);
.visible .entry k(.param .u64 p, .param .u32 error) {{
  .reg .pred %q; .reg .b32 %r<3>; .reg .b64 %d<4>;
  ld.param.u64 %d1, [p]; ld.param.u32 %r1, [error];
  {{ .param .b32 a; .param .b64 b; st.param.b32 [a], %r1; call (b), {function}, (a);
    ld.param.b64 %d2, [b]; }}
again:
  ld.u8 %r2, [%d2]; st.global.u8 [%d1], %r2; add.u64 %d1, %d1, 1; add.u64 %d2, %d2, 1;
  setp.ne.u32 %q, %r2, 0;
  @%q bra again;
  ret;
}}"""


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("prefix", ["cuda", "__cudaCDP2"])
def test_texts_of_errors(prefix, device):
    current.choose(get_device(device))
    for function, error, text in (
        ("GetErrorName", 0, "cudaSuccess"),
        ("GetErrorName", 9, "cudaErrorInvalidConfiguration"),
        ("GetErrorString", 0, "no error"),
        ("GetErrorString", 12345, "unrecognized error code"),
    ):
        made = linked(TEXT_OF_ERROR.format(function=prefix + function))
        x = np.zeros(64, np.uint8)
        RawKernel(RawCode(made, ""), "k")(1, 1, (x, np.uint32(error)))
        assert bytes(x).rstrip(b"\0").decode() == text


def test_a_unit_defines_the_text_of_an_error_itself():
    name = " cudaGetErrorName("
    units = [
        EXTERN_F + CALLS_F.replace(" f,", name[:-1] + ","),
        f".visible .func (.param .b32 r) {F}",
    ]
    assert ran(linked(*(each.replace(" f(", name) for each in units))) == [7]


def test_a_kernel_that_clang_declares_as_a_function():
    first = """.extern .func child(.param .u64 p);
    .visible .entry k(.param .u64 p) {
      .reg .b64 %d<3>; .reg .pred %q;
      ld.param.u64 %d1, [p]; mov.b64 %d2, child; setp.ne.u64 %q, %d2, 0;
      @%q st.global.u32 [%d1], 3;
      ret;
    } """
    child = ".visible .entry child(.param .u64 p) { ret; }"
    assert ran(linked(first + child, ".global .u32 y;")) == [3]
    assert ran(linked(first, child)) == [3]


@pytest.mark.parametrize("device", DEVICES)
def test_the_number_that_chooses_the_work_of_a_node(device):
    current.choose(get_device(device))
    text = """.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);
    .visible .entry k(.param .u64 p) {
      .reg .b64 %d;
      ld.param.u64 %d, [p];
      { .param .b64 a; .param .b32 b; st.param.b64 [a], %d; st.param.b32 [b], 7;
        call.uni cudaGraphSetConditional, (a, b); }
      ret;
    }"""
    x = np.full(2, -1, np.int32)
    RawKernel(RawCode(linked(text), ""), "k")(1, 1, (x,))
    assert list(x) == [7, -1]

"""Units of PTX for the tests of linking, and NVIDIA's linker on them."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from gridlane.frontends.ptx import PtxModule, parse_ptx
from gridlane.frontends.ptx.linking import link

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
NVLINK = shutil.which("ptxas") is not None and shutil.which("nvlink") is not None
CALLS_F = """.visible .entry k(.param .u64 p) {
  .reg .b32 %r<3>; .reg .b64 %d<3>;
  ld.param.u64 %d1, [p];
  { .param .b32 a; .param .b32 b; st.param.b32 [a], 1; call (b), f, (a); ld.param.b32 %r1, [b]; }
  st.global.u32 [%d1], %r1;
  ret;
}"""
READS_X = """.visible .entry k(.param .u64 p) {
  .reg .b32 %r<3>; .reg .b64 %d<3>;
  ld.param.u64 %d1, [p]; ld.global.u32 %r1, [x]; st.global.u32 [%d1], %r1;
  ret;
}"""
F = "f(.param .b32 a) { st.param.b32 [r], 7; ret; }"
EXTERN_F = ".extern .func (.param .b32 r) f(.param .b32 a);"

ACCEPTED: dict[str, tuple[str, ...]] = {
    "function": (f"{EXTERN_F} {CALLS_F}", f".visible .func (.param .b32 r) {F}"),
    "defined first": (f".visible .func (.param .b32 r) {F}", f"{EXTERN_F} {CALLS_F}"),
    "undefined and unused": (f"{EXTERN_F} .visible .entry k() {{ ret; }}", ""),
    "signs do not count": (
        f"{EXTERN_F} {CALLS_F}",
        ".visible .func (.param .u32 r) f(.param .s32 a) { st.param.b32 [r], 7; ret; }",
    ),
    "weak, then strong": (
        f".weak .func (.param .b32 r) {F} {CALLS_F}",
        f".visible .func (.param .b32 r) {F}",
    ),
    "weak twice": (
        f".weak .func (.param .b32 r) {F} {CALLS_F}",
        f".weak .func (.param .b32 r) {F}",
    ),
    "weak kernels": (".weak .entry k() { ret; }", ".weak .entry k() { ret; }"),
    "own kernels": (".entry k() { ret; }", ".entry k() { ret; }"),
    "own and strong function": (
        f".func (.param .b32 r) {F} {CALLS_F}",
        f".visible .func (.param .b32 r) {F}",
    ),
    "variable": (f".extern .global .u32 x; {READS_X}", ".visible .global .u32 x = 5;"),
    "variable without a size": (
        f".extern .global .u32 x[]; {READS_X}",
        ".visible .global .u32 x[10];",
    ),
    "variable with the size of its values": (
        f".extern .global .u32 x[]; {READS_X}",
        ".visible .global .u32 x[] = {1, 2};",
    ),
    "variable of bytes": (
        f".extern .global .u32 x; {READS_X}",
        ".visible .global .align 4 .b8 x[4];",
    ),
    "variable with more alignment": (
        f".extern .global .u32 x; {READS_X}",
        ".visible .global .align 16 .u32 x;",
    ),
    "weak variable": (f".weak .global .u32 x = 1; {READS_X}", ".visible .global .u32 x = 2;"),
    "weak variables": (f".weak .global .u32 x = 1; {READS_X}", ".weak .global .u32 x = 2;"),
    "common variables": (
        f".common .global .u32 x; {READS_X}",
        ".common .global .align 16 .u32 x[4];",
        ".common .global .u32 x[9];",
    ),
    "common and defined": (f".common .global .u32 x; {READS_X}", ".visible .global .u32 x = 5;"),
    "common with a value": (
        f".common .global .u32 x; {READS_X}",
        ".common .global .u32 x[2] = {5, 6};",
        ".common .global .align 16 .u32 x;",
    ),
    "common and defined with more": (
        f".common .global .u32 x; {READS_X}",
        ".visible .global .u32 x[2] = {5, 6};",
    ),
    "common elsewhere": (f".extern .global .u32 x; {READS_X}", ".common .global .u32 x;"),
    "initial values in a circle": (
        f".extern .global .u64 y; .visible .global .u64 x[2] = {{generic(y), 1}}; {READS_X}",
        ".extern .global .u64 x[2]; .visible .global .u64 y = generic(x);",
    ),
    "a function in an initial value": (
        f"{EXTERN_F} .visible .global .u64 x[1] = {{f}}; {READS_X}",
        f".visible .func (.param .b32 r) {F}",
    ),
    "shared memory": (
        """.extern .shared .align 4 .b8 s[16];
        .visible .entry k() { .reg .b32 %r<2>; mov.u32 %r1, s; st.shared.u32 [%r1], %r1; ret; }""",
        ".visible .shared .align 4 .b8 s[16];",
    ),
    "dynamic shared memory": (
        ".extern .shared .align 4 .b8 s[]; .visible .entry k() { ret; }",
        ".extern .shared .align 16 .b8 s[]; .visible .entry q() { ret; }",
    ),
    "alias": (
        f"{EXTERN_F} {CALLS_F}",
        """.visible .func (.param .b32 r) g(.param .b32 a) { st.param.b32 [r], 7; ret; }
        .visible .func (.param .b32 r) f(.param .b32 a); .alias f, g;""",
    ),
    "less alignment": (
        f".extern .global .align 16 .u32 x; {READS_X}",
        ".visible .global .align 4 .u32 x;",
    ),
    "less alignment without a word": (
        f".extern .global .align 64 .u32 x; {READS_X}",
        ".visible .global .u32 x = 5;",
    ),
    "weak and less alignment": (
        f".weak .global .u32 x = 1; {READS_X}",
        ".weak .global .align 32 .u32 x = 1;",
    ),
    "common in a unit that declares it as well": (
        f".extern .global .u32 x; .common .global .u32 x; {READS_X}",
        ".visible .global .u32 x[2] = {5, 6};",
    ),
    "managed": (
        f".extern .global .attribute(.managed) .align 32 .u32 x; {READS_X}",
        ".visible .global .attribute(.managed) .u32 x;",
    ),
    "constants with less alignment": (
        ".extern .const .align 16 .b8 x[]; .visible .global .u64 y = generic(x);"
        " .visible .entry k() { ret; }",
        ".visible .const .u32 x[2] = {1, 2};",
    ),
    "shared memory with less alignment": (
        """.extern .shared .align 16 .b8 s[];
        .visible .entry k() { .reg .b32 %r<2>; mov.u32 %r1, s; st.shared.u32 [%r1], %r1; ret; }""",
        ".visible .shared .b8 s[16];",
    ),
    "reference": (
        ".extern .global .texref x; .visible .entry k() { ret; }",
        ".visible .global .texref x;",
    ),
}  # fmt: skip
REFUSED: dict[str, tuple[str, ...]] = {
    "function twice": (
        f".visible .func (.param .b32 r) {F} {CALLS_F}",
        f".visible .func (.param .b32 r) {F}",
    ),
    "kernel twice": (".visible .entry k() { ret; }", ".visible .entry k() { ret; }"),
    "variable twice": (f".visible .global .u32 x; {READS_X}", ".visible .global .u32 x;"),
    "shared memory twice": (
        """.visible .shared .align 4 .b8 s[16];
        .visible .entry k() { .reg .b32 %r<2>; mov.u32 %r1, s; st.shared.u32 [%r1], %r1; ret; }""",
        ".visible .shared .align 4 .b8 s[16];",
    ),
    "float for bits": (
        f"{EXTERN_F} {CALLS_F}",
        ".visible .func (.param .f32 r) f(.param .f32 a) { ret; }",
    ),
    "wider parameter": (
        f"{EXTERN_F} {CALLS_F}",
        ".visible .func (.param .b32 r) f(.param .b64 a) { ret; }",
    ),
    "more parameters": (
        f"{EXTERN_F} {CALLS_F}",
        ".visible .func (.param .b32 r) f(.param .b32 a, .param .b32 b) { ret; }",
    ),
    "no result": (f"{EXTERN_F} {CALLS_F}", ".visible .func f(.param .b32 a) { ret; }"),
    "bytes for bits": (
        f"{EXTERN_F} {CALLS_F}",
        ".visible .func (.param .b32 r) f(.param .align 4 .b8 a[4]) { ret; }",
    ),
    "weak functions that differ": (
        ".weak .func f() { ret; } .visible .entry k() { call f; ret; }",
        ".weak .func f(.param .b32 a) { ret; }",
    ),
    "size": (f".extern .global .u32 x; {READS_X}", ".visible .global .u64 x;"),
    "count": (f".extern .global .u32 x; {READS_X}", ".visible .global .u32 x[10];"),
    "weak variables that differ": (f".weak .global .u32 x; {READS_X}", ".weak .global .u64 x;"),
    "memory": (f".extern .global .u32 x; {READS_X}", ".visible .const .u32 x;"),
    "declarations that differ": (
        f".extern .global .u32 x; {READS_X}",
        ".extern .global .u64 x;",
    ),
    "common and smaller": (
        f".common .global .u32 x[4]; {READS_X}",
        ".visible .global .u32 x = 5;",
    ),
    "common with values": (
        f".common .global .u32 x = 5; {READS_X}",
        ".common .global .u32 x = 5;",
    ),
    "common with a value and smaller": (
        f".common .global .u32 x = 5; {READS_X}",
        ".common .global .u32 x[2];",
    ),
    "common and larger": (f".common .global .u32 x; {READS_X}", ".visible .global .u32 x[2];"),
    "managed and not": (
        f".extern .global .u32 x; {READS_X}",
        ".visible .global .attribute(.managed) .u32 x;",
    ),
    "a function and a variable": (
        ".visible .func x() { ret; } .visible .entry k() { call x; ret; }",
        ".visible .global .u32 x;",
    ),
    "a variable for a function": (
        ".extern .func x(); .visible .entry k() { call x; ret; }",
        ".visible .global .u32 x;",
    ),
    "a kernel for a function": (
        ".extern .func x(); .visible .entry k() { call x; ret; }",
        ".visible .entry x() { ret; }",
    ),
    "not extern": (
        f".visible .func (.param .b32 r) f(.param .b32 a); {CALLS_F}",
        f".visible .func (.param .b32 r) {F}",
    ),
}  # fmt: skip
STRICTER: dict[str, tuple[str, ...]] = {
    # The caller places the bytes by its own alignment, the callee by another.
    "alignment of a parameter": (
        """.extern .func f(.param .align 4 .b8 a[8]); .visible .entry k() {
          { .param .align 4 .b8 a[8]; st.param.b32 [a], 1; call f, (a); } ret; }""",
        ".visible .func f(.param .align 8 .b8 a[8]) { ret; }",
    ),
    # The order of the units decides in NVIDIA's linker, where it makes anything.
    "weak and common": (f".common .global .u32 x; {READS_X}", ".weak .global .u32 x;"),
    "a parameter in a register": (
        f"{EXTERN_F} {CALLS_F}",
        ".visible .func (.reg .b32 r) f(.reg .b32 a) { mov.b32 r, 7; ret; }",
    ),
}  # fmt: skip
"""What NVIDIA's linker takes, and gridlane does not."""


def parsed(units: Sequence[str]) -> list[PtxModule]:
    """Units under names of their own."""
    return [parse_ptx(HEAD + text, f"{number}.ptx") for number, text in enumerate(units, 1)]


def linked(*units: str) -> PtxModule:
    """One module of units."""
    return link(parsed(units)).module


def refused_by_nvlink(units: Sequence[str], folder: Path) -> str:
    """What NVIDIA's assembler or linker says of units; "" where they take them."""
    objects: list[str] = []
    for number, text in enumerate(units):
        source, made = folder / f"{number}.ptx", folder / f"{number}.cubin"
        source.write_text(HEAD + text)
        told = _told(["ptxas", "-c", "-arch=sm_80", str(source), "-o", str(made)])
        if told:
            return told
        objects.append(str(made))
    return _told(["nvlink", "-arch=sm_80", *objects, "-o", str(folder / "linked.cubin")])


def refused_by_ptxas(text: str, folder: Path, *options: str) -> str:
    """What NVIDIA's assembler says of a linked text; "" where it takes it. The text may be of a
    compiler that is newer."""
    source = folder / "linked.ptx"
    text = re.sub(r"^\.version 9\.\d", ".version 9.0", text)
    source.write_text(text)
    made = str(folder / "linked.cubin")
    return _told(["ptxas", "-arch=sm_80", *options, str(source), "-o", made])


def _told(words: Sequence[str]) -> str:
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    return done.stdout + done.stderr if done.returncode else ""

"""C++: g++, nvcc, NVRTC and gridlane's clang compile the assertions; a program writes messages."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from tests.actors.layouts.samples import (
    ALL,
    AWKWARD,
    access,
    assert_same,
    families,
    spelled,
    values,
)
from tests.actors.layouts.tools import complaint, require, swapped
from tests.effort import examples

from gridlane.actors.layouts import cuda_cpp
from gridlane.actors.layouts.blocks import ControlBlock
from gridlane.core.errors import CompileError
from gridlane.frontends.cuda_cpp import CppSource, choose

TEXT = cuda_cpp.text(ALL)
KERNEL = """
extern "C" __global__ void kernel(MessageHeader* header, unsigned long long* found) {
    atomicAdd(&header->sequence, 1ull);
    found[0] = header->type == Every_type_id;
}
"""


def gcc(text: str, standard: str = "c++17") -> str:
    words = ("-x", "c++", f"-std={standard}", "-Wall", "-Werror", "-pedantic-errors")
    return complaint(text, require("g++"), *words, "-fsyntax-only", "-")


@pytest.mark.parametrize("standard", ["c++11", "gnu++20"])
def test_gcc(standard: str) -> None:
    """Twice the same declarations, as of two headers, are one."""
    assert gcc(TEXT + cuda_cpp.text(ALL[::-1]), standard) == ""


def test_a_compiler_without_float16_has_its_bits() -> None:
    text = cuda_cpp.text(ALL)
    old = text.replace("defined(__FLT16_MANT_DIG__)", "0")
    assert gcc(f"{old}unsigned short* bits = Every().few_float16[1];\n") == ""
    assert "cannot convert" in gcc(f"{text}unsigned short* bits = Every().few_float16[1];\n")


def test_each_field_is_asserted() -> None:
    fields = sum(len(layout.fields) for layout in cuda_cpp.scope_of(ALL).layouts)
    assert TEXT.count("static_assert(GRIDLANE_OFFSET(") == fields
    assert TEXT.count("static_assert(sizeof(") == len(cuda_cpp.scope_of(ALL).layouts)


@pytest.mark.parametrize("backend", ["clang", "nvcc", "nvrtc"])
def test_compilers_of_cuda(backend: str) -> None:
    try:
        compiler = choose(backend)
    except CompileError as error:
        pytest.skip(str(error))
    assert ".entry kernel" in compiler.compile(CppSource(TEXT + KERNEL)).ptx
    with pytest.raises(CompileError, match="its place"):
        compiler.compile(CppSource(swapped(cuda_cpp.text([ControlBlock]), " error;", " idle;")))


def test_an_older_nvrtc() -> None:
    """It has another name for the offset of a field."""
    try:
        compiler = choose("nvrtc")
    except CompileError as error:
        pytest.skip(str(error))
    old = cuda_cpp.text(ALL).replace("< 1304", "< 9904")
    assert ".entry kernel" in compiler.compile(CppSource(old + KERNEL)).ptx
    wrong = cuda_cpp.text([ControlBlock]).replace("< 1304", "< 9904")
    with pytest.raises(CompileError, match="its place"):
        compiler.compile(CppSource(swapped(wrong, " error;", " idle;")))


def test_assertions_see_another_order() -> None:
    text = cuda_cpp.text([ControlBlock])
    assert gcc(text) == ""
    assert "ControlBlock.received: its place" in gcc(swapped(text, " received;", " answered;"))
    assert "ControlBlock.busy: its place" in gcc(text.replace("int busy;", "short busy;"))
    assert "ControlBlock: its size" in gcc(text.replace("reserved;", "reserved, more;"))


@settings(
    max_examples=examples(3, 60),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(families(30))
def test_gcc_on_random_layouts(made) -> None:
    assert gcc(cuda_cpp.text(made)) == ""


WRITE = """
#include <cstdio>
int main() {{
{statements}
    return 0;
}}
"""


def test_a_program_writes_messages(tmp_path) -> None:
    """numpy reads the bytes that a C++ producer wrote field by field."""
    scope = cuda_cpp.scope_of(ALL)
    lines = []
    for layout in ALL:
        lines.append(f"    {{ static {scope.struct(layout)} it;")
        lines += [
            f"    it{access(spelled(leaf.path, layout, scope))} = {literal(leaf, x)};"
            for leaf, x in values(layout)
        ]
        lines += [
            f"    {check(leaf, x, access(spelled(leaf.path, layout, scope)))}"
            for leaf, x in values(layout)
        ]
        lines.append("    std::fwrite(&it, sizeof it, 1, stdout); }")
    source, program = tmp_path / "write.cpp", tmp_path / "write"
    source.write_text(cuda_cpp.text(ALL) + WRITE.format(statements="\n".join(lines)))
    subprocess.run([require("g++"), "-w", source, "-o", program], check=True, timeout=120)
    done = subprocess.run([program], capture_output=True, check=True, timeout=60)
    written = np.frombuffer(done.stdout, np.uint8)
    for layout in ALL:
        assert_same(written[: layout.size], layout)
        written = written[layout.size :]
    assert not len(written)


def check(leaf, value, place: str) -> str:
    """End the program where a field reads as another number, as one of the other sign would."""
    return f"if ((double)it{place} != (double){literal(leaf, value)}) return 1;"


def literal(leaf, value) -> str:
    if leaf.dtype.kind == "b":
        return "true" if value else "false"
    if leaf.dtype == np.float16 or leaf.dtype.kind == "f":
        return f"{float(value)!r}f" if leaf.dtype.itemsize < 8 else repr(float(value))
    return f"({value}ull)" if leaf.dtype.kind == "u" else f"({int(value)}ll)"


def test_names_that_cpp_reserves() -> None:
    names = cuda_cpp.scope_of([AWKWARD]).members(AWKWARD)[1]
    assert names["float"] == "float_" and names["linux"] == "linux_" and names["type"] == "type"
    assert len(set(names.values())) == len(names) == len(AWKWARD.fields)
    assert "linux_; // byte 16: the field linux" in TEXT

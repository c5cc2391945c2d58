"""GLSL: glslang's Offset and ArrayStride, read from SPIR-V, in std430 and in the scalar layout."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from tests.actors.layouts.samples import ALL, AWKWARD, NESTED, TAILED, families, leaves, spelled
from tests.actors.layouts.spirv_layout import Binary
from tests.actors.layouts.tools import require, swapped
from tests.effort import examples

from gridlane.actors.layouts import glsl
from gridlane.actors.layouts.blocks import BLOCKS, Clock, ControlBlock
from gridlane.actors.layouts.schema import lay_out
from gridlane.core.argtypes import uint8, uint16, uint32

VERSION = "#version 450\n#extension GL_EXT_scalar_block_layout : require\n"
MAIN = "layout(local_size_x = 1) in;\nvoid main() {}\n"


def compiled(source: str) -> Binary:
    """The SPIR-V of a shader that the validator accepts."""
    with tempfile.TemporaryDirectory() as folder:
        code, made = Path(folder, "layout.comp"), Path(folder, "layout.spv")
        code.write_text(source)
        target = ("--target-env", "vulkan1.2")
        for command in (
            (
                require("glslangValidator", "glslang-tools"),
                "-V",
                *target,
                str(code),
                "-o",
                str(made),
            ),
            (require("spirv-val", "spirv-tools"), "--scalar-block-layout", *target, str(made)),
        ):
            done = subprocess.run(command, capture_output=True, text=True, timeout=120)
            assert done.returncode == 0, done.stdout + done.stderr
        return Binary(made.read_bytes())


def in_arrays(layouts, text: str, rule: str) -> Binary:
    """Each layout as the elements of a storage buffer."""
    scope, parts = glsl.scope_of(layouts), [VERSION, text]
    for number, layout in enumerate(layouts):
        place = f"layout({rule}, binding = {number}) buffer Items{number}"
        parts.append(f"{place} {{ {scope.struct(layout)} items[]; }} items{number};\n")
    return compiled("".join([*parts, MAIN]))


def expected(layout, scope) -> list:
    kinds = {"b": "u"}
    return [
        (
            spelled(leaf.path, layout, scope),
            leaf.offset,
            f"{kinds.get(leaf.dtype.kind, leaf.dtype.kind)}{leaf.dtype.itemsize}",
        )
        for leaf in leaves(layout)
    ]


def assert_places(layouts, binary: Binary) -> None:
    scope, blocks = glsl.scope_of(layouts), dict(binary.blocks())
    for number, layout in enumerate(layouts):
        block = blocks[f"Items{number}"]
        found = [(path[1:], offset, kind) for path, offset, kind in binary.places(block)]
        assert found == expected(layout, scope)
        assert binary.size(block) == layout.size


@pytest.mark.parametrize("rule", ["std430", "scalar"])
def test_offsets_of_structures(rule: str) -> None:
    assert_places(ALL, in_arrays(ALL, glsl.text(ALL), rule))


@pytest.mark.parametrize("rule", ["std430", "scalar"])
@settings(
    max_examples=examples(2, 30),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(families(12))
def test_offsets_of_random_layouts(rule: str, made) -> None:
    assert_places(made, in_arrays(made, glsl.text(made), rule))


def test_offsets_of_blocks() -> None:
    """The members of a block have explicit offsets."""
    text = glsl.text(ALL)
    blocks = [
        glsl.block(each, number, f"Block{number}", f"it{number}", group=number % 2)
        for number, each in enumerate(ALL)
    ]
    binary = compiled("".join([VERSION, text, *blocks, MAIN]))
    found = dict(binary.blocks())
    for number, layout in enumerate(ALL):
        places = list(binary.places(found[f"Block{number}"]))
        assert places == expected(layout, glsl.scope_of(ALL))
    assert "layout(std430, binding = 3) buffer Pair {" in glsl.block(Clock, 3, "Pair", "it")
    assert "layout(offset = 8) uint64_t logical;" in glsl.block(Clock, 3, "Pair", "it")


def test_another_order_is_seen() -> None:
    text = swapped(glsl.text([ControlBlock]), " received;", " answered;")
    with pytest.raises(AssertionError, match="received"):
        assert_places([ControlBlock], in_arrays([ControlBlock], text, "std430"))


def test_what_follows_a_structure_is_not_in_its_padding() -> None:
    """Without names for padding, the scalar layout puts the next field there."""
    text = glsl.text([NESTED])
    bare = "\n".join(line for line in text.splitlines() if " padding_" not in line) + "\n"
    assert text.count("padding_") >= 2 and TAILED.size == 16
    with pytest.raises(AssertionError):
        assert_places([NESTED], in_arrays([NESTED], bare, "scalar"))


def test_extensions_are_those_that_are_needed() -> None:
    """A shader of OpenGL may have messages of 32-bit fields alone."""
    assert "#extension" not in glsl.text([lay_out("Plain", ("a", uint32))])
    assert glsl.text([lay_out("Short", ("a", uint16))]).count("#extension") == 1
    assert glsl.text(BLOCKS).count("#extension") == 2


def test_names_that_glsl_reserves() -> None:
    names = glsl.scope_of([AWKWARD]).members(AWKWARD)[1]
    assert names["sampler2D"] == "sampler2D_" and names["linux"] == "linux"
    assert len(set(names.values())) == len(AWKWARD.fields)


def test_a_field_with_the_name_of_padding() -> None:
    text = glsl.text([lay_out("One", ("padding_1", uint8), ("a", uint32))])
    assert "uint8_t padding_1; // byte 0" in text and "uint8_t padding_1_[3]; // byte 1" in text

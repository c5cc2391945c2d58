"""``declarations``, and what may stand in names and comments of every language."""

from __future__ import annotations

import subprocess
import sys
from typing import Annotated

import pytest
from tests.actors.layouts.test_cuda_cpp import gcc
from tests.actors.layouts.test_glsl import in_arrays
from tests.msl_cpu import machine

from gridlane.actors.layouts import cuda_cpp, glsl, msl, reserved, wgsl
from gridlane.actors.layouts.blocks import BLOCKS, Clock, MessageHeader
from gridlane.actors.layouts.declarations import LANGUAGES, declarations
from gridlane.actors.layouts.from_class import from_class
from gridlane.actors.layouts.names import in_order
from gridlane.actors.layouts.schema import Layout, lay_out
from gridlane.core.argtypes import float32, int32, uint8, uint32
from gridlane.core.errors import ArgumentError, TypingError
from gridlane.emulation.metal.machine import kernels_of

TEXTS = {"cuda_cpp": cuda_cpp.text, "glsl": glsl.text, "wgsl": wgsl.text, "msl": msl.text}


class Level:
    """A price level."""

    price: Annotated[float32, "dollars"]
    size: int32


class Order:
    level: Level
    side: uint8


def assert_accepted(language: str, text: str, layouts) -> None:
    """Let the compiler of a language judge a text; that of WGSL runs in its own tests too."""
    if language == "cuda_cpp":
        assert gcc(text, "gnu++17") == ""
    elif language == "glsl":
        in_arrays(layouts, text, "std430")
    elif language == "msl":
        if machine.compiler() is None and not machine.in_ci():
            pytest.skip("no g++ with _Float16")
        assert kernels_of(text) == {}
    else:
        wgpu = pytest.importorskip("wgpu")
        device = wgpu.gpu.request_adapter_sync(power_preference="high-performance")
        device.request_device_sync().create_shader_module(code=text)


@pytest.mark.parametrize("language", LANGUAGES)
def test_classes_and_layouts(language: str) -> None:
    text = declarations(language, [Order, Clock])
    assert text == TEXTS[language]([from_class(Order), Clock])
    assert text.index("struct Level {") < text.index("struct Order {")
    assert "// A price level." in text and "dollars" in text
    assert text.count("struct Level {") == 1
    assert_accepted(language, text, [from_class(Order), Clock])


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_meaning_is_a_comment(language: str) -> None:
    text = declarations(language, BLOCKS)
    assert all(each.meaning in text for block in BLOCKS for each in block.fields)
    assert all(f"// {block.meaning}\n" in text for block in BLOCKS)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_type_id_is_a_constant(language: str) -> None:
    number = MessageHeader.type_id
    words = f"(0x{number & 0xFFFFFFFF:08x}u, 0x{number >> 32:08x}u)"
    wanted = {"cuda_cpp": f"0x{number:016x}ull", "msl": f"0x{number:016x}ul"}.get(language, words)
    lines = declarations(language, [MessageHeader]).splitlines()
    (line,) = [line for line in lines if "MessageHeader_type_id" in line]
    assert wanted in line


def test_refused() -> None:
    with pytest.raises(ArgumentError, match="no layouts for 'cobol': one of cuda_cpp, glsl, wgsl"):
        declarations("cobol", [Clock])
    other = lay_out("Clock", ("seconds", uint32))
    for language in LANGUAGES:
        with pytest.raises(ArgumentError, match="two layouts have the name Clock"):
            declarations(language, [MessageHeader, other])
    with pytest.raises(TypingError, match="has no fields"):
        declarations("msl", [type("Empty", (), {})])


def test_the_same_layout_twice_is_one() -> None:
    assert in_order([Clock, MessageHeader, Clock]) == [Clock, MessageHeader]
    assert in_order([MessageHeader]) == [Clock, MessageHeader]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_reserved_word_may_be_a_field_and_a_structure(language: str) -> None:
    layouts = all_reserved()
    assert len(layouts) > 300
    assert_accepted(language, TEXTS[language](layouts), layouts)


def all_reserved() -> list[Layout]:
    """A layout with all words that a language reserves as fields, and one of each such name."""
    reserving = reserved.CUDA_CPP | reserved.GLSL | reserved.WGSL | reserved.MSL
    words = sorted(word for word in reserving if is_name(word))
    types = [*words, *reserved.VECTORS, *reserved.WGSL_PREDECLARED]
    structs = [lay_out(each, ("a", uint32), ("b", uint8)) for each in sorted(set(types))]
    return [lay_out("Fields", *[(word, uint32) for word in words]), *structs]


def is_name(word: str) -> bool:
    try:
        lay_out("One", (word, uint32))
    except TypingError:
        return False
    return True


@pytest.mark.parametrize("language", LANGUAGES)
def test_meanings_stay_comments(language: str) -> None:
    meanings = [
        "ends in \\",
        "*/ int x;",
        "two\nlines\r\u2028and\x0bmore",
        "µs ⌀",
        "??/",
        "// a",
        '"',
    ]
    names = "abcdefg"
    fields = [(name, uint32, told) for name, told in zip(names, meanings)]
    layout = lay_out("Told", *fields, ("last", uint8, "\\\\"), meaning="A\n* thing \\")
    text = TEXTS[language]([layout])
    assert len([line for line in text.splitlines() if line.endswith("\\")]) == 0
    assert "two lines and more" in text
    assert_accepted(language, text, [layout])


def test_loading_the_package_loads_little() -> None:
    code = "import sys, gridlane.actors; print(*(n for n in sys.modules if 'gridlane' in n))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "gridlane.actors" in loaded
    assert not {"gridlane.cuda", "gridlane.launch", "gridlane.actors.layouts"} & set(loaded)

"""What stands in the expression that uses it, in GLSL and WGSL, and what must not."""

from __future__ import annotations

import re

import pytest

from gridlane.compiler import generate
from gridlane.core.options import Target
from gridlane.ir.parser import parse_module

KERNEL = """
kernel @fold(%data: ptr<f32, global>, %words: ptr<i32, global>, %n: i32) {{
{body}
}}
"""
LANGUAGES = ("opengl", "webgpu")


def lines(language: str, *body: str) -> list[str]:
    """The lines of the kernel."""
    module = parse_module(KERNEL.format(body="\n".join(f"  {line}" for line in body)))
    text = generate(module, Target(language, (64, 1, 1))).code.decode()
    return [line.strip() for line in text[text.index("params[") :].splitlines()]


def one(found: list[str], part: str) -> str:
    """The line that has a part."""
    (line,) = [line for line in found if part in line]
    return line


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_used_once_has_no_line(language: str) -> None:
    found = lines(
        language,
        "%two: i32 = const 2",
        "%a: i32 = mul %n, %two",
        "%b: i32 = add %a, %n",
        "store %words, %b",
    )
    value = re.escape(next(line.split()[1] for line in found if "params[4]" in line))
    assert re.search(rf"\(?{value} \* 2i?\)? \+ {value}", one(found, "heap["))


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_used_twice_has_a_line(language: str) -> None:
    found = lines(language, "%a: i32 = mul %n, %n", "%b: i32 = add %a, %a", "store %words, %b")
    name = re.search(r"(v\d+) = v\d+ \* v\d+;", "\n".join(found))
    assert name and f"{name[1]} + {name[1]}" in one(found, "heap[")


@pytest.mark.parametrize("language", LANGUAGES)
def test_loads_stay_in_front_of_stores(language: str) -> None:
    found = lines(
        language,
        "%one: i32 = const 1",
        "%old: i32 = load %words",
        "store %words, %n",
        "%new: i32 = add %old, %one",
        "%at: ptr<i32, global> = offset %words, %one",
        "store %at, %new",
    )
    memory = [line for line in found if "heap[" in line]
    assert [line.startswith("heap[") for line in memory] == [False, True, True]


@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_moves_into_a_loop(language: str) -> None:
    found = lines(
        language,
        "%limit: i32 = mul %n, %n",
        "loop {",
        "  %now: i32 = load %words",
        "  %done: b1 = gt %now, %limit",
        "  if %done {",
        "    break",
        "  }",
        "} step {",
        "}",
    )
    product = next(n for n, line in enumerate(found) if " * " in line)
    assert product < next(n for n, line in enumerate(found) if line.startswith(("loop", "for")))


def test_floats_stay_in_precise_variables() -> None:
    """Elsewhere GLSL's compilers may contract them."""
    found = lines(
        "opengl",
        "%x: f32 = load %data",
        "%a: f32 = mul %x, %x",
        "%b: f32 = add %a, %x",
        "%less: b1 = lt %b, %x",
        "if %less {",
        "  store %data, %b",
        "}",
    )
    text = "\n".join(found)
    made = re.search(r"precise float (v\d+) = \(v\d+ \* v\d+\) \+ v\d+;", text)
    assert made
    compared = re.search(rf"precise bool (v\d+) = {made[1]} < v\d+;", text)
    assert compared and f"if ({compared[1]}) {{" in found


def test_wgsl_computes_nothing_of_literals_alone() -> None:
    """Its compilers do so, and refuse overflow."""
    found = lines(
        "webgpu",
        "%most: u32 = const 4294967295",
        "%a: u32 = add %most, %most",
        "%b: i32 = bitcast %a",
        "store %words, %b",
    )
    assert re.search(r"let (v\d+) = 4294967295u;", "\n".join(found))
    assert "4294967295u +" not in "\n".join(found) and "+ 4294967295u" not in "\n".join(found)

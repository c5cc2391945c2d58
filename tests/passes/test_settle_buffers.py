"""The buffer of each pointer, where memory is several buffers."""

from __future__ import annotations

import pytest

from gridlane.compiler import generate
from gridlane.core.errors import TargetError
from gridlane.core.options import Target
from gridlane.ir.parser import parse_module

WORDS = ("webgpu", "opengl")
OF_NUMBER = """
kernel @k(%out: ptr<i32, global>, %n: u64) {{
  %number: u64 = {number}
  %at: ptr<i32, {space}> = from_address %number
  %value: i32 = load %at
  store %out, %value
}}
"""
LOADED = """
kernel @k(%out: ptr<i32, global>, %table: ptr<ptr<i32, {space}>, global>) {{
  %at: ptr<i32, {space}> = load %table
  %value: i32 = load %at
  store %out, %value
}}
"""


def generated(text: str, target: str):
    return generate(parse_module(text), Target(target, (32, 1, 1)))


@pytest.mark.parametrize("space", ["global", "generic"])
@pytest.mark.parametrize("target", WORDS)
def test_pointers_of_unknown_provenance_are_noted(target, space):
    changing = "add %n, %n"
    assert generated(OF_NUMBER.format(number=changing, space=space), target).untraced
    assert generated(LOADED.format(space=space), target).untraced
    known = OF_NUMBER.format(number="const 4096", space=space)
    assert not generated(known, target).untraced


@pytest.mark.parametrize("target", WORDS)
def test_an_array_outside_of_the_first_buffer_is_no_constant(target):
    text = OF_NUMBER.format(number=f"const {(1 << 32) + 4096}", space="global")
    with pytest.raises(TargetError, match=r"not in the first buffer.*pass it as an argument"):
        generated(text, target)

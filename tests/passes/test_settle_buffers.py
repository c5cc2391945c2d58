"""The buffer of each pointer, where memory is several buffers."""

from __future__ import annotations

import pytest

from gridlane.compiler import generate
from gridlane.core.compact import Variant
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


# --- pointers in several buffers ---

TEXT = """
kernel @k(%x: ptr<f32, global>, %y: ptr<f32, global>, %n: i32) {{
  var $at: ptr<f32, global>
  %i: i32 = thread_idx x
  %here: b1 = lt %i, %n
  {body}
}}
"""
ACCESSES = """
  %a: ptr<f32, global> = offset %x, %i
  %value: f32 = load %a
  %words: ptr<u32, global> = recast %y
  %b: ptr<u32, global> = offset %words, %i
  %one: u32 = const 1
  %old: u32 = atomic add, %b, %one
  %c: ptr<f32, global> = offset %y, %i
  store %c, %value
"""


def text_of(body: str, target: str, buffers: tuple[int, ...]) -> str:
    module = parse_module(TEXT.format(body=body))
    made = generate(module, Target(target, (32, 1, 1), variant=Variant(buffers=buffers)))
    assert made.buffers == buffers
    return made.code.decode()


def test_each_pointer_has_its_parameters_buffer():
    wgsl = text_of(ACCESSES, "webgpu", (1, 2))
    assert "binding(0) var<storage, read_write> heap: array<u32>;" in wgsl
    assert "binding(3) var<storage, read_write> heap1: array<u32>;" in wgsl
    assert "binding(4) var<storage, read_write> heap2: array<atomic<u32>>;" in wgsl
    assert "heap1[" in wgsl and "atomicAdd(&heap2[" in wgsl and "atomicStore(&heap2[" in wgsl
    assert "heap[" not in wgsl
    glsl = text_of(ACCESSES, "opengl", (0, 1))
    assert "layout(std430, binding = 3) coherent buffer Heap1 { uint heap1[]; };" in glsl
    assert "heap[" in glsl and "atomicAdd(heap1[" in glsl and "heap2" not in glsl


@pytest.mark.parametrize("target", WORDS)
def test_pointers_of_the_first_buffer_change_nothing(target):
    assert text_of(ACCESSES, target, ()) == text_of(ACCESSES, target, (0, 0))


CHOSEN = """
  %at: ptr<f32, global> = select %here, %x, %y
  %value: f32 = load %at
"""
IN_A_VARIABLE = """
  write $at, %x
  if %here { write $at, %y }
  %at: ptr<f32, global> = read $at
  %value: f32 = load %at
"""
COMPARED = """
  %same: b1 = eq %x, %y
  %word: u32 = cast %same
  %value: f32 = cast %word
"""


@pytest.mark.parametrize("body", [CHOSEN, IN_A_VARIABLE, COMPARED])
@pytest.mark.parametrize("target", WORDS)
def test_pointers_into_two_buffers_are_refused(target, body):
    body += "\n store %x, %value"
    for buffers in ((0, 1), (1, 0), (1, 2)):
        with pytest.raises(TargetError, match=r"may be to 'x' and to 'y', which are in two") as e:
            text_of(body, target, buffers)
        assert "in the first buffer" in str(e.value)
    for buffers in ((), (1, 1)):
        assert text_of(body, target, buffers)


WITH_NULL = """
  %null: ptr<f32, global> = const 0
  write $at, %null
  if %here { write $at, %y }
  %first: ptr<f32, global> = read $at
  %at: ptr<f32, global> = select %here, %first, %null
  %is: b1 = ne %at, %null
  if %is { %value: f32 = load %at store %x, %value }
"""


@pytest.mark.parametrize("target", WORDS)
def test_null_pointers_are_in_any_buffer(target):
    assert "heap1[" in text_of(WITH_NULL, target, (0, 1))


@pytest.mark.parametrize("target", WORDS)
def test_a_pointer_of_a_number_is_in_no_known_buffer(target):
    options = Target(target, (32, 1, 1), variant=Variant(buffers=(1,)))
    text = OF_NUMBER.format(number="add %n, %n", space="global")
    with pytest.raises(TargetError, match="made of a number or of memory"):
        generate(parse_module(text), options)
    known = OF_NUMBER.format(number="const 4096", space="global")
    code = generate(parse_module(known), options).code.decode()
    assert "heap[" in code and "heap1[" in code
    mixed = known.replace(
        "store %out, %value", "%is: b1 = eq %at, %out\n if %is { store %out, %value }"
    )
    with pytest.raises(TargetError, match=r"may be to .*an array of the source.*in two buffers"):
        generate(parse_module(mixed), options)


@pytest.mark.parametrize("target", WORDS)
def test_addresses_as_numbers_are_whole(target):
    """The upper half is that of a parameter in the same buffer, wherever that is."""
    body = """
      %a: ptr<f32, global> = offset %y, %i
      %number: u64 = address %a
      %to: ptr<u64, global> = recast %x
      store %to, %number
      %pointers: ptr<ptr<f32, global>, global> = recast %x
      store %pointers, %a
    """
    assert text_of(body, target, (0, 1)).count("params[3]") == 2
    assert "params[3]" not in text_of(body, target, ())


@pytest.mark.parametrize("target", WORDS)
def test_a_buffer_for_each_pointer_is_required(target):
    with pytest.raises(TargetError, match="2 pointers, and buffers are given for 3"):
        text_of(ACCESSES, target, (0, 1, 0))

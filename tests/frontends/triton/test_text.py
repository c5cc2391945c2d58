"""The IR of tile programs."""

from __future__ import annotations

from tests.frontends.triton.running import jit, text_of

import gridlane.frontends.triton.language as tl
from gridlane.core import argtypes

FLOATS, INTS = argtypes.float32[::1], argtypes.int32[::1]
INT = argtypes.int32


@jit
def add_one(data, count, SIZE: tl.constexpr):
    places = tl.arange(0, SIZE)
    x = tl.load(data + places, mask=places < count)
    tl.store(data + places, x + 1, mask=places < count)


def test_an_elementwise_program():
    text = text_of(add_one, FLOATS, INT, SIZE=64)
    assert (
        text
        == """\
kernel @add_one(%data: ptr<f32, global> [path=("data")], %count: i32 [argument=1]) {
  %0: tile<64, i32> = tile_iota 0
  %1: tile<64, ptr<f32, global>> = tile_map @offset.pf32.i32, (%data, %0)
  %2: tile<64, b1> = tile_map @lt.i32.i32, (%0, %count)
  %3: tile<64, f32> = tile_load %1, (%2), ()
  %4: tile<64, ptr<f32, global>> = tile_map @offset.pf32.i32, (%data, %0)
  %5: f32 = const 0x1.0000000000000p+0
  %6: tile<64, f32> = tile_map @add.f32.f32, (%3, %5)
  %7: tile<64, b1> = tile_map @lt.i32.i32, (%0, %count)
  tile_store %4, %6, (%7)
  return
}
device @offset.pf32.i32(%x0: ptr<f32, global>, %x1: i32 [argument=1]) -> (ptr<f32, global>) {
  %0: ptr<f32, global> = offset %x0, %x1
  return (%0)
}
device @lt.i32.i32(%x0: i32, %x1: i32 [argument=1]) -> (b1) {
  %0: b1 = lt %x0, %x1
  return (%0)
}
device @add.f32.f32(%x0: f32, %x1: f32 [argument=1]) -> (f32) {
  %0: f32 = add %x0, %x1 [fast=contract]
  return (%0)
}
"""
    )


@jit
def accumulate(data, count):
    total = 0.0
    first = tl.load(data)
    for place in range(count):
        if place > 2:
            total += tl.load(data + place)
        first = first  # unchanged
    tl.store(data, total + first)


def test_a_loop_carries_what_it_changes():
    body = text_of(accumulate, FLOATS, INT).partition("}\ndevice")[0]
    variables = [line.strip() for line in body.splitlines() if line.startswith("  var")]
    assert variables == ["var $place: i32", "var $total: f32", "var $total.1: f32"]


@jit
def known(data, SIZE: tl.constexpr, FLAG: tl.constexpr):
    count: tl.constexpr = SIZE // 2 if FLAG else SIZE
    for place in tl.static_range(2):
        if FLAG and place == 1:
            tl.store(data + place, count)


def test_constants_leave_no_branch():
    assert "if" not in text_of(known, INTS, SIZE=8, FLAG=True)
    assert text_of(known, INTS, SIZE=8, FLAG=True).count("store") == 1
    assert text_of(known, INTS, SIZE=8, FLAG=False).count("store") == 0


@jit
def early(x):
    if x < 0:
        return -x
    if x > 10:
        return x * 2
    return x


@jit
def calls_early(data):
    tl.store(data, early(tl.load(data)))


def test_an_early_return_leaves_a_scope():
    text = text_of(calls_early, INTS)
    assert text.count("leave") == 2
    assert "scope" in text


@jit
def shows_its_type(data):
    tl.static_print(tl.load(data + tl.arange(0, 4)), tl.program_id(0))


def test_tensors_in_words(capsys):
    text_of(shows_its_type, FLOATS)
    assert capsys.readouterr().out == "fp32[constexpr[4]] int32[]\n"

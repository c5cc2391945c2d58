"""Local arrays of words that a kernel accesses as numbers of other sizes, as PTX declares them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.codegen.test_cpu_shapes import emitted

from gridlane.codegen.llvm import machine
from gridlane.conformance.module_runner import run_on
from gridlane.ir.parser import parse_module

CLEARED = """
  %words: ptr<u64, local> = local_array u64, 64 [align=16]
  %bytes: ptr<u8, local> = recast %words
  %t: i32 = thread_idx x
  %one: i32 = const 1
  %most: i32 = const 512
  %none: i32 = const 0
  %zero: u8 = const 0
  write $at, %none
  loop {
    %k: i32 = read $at
    %a: ptr<u8, local> = offset %bytes, %k
    store %a, %zero
    %next: i32 = add %k, %one
    write $at, %next
    %end: b1 = ge %next, %most
    if %end {
      break
    }
  }
  %own: ptr<u8, local> = offset %bytes, %t
  %b: u8 = cast %t
  store %own, %b
"""
"""A byte at a time, and then one at an index of the thread's."""
READ = """
  %far: i32 = add %t, %one
  %x: ptr<NUMBER, local> = recast %words
  %place: ptr<NUMBER, local> = offset %x, INDEX
  %v: NUMBER = load %place
  %f: f32 = cast %v
  %o: ptr<f32, global> = offset %q, %t
  store %o, %f
"""


def text_of(number: str, index: str) -> str:
    return "  var $at: i32\n" + CLEARED + READ.replace("NUMBER", number).replace("INDEX", index)


def test_bytes_side_by_side_are_cleared_at_once() -> None:
    text = emitted(text_of("u8", "%t"))
    assert "store <16 x i8>" in text
    assert "llvm.memset" in machine.optimised_text(text, machine.host(), 2)


def test_words_of_several_sizes_stay_apart() -> None:
    assert "store <16 x i8>" not in emitted(text_of("u32", "%one"))


@pytest.mark.parametrize("index", ["%one", "%t", "%far"])
@pytest.mark.parametrize("number", ["u8", "i8", "u16", "u32", "u64"])
def test_values(number: str, index: str) -> None:
    head = "kernel @k(%p: ptr<f32, global>, %q: ptr<f32, global>, %n: i64) {\n"
    module = parse_module(head + text_of(number, index) + "\n}")
    arrays = [np.zeros(1, np.float32), np.zeros(40, np.float32)]
    made = [
        run_on(d, module, (1, 1, 1), (40, 1, 1), arrays, (0,)).arrays for d in ("interp", "cpu")
    ]
    np.testing.assert_array_equal(made[1][1], made[0][1])

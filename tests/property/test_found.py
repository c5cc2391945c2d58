"""Kernels on which a device once differed, cut down by hand from random ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from tests.devices import DEVICES, assert_same, run_on

from gridlane.core.dtypes import DType
from gridlane.ir.parser import parse_module
from gridlane.ir.types import PointerType
from gridlane.ir.verifier import verify


@dataclass(frozen=True)
class Found:
    """A kernel's text and its scalars; its arrays are of 32 zeros."""

    text: str
    scalars: tuple[int | float, ...]


FOUND = {
    # Two ops that use one intrinsic declared it twice.
    "abs-and-round-to-odd": Found(
        """
kernel @k(%p: ptr<i64, global>, %q: ptr<bf16, global>, %n: i64) {
  %a: i64 = abs %n
  %h: bf16 = cast %n
  store %p, %a
  store %q, %h
}""",
        (-70000,),
    ),
    # Mesa found the zero that a rounded constant is, and took 0 * x as 0 whatever the sign of x.
    "a-zero-by-rounding": Found(
        """
kernel @k(%p: ptr<f32, global>, %x: f32) {
  %tiny: f32 = const 0x1.fffffcp-127
  %zero: f32 = trunc %tiny
  %product: f32 = mul %zero, %x
  store %p, %product
}""",
        (-15.0,),
    ),
    # Mesa took a choice of 1 and -0 for one of 1 and 0.
    "one-or-negative-zero": Found(
        """
kernel @k(%p: ptr<f32, global>, %n: i32) {
  %one: f32 = const 0x1.0p+0
  %zero: f32 = const -0x0.0p+0
  %two: i32 = const 2
  %c: b1 = lt %n, %two
  %chosen: f32 = select %c, %one, %zero
  %found: f32 = div %one, %chosen
  store %p, %found
}""",
        (7,),
    ),
    "one-or-negative-zero-by-a-branch": Found(
        """
kernel @k(%p: ptr<f16, global>, %n: i32) {
  var $v: f16
  %one: f16 = const 0x1.0p+0
  %zero: f16 = const -0x0.0p+0
  %two: i32 = const 2
  %c: b1 = lt %n, %two
  write $v, %zero
  if %c {
    write $v, %one
  }
  %chosen: f16 = read $v
  %found: f16 = div %one, %chosen
  store %p, %found
}""",
        (7,),
    ),
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("found", FOUND.values(), ids=FOUND)
def test_found(found: Found, device: str) -> None:
    module = parse_module(found.text)
    verify(module)
    pointers = [
        param.value.type
        for param in module.kernel.params
        if isinstance(param.value.type, PointerType)
    ]
    elements = [type_.element for type_ in pointers if isinstance(type_.element, DType)]
    arrays = [np.zeros(32, element.numpy) for element in elements]
    launch = (module, (1, 1, 1), (32, 1, 1), arrays, found.scalars)
    wanted, got = run_on("interp", *launch), run_on(device, *launch)
    assert_same(got.arrays, wanted.arrays, [str(type_) for type_ in pointers])

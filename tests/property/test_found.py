"""Kernels on which a device once differed, cut down by hand from random ones."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from tests.devices import DEVICES, assert_same, run_on

from gridlane.ir.parser import parse_module
from gridlane.ir.verifier import verify

FOUND = {
    # Two ops that use one intrinsic declared it twice.
    "abs-and-round-to-odd": """
kernel @k(%p: ptr<i64, global>, %q: ptr<bf16, global>, %n: i64) {
  %a: i64 = abs %n
  %h: bf16 = cast %n
  store %p, %a
  store %q, %h
}""",
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("text", FOUND.values(), ids=FOUND)
def test_found(text: str, device: str) -> None:
    module = parse_module(text)
    verify(module)
    arrays = [np.zeros(32, np.int64), np.zeros(32, ml_dtypes.bfloat16)]
    launch = (module, (1, 1, 1), (32, 1, 1), arrays, (-70000,))
    wanted, got = run_on("interp", *launch), run_on(device, *launch)
    assert_same(got.arrays, wanted.arrays, ["integers", "floats"])

"""exp and log in line, as machines without glibc's vector library have them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.devices import run_on

from gridlane.codegen.llvm.cpu import mathlib
from gridlane.ir.parser import parse_module

TEXT = """
kernel @k(%p: ptr<f32, global>, %q: ptr<f32, global>) {{
  %t: i32 = thread_idx x
  %i: i64 = cast %t
  %b: i32 = block_idx x
  %j: i64 = cast %b
  %w: i64 = const 256
  %s: i64 = mul %j, %w
  %n: i64 = add %s, %i
  %a: ptr<f32, global> = offset %p, %n
  %o: ptr<f32, global> = offset %q, %n
  %x: f32 = load %a
  %y: f32 = {name} %x [fast=afn]
  store %o, %y
}}
"""
RANDOM = np.random.default_rng(7)
SPECIAL = [0.0, -0.0, 1.0, 1e-45, 1e-40, 3e38, np.inf, -np.inf, np.nan, -1.0, 89.0, -104.0, -87.5]
INPUTS = {
    "exp": np.append(RANDOM.uniform(-87, 88.7, 256 * 40 - len(SPECIAL)), SPECIAL),
    "log": np.append(np.exp(RANDOM.uniform(-100, 88, 256 * 40 - len(SPECIAL))), SPECIAL),
}


@pytest.mark.parametrize(("name", "exact", "ulp"), [("exp", np.exp, 1.1), ("log", np.log, 1.0)])
def test_in_line(
    name: str, exact: Callable[..., np.ndarray], ulp: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mathlib, "vector_function", lambda *_: None)
    x = INPUTS[name].astype(np.float32)
    module = parse_module(TEXT.format(name=name))
    got = run_on("cpu", module, (40, 1, 1), (256, 1, 1), [x, np.zeros_like(x)]).arrays[1]
    with np.errstate(all="ignore"):
        want = exact(x.astype(np.float64))
        rounded = want.astype(np.float32)
        error = np.abs(got - want) / np.spacing(np.abs(rounded))
    finite = np.isfinite(rounded)
    assert np.all(error[finite] <= ulp), x[finite][np.argmax(error[finite])]
    np.testing.assert_array_equal(got[~finite], rounded[~finite])

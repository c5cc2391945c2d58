"""1 / sqrt(x) becomes rsqrt(x) where the user asked for speed, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import run_on

from gridlane.ir.parser import parse_module
from gridlane.ir.verifier import verify
from gridlane.passes.optimise.reciprocal_roots import reciprocal_roots

KERNEL = """kernel @k(%x: ptr<f32, global> [path=("data")], %y: ptr<f32, global> [argument=1, path=("data")]) {{
  %t: i32 = thread_idx x
  %p: ptr<f32, global> = offset %x, %t
  %v: f32 = load %p
  %r: f32 = sqrt %v{root}
  %one: f32 = const {number}
  %q: f32 = div %one, %r{quotient}
  %o: ptr<f32, global> = offset %y, %t
  store %o, %q
}}
"""  # noqa: E501
FAST, AFN = " [fast=fast]", " [fast=afn]"


def names(root: str, quotient: str, number: str = "0x1.0p+0"):
    module = parse_module(KERNEL.format(root=root, quotient=quotient, number=number))
    reciprocal_roots(module)
    verify(module)
    return module, [op.name for op in module.kernel.body.walk()]


@pytest.mark.parametrize("fast", [FAST, AFN])
def test_rough_ones_are_rewritten(fast: str) -> None:
    module, ops = names(fast, fast)
    assert "rsqrt" in ops and "div" not in ops and "sqrt" not in ops
    x = np.linspace(0.1, 50, 32, dtype=np.float32)
    (_, got) = run_on("interp", module, (1, 1, 1), (32, 1, 1), [x, np.zeros_like(x)]).arrays
    np.testing.assert_allclose(got, 1 / np.sqrt(x), rtol=1e-6)


@pytest.mark.parametrize(
    ("root", "quotient", "number"),
    [
        ("", "", "0x1.0p+0"),
        (FAST, "", "0x1.0p+0"),
        ("", FAST, "0x1.0p+0"),
        (FAST, FAST, "0x1.0p+1"),
    ],
)
def test_others_stay(root: str, quotient: str, number: str) -> None:
    _, ops = names(root, quotient, number)
    assert "rsqrt" not in ops and {"sqrt", "div"} <= set(ops)

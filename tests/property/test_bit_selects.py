"""Bits of one value joined with the other bits of another, where lanes diverge.

LLVM 15 to 22 chooses a wrong table for such a select with AVX-512 when the result is merged with
one of the two by a mask and an operand comes from memory. That is the cpu device's compiler, and
that of Mesa's software devices.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from tests.devices import DEVICES, assert_same, run_on

from gridlane.ir.parser import parse_module
from gridlane.ir.verifier import verify

LANES = 32
_HEAD = """global @limit: i32 * 1 [space=shared, align=16]
kernel @k(%x: ptr<T, global>, %y: ptr<T, global>, %c: ptr<i32, global>, %o: ptr<T, global>) {
VARIABLES
  %limit: ptr<i32, shared> = global @limit
  %five: i32 = const 5
  store %limit, %five
  barrier
  %t: i32 = thread_idx x
  %i: i64 = cast %t
  %pc: ptr<i32, global> = offset %c, %i
  %key: i32 = load %pc
"""


def _shape(number: int, join: str, kept: str, source: str, swapped: bool, dtype: str) -> str:
    """One select, whose result or ``kept`` is stored; each has constants of its own, so that its
    masks are read from memory."""
    n, bits = number, int(dtype[1:])
    low = (1 << (bits // 2 + 1 + number % 7)) - 3
    first, second = (f"%b{n}", f"%a{n}") if swapped else (f"%a{n}", f"%b{n}")
    if join == "copysign":
        made = f"  %r{n}: {dtype} = copysign %v{n}, %w{n}"
    else:
        made = f"""  %m{n}: {dtype} = const {low}
    %a{n}: {dtype} = and %v{n}, %m{n}
    %n{n}: {dtype} = const {~low & ((1 << bits) - 1 if dtype[0] == "u" else -1)}
    %b{n}: {dtype} = and %w{n}, %n{n}
    %r{n}: {dtype} = {join} {first}, {second}"""
    made_of = f"add %y{n}, %x{n}" if source == "sum" else f"load %q{n}"
    return f"""  %s{n}: i64 = const {n * LANES}
  %j{n}: i64 = add %i, %s{n}
  %p{n}: ptr<{dtype}, global> = offset %x, %j{n}
  %q{n}: ptr<{dtype}, global> = offset %y, %j{n}
  %v{n}: {dtype} = load %p{n}
  %y{n}: {dtype} = load %q{n}
  %x{n}: {dtype} = load %{"x" if source == "sum" else "y"}
  %w{n}: {dtype} = {made_of}
  %d{n}: i32 = load %limit
  %e{n}: b1 = gt %key, %d{n}
  if %e{n} {{
  {made}
    write $r{n}, %r{n}
  }} orelse {{
    write $r{n}, {kept}{n}
  }}
  %z{n}: {dtype} = read $r{n}
  %g{n}: ptr<{dtype}, global> = offset %o, %j{n}
  store %g{n}, %z{n}
"""


def _kernel(joins: tuple[str, ...], dtype: str) -> tuple[str, int]:
    """A kernel of all shapes, and how many."""
    choices = product(joins, ("%v", "%w"), ("sum", "load"), (False, True))
    shapes = [_shape(n, *choice, dtype) for n, choice in enumerate(choices)]
    variables = "\n".join(f"  var $r{n}: {dtype}" for n in range(len(shapes)))
    head = _HEAD.replace("VARIABLES", variables).replace("T,", f"{dtype},")
    return head + "".join(shapes) + "}\n", len(shapes)


KINDS = {
    "i32": ("or", "xor", "add"),
    "u64": ("or", "xor", "add"),
    "f32": ("copysign",),
    "f64": ("copysign",),
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", KINDS)
def test_selected_bits_are_merged_by_lane(dtype: str, device: str) -> None:
    text, count = _kernel(KINDS[dtype], dtype)
    module = parse_module(text)
    verify(module)
    random = np.random.default_rng(7)
    kind = {"i32": np.int32, "u64": np.uint64, "f32": np.float32, "f64": np.float64}[dtype]
    x, y = (random.normal(0, 1e6, count * LANES) for _ in "xy")
    x, y = ((a if "f" in dtype else a * 1000).astype(np.int64).astype(kind) for a in (x, y))
    keys = (np.arange(LANES) % 11).astype(np.int32)
    arrays = [x, y, keys, np.zeros(count * LANES, kind)]
    launch = (module, (1, 1, 1), (LANES, 1, 1), arrays, ())
    wanted, got = run_on("interp", *launch), run_on(device, *launch)
    types = [str(param.value.type) for param in module.kernel.params]
    assert_same(got.arrays, wanted.arrays, types)

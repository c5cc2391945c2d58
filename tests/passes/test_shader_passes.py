"""What shaders need: uniformity, indices of one word, multiply-adds that may round twice."""

from __future__ import annotations

import pytest

from gridlane.core.errors import TargetError
from gridlane.ir.op import FastMath
from gridlane.ir.ops.arith import Fma
from gridlane.ir.ops.grid import Barrier
from gridlane.ir.parser import parse_module
from gridlane.ir.printer import print_module
from gridlane.passes.index_words import index_words
from gridlane.passes.refuse_fused import refuse_fused
from gridlane.passes.uniform_control import Uniformity

KERNEL = """
kernel @k(%p: ptr<i32, global>, %n: i32) {{
  var $i: i32
  %x: i32 = thread_idx x
  %b: i32 = block_idx x
  %one: i32 = const 1
  %here: b1 = lt %x, %n
  %all: b1 = lt %b, %n
  {body}
}}
"""
# A body with a barrier; whether some threads may come to it without the others, and whether some
# may have ended before.
BARRIERS = [
    ("barrier", False, False),
    ("if %all { barrier }", False, False),
    ("if %here { barrier }", True, False),
    ("if %here { return }\n barrier", True, True),
    ("if %all { return }\n barrier", False, False),
    ("loop { if %here { break }\n barrier }", True, False),
    ("loop { if %here { break } }\n barrier", False, False),
    ("loop { if %all { break }\n barrier }", False, False),
    ("loop { barrier\n if %here { return } }", True, True),
    ("scope { if %here { leave }\n barrier }", True, False),
    ("scope { if %here { leave } }\n barrier", False, False),
    ("write $i, %x\n %v: i32 = read $i\n %c: b1 = lt %v, %n\n if %c { barrier }", True, False),
    ("write $i, %b\n %v: i32 = read $i\n %c: b1 = lt %v, %n\n if %c { barrier }", False, False),
    (
        "if %here { write $i, %b }\n %v: i32 = read $i\n %c: b1 = lt %v, %n\n if %c { barrier }",
        True,
        False,
    ),
    ("%v: i32 = load %p\n %c: b1 = lt %v, %n\n if %c { barrier }", True, False),
]


@pytest.mark.parametrize(("body", "divergent", "lost"), BARRIERS)
def test_uniformity(body: str, divergent: bool, lost: bool) -> None:
    kernel = parse_module(KERNEL.format(body=body)).kernel
    known = Uniformity(kernel)
    (barrier,) = [op for op in kernel.body.walk() if isinstance(op, Barrier)]
    assert (barrier in known.divergent) is divergent
    assert (barrier in known.lost) is lost


def test_indices_of_one_word() -> None:
    """Sums and products of casts are made of words; what else has 64 bits is cut."""
    module = parse_module("""
kernel @k(%p: ptr<i32, global>, %n: i64, %small: u8) {
  %x: i32 = thread_idx x
  %wide: i64 = cast %x
  %s: i64 = cast %small
  %row: i64 = mul %wide, %n
  %at: i64 = add %row, %s
  %q: ptr<i32, global> = offset %p, %at
  store %q, %x
}
""")
    index_words(module)
    text = print_module(module)
    assert "i64 =" not in text
    assert [line.split("= ")[1] for line in text.splitlines() if "i32 =" in line] == [
        "cast %n",
        "cast %small",
        "thread_idx x",
        "mul %x, %0",
        "add %2, %1",
    ]


def test_fused_multiply_adds_are_refused() -> None:
    module = parse_module("kernel @k(%x: f32) { %y: f32 = fma %x, %x, %x }")
    with pytest.raises(TargetError, match="round a fused multiply-add twice"):
        refuse_fused(module)
    (op,) = module.kernel.body.ops
    assert isinstance(op, Fma)
    op.fast = FastMath.CONTRACT
    refuse_fused(module)

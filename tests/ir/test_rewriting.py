"""The helpers of passes, text in and text out."""

from __future__ import annotations

from gridlane.ir.parser import parse_module
from gridlane.ir.printer import print_module
from gridlane.ir.rewriting import erase_dead, replace_values, uses
from gridlane.ir.verifier import verify

BEFORE = """\
kernel @k(%n: i32, %p: ptr<i32, global>, %c: b1) {
  var $x: i32
  %a: i32 = add %n, %n
  %b: i32 = add %a, %n
  %d: i32 = mul %b, %b
  if %c {
    %e: i32 = mul %a, %a
    %r: i32 = read $x
    %v: i32 = load %p
    %w: i32 = load %p [volatile=true]
    store %p, %a
  }
}
"""

AFTER = """\
kernel @k(%n: i32, %p: ptr<i32, global>, %c: b1) {
  var $x: i32
  %a: i32 = add %n, %n
  if %c {
    %w: i32 = load %p [volatile=true]
    store %p, %a
  }
}
"""


def test_erase_dead():
    module = parse_module(BEFORE)
    assert erase_dead(module.kernel.body) == 5
    assert print_module(module) == AFTER
    verify(module)
    assert erase_dead(module.kernel.body) == 0


def test_uses_counts_nested_operands():
    kernel = parse_module(BEFORE).kernel
    n, p, c = (param.value for param in kernel.params)
    count = uses(kernel.body)
    assert (count[n], count[p], count[c]) == (3, 3, 1)


def test_replace_values_follows_chains():
    module = parse_module(BEFORE)
    kernel = module.kernel
    n = kernel.params[0].value
    a, b, d = (op.result for op in kernel.body.ops[:3])
    replace_values(kernel.body, {b: a, a: n})
    assert [op.lhs for op in kernel.body.ops[1:3]] == [n, n]
    assert kernel.body.ops[3].then.ops[-1].value is n
    assert d.op.lhs is n

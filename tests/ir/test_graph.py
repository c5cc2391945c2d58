"""Graphs of blocks and labelled scopes: their text, and what the verifier says of them."""

from __future__ import annotations

import random

import pytest

from gridlane.core.dtypes import i32
from gridlane.core.errors import ParseError, VerifyError
from gridlane.ir.dominance import dominators
from gridlane.ir.ops.arith import Add
from gridlane.ir.ops.graph import Branch, Graph
from gridlane.ir.parser import parse_module
from gridlane.ir.printer import print_module
from gridlane.ir.stages import CFG, KERNEL
from gridlane.ir.verifier import verify

LOOP = """\
kernel @k(%p: ptr<i32, global>, %n: i32) {
  var $i: i32
  %one: i32 = const 1
  graph {
    block 0 {
      %less: b1 = lt %n, %one
      branch_if %less, 7, 1
    }
    block 7 {
      exit
    }
    block 2 {
      %next: i32 = add %now, %one
      write $i, %next
      branch 1
    }
    block 1 {
      %now: i32 = read $i
      %0: b1 = lt %now, %n
      if %0 {
        store %p, %now
      }
      switch %now, (7, 2, 2), 3
    }
    block 3 {
      return
    }
  }
}
"""
"""The text has a use of %now in front of its definition, in a block that its block dominates."""


def test_a_graph_is_printed_and_parsed() -> None:
    module = parse_module(LOOP)
    verify(module, CFG)
    assert print_module(module) == LOOP
    graph = module.kernel.body.ops[-1]
    assert isinstance(graph, Graph)
    body = {block.label: block.body.ops for block in graph.blocks()}
    add, now = body[2][0], body[1][0].result
    assert isinstance(add, Add) and add.lhs is now


def test_numbers_of_values_follow_the_text() -> None:
    text = """\
kernel @k(%c: b1) {
  graph {
    block 0 {
      %0: i32 = const 1
      if %c {
        %1: i32 = add %0, %0
      }
      %2: i32 = add %0, %0
      branch 1
    }
    block 1 {
      %3: i32 = add %2, %2
      return
    }
  }
}
"""
    assert print_module(parse_module(text)) == text


def kernel(*blocks: str, after: str = "") -> str:
    text = " ".join(f"block {number} {{ {ops} }}" for number, ops in enumerate(blocks))
    return f"kernel @k(%n: i32, %c: b1) {{ graph {{ {text} }} {after} }}"


A = "%a: i32 = const 1"
USE = "%u: i32 = add %a, %a"
INVALID = [
    (kernel(f"{A} branch_if %c, 1, 2", f"{USE} branch 2", "return"), None),
    (kernel("branch_if %c, 1, 2", f"{A} branch 2", f"{USE} return"), "%a: i32 is not visible here"),
    (kernel("branch_if %c, 1, 2", f"{A} return", f"{USE} return"), "%a: i32 is not visible here"),
    (kernel(f"{USE} branch 1", f"{A} return"), "%a: i32 is not visible here"),
    (kernel(f"{USE} {A} return"), "%a: i32 is not visible here"),
    # An unreachable block may use all values: no path comes to it without them.
    (kernel(f"{A} return", f"{USE} branch 2", "%v: i32 = add %u, %a branch 1"), None),
    (kernel("return", "return", f"if %c {{ {A} }} {USE} return"), "no value %a"),
    (kernel("branch 5"), "branch: no block 5"),
    (kernel("branch_if %c, 0, 1"), "branch_if: no block 1"),
    (kernel("branch_if %n, 0, 0"), "branch_if: the condition is a b1"),
    (kernel("switch %c, (0), 0"), "switch: b1 is no index"),
    (kernel("switch %n, (0, 4), 0"), "switch: no block 4"),
    (kernel("switch %n, (), 0"), None),
    (kernel(A), "block: block 0 does not end in a terminator"),
    (kernel(""), "block: block 0 does not end in a terminator"),
    (kernel("branch 0 return"), "branch 0: a terminator is last in its region"),
    (kernel("if %c { branch 0 } return"), "branch: stands outside a block"),
    (kernel("if %c { exit } return"), None),
    (kernel("return", after=A), "graph: is the last op of a function's body"),
    (kernel(), "graph: has no block"),
    ("kernel @k() { graph { block 1 { return } block 1 { return } } }", "a second block 1"),
    ("kernel @k() { graph { return } }", "graph: holds blocks only, not return"),
    ("kernel @k() { block 1 { return } }", "block: stands outside a graph"),
    ("kernel @k() { branch 1 }", "branch: stands outside a block"),
    ("kernel @k(%c: b1) { if %c { graph { block 1 { return } } } }", "graph: is the last op"),
    ("device @f() -> (i32) { graph { block 1 { return } } } kernel @k() {}", "return: returns"),
    ("device @f() -> (i32) { graph { block 1 { exit } } } kernel @k() {}", None),
    # scopes
    ("kernel @k() { scope { scope [label=1] { leave [target=1] } } }", None),
    ("kernel @k() { scope [label=1] { scope { leave [target=1] } } }", None),
    ("kernel @k() { scope [label=1] { scope { leave [target=2] } } }", "leave: no scope 2 around"),
    ("kernel @k() { scope [label=1] {} scope { leave [target=1] } }", "leave: no scope 1 around"),
    ("kernel @k() { scope [label=1] {} scope [label=1] {} }", "scope: a second scope 1"),
    ("kernel @k() { scope [label=-1] {} }", "scope: -1 is no label"),
]
FALLS = "device @f(%c: b1) -> (i32) { %0: i32 = const 1 scope [label=1] { BODY } } kernel @k() {}"
RETURNS = "scope [label=2] { if %c { leave [target=WHERE] } return (%0) } return (%0)"


@pytest.mark.parametrize(("text", "message"), INVALID)
def test_the_verifier(text: str, message: str | None) -> None:
    if message is None:
        verify(parse_module(text), CFG)
        return
    with pytest.raises((VerifyError, ParseError), match=message):
        verify(parse_module(text), CFG)


@pytest.mark.parametrize("where", [1, 2])
def test_a_leave_of_an_outer_scope_reaches_its_end(where: int) -> None:
    module = parse_module(FALLS.replace("BODY", RETURNS.replace("WHERE", str(where))))
    if where == 2:
        verify(module)
        return
    with pytest.raises(VerifyError, match="can run off its end"):
        verify(module)


def test_only_stage_cfg_has_graphs() -> None:
    with pytest.raises(VerifyError, match="graph: is not legal at this stage"):
        verify(parse_module(kernel("return")), KERNEL)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("%a: i32 = const 1 %a: i32 = const 2 return", "a second value %a"),
        ("%a: f32 = add %n, %n return", "add gives i32, not f32"),
        ("%b: i32 = add %zz, %zz return", "no value %zz is visible here"),
        ("%a: i32 = const 1", "expected an op"),
        ("%a: nothing = const 1 return", "is not a type"),
    ],
)
def test_bad_text_is_an_error(text: str, message: str) -> None:
    cut = kernel(text) if "return" in text else f"kernel @k() {{ graph {{ block 0 {{ {text}"
    with pytest.raises(ParseError, match=message):
        parse_module(cut)


def test_ten_thousand_blocks_are_verified_and_printed() -> None:
    """A chain of blocks dominates to a depth that no recursion reaches."""
    count = 10_000
    blocks = [f"%v{i}: i32 = add %n, %n branch {i + 1}" for i in range(count)]
    module = parse_module(kernel(*blocks, "%s: i32 = add %v0, %v9999 return"))
    verify(module, CFG)
    text = print_module(module)
    assert print_module(parse_module(text)) == text
    last = module.kernel.body.ops[-1]
    assert isinstance(last, Graph)
    branch = next(last.blocks()).body.ops[-1]
    assert isinstance(branch, Branch) and branch.target == 1 and branch.results == ()
    assert module.kernel.params[0].value.type is i32


@pytest.mark.parametrize("seed", range(40))
def test_dominators(seed: int) -> None:
    """A node dominates another if the other cannot be reached without it."""
    rng = random.Random(seed)
    count = rng.randrange(1, 14)
    edges = [[rng.randrange(count) for _ in range(rng.randrange(3))] for _ in range(count)]
    tree = dominators(edges)

    def reached(without: int) -> set[int]:
        seen = {0} - {without}
        waiting = list(seen)
        while waiting:
            new = set(edges[waiting.pop()]) - seen - {without}
            seen |= new
            waiting += new
        return seen

    everything = reached(-1)
    assert set(tree.order) == everything
    for a in everything:
        dominated = everything - reached(a)
        assert dominated == {b for b in everything if tree.dominates(a, b)}
        above = {b for b in everything - {a} if a not in reached(b)}
        nearest = [b for b in above if all(tree.dominates(c, b) for c in above)]
        assert [tree.parent[a]] == (nearest or [-1])

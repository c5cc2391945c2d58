"""Ops that a target does not emit are written in others, by their own expansion."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.devices import run_on
from tests.passes.legalizing import check, ops_of

from gridlane.backends import backend, names
from gridlane.compiler import generate
from gridlane.conformance.suite import cases
from gridlane.core.errors import TargetError
from gridlane.core.options import Target
from gridlane.ir.op import REGISTRY, Op, operation
from gridlane.ir.ops import arith, control
from gridlane.ir.parser import parse_module
from gridlane.ir.values import Module, Value
from gridlane.ir.verifier import verify
from gridlane.passes.legalise.expand_ops import expand_ops

EMITTING = [name for name in names() if backend(name).codegen]
"""Targets with a code generator."""


@pytest.fixture
def square(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Op]]:
    """An op that expands into a product, and one that expands into two of it."""
    before = dict(REGISTRY)

    @operation("square")
    class Square(arith.Unary):
        value: Value

        def expand(self, b: Any) -> tuple[Value, ...]:
            return (b.mul(self.value, self.value),)

    @operation("powers")
    class Powers(arith.Unary):
        value: Value

        def result_types(self):
            return (self.value.type, self.value.type)

        def expand(self, b: Any) -> tuple[Value, ...]:
            twice = b.value(Square(self.value))
            return twice, b.value(Square(twice))

    yield Square
    REGISTRY.clear()
    REGISTRY.update(before)


KERNEL = """
kernel @k(%p: ptr<i32, global>, %x: i32, %c: b1) {
  %s: i32 = square %x loc("a.py", 7, 1, 9, "k")
  if %c {
    %a: i32, %b: i32 = powers %s
    %sum: i32 = add %a, %b
    %t: i32 = square %sum
    store %p, %t
  }
  store %p, %s
}
"""


@pytest.mark.usefixtures("square")
def test_all_are_expanded() -> None:
    module = parse_module(KERNEL)
    expand_ops(module, frozenset())
    verify(module)
    names = [op.name for op in ops_of(module)]
    assert names == ["mul", "if", "mul", "mul", "add", "mul", "store", "store"]
    first, branch, _ = module.kernel.body.ops
    assert first.loc.line == 7
    last = branch.then.ops[-1]  # type: ignore[attr-defined]  # an If
    assert last.value.op.name == "mul"  # type: ignore[union-attr]


def test_emitted_ops_stay(square: type[Op]) -> None:
    module = parse_module(KERNEL)
    expand_ops(module, frozenset({square}))
    names = [op.name for op in ops_of(module)]
    assert names == ["square", "if", "square", "square", "add", "square", "store", "store"]


def test_nothing_changes_without_such_ops() -> None:
    module = parse_module("kernel @k(%x: i32) {\n  %s: i32 = neg %x\n  %t: i32 = abs %s\n}")
    ops = list(module.kernel.body.ops)
    expand_ops(module, frozenset())
    assert module.kernel.body.ops == ops


@pytest.mark.usefixtures("square")
@pytest.mark.parametrize("target", EMITTING)
def test_every_target_takes_an_op_that_none_emits(target: str) -> None:
    code = generate(parse_module(KERNEL), Target(target, (32, 1, 1)))
    assert code.code


@pytest.mark.parametrize("target", EMITTING)
def test_an_op_that_is_neither_emitted_nor_expanded_is_refused(
    target: str, square: type[Op], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(square, "expands", False)
    text = "kernel @k(%p: ptr<i32, global>, %x: i32) {\n  %s: i32 = square %x\n  store %p, %s\n}"
    with pytest.raises(TargetError, match=f"the {target} target has no square"):
        generate(parse_module(text), Target(target, (32, 1, 1)))


CASES = [case for case in cases() if REGISTRY[case.op].expands]


def expand_all(module: Module) -> None:
    expand_ops(module, frozenset())
    assert not any(op.expands for op in ops_of(module))


def test_expansions_mean_what_the_ops_mean() -> None:
    for case in CASES:
        check(case, expand_all)


NOTHING = {"warpgroup_fence", "warpgroup_commit", "register_limit"}
NOTHING |= {"bulk_commit", "bulk_wait", "proxy_fence"}
"""Ops that expand into no other."""


def test_a_broken_expansion_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    for cls in [cls for cls in REGISTRY.values() if cls.expands and cls.name not in NOTHING]:
        zeros = lambda op, b: tuple([b.zero(value.type) for value in op.results])  # noqa: E731
        monkeypatch.setattr(cls, "expand", zeros)
        with pytest.raises(AssertionError):
            for case in CASES:
                if case.op == cls.name:
                    check(case, expand_all)


LONG = """
kernel @k(%p: ptr<u32, global>, %a: u32, %b: u32, %s: u32) {
  %x: u32 = prmt %a, %a, %s
  %y: u32 = prmt %x, %b, %s
  %z: u32 = prmt %y, %x, %s [mode=b4e]
  %known: u32 = const 0x5140
  %w: u32 = prmt %z, %y, %known
  store %p, %w
}
"""


def test_a_long_expansion_is_a_function() -> None:
    """One for each mode. What a known selector leaves is short, and stays in its place."""
    text = LONG.replace("0x5140", str(0x5140))
    module, wanted = parse_module(text), []
    expand_ops(module, frozenset())
    verify(module)
    calls = [op.callee for op in module.kernel.body.walk() if isinstance(op, control.Call)]
    assert len(calls) == 3 and len(set(calls)) == 2
    assert set(module.functions) - set(calls) == {"k"}
    assert all(module.functions[name].is_library for name in calls)
    for a, b, s in ((0x03020100, 0x87868584, 0x7531), (0xFFFEFDFC, 0x11223344, 0xF29C), (1, 2, 3)):
        got, want = np.zeros(1, np.uint32), np.zeros(1, np.uint32)
        for changed, out in ((module, got), (parse_module(text), want)):
            arrays = run_on("interp", changed, (1, 1, 1), (1, 1, 1), [out], (a, b, s)).arrays
            wanted.append(arrays[0][0])
        assert wanted[-1] == wanted[-2]

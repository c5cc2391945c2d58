"""The emission for GPUs asks its overlay for all that a target spells in its own way."""

from __future__ import annotations

from dataclasses import dataclass

import llvmlite.binding as llvm
import pytest

from gridlane.codegen.emitters import Emitters
from gridlane.codegen.llvm.gpu.kernel import KernelCode, emit_kernel
from gridlane.codegen.llvm.gpu.overlay import Overlay
from gridlane.core.errors import TargetError
from gridlane.core.options import KernelOptions
from gridlane.core.source import Loc
from gridlane.ir.ops.grid import MemoryScope
from gridlane.ir.parser import parse_module
from gridlane.ir.types import Space

KERNEL = """
error 0 "IndexError" "out"
global @tile: f32 * 64 [space=shared]

kernel @work(%data: ptr<f32, global>, %count: ptr<i32, global>, %n: i32) {
  %x: i32 = thread_idx x
  %b: i32 = block_idx x
  %size: i32 = block_dim x
  %start: i32 = mul %b, %size
  %i: i32 = add %start, %x
  %inside: b1 = lt %i, %n
  if %inside {
    %tile: ptr<f32, shared> = global @tile
    %at: ptr<f32, shared> = offset %tile, %x
    %from: ptr<f32, global> = offset %data, %i
    %value: f32 = load %from
    store %at, %value
    %any: ptr<f32, generic> = recast %at
    %again: f32 = load %any
    store %from, %again
    %one: i32 = const 1
    %old: i32 = atomic add, %count, %one [order=acq_rel, scope=block]
    fence system
  } orelse {
    raise 0
  }
}
"""


@dataclass(frozen=True, slots=True)
class Toy(Overlay):
    """A target whose every word differs from those of the overlays that there are."""

    target = "toy"
    device = "Toys"
    triple = "toy-unknown-unknown"
    convention = "spir_kernel"
    emitters = Emitters()
    spaces = dict(zip(Space, (0, 11, 13, 14, 15)))
    scopes = {scope: f'syncscope("toy-{scope.name}") ' for scope in MemoryScope}
    atomic_scopes = {scope: f'syncscope("toy-one-{scope.name}") ' for scope in MemoryScope}

    def index(self, body, query, axis):
        return body.call("i32", "toy.index", [("i32", str(axis.value))])

    def leave(self, body):
        body.call("void", "toy.leave", [])

    def fragment_name(self, type_):
        return "[2 x i32]"

    def entry_name(self, name):
        return f"toy_{name}"

    def attributes(self, options, cluster):
        return ['"toy"="yes"']

    def by_value(self, size):
        return f"byval([{size} x i8])"

    def module_flags(self, options):
        return []


def emitted(text: str, debug: bool = False) -> KernelCode:
    module = parse_module(text)
    for op in module.kernel.body.walk():
        op.loc = Loc("toy.py", 3, 1)
    module.kernel.loc = Loc("toy.py", 1, 0)
    return emit_kernel(module, KernelOptions(debug=debug), Toy())


@pytest.mark.parametrize("debug", [False, True])
def test_the_general_code_knows_no_target(debug: bool) -> None:
    text = emitted(KERNEL, debug=debug).text
    llvm.parse_assembly(text).verify()
    assert not any(word in text for word in ("nvvm", "nvptx", "ptx"))
    spaces = {number for number in range(20) if f"addrspace({number})" in text}
    assert spaces == {11, 13}
    for word in ("toy.index", "toy.leave", "toy_work", "toy-BLOCK", "toy-one-BLOCK", "toy-SYSTEM"):
        assert word in text
    assert ("gridlane_mark" in text) == debug


def test_an_op_that_the_overlay_lacks_is_refused_by_name() -> None:
    with pytest.raises(TargetError, match="the toy target has no barrier"):
        emitted("kernel @wait() {\n  barrier\n}\n")


def test_an_emitter_of_the_overlay_goes_before_the_general_one(monkeypatch) -> None:
    from gridlane.ir.ops.grid import Fence

    own = Emitters()
    monkeypatch.setattr(Toy, "emitters", own)
    own.emits(Fence)(lambda state, op: state.body.do("; a fence of toys"))
    text = emitted(KERNEL).text
    assert "a fence of toys" in text and "toy-SYSTEM" not in text

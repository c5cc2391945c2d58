"""A wrong lowering of any op is noticed: each is broken on purpose, and its cases must fail."""

from __future__ import annotations

import faulthandler
import os
import signal

import pytest
from tests.devices import assert_same, run_on

from gridlane.codegen.llvm import scalars
from gridlane.codegen.llvm.cpu import dispatch, kernel
from gridlane.codegen.llvm.cpu.lanes import Emission, Uniform
from gridlane.codegen.llvm.text import literal, scalar_name, splat
from gridlane.conformance.cases import INEXACT, Case, arithmetic
from gridlane.conformance.effects import effects
from gridlane.core.dtypes import DType
from gridlane.ir.op import REGISTRY, Op

assert kernel.FAMILIES

CASES: dict[str, list[Case]] = {}
for _case in [*arithmetic(), *effects()]:
    CASES.setdefault(_case.op, []).append(_case)

NAMES = {cls: name for name, cls in REGISTRY.items()}

# What has no result and no effect of its own to break: a warp's lanes go in lockstep here anyway,
# and fences order what one thread does alone in the cases.
# Printed lines are compared in tests/cuda.
WITHOUT_EFFECT = {"sync_warp", "fence", "barrier", "print"}


def zero(state: Emission, op: Op) -> None:
    """Emits nothing and answers zero."""
    for result in op.results:
        if isinstance(result.type, DType):
            shape = state.shapes.of(result)
            value = Uniform(literal(0.0 if result.type.is_float else 0, result.type))
            state.set(result, state.shaped(value, shape, result.type))
        else:
            state.set(result, state.zero(result.type))


def scalar_zero(body: object, op: Op, lanes: int, operands: list[str]) -> str:
    """A zero of the result's type."""
    type_ = op.results[0].type
    assert isinstance(type_, DType)
    name = scalar_name(type_)
    if type_.name == "bf16" and operands and len(name) > 1:
        name, text = "float", literal(0.0, DType("f32", type_.kind, 32))
        return splat(text, name, lanes)
    return splat(literal(0.0 if type_.is_float else 0, type_), name, lanes)


def is_noticed(name: str) -> bool:
    """Whether a case of the op fails, or its code is refused."""
    for case in CASES[name]:
        launch = (case.module, case.grid, case.block, case.arrays, (), case.shared)
        wanted = run_on("interp", *launch)
        try:
            got = run_on("cpu", *launch)
            assert got.raised == wanted.raised
            assert_same(got.arrays, wanted.arrays, case.labels)
        except Exception:  # any failure is a notice: wrong values, or code that LLVM refuses
            return True
    return False


NOT_NOTICED = 77


def is_noticed_in_a_child(name: str) -> bool:
    """The same in a forked process, since broken code may crash or never end; both are notices."""
    child = os.fork()
    if child == 0:
        faulthandler.disable()
        signal.alarm(6)
        os._exit(0 if is_noticed(name) else NOT_NOTICED)
    _, status = os.waitpid(child, 0)
    return status != NOT_NOTICED << 8


SCALAR = sorted(NAMES[cls] for cls in scalars.TABLE if cls not in INEXACT and NAMES[cls] in CASES)


@pytest.mark.parametrize("name", SCALAR)
def test_broken_arithmetic_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cls = REGISTRY[name]
    monkeypatch.setitem(scalars.TABLE, cls, scalar_zero)
    if cls in dispatch.TABLE:
        monkeypatch.setitem(dispatch.TABLE, cls, zero)
    assert is_noticed_in_a_child(name)


LANES = sorted(NAMES[cls] for cls in dispatch.TABLE if cls not in INEXACT and NAMES[cls] in CASES)


@pytest.mark.parametrize("name", [name for name in LANES if name not in WITHOUT_EFFECT])
def test_broken_lane_op_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cls = REGISTRY[name]
    monkeypatch.setitem(dispatch.TABLE, cls, zero)
    assert is_noticed_in_a_child(name)

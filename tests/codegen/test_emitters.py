"""Each pair of an op and a target: emitted, expanded, legalised by a pass, or refused by name."""

from __future__ import annotations

import numpy as np
import pytest

from gridlane.backends import backend, names
from gridlane.compiler.generation import lowered
from gridlane.compiler.pipeline import emitted_for
from gridlane.conformance.cases import INEXACT, Case, emitting, over
from gridlane.conformance.module_runner import EXACT
from gridlane.conformance.suite import cases
from gridlane.core.dtypes import f32
from gridlane.core.errors import TargetError
from gridlane.core.options import Target
from gridlane.ir.families import CLUSTERS, MBARRIERS, TENSORS, WARPGROUPS
from gridlane.ir.op import REGISTRY, Op
from gridlane.ir.stages import KERNEL

EMITTING = [name for name in names() if backend(name).codegen]
"""Targets with a code generator."""
BY_PLAN = {"cpu": {"barrier", "barrier_reduce", "run_others"}}
"""What a code generator does without an emitter: plan.py cuts CPU kernels where barriers are."""


def case_of(cls: type[Op]) -> Case:
    """A case of an op, in 32 bits where it has one."""
    if cls in INEXACT:
        count = len(cls.OPERAND_FIELDS)
        return over(cls.name, "f32", [f32] * count, [np.ones(4, np.float32)] * count, emitting(cls))
    found = [case for case in cases() if case.op == cls.name]
    plain = [case for case in found if case.label in ("i32", "f32", "u32")]
    return (plain or found)[0]


def fate(cls: type[Op], target: str) -> str:
    """What becomes of an op for a target."""
    if cls in emitted_for(backend(target)):
        return "emitted"
    if cls.expands:
        return "expanded"
    if cls.name in BY_PLAN.get(target, ()):
        return "planned"
    try:
        _, final = lowered(case_of(cls).module, Target(target, (128, 1, 1)), EXACT)
    except TargetError as error:
        return "refused" if f"the {target} target has no " in error.message else error.message
    left = {op.name for function in final.functions.values() for op in function.body.walk()}
    return "left" if cls.name in left else "legalised"


FATES = ("emitted", "expanded", "planned", "legalised", "refused")


@pytest.mark.parametrize("target", EMITTING)
def test_every_op_has_a_fate(target: str) -> None:
    fates = {name: fate(REGISTRY[name], target) for name in KERNEL}
    assert {name: each for name, each in fates.items() if each not in FATES} == {}


@pytest.mark.parametrize("target", EMITTING)
def test_only_ops_are_emitted(target: str) -> None:
    found = emitted_for(backend(target))
    assert found <= set(REGISTRY.values())
    assert {cls.name for cls in found} >= {"add", "load", "if"}


def test_expansions_are_of_pure_elementwise_ops() -> None:
    """Passes move, repeat and drop what such ops are written in. The others have effects."""
    others = WARPGROUPS | MBARRIERS | TENSORS | CLUSTERS
    expanded = [cls for cls in REGISTRY.values() if cls.expands]
    assert all(cls.pure and cls.elementwise for cls in expanded if cls.name not in others)
    assert not any(cls.pure or cls.elementwise for cls in expanded if cls.name in others)


def test_an_op_without_a_fate_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    add = REGISTRY["add"]
    monkeypatch.setattr("tests.codegen.test_emitters.emitted_for", lambda _: frozenset())
    assert fate(add, "cpu") not in FATES

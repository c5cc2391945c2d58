"""MSL: on the stand-in for Metal, whose compiler is g++, kernels write each field."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from tests.actors.layouts.samples import (
    ALL,
    AWKWARD,
    access,
    assert_same,
    families,
    spelled,
    values,
)
from tests.actors.layouts.tools import swapped
from tests.effort import examples
from tests.msl_cpu import machine

from gridlane.actors.layouts import msl
from gridlane.actors.layouts.blocks import ControlBlock
from gridlane.emulation.metal.machine import FailedCompilationError, Program, kernels_of

pytestmark = pytest.mark.skipif(
    machine.compiler() is None and not machine.in_ci(), reason="no g++ with _Float16"
)
KERNEL = """
kernel void write_{number}(device {struct}& it [[buffer(0)]], device uint* wrong [[buffer(1)]]) {{
{statements}
}}
"""


def literal(leaf, value) -> str:
    if leaf.dtype.kind == "b":
        return "true" if value else "false"
    if leaf.dtype == np.float64:
        return f"{value.view(np.uint64)}ul"
    if leaf.dtype.kind == "f":
        return f"{float(value)!r}f"
    return f"(long)({int(value)}l)" if leaf.dtype.kind == "i" else f"{value}ul"


def written(layouts, text: str) -> list[np.ndarray]:
    """The bytes of each layout after its kernel."""
    scope, code = msl.scope_of(layouts), [text]
    for number, layout in enumerate(layouts):
        lines = [
            f"    it{access(spelled(leaf.path, layout, scope))} = {literal(leaf, value)};"
            for leaf, value in values(layout)
        ]
        lines += [
            f"    wrong[0] += (float)it{access(spelled(leaf.path, layout, scope))}"
            f" != (float){literal(leaf, value)};"
            for leaf, value in values(layout)
        ]
        kernel = {"number": number, "struct": scope.struct(layout), "statements": "\n".join(lines)}
        code.append(KERNEL.format(**kernel))
    program, made = Program(["".join(code)]), []
    for number, layout in enumerate(layouts):
        memory = np.zeros(layout.size, np.uint8)
        kernel = program.kernels[0][f"write_{number}"]
        assert program.sizes(kernel) == [layout.size, 0]
        wrong = np.zeros(1, np.uint32)
        buffers = {0: memory.ctypes.data, 1: wrong.ctypes.data}
        program.run(kernel, buffers, (1, 1, 1), (1, 1, 1))
        assert not wrong[0], f"{layout.name}: a field reads as another number"
        made.append(memory)
    return made


def test_kernels_write_each_field() -> None:
    for layout, memory in zip(ALL, written(ALL, msl.text(ALL))):
        assert_same(memory, layout)


def test_another_order_is_seen() -> None:
    text = swapped(msl.text([ControlBlock]), " received;", " answered;")
    with pytest.raises(FailedCompilationError, match=r"ControlBlock\.received: its place"):
        kernels_of(text)
    unasserted = "\n".join(line for line in text.splitlines() if "static_assert" not in line)
    (memory,) = written([ControlBlock], unasserted)
    with pytest.raises(AssertionError, match="received"):
        assert_same(memory, ControlBlock)


@settings(
    max_examples=examples(2, 30),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(families(12))
def test_random_layouts_are_accepted(made) -> None:
    assert kernels_of(msl.text(made)) == {}


def test_names_that_msl_reserves() -> None:
    names = msl.scope_of([AWKWARD]).members(AWKWARD)[1]
    assert names["uint"] == "uint_" and names["type"] == "type"
    assert "struct half_ {" in msl.text([AWKWARD])


def test_binary64_is_its_bits() -> None:
    assert "/* the bits of a double */ ulong one_float64;" in msl.text(ALL)

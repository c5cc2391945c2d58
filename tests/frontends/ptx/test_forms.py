"""Each elementwise form of the table against the model of the ISA, bit for bit, on 16 operands.

``make oracle`` runs 2,000 on every device; see docs/ptx-forms.md.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.effort import examples
from tests.frontends.ptx.model import cases
from tests.frontends.ptx.oracle import Program, Use, launched, uses

from gridlane import cuda
from gridlane.frontends.ptx.forms import FORMS
from gridlane.launch import current
from gridlane.launch.devices import get_device

OTHERS = {
    "memory": "ld ldu st prefetch prefetchu discard applypriority createpolicy cp cvta",
    "addresses": "isspacep istypep",
    "atomics": "atom red",
    "threads": "mbarrier bar barrier membar fence nanosleep pmevent brkpt setmaxnreg",
    "clusters": "mapa getctarank griddepcontrol",
    "matrices": "mma wmma wgmma ldmatrix stmatrix movmatrix",
    "textures": "tex tld4 txq suld sust sured suq",
    "warps": "shfl vote activemask match redux elect",
    "tensors": "tensormap",
    "stack": "alloca stacksave stackrestore",
}
"""Roots whose results are not those of operands alone; other tests run them."""
ROOTS = [root for root in FORMS if root not in " ".join(OTHERS.values()).split()]
_VECTORS = "mov.v2", "mov.v4", "mov.b128"
"""Copies of several registers, which test_spellings runs."""
_THREE = re.compile(r"(min|max)\.(ftz\.)?(NaN\.)?abs\.f32")
"""Forms of three operands, which test_extremes runs."""
SPELLINGS = list(
    dict.fromkeys(
        spelling
        for root in ROOTS
        for row in FORMS[root]
        for spelling in row.spellings()
        if not spelling.startswith(_VECTORS) and not _THREE.fullmatch(spelling)
    )
)
USES = list(uses(SPELLINGS))
BATCH = 60
_MANY = "set.", "vset", "vadd", "vsub", "vabs", "vmin", "vmax", "vavr"
_SETS = examples(7, 1)
TESTED = [use for n, use in enumerate(USES) if use.spelling[:4] not in _MANY or n % _SETS == 0]
"""Two thirds of the forms are those of ``set`` and of video: ``make test`` runs some of them."""
BATCHES = [TESTED[at : at + BATCH] for at in range(0, len(TESTED), BATCH)]
SAMPLE = USES[7::67]
"""What devices with slow compilers run in ``make test``."""
ON_CPU = examples(2, 1)
"""The CPU runs one form of so many; the interpreter runs all."""
FAST = ["interp", *(each for each in DEVICES if each in ("cpu", "cuda"))]
ON_GPUS = re.compile(
    r"bf[ei]\.\w64|fns\.b32|cvt\.r[mp]\.ftz(\.sat)?\.f16\.f32"
    r"|v(add|sub|absdiff|min|max|mad|shl|shr|set)\."
)
"""Where NVIDIA's own compiler differs from the ISA; docs/ptx-instructions.md lists it."""


def _named(batch: list[Use]) -> str:
    return f"{batch[0].spelling}-{batch[-1].spelling}"


def test_each_form_has_a_model_or_is_named():
    assert [each for each in SPELLINGS if not cases(each)] == []
    assert set(" ".join(OTHERS.values()).split()) <= set(FORMS)


@pytest.mark.parametrize("batch", BATCHES, ids=_named)
@pytest.mark.parametrize("device", FAST)
def test_forms(device, batch):
    assert list(_wrong(device, batch)) == []


@pytest.mark.parametrize("device", [each for each in DEVICES if each not in FAST])
def test_a_sample_of_forms(device):
    assert list(_wrong(device, SAMPLE)) == []


def _wrong(device: str, batch: list[Use]) -> Iterator[str]:
    current.choose(get_device(device))
    if device == "cpu":
        batch = batch[::ON_CPU]
    if device == "cuda":  # the driver compiles the text as it is
        batch = [use for use in batch if use.case.target == "sm_90"]
    if not batch:
        return iter(())
    program = Program(batch, examples(16, 2000), seed=USES.index(batch[0]))
    wrong = program.wrong(launched(program, cuda.RawModule))
    return (line for line in wrong if device != "cuda" or not ON_GPUS.match(line))


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="ptxas of CUDA is not installed")
@pytest.mark.parametrize("target", ["sm_90", "sm_100a"])
def test_ptxas_accepts_each_form(tmp_path: Path, target: str):
    chosen = [use for use in USES if use.case.target == target]
    for part in range(16):  # a kernel of all takes it three times as long
        text = Program(chosen[part::16], 16, target=target).text
        assert _refused(text, tmp_path, target) == []


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="ptxas of CUDA is not installed")
def test_ptxas_accepts_atomics(tmp_path: Path):
    lines: list[str] = []
    for row in [*FORMS["atom"], *FORMS["red"]]:
        for spelling in list(row.spellings())[::17]:
            if spelling.endswith("b128") or ".async" in spelling:
                continue  # test_wide_atomics and test_larger_clusters have these
            value = "%b32" if spelling.endswith("x2") else f"%b{spelling[-2:]}"
            if found := re.search(r"\.v([248])\.", spelling):
                value = "{" + ", ".join([value] * int(found[1])) + "}"
            result = [value] if row.root == "atom" else []
            address = "[%near]" if ".shared" in spelling else "[%far]"
            given = [value, value] if ".cas" in spelling else [value]
            hint = ["%hint"] if "cache_hint" in spelling else []
            lines.append(f"{spelling} {', '.join((*result, address, *given, *hint))};")
    assert _refused("\n".join((_AROUND, *lines, "ret;\n}\n")), tmp_path) == []


_AROUND = """.version 9.0
.target sm_90
.address_size 64
.entry atomics() {
.reg .b16 %b16; .reg .b32 %b32; .reg .b64 %b64, %near, %far, %hint;"""


def _refused(text: str, folder: Path, target: str = "sm_90") -> list[str]:
    """The lines that ptxas refuses, each with the reason."""
    source = folder / "forms.ptx"
    source.write_text(text)
    command = ["ptxas", f"-arch={target}", "-O0", "-o", str(folder / "forms.cubin"), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = text.split("\n")
    found = re.findall(r"line (\d+); error\s*:\s*(.*)", done.stderr)
    refused = [f"{lines[int(line) - 1]} {reason}" for line, reason in found]
    assert refused or done.returncode == 0, done.stderr
    return refused


def test_the_model_knows_what_is_wrong():
    """A result with a bit changed is seen."""
    program = Program(list(uses(["add.u32", "setp.lt.f32", "cvt.u8.u32", "sin.approx.f32"])), 16)
    current.choose(get_device("interp"))
    made = launched(program, cuda.RawModule)
    assert list(program.wrong(made)) == []
    wrong = np.bitwise_xor(made, np.uint64(1 << 6))
    assert len({line.split()[0] for line in program.wrong(wrong)}) == 4

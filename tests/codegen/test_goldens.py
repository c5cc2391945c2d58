"""The text of a small kernel in each shading language. After a change on purpose, write the files
anew: ``python -m tests.codegen.test_goldens``."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridlane.compiler import generate
from gridlane.core.compact import Variant
from gridlane.core.options import Target
from gridlane.ir.parser import parse_module

FOLDER = Path(__file__).with_name("goldens")
LANGUAGES = ("metal", "opengl", "webgpu")
KERNEL = """
kernel @turn(%source: ptr<f32, global>, %target: ptr<f32, global>, %n: i32) {
  %x: i32 = thread_idx x
  %b: i32 = block_idx x
  %size: i32 = block_dim x
  %start: i32 = mul %b, %size
  %i: i32 = add %start, %x
  %inside: b1 = lt %i, %n
  if %inside {
    %from: ptr<f32, global> = offset %source, %i
    %value: f32 = load %from
    %half: f32 = const 0x1p-1
    %less: f32 = mul %value, %half
    %four: i32 = const 4
    %row: i32 = div %i, %four
    %to: ptr<f32, global> = offset %target, %row
    store %to, %less
  }
}
"""


GOLDENS = {
    **{f"turn.{name}": Target(name, (64, 1, 1)) for name in LANGUAGES},
    **{
        f"turn-buffers.{name}": Target(name, (64, 1, 1), variant=Variant(buffers=(0, 1)))
        for name in ("opengl", "webgpu")
    },
}
"""The target of each file. Of some the arrays are in two buffers of the device's memory."""


def text(target: Target) -> str:
    """The program of the kernel."""
    return generate(parse_module(KERNEL), target).code.decode()


@pytest.mark.parametrize("file", GOLDENS)
def test_golden(file: str) -> None:
    assert text(GOLDENS[file]) == (FOLDER / file).read_text()


if __name__ == "__main__":
    for name, target in GOLDENS.items():
        (FOLDER / name).write_text(text(target))

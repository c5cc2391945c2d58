"""The text of a small kernel in each shading language. After a change on purpose, write the files
anew: ``python -m tests.codegen.test_goldens``."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridlane.compiler import generate
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


def text(language: str) -> str:
    """The program of the kernel."""
    return generate(parse_module(KERNEL), Target(language, (64, 1, 1))).code.decode()


@pytest.mark.parametrize("language", LANGUAGES)
def test_golden(language: str) -> None:
    assert text(language) == (FOLDER / f"turn.{language}").read_text()


if __name__ == "__main__":
    for name in LANGUAGES:
        (FOLDER / f"turn.{name}").write_text(text(name))

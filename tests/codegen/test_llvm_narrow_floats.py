"""Floats that are held as bits in LLVM IR, and computed in f32."""

from __future__ import annotations

import threading

import pytest

from gridlane import compiler
from gridlane.codegen.llvm import scalars
from gridlane.core.options import Target
from gridlane.ir.ops import arith
from gridlane.ir.parser import parse_module

KERNEL = """
kernel @k(%p: ptr<{type}, global>) {{
  %t: i32 = thread_idx x
  %q: ptr<{type}, global> = offset %p, %t
  %x: {type} = load %q
  %y: {type} = mul %x, %x
  store %q, %y
}}
"""


def text(type_: str) -> str:
    module = parse_module(KERNEL.format(type=type_))
    return compiler.text(module, Target("cpu", block=(32, 1, 1)), "llvm")


def test_compilations_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Integers are emitted as ever while another thread emits bf16."""
    wanted, others, emit = text("i32"), list[str](), scalars.TABLE[arith.Mul]

    def meanwhile(*arguments):
        monkeypatch.setitem(scalars.TABLE, arith.Mul, emit)
        thread = threading.Thread(target=lambda: others.append(text("i32")))
        thread.start()
        thread.join()
        return emit(*arguments)

    monkeypatch.setitem(scalars.TABLE, arith.Mul, meanwhile)
    assert "fmul" in text("bf16")
    assert others == [wanted]

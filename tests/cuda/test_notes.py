"""What the compiler does in another way than written is said once, to stderr."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gridlane import cuda

NOTE = "a.py:7: float64 is computed in float32; write float32"


def test_a_note_is_shown_once(fake, monkeypatch, capsys):
    compiler = fake.compiler
    plain = compiler.compile_kernel
    noted = lambda *args: replace(plain(*args), notes=(NOTE,))  # noqa: E731
    monkeypatch.setattr("gridlane.compiler.compile_kernel", noted)
    monkeypatch.setattr("gridlane.launch.notes._said", set())

    def kernel(n):
        pass

    for block in (32, 64):
        cuda.jit(kernel)[1, block](1)
    said = capsys.readouterr()
    assert said.err == f"gridlane: note: kernel: {NOTE}\n"
    assert not said.out


def test_compile_takes_fp64():
    def kernel(x):
        pass

    text, _ = cuda.compile(kernel, "void(float32[:])", device=False, fp64="exact")
    assert ".entry" in text
    for compile_ in (cuda.compile, cuda.compile_ptx):
        with pytest.raises(ValueError, match="one of emulate, exact, narrow, refuse"):
            compile_(kernel, "void(float32[:])", device=False, fp64="fast")

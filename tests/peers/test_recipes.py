"""The recipes of docs/interop.md, where the library of each is installed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TEXT = (Path(__file__).parents[2] / "docs" / "interop.md").read_text()

TORCH = """
x = torch.arange(1000, dtype=torch.float32, device=DEVICE, requires_grad=True)
y = torch.ones(1000, device=DEVICE, requires_grad=True)
out = op(x, y, 3.0)
assert torch.equal(out.detach(), x.detach() + 3)
out.sum().backward()
assert torch.equal(x.grad, torch.ones_like(x)) and torch.equal(y.grad, torch.full_like(y, 3))
torch.library.opcheck(op, (x, y, 3.0))
"""
JAX = """
import jax.numpy as jnp
x, y = jnp.arange(1000.0), jnp.ones(1000)
for each in (op, jax.jit(op)):
    assert each(x, y).tolist() == (3 * x + y).tolist()
"""
JAX_CALLBACK = """
import jax.numpy as jnp
assert op(jnp.arange(5.0)).tolist() == [0, 1, 4, 9, 16]
"""


def recipe(title: str) -> str:
    """The code of a section."""
    section = TEXT.partition(f"\n## {title}\n")[2]
    found = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert found is not None
    return found[1]


def run(tmp_path, text: str, **settings: str) -> None:
    """Run a program as ``gridlane run`` does."""
    (tmp_path / "recipe.py").write_text(text)
    command = [sys.executable, "-m", "gridlane", "run", str(tmp_path / "recipe.py")]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=settings or None
    )
    assert done.returncode == 0, done.stderr


def test_an_operator_of_pytorch(tmp_path):
    torch = pytest.importorskip("torch")
    text = recipe("A kernel as an operator of PyTorch")
    for device in ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",):
        program = f"DEVICE = {device!r}\n{text}\n{TORCH}"
        run(tmp_path, program, **{**os.environ, "GRIDLANE_DEVICE": device})


def test_an_operator_of_jax(tmp_path):
    pytest.importorskip("jax")
    run(tmp_path, recipe("A kernel in JAX") + JAX)


def test_a_callback_of_jax(tmp_path):
    pytest.importorskip("jax")
    run(tmp_path, recipe("A kernel in JAX by a callback") + JAX_CALLBACK)

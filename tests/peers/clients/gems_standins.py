"""A plugin of pytest that puts gridlane.tiles in Triton's place for FlagGems' own tests.

GEMS names the checkout. Its tests replace operators of torch's by programs, and compare them with
torch's own; they are those for NVIDIA, over tensors of the CPU. A test that launched no program
says nothing about gridlane, and is skipped.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest
import torch  # type: ignore[import-not-found]  # pyright: ignore[reportMissingImports]

from gridlane import tiles
from gridlane.tiles import JITFunction, install_as_triton
from gridlane.tiles.programs import CompiledKernel

install_as_triton(children=True)
tiles.__version__ = "3.6.0"  # the newest release whose launches FlagGems knows
os.environ["GEMS_VENDOR"] = "nvidia"
_SOURCES = os.path.join(os.environ["GEMS"], "src")
sys.path += [_SOURCES, os.path.join(_SOURCES, "flag_gems/runtime/backend")]
_vendor: Any = import_module("_nvidia")
_vendor.vendor_info = replace(_vendor.vendor_info, device_name="cpu", triton_extra_name="cuda")


def _device(index: int | None) -> AbstractContextManager[None]:
    """What ``torch.cuda.device`` is, for the CPU."""
    return nullcontext()


if not hasattr(torch.cpu, "device"):
    torch.cpu.device = _device

_launched = 0


def _counted(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **keywords: Any) -> Any:
        global _launched
        _launched += 1
        return function(*args, **keywords)

    return call


for _class, _name in (
    (JITFunction, "__getitem__"),
    (JITFunction, "run"),
    (CompiledKernel, "__getitem__"),
):
    setattr(_class, _name, _counted(getattr(_class, _name)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Skip what launched no program."""
    before = _launched
    yield
    if _launched == before:
        pytest.skip("launches no program")

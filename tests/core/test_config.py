"""What the environment says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gridlane.compiler import libdevice
from gridlane.core.config import read


@pytest.mark.parametrize(
    "environment, toolkits",
    [
        ({}, ()),
        ({"CUDA_HOME": "", "CUDA_PATH": "/b"}, (Path("/b"),)),
        ({"CUDA_PATH": "/b", "CUDA_HOME": "/a"}, (Path("/a"), Path("/b"))),
    ],
)
def test_toolkits(environment, toolkits):
    assert read(environment).toolkits == toolkits


def test_libdevice_of_a_toolkit_comes_first(tmp_path, monkeypatch):
    folder = tmp_path / "nvvm" / "libdevice"
    folder.mkdir(parents=True)
    (folder / "libdevice.10.bc").touch()
    settings = read({"CUDA_HOME": str(tmp_path / "none"), "CUDA_PATH": str(tmp_path)})
    monkeypatch.setattr(libdevice, "config", lambda: settings)
    assert libdevice.find_libdevice.__wrapped__() == folder / "libdevice.10.bc"
    # One that is named is the only one that is looked at.
    monkeypatch.setattr(libdevice, "config", lambda: replace(settings, libdevice=Path("/none")))
    assert libdevice.find_libdevice.__wrapped__() is None


@pytest.mark.parametrize("text, seconds", [("5", 5.0), ("0.5", 0.5), (".5", 0.5)])
def test_the_limit_of_a_compiler(text, seconds):
    assert read({"GRIDLANE_COMPILE_TIMEOUT": text}).compile_timeout == seconds
    assert read({"GRIDLANE_SPIN_LIMIT": text}).spin_limit == seconds


@pytest.mark.parametrize("text", ["", "0", "0.0", "-1", "inf", "nan", "1e3", "a"])
def test_limits_of_a_compiler_that_are_none(text):
    with pytest.raises(ValueError, match=r"GRIDLANE_COMPILE_TIMEOUT=.*a number of seconds above 0"):
        read({"GRIDLANE_COMPILE_TIMEOUT": text})


@pytest.mark.parametrize("text", ["", "-1", "inf", "nan", "1e3", "a"])
def test_limits_of_a_spin_loop_that_are_none(text):
    with pytest.raises(ValueError, match=r"GRIDLANE_SPIN_LIMIT=.*a number of seconds, or 0"):
        read({"GRIDLANE_SPIN_LIMIT": text})


def test_the_bytes_of_a_stack():
    assert read({}).stack == 16384 and read({"GRIDLANE_STACK": "1024"}).stack == 1024


@pytest.mark.parametrize("text", ["", "0", "-64", "63", "131073", "1e3", "64.0"])
def test_stacks_that_are_none(text):
    with pytest.raises(ValueError, match=r"GRIDLANE_STACK=.*bytes from 64 to 131072"):
        read({"GRIDLANE_STACK": text})


def test_the_bytes_that_malloc_takes():
    assert read({}).heap == 8 << 20 and read({"GRIDLANE_HEAP": "65536"}).heap == 65536


@pytest.mark.parametrize("text", ["", "0", "-4096", "4095", "1073741825", "1e6", "8M"])
def test_bytes_that_malloc_cannot_take(text):
    with pytest.raises(ValueError, match=r"GRIDLANE_HEAP=.*bytes from 4096 to 2\^30"):
        read({"GRIDLANE_HEAP": text})

"""The rates of ``triton.testing`` without an NVIDIA GPU, and ``nvidia-smi``."""

from __future__ import annotations

import sys

import pytest

import gridlane
from gridlane import tiles
from gridlane.core.errors import UnsupportedBackend
from gridlane.tiles import testing

SMI = """#!{python}
import sys
assert sys.argv[1:3] == ["-i", "0"] and sys.argv[4] == "--format=csv,noheader,nounits", sys.argv
asked = sys.argv[3].removeprefix("--query-gpu=").split(",")
known = {{"clocks.max.sm": "1980", "clocks.max.memory": "2619", "fan.speed": "[N/A]"}}
for each in asked:
    if each not in known:
        print(f'Field "{{each}}" is not a valid field to query.')
        sys.exit(2)
print(", ".join(known[each] for each in asked))
"""


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_other_devices_have_no_rates(device):
    with gridlane.device(device):
        for call in (
            testing.get_dram_gbps,
            lambda: testing.get_max_tensorcore_tflops(tiles.language.float16, 1_000_000),
            lambda: testing.get_max_simd_tflops(tiles.language.float32, 1_000_000, 0),
        ):
            with pytest.raises(UnsupportedBackend, match=f"this thread's device is {device}"):
                call()


def test_nvidia_smi_is_asked(tmp_path, monkeypatch):
    program = tmp_path / "nvidia-smi"
    program.write_text(SMI.format(python=sys.executable))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert testing.nvsmi(["clocks.max.sm", "clocks.max.memory"]) == [1980, 2619]
    with pytest.raises(ValueError, match=r"fan.speed is '\[N/A\]' on this GPU"):
        testing.nvsmi(["clocks.max.sm", "fan.speed"])
    with pytest.raises(UnsupportedBackend, match='ended with 2: Field "clocks" is not a valid'):
        testing.nvsmi(["clocks"])


def test_without_nvidia_smi(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnsupportedBackend, match="there is no program nvidia-smi"):
        testing.nvsmi(["clocks.max.sm"])

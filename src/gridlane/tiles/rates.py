"""``triton.testing``'s rates of NVIDIA GPUs, by the driver's attributes, and ``nvidia-smi``."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from typing import Any

from gridlane.core.errors import UnsupportedBackend
from gridlane.launch import current
from gridlane.tiles.errors import UnsupportedDtype

_PARTS = 4
"""The parts of a multiprocessor, each with its own scheduler."""

_NAMES = {
    "fp32": "float32",
    "fp16": "float16",
    "bf16": "bfloat16",
    "fp8e4nv": "float8_e4m3fn",
    "fp8e5": "float8_e5m2",
}
"""torch's names of dtypes, by Triton's."""

_TENSOR_CORES = {
    **dict.fromkeys(("float32", "int32"), 256),
    **dict.fromkeys(("float16", "bfloat16", "int16"), 512),
    **dict.fromkeys(("int8", "fp8e4b15", "float8_e4m3fn", "float8_e5m2"), 1024),
}
_OLD_TENSOR_CORES = {"float16": 256}
_LANES = {"float32": 32, "float16": 64, "bfloat16": 64}
_OLD_LANES = {"float32": 32, "float16": 64}
"""Operations of a part of a multiprocessor in a cycle, as Triton counts them: those of compute
capability 8.0 for all later ones, and others below; a fused multiply-add is two."""

_SECONDS = 30
"""The time that nvidia-smi has."""


def get_dram_gbps(device: int | None = None) -> float:
    """The most that an NVIDIA GPU's memory can move, in GB/s: two transfers in a cycle.

    Args:
        device: its number; None for this thread's.

    Raises:
        UnsupportedBackend: the device is no NVIDIA GPU, or its driver has no clock of its memory.
    """
    facts = _attributes("get_dram_gbps", device)
    clock_khz, bits = facts.get("MEMORY_CLOCK_RATE", 0), facts.get("GLOBAL_MEMORY_BUS_WIDTH", 0)
    if not clock_khz or not bits:
        raise UnsupportedBackend(
            f"get_dram_gbps: the driver says that the memory has a clock of {clock_khz} kHz and a "
            f"bus of {bits} bits; measure it, for instance by `gridlane profile`"
        )
    return clock_khz * bits * 2 / 1e6 / 8


def get_max_tensorcore_tflops(dtype: Any, clock_rate: float, device: int | None = None) -> float:
    """The most operations of an NVIDIA GPU's tensor cores, in TFLOP/s, by Triton's count.

    Args:
        dtype: of the factors: torch's or Triton's.
        clock_rate: of the multiprocessors, in kHz.
        device: its number; None for this thread's.

    Raises:
        UnsupportedDtype: Triton has no count for the dtype.
        UnsupportedBackend: the device is no NVIDIA GPU.
    """
    what = "get_max_tensorcore_tflops"
    return _tflops(what, _OLD_TENSOR_CORES, _TENSOR_CORES, dtype, clock_rate, device)


def get_max_simd_tflops(dtype: Any, clock_rate: float, device: int | None = None) -> float:
    """The most operations of an NVIDIA GPU without its tensor cores, in TFLOP/s, by Triton's count;
    see ``get_max_tensorcore_tflops``.
    """
    return _tflops("get_max_simd_tflops", _OLD_LANES, _LANES, dtype, clock_rate, device)


def _tflops(
    what: str,
    old: dict[str, int],
    new: dict[str, int],
    dtype: Any,
    clock_khz: float,
    device: int | None,
) -> float:
    facts = _attributes(what, device)
    major, minor = facts["COMPUTE_CAPABILITY_MAJOR"], facts["COMPUTE_CAPABILITY_MINOR"]
    operations = old if major < 8 else new
    name = str(dtype).removeprefix("torch.")
    name = _NAMES.get(name, name)
    if name not in operations:
        raise UnsupportedDtype(
            f"{what}: {dtype} on compute capability {major}.{minor}; there it has rates of "
            f"{', '.join(operations)}"
        )
    return facts["MULTIPROCESSOR_COUNT"] * _PARTS * clock_khz * operations[name] * 1e-9


def _attributes(what: str, ordinal: int | None) -> dict[str, int]:
    """The driver's attributes of an NVIDIA GPU, by its names."""
    if current.kind() != "cuda":
        raise UnsupportedBackend(
            f"{what}: the rates of NVIDIA GPUs, and this thread's device is {current.name()}, of "
            "which no rates are known without measuring; choose the device cuda by "
            "GRIDLANE_DEVICE or with gridlane.device(...), or see `gridlane profile`"
        )
    return (current.device() if ordinal is None else current.numbered(ordinal)).attributes()


def nvsmi(attrs: Sequence[str]) -> list[int]:
    """Numbers of the machine's first NVIDIA GPU, by the program ``nvidia-smi``.

    Args:
        attrs: as ``nvidia-smi --help-query-gpu`` lists them, such as ``clocks.max.sm`` (MHz).

    Raises:
        UnsupportedBackend: there is no such program, or it fails: its own words follow.
        ValueError: an attribute has no whole number on this GPU.
    """
    query = f"--query-gpu={','.join(attrs)}"
    command = ["nvidia-smi", "-i", "0", query, "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
    except FileNotFoundError:
        raise UnsupportedBackend(
            "nvsmi: there is no program nvidia-smi, which comes with NVIDIA's driver"
        ) from None
    except subprocess.TimeoutExpired:
        raise UnsupportedBackend(f"nvsmi: nvidia-smi has not ended in {_SECONDS} s") from None
    if done.returncode:
        words = (done.stdout + done.stderr).strip()
        raise UnsupportedBackend(f"nvsmi: nvidia-smi {query} ended with {done.returncode}: {words}")
    values = [each.strip() for each in done.stdout.split(",")]
    if len(values) != len(attrs):
        raise ValueError(f"nvsmi: {len(attrs)} attributes, and {len(values)} values: {values}")
    for name, value in zip(attrs, values, strict=True):
        if not value.lstrip("-").isdecimal():
            raise ValueError(f"nvsmi: {name} is {value!r} on this GPU, and no whole number")
    return [int(each) for each in values]

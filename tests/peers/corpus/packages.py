"""The packages that write the corpus's PTX, each in a virtual environment of its own.

``make_*.py`` run there and write PTX as JSON; they import nothing of gridlane. No GPU takes part.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
HOME = HERE.parents[2] / "build" / "peers"

REQUIREMENTS = {
    "triton": ("triton==3.9.0", "numpy"),
    "tinygrad": ("tinygrad==0.14.0", "numpy", "ziglang"),
    "warp": ("warp-lang==1.19.0",),
    "nvrtc": (
        "nvidia-cuda-nvrtc==13.0.88",
        "nvidia-cuda-runtime==13.0.96",
        "nvidia-cuda-cccl==13.0.85",
        "nvidia-cuda-crt==13.0.88",
    ),
    "numba": (
        "numba-cuda[cu13]==0.30.4",
        *("pytest", "filecheck", "cloudpickle", "cffi", "psutil", "ml_dtypes", "scipy"),
    ),
    "numba-mlir": (
        *("numba-cuda-mlir[cu13]==0.6.0", "nvidia-cuda-cccl==13.0.85"),
        *("pytest", "pytest-benchmark", "filecheck", "cloudpickle", "cffi", "psutil"),
        *("ml_dtypes", "scipy"),
    ),
}
"""What is installed for each. NVRTC is no newer than the ptxas that CUDA 13.0 has."""
REMOVED = {"numba": ("nvidia-nvjitlink",), "numba-mlir": ("nvidia-nvjitlink",)}
"""What is removed again: nvJitLink makes machine code; without it numba asks libcuda to link."""


class Absent(Exception):
    """A package cannot be installed here."""


@dataclass(frozen=True, slots=True)
class Text:
    """PTX of the corpus.

    Attributes:
        name: of the program, or of the source file.
        variant: the generation that it is compiled for, and how.
        meta: what a launch needs to know: threads of a block, bytes of shared memory, ...
    """

    package: str
    name: str
    variant: str
    ptx: str
    meta: dict[str, Any]


def python(package: str) -> Path:
    """The interpreter of a package's environment, which is made if it is not there.

    Raises:
        Absent: pip does not install it.
    """
    wanted = REQUIREMENTS[package]
    folder = HOME / package
    made = folder / "bin" / "python"
    stamp = folder / "installed"
    if not stamp.exists() or stamp.read_text() != " ".join(wanted):
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        command = [made, "-m", "pip", "install", "--quiet", *wanted]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise Absent(f"pip installs no {' '.join(wanted)}: {done.stderr.strip()[-400:]}")
        if package in REMOVED:
            command = [made, "-m", "pip", "uninstall", "--quiet", "--yes", *REMOVED[package]]
            subprocess.run(command, check=True)
        stamp.write_text(" ".join(wanted))
    return made


@cache
def texts(package: str) -> tuple[Text, ...]:
    """A package's PTX; kept until its version or what is compiled changes.

    Raises:
        Absent: the package cannot be installed.
    """
    maker = HERE / f"make_{package}.py"
    sources = [maker, *sorted((HERE / "cuda").glob("*"))] if package == "nvrtc" else [maker]
    parts = [" ".join(REQUIREMENTS[package]).encode(), *(each.read_bytes() for each in sources)]
    digest = hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]
    kept = HOME / f"{package}-{digest}.json"
    if not kept.exists():
        interpreter = python(package)
        done = subprocess.run([interpreter, maker, kept], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{maker.name} fails:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return tuple(Text(package, **each) for each in json.loads(kept.read_text()))

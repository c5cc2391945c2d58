"""Where CUDA's own headers are on this machine: toolkits, and the wheels of PyPI."""

from __future__ import annotations

import re
import sysconfig
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class Toolkit:
    """Headers of one version, (major, minor)."""

    include: Path
    version: tuple[int, int]

    def __str__(self) -> str:
        return "{}.{}".format(*self.version)


@cache
def toolkits() -> list[Toolkit]:
    """The oldest first, one of each version."""
    site = Path(sysconfig.get_paths()["purelib"]) / "nvidia"
    root = Path(__file__).parents[2] / "build" / "peers"
    places = [
        *Path("/usr/local").glob("cuda*/include"),
        *site.glob("cu*/include"),
        *root.glob("cuda12/lib/python*/site-packages/nvidia/cuda_runtime/include"),
    ]
    found: dict[tuple[int, int], Toolkit] = {}
    for include in places:
        header = include / "cuda.h"
        number = header.is_file() and re.search(
            r"#define CUDA_VERSION (\d+)", header.read_text(errors="replace")
        )
        if number:
            version = divmod(int(number[1]) // 10, 100)
            found.setdefault(version, Toolkit(include, version))
    return [found[version] for version in sorted(found)]

"""The libraries for programs of other projects, and the environment in which these find them."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from tests.peers.corpus.packages import HOME

from gridlane.abi.library.build import LIBRARIES, build, digest


@cache
def libraries() -> Path:
    """A folder with libcuda.so.1 and the others, as gridlane is now."""
    folder = HOME / f"libraries-{digest()[:16]}"
    for each in LIBRARIES:
        if not (folder / each.file).exists():
            build(each, folder)
    return folder


def surroundings(folder: Path) -> dict[str, str]:
    """The environment of a program that shall find the libraries."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return kept | {"LD_LIBRARY_PATH": str(folder)}

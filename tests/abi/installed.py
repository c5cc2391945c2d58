"""The C libraries as they are installed, which all tests of a run share."""

import os
import shutil
from pathlib import Path

import pytest

from gridlane.abi.library import installing


def prefix(factory: pytest.TempPathFactory) -> Path:
    """Where the libraries, their headers and the static runtime are. Whoever is first builds them;
    nobody changes them."""
    if not shutil.which("cc"):
        pytest.skip("cc is not installed, and it compiles the libraries")
    room = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # whose folders are those of one worker
        room = room.parent
    made = room / "gridlane" / "prefix"
    installing.ensure(made)
    return made


def folder(factory: pytest.TempPathFactory, name: str) -> Path:
    """A folder of one's own with links to the libraries, and to the headers as ``include``."""
    made, own = prefix(factory), factory.mktemp(name)
    for each in (made / "lib").iterdir():
        (own / each.name).symlink_to(each)
    (own / "include").symlink_to(made / "include")
    return own

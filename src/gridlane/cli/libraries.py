"""``gridlane install``, ``uninstall`` and ``exec``: CUDA programs with gridlane's libraries."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NoReturn

from gridlane.abi.library import installing
from gridlane.abi.library.build import PRELOADED
from gridlane.abi.library.elf import Elf, runtime_of
from gridlane.abi.library.installing import InstallError
from gridlane.abi.library.program import LINK_AGAIN
from gridlane.cli.failure import CANNOT_EXECUTE, NOT_FOUND, fail, seconds
from gridlane.core.errors import ArgumentError


def install(prefix: str | None, force: bool) -> None:
    """Install the libraries, and say what to do with them."""
    folder = Path(prefix).expanduser().absolute() if prefix else installing.default_prefix()
    written = installing.install(folder, force)
    for path in written:
        print(path)
    print(f"\nPrograms find them after:  . {folder / 'env.sh'}\nor by:  gridlane exec PROGRAM")


def uninstall(prefix: str | None) -> None:
    """Remove what was installed."""
    folder = Path(prefix).expanduser().absolute() if prefix else installing.default_prefix()
    for path in installing.uninstall(folder):
        print(f"removed {path}")


def _is_closed(program: Path) -> bool:
    """Whether a program has a runtime inside that nothing can replace. One that is linked with the
    driver starts all the same: it may call nothing else, and libcuda speaks up if it does."""
    try:
        elf = Elf(program)
    except ArgumentError:  # a script, whose programs find the libraries as well
        return False
    return runtime_of(elf) == "stripped" and "libcuda.so.1" not in elf.needed


def execute(
    program: str,
    args: list[str],
    device: str | None,
    trace: bool,
    timeout: str | None = None,
    check: bool = False,
) -> NoReturn:
    """Replace this process by a program that finds the libraries.

    Raises:
        SystemExit: 127, there is no such program; 126, it is no executable file; as of a shell.
        InstallError: its runtime cannot be replaced.
    """
    limit = None if timeout is None else seconds("exec", timeout)
    path = shutil.which(program)
    if path is None and os.path.exists(program) and os.path.dirname(program):
        fail(f"exec: {program} is no executable file", CANNOT_EXECUTE)
    if path is None:
        fail(f"exec: there is no program {program}", NOT_FOUND)
    prefix = installing.default_prefix()
    if _is_closed(Path(path)):
        raise InstallError(
            f"{program} has NVIDIA's runtime inside, and no symbols to find it by: {LINK_AGAIN}"
        )
    if not installing.is_current(prefix):
        installing.install(prefix, force=True)
    own, before = str(prefix / "lib"), os.environ.get("LD_LIBRARY_PATH")
    settings = {"LD_LIBRARY_PATH": f"{own}:{before}" if before else own}
    # Also for a program without NVIDIA's runtime: a library that it opens later may have it.
    preloaded, already = str(prefix / "lib" / PRELOADED), os.environ.get("LD_PRELOAD")
    settings["LD_PRELOAD"] = f"{preloaded}:{already}" if already else preloaded
    if device:
        settings["GRIDLANE_DEVICE"] = device
    if trace:
        settings["GRIDLANE_TRACE"] = "1"
    if limit is not None:
        settings["GRIDLANE_TIMEOUT"] = limit
    if check:
        settings["GRIDLANE_CHECK"] = "1"
    os.execve(path, [program, *args], os.environ | settings)

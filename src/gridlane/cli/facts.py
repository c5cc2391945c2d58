"""Facts of the machine that ``gridlane doctor`` shows before it tries anything. Loads no driver: a
broken one may crash its process."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from gridlane.backends import backends
from gridlane.backends.record import Backend
from gridlane.core.config import config
from gridlane.core.extras import install
from gridlane.core.processors import available_processors

PACKAGES = ("numpy", "llvmlite", "ml-dtypes", "typer", "rich", "platformdirs")
SYSTEMS = {"darwin": "macOS", "linux": "Linux", "win32": "Windows"}
"""Users' names for the values of ``sys.platform``."""
KERNEL_DRIVER = Path("/proc/driver/nvidia/version")
_DRIVER_VERSION = re.compile(r"\b\d{3}\.\d+(?:\.\d+)?\b")


def facts() -> Iterator[tuple[str, str]]:
    """(name, value) of each."""
    yield "Python", f"{platform.python_version()} ({platform.python_implementation()})"
    yield "system", f"{platform.system()} {platform.release()} {platform.machine()}"
    yield "packages", ", ".join(f"{name} {_version(name)}" for name in PACKAGES)
    yield "LLVM", _llvm()
    yield "vector math", _vector_math()
    yield "threads", _threads()
    yield "cache", _cache()
    yield "NVIDIA driver", _kernel_driver()
    yield "libdevice", _libdevice()
    yield "GPU launches", _launcher()
    yield "ptxas", _ptxas()
    for record in backends():
        if record.bindings:
            yield f"bindings of {record.name}", _bindings(record)
    if config().metal:
        yield "metal", "a CPU emulation (GRIDLANE_METAL=emulated)"


def short_facts() -> Iterator[str]:
    """What a report of a defect needs before all else, in a line."""
    yield f"Python {platform.python_version()}"
    yield f"{platform.system()} {platform.machine()}"
    yield f"numpy {_version('numpy')}"
    yield f"LLVM {_llvm()}"
    yield _threads()


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "MISSING"


def _llvm() -> str:
    try:
        from llvmlite import binding

        numbers = ".".join(map(str, binding.llvm_version_info))
        chosen = f", GRIDLANE_CPU={config().cpu}" if config().cpu else ""
        return f"{numbers}, for {binding.get_host_cpu_name()}{chosen}"
    except (ImportError, OSError) as error:
        return f"does not load: {error}"


def _vector_math() -> str:
    try:
        from gridlane.codegen.llvm.vector_library import LIBRARY, vector_library
    except (ImportError, OSError) as error:
        return f"unknown: {error}"
    if vector_library() is not None:
        return f"{LIBRARY} (exp, log, sin and the like on whole vectors)"
    return f"no {LIBRARY} (part of glibc): exp, log, sin and the like are gridlane's own, slower"


def _threads() -> str:
    text = f"{available_processors()} of {os.cpu_count()} processors usable"
    chosen = config().threads
    return f"{text}, GRIDLANE_THREADS={chosen}" if chosen else text


def _cache() -> str:
    try:
        from gridlane.cli.cache import state
        from gridlane.compiler.cache import default_cache
    except (ImportError, OSError) as error:
        return f"unknown: {error}"
    cache = default_cache()
    if cache is None:
        return "off (GRIDLANE_CACHE=0)"
    return f"{cache.root}: {state(cache)}"


def _bindings(record: Backend) -> str:
    """The version of the package that binds a driver."""
    if record.system and sys.platform != record.system:
        only = SYSTEMS.get(record.system, record.system)
        return f"not for this system; only {only} has {record.title}"
    try:
        return f"{record.bindings} {version(record.bindings)}"
    except PackageNotFoundError:
        return f"no {record.bindings}; for {record.title}, {install(record.extra)}"


# --- NVIDIA ---


def _kernel_driver() -> str:
    """The version of the driver's kernel module, on Linux."""
    try:
        text = KERNEL_DRIVER.read_text()
    except OSError:
        return f"none seen ({KERNEL_DRIVER} is not there)"
    version = _DRIVER_VERSION.search(text)
    return version[0] if version else text.splitlines()[0]


def _libdevice() -> str:
    from gridlane.compiler.libdevice import find_libdevice

    path = find_libdevice()
    if path is not None:
        return str(path)
    chosen = config().libdevice
    why = f"GRIDLANE_LIBDEVICE={chosen} is no file" if chosen else "not found"
    return f"{why}: GPUs compute sin, exp and the like with our own functions (docs/math.md)"


def _launcher() -> str:
    """Whether GPU kernels are launched by the C extension."""
    if not config().native:
        return "by Python (GRIDLANE_NATIVE=0)"
    try:
        from gridlane.launch._native import __file__ as extension
    except ImportError as error:
        return (
            f"by Python, slower: the C extension is not built ({error}); with a C compiler and "
            "Python's headers (gcc, python3-dev), install gridlane again"
        )
    return f"by the C extension, {os.path.basename(extension)}"


def _ptxas() -> str:
    from gridlane.compiler.cuda import find_ptxas

    path = find_ptxas()
    if path is None:
        return "not found; only gridlane compile --target cubin needs it"
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{path} does not run: {error}"
    release = re.search(r"release ([\d.]+)", done.stdout)
    return f"{path}, of CUDA {release[1]}" if release else f"{path}, of an unknown version"

"""Install the C libraries where programs find them, and remove them again."""

from __future__ import annotations

import hashlib
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from gridlane.abi.library import archive
from gridlane.abi.library.archive import ARCHIVE, build_archive
from gridlane.abi.library.build import LIBRARIES, build_all, digest
from gridlane.abi.library.search import cached
from gridlane.core.cuda_table import headers
from gridlane.core.cuda_table.forwards import forwards
from gridlane.core.errors import GridlaneError
from gridlane.frontends.cuda_cpp.clang import INCLUDE

_LIST = "installed.txt"
_HEADERS = Path(__file__).parent / "include"
_SAME = (
    "driver_types.h", "builtin_types.h", "vector_functions.h", "channel_descriptor.h",
    "texture_types.h", "surface_types.h", "cuda_profiler_api.h", "device_launch_parameters.h",
    "host_defines.h", "host_config.h", "device_types.h", "driver_functions.h", "library_types.h",
    "crt/host_defines.h", "crt/host_config.h", "cuda_device_runtime_api.h",
)  # fmt: skip
"""Headers of CUDA whose contents are in cuda_runtime.h."""
_SHARED = (
    "gridlane/absent.h", "gridlane/libraries.h", "cuComplex.h", "math_constants.h", "cublas.h",
    "cublas_v2.h", "cublas_api.h", "cublasLt.h", "gridlane/blas_functions.h",
    "gridlane/sparse_functions.h", "gridlane/solver_functions.h", "cufft.h", "cufftXt.h",
    "curand.h", "cusparse.h", "cusolverDn.h", "cusolverSp.h", "cusolverRf.h", "cusolver_common.h",
    "nvml.h", "cuda_gl_interop.h", "nvtx3/nvToolsExt.h", "nvToolsExt.h",
)  # fmt: skip
"""Headers of CUDA C++ that serve host code alone as well. They have a folder of their own, because
files of CUDA C++ find the first ones."""
HOST = "host"
"""That folder."""
_PARTS = (
    "gridlane/guards.h", "gridlane/host_forms.h", "gridlane/library_types.h",
    "gridlane/old_forms.h", "gridlane/old_names.h", "gridlane/templates.h",
)  # fmt: skip
"""Headers of CUDA C++ that are parts of those of the runtime."""
_ENVIRONMENT = """# Programs started from here find gridlane's libcuda, libcudart and libnvrtc.
export LD_LIBRARY_PATH="{lib}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"
# Linkers find -lcudart_gridlane, whose programs need no path.
export LIBRARY_PATH="{lib}${{LIBRARY_PATH:+:$LIBRARY_PATH}}"
"""
_PACKAGE = """prefix={prefix}
libdir=${{prefix}}/lib
includedir=${{prefix}}/include

Name: gridlane-cuda
Description: CUDA's driver and runtime on gridlane's devices
Version: 13.0
Libs: -L${{libdir}} -lcudart -lcuda
Libs.private: -L${{libdir}} -lcudart_gridlane -ldl -lpthread
Cflags: -I${{includedir}} -I${{includedir}}/host
"""


class InstallError(GridlaneError, OSError):
    """The libraries cannot be installed or removed; the message has the reason and the remedy."""


def default_prefix() -> Path:
    """The default folder of the libraries: in this Python's own environment."""
    return Path(sys.prefix) / "share" / "gridlane"


def shadowed() -> list[Path]:
    """NVIDIA's own drivers on this machine, which the libraries would replace."""
    return list(cached().get("libcuda.so.1", ()))


def install(prefix: Path, force: bool = False) -> list[Path]:
    """Build the libraries and write them, their headers, ``env.sh`` and a pkg-config file.

    Returns:
        The written files.

    Raises:
        InstallError: NVIDIA's driver is here and ``force`` is not given, or a file there is not
            gridlane's, or the folder cannot be written.
        CompileError: there is no C compiler.
    """
    real = shadowed()
    if real and not force:
        raise InstallError(
            f"this machine has NVIDIA's driver ({real[0]}): programs that read env.sh would get "
            "gridlane in its place; say --force if that is what you want"
        )
    _check_own(prefix)
    try:
        before = _listed(prefix)
        written = _write(prefix)
        for path in {prefix / line for line in before} - {*written}:
            path.unlink(missing_ok=True)  # of an earlier version, which had it
        listed = "".join(f"{path.relative_to(prefix)}\n" for path in written)
        (prefix / _LIST).write_text(f"# {_digest()}\n{listed}")
    except OSError as error:
        raise InstallError(f"{prefix} cannot be written: {error}") from error
    return written


def _digest() -> str:
    """The inputs of all installed files."""
    hash_state = hashlib.sha256(digest().encode())
    for each in archive.sources():
        hash_state.update(each)
    forwarding = forwards()
    shared = (INCLUDE / name for name in (*_SHARED, *_PARTS) if name not in forwarding)
    for path in (*sorted(_HEADERS.rglob("*.h")), *shared):
        hash_state.update(path.read_bytes())
    hash_state.update(headers.key().encode())
    return hash_state.hexdigest()


def _check_own(prefix: Path) -> None:
    """Raise if a file to be written exists and is not gridlane's."""
    own = {prefix / line for line in _listed(prefix)}
    for path in (prefix / "lib" / name for name in (*_built(), *_links())):
        if path.exists() and path not in own:
            raise InstallError(
                f"{path} is there, and gridlane did not write it: choose another --prefix"
            )


def _write(prefix: Path) -> list[Path]:
    lib, include = prefix / "lib", prefix / "include"
    include.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor() as pool:  # each runs a process of the compiler
        archived = pool.submit(build_archive, lib, lib)
        written = [*build_all(lib), archived.result()]
    for name, target in _links().items():
        link = lib / name
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        written.append(link)
    contents = {
        **{include / name: text for name, text in headers.headers().items()},
        prefix / "env.sh": _ENVIRONMENT.format(lib=lib),
        lib / "pkgconfig" / "gridlane-cuda.pc": _PACKAGE.format(prefix=prefix),
    }
    for each in sorted(path for path in _HEADERS.rglob("*.h")):
        contents[include / each.relative_to(_HEADERS)] = each.read_text()
    forwarding = forwards()
    for name in _SHARED:
        text = forwarding.get(name) or (INCLUDE / name).read_text()
        contents[include / HOST / name] = text
    for name in _PARTS:
        contents[include / name] = (INCLUDE / name).read_text()
    for name in _SAME:
        contents[include / name] = '#pragma once\n#include "cuda_runtime.h"\n'
    for path, text in contents.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        written.append(path)
    return written


def ensure(prefix: Path) -> None:
    """Install the libraries, unless this version is there. Of several processes one does it.

    Raises:
        InstallError: as ``install`` does.
        CompileError: there is no C compiler.
    """
    import fcntl  # Windows, where nothing is installed, has none

    if is_current(prefix):
        return
    try:
        prefix.parent.mkdir(parents=True, exist_ok=True)
        folder = os.open(prefix.parent, os.O_RDONLY)
    except OSError as error:
        raise InstallError(f"{prefix} cannot be written: {error}") from error
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        if not is_current(prefix):
            install(prefix, force=True)
    finally:
        os.close(folder)


def _built() -> list[str]:
    """The names of the compiled files."""
    return [*(each.file for each in LIBRARIES), ARCHIVE]


def _links() -> dict[str, str]:
    """The names that linkers look for: ``libcuda.so`` for the newest ``libcuda.so.N``, and the name
    of the static runtime in CUDA's own tools."""
    links = {"libcudart_static.a": ARCHIVE}
    for each in sorted(LIBRARIES, key=lambda each: each.major):
        if each.api:
            links[each.file.partition(".so")[0] + ".so"] = each.file
    return links


def uninstall(prefix: Path) -> list[Path]:
    """Remove exactly the files that ``install`` wrote there; return them.

    Raises:
        InstallError: nothing was installed there.
    """
    if not (prefix / _LIST).is_file():
        raise InstallError(f"gridlane is not installed in {prefix}")
    removed: list[Path] = []
    for line in _listed(prefix):
        path = prefix / line
        if path.is_symlink() or path.exists():
            path.unlink()
            removed.append(path)
    (prefix / _LIST).unlink()
    for folder in sorted({path.parent for path in removed} | {prefix}, reverse=True):
        try:
            folder.rmdir()
        except OSError:  # it has files of the user
            continue
    return removed


def _listed(prefix: Path) -> list[str]:
    try:
        lines = (prefix / _LIST).read_text().splitlines()
    except OSError:
        return []
    names = (line for line in lines if line and not line.startswith("#"))
    return [line for line in names if not os.path.isabs(line) and ".." not in line]


def is_current(prefix: Path) -> bool:
    """Whether the libraries of this version, for this Python, are installed there."""
    try:
        first = (prefix / _LIST).read_text().partition("\n")[0]
    except OSError:
        return False
    return first == f"# {_digest()}" and all((prefix / line).exists() for line in _listed(prefix))

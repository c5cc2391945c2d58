"""An import finder for the modules of NVIDIA's bindings that gridlane has."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from gridlane.core.errors import raise_as
from gridlane.core.originals import originals, wanted
from gridlane.cuda import numba_compat
from gridlane.cuda.numba_compat.finder import alias

# The module of NVIDIA's: gridlane's.
MODULES = {
    "cuda.bindings.driver": "gridlane.cuda.driver",
    "cuda.bindings.runtime": "gridlane.cuda.runtime",
    "cuda.bindings.nvrtc": "gridlane.cuda.nvrtc",
    "cuda.cuda": "gridlane.cuda.driver",
    "cuda.cudart": "gridlane.cuda.runtime",
    "cuda.nvrtc": "gridlane.cuda.nvrtc",
}

_COMPUTE, _COOP = "cuda.compute", "cuda.coop"
_ALGORITHMS = "gridlane.algorithms"
_INSIDE = f"{_ALGORITHMS}.coop"
# The names of NVIDIA's package of block and warp algorithms, as its releases have them.
_RELEASES = _COOP, f"{_COOP}._experimental", "cuda.cccl.cooperative.experimental"
# The module of NVIDIA's algorithms: gridlane's.
ALGORITHMS = {
    _COMPUTE: _ALGORITHMS,
    f"{_COMPUTE}.algorithms": _ALGORITHMS,
    f"{_COMPUTE}.determinism": _ALGORITHMS,
    f"{_COMPUTE}.iterators": f"{_ALGORITHMS}.iterators",
    f"{_COMPUTE}.op": _ALGORITHMS,
    f"{_COMPUTE}.struct": f"{_ALGORITHMS}.structs",
    f"{_COMPUTE}.types": f"{_ALGORITHMS}.types",
    **{
        f"{release}{name}": f"{_INSIDE}{module}"
        for release in _RELEASES
        for name, module in (
            ("", ""),
            (".block", ".block"),
            (".block._block_scan", ".scan_op"),
            (".warp", ".warp"),
            ("._common", ".parameters"),
            ("._scan_op", ".scan_op"),
        )
    },
}

# Packages around them, if NVIDIA's are not installed: the files that are executed as these.
PACKAGES = {
    "cuda": Path(numba_compat.__file__).with_name("bindings.py"),
    "cuda.bindings": Path(__file__).with_name("package.py"),
    "cuda.cccl": Path(__file__).with_name("namespace.py"),
    "cuda.cccl.cooperative": Path(__file__).with_name("namespace.py"),
}

_LINKED = "cuda.core"
"""The package that is linked with NVIDIA's modules in C."""
_ERRORS = "cuda.core._utils.cuda_utils"
"""Its module with the exception that programs of numba-cuda catch."""
_PARTS = "bindings", "ccuda.pxd"
"""What NVIDIA's package cuda has in its folder, where it is no namespace."""


class BindingsFinder:
    """Precedes all other finders."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The replacement of a module of NVIDIA's."""
        if fullname != "cuda" and not fullname.startswith("cuda."):
            return None
        module = MODULES.get(fullname) or ALGORITHMS.get(fullname)
        if module is not None:
            return None if wanted() or _is_of_the_program() else alias(fullname, module)
        for package in (_COMPUTE, _COOP):
            if fullname.startswith(f"{package}.") and not _is_of_the_program():
                names = ", ".join(each for each in ALGORITHMS if _is_public(each, package))
                raise ModuleNotFoundError(
                    f"gridlane has no {fullname}; it has {names}", name=fullname
                )
        if fullname in PACKAGES:
            return _installed(fullname, path) or _package(fullname)
        if fullname == _LINKED or fullname.startswith(f"{_LINKED}."):
            spec = PathFinder.find_spec(fullname, path)
            if spec is not None and spec.loader is not None:
                spec.loader = _OnOriginals(spec.loader)
            return spec
        return None


def _is_public(name: str, package: str) -> bool:
    return name.startswith(package) and "._" not in name


def _installed(fullname: str, path: Sequence[str] | None) -> ModuleSpec | None:
    """A package of NVIDIA's beside the shim, which child processes find."""
    folders = sys.path if path is None else path
    return PathFinder.find_spec(fullname, [each for each in folders if each != numba_compat.SHIM])


def _package(fullname: str) -> ModuleSpec | None:
    module_spec = spec_from_file_location(
        fullname, PACKAGES[fullname], submodule_search_locations=[]
    )
    if module_spec is not None:
        module_spec.submodule_search_locations = []  # of its modules none is a file
    return module_spec


def _is_of_the_program() -> bool:
    """Whether the package cuda is the program's own, whatever it has in it."""
    file = getattr(sys.modules.get("cuda"), "__file__", None)
    if file is None or Path(file) == PACKAGES["cuda"]:
        return False  # a namespace, or gridlane's
    return not any((Path(file).parent / part).exists() for part in _PARTS)


class _OnOriginals(Loader):
    """The loader of a module that finds NVIDIA's modules while it is loaded."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Create it, as its own loader does."""
        with originals():
            return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Execute it."""
        with originals():
            self._loader.exec_module(module)
        if module.__name__ == _ERRORS:
            raise_as(module.CUDAError)

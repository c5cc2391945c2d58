"""Import finders for modules under the name ``numba``."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

from gridlane.cuda.names import missing

_HERE = "gridlane.cuda.numba_compat"

# numba's module: its replacement.
MODULES: dict[str, str] = {
    "numba": f"{_HERE}.toplevel",
    "numba.config": "gridlane.cuda.host.settings",
    "numba.core": f"{_HERE}.core",
    "numba.core.config": "gridlane.cuda.host.settings",
    "numba.core.errors": f"{_HERE}.errors",
    "numba.core.types": "gridlane.cuda.types",
    "numba.cuda": "gridlane.cuda",
    "numba.cuda.api": f"{_HERE}.api",
    **{
        f"{package}.{name}": f"gridlane.cuda.extending.{module}".removesuffix(".")
        for package in ("numba.core", "numba.cuda", "numba.cuda.core")
        for name, module in (
            ("cgutils", "cgutils"),
            ("datamodel", "models"),
            ("datamodel.models", "models"),
            ("extending", ""),
            ("imputils", "imputils"),
            ("models", "models"),
            ("typing.templates", "templates"),
        )
    },
    "numba.core.typing": f"{_HERE}.typing",
    "numba.core.typing.typeof": "gridlane.cuda.kernels.argument_types",
    "numba.cuda._internal": f"{_HERE}.core",
    "numba.cuda._internal.cuda_bf16": "gridlane.cuda.bf16",
    "numba.cuda.bf16": "gridlane.cuda.bf16",
    "numba.cuda.args": "gridlane.cuda.kernels.arguments",
    "numba.cuda.config": "gridlane.cuda.host.settings",
    "numba.cuda.core": f"{_HERE}.core",
    "numba.cuda.core.config": "gridlane.cuda.host.settings",
    "numba.cuda.core.errors": f"{_HERE}.errors",
    "numba.cuda.cudadrv": f"{_HERE}.cudadrv",
    "numba.cuda.cudadrv.devicearray": f"{_HERE}.devicearray",
    "numba.cuda.cudadrv.devices": f"{_HERE}.api",
    "numba.cuda.cudadrv.driver": f"{_HERE}.driver",
    "numba.cuda.cudadrv.drvapi": f"{_HERE}.driver",
    "numba.cuda.cudadrv.nvrtc": "gridlane.cuda.nvrtc",
    "numba.cuda.cudadrv.error": "gridlane.cuda.host.errors",
    "numba.cuda.cudadecl": "gridlane.cuda.extending.templates",
    "numba.cuda.cudaimpl": "gridlane.cuda.extending.imputils",
    "numba.extending": "gridlane.cuda.extending",
    "numba.cuda.typing.asnumbatype": "gridlane.cuda.kernels.user_types",
    "numba.cuda.cudadrv.linkable_code": "gridlane.cuda.kernels.linkable",
    "numba.cuda.compiler": "gridlane.cuda.host.compilation",
    "numba.cuda.decorators": "gridlane.cuda.kernels.decorators",
    "numba.cuda.dispatcher": f"{_HERE}.dispatcher",
    "numba.cuda.errors": "gridlane.cuda.host.errors",
    "numba.cuda.kernels": f"{_HERE}.core",
    "numba.cuda.kernels.reduction": "gridlane.cuda.ufuncs.reduction",
    "numba.cuda.kernels.transpose": "gridlane.cuda.ufuncs.transposition",
    "numba.cuda.launchconfig": "gridlane.cuda.kernels.launch",
    "numba.cuda.libdevice": "gridlane.cuda.libdevice",
    "numba.cuda.libdevicefuncs": f"{_HERE}.libdevicefuncs",
    "numba.cuda.misc": f"{_HERE}.core",
    "numba.cuda.misc.special": f"{_HERE}.special",
    "numba.cuda.np": f"{_HERE}.core",
    "numba.cuda.np.numpy_support": f"{_HERE}.numpy_support",
    "numba.cuda.random": "gridlane.cuda.random",
    "numba.cuda.testing": f"{_HERE}.testing",
    "numba.cuda.tests.support": f"{_HERE}.support",
    "numba.cuda.types": "gridlane.cuda.types",
    "numba.cuda.typing": f"{_HERE}.typing",
    "numba.cuda.typing.typeof": "gridlane.cuda.kernels.argument_types",
    "numba.cuda.vector_types": f"{_HERE}.vector_types",
    "numba.misc": f"{_HERE}.core",
    "numba.misc.special": f"{_HERE}.special",
    "numba.np": f"{_HERE}.core",
    "numba.np.numpy_support": f"{_HERE}.numpy_support",
    "numba.tests": f"{_HERE}.core",
    "numba.tests.support": f"{_HERE}.support",
    "numba.types": "gridlane.cuda.types",
}

# Parts of NVIDIA's bindings that programs import for their exceptions, if the bindings are not
# installed.
FALLBACKS: dict[str, str] = dict.fromkeys(
    ("cuda", "cuda.core", "cuda.core._utils", "cuda.core._utils.cuda_utils"), f"{_HERE}.bindings"
)

_TESTS = "numba.cuda.tests"

# The replacement: numba's module, the shortest name.
_NAMES = {module: name for name, module in sorted(MODULES.items(), key=lambda item: -len(item[0]))}


class _Alias:
    """A loader that binds an existing module to another name."""

    def __init__(self, target: str) -> None:
        self.target = target

    def create_module(self, spec: ModuleSpec) -> None:
        """Return None: Python creates an empty module, which ``exec_module`` replaces."""

    def exec_module(self, module: ModuleType) -> None:
        """Replace the module in sys.modules, which the import system returns after this."""
        target = import_module(self.target)
        if not hasattr(target, "__path__"):
            target.__path__ = []  # type: ignore[attr-defined]  # submodules are found by name
        sys.modules[module.__name__] = target


def alias(fullname: str, module: str) -> ModuleSpec:
    """The spec that binds an existing module to another name."""
    return ModuleSpec(fullname, _Alias(module), is_package=True)  # type: ignore[arg-type]


class NumbaFinder:
    """Finds every name that starts with ``numba``; precedes all other finders."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The replacement of a module of numba's; an error if there is none."""
        if fullname != "numba" and not fullname.startswith("numba."):
            return None
        module = MODULES.get(fullname)
        if module is not None:
            return alias(fullname, module)
        if fullname == _TESTS or fullname.startswith(_TESTS + "."):
            return _test_module(fullname)
        raise ModuleNotFoundError(
            str(missing(fullname.rpartition(".")[2], fullname.rpartition(".")[0]))
        )


def _test_module(fullname: str) -> ModuleSpec | None:
    """numba-cuda's own tests, if that package is installed."""
    package = importlib.util.find_spec("numba_cuda")
    if package is None or not package.submodule_search_locations:
        if fullname == _TESTS:  # which still holds numba.cuda.tests.support
            return alias(fullname, f"{_HERE}.core")
        raise ModuleNotFoundError(
            f"{fullname}: numba-cuda's tests are not installed (pip install numba-cuda)",
            name=fullname,
        )
    folder = Path(package.submodule_search_locations[0], *fullname.split(".")[:-1])
    return PathFinder.find_spec(fullname, [str(folder)])


class Fallback:
    """Finds missing modules; follows all other finders."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The replacement of a module of NVIDIA's; for a name that a module of numba lacks, a
        clearer error than Python's."""
        module = FALLBACKS.get(fullname)
        if module is not None:
            return alias(fullname, module)
        parent, _, name = fullname.rpartition(".")
        if parent in _NAMES:
            raise ModuleNotFoundError(str(missing(name, _NAMES[parent])))
        return None

"""Import finders for the modules of numba and of numba-cuda's successor."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

from gridlane.cuda.names import missing
from gridlane.cuda.numba_compat import installed
from gridlane.cuda.numba_compat.internals import reaches_into_compiler
from gridlane.cuda.numba_compat.modules import MODULES, ROOTS

_HERE = "gridlane.cuda.numba_compat"

# Parts of NVIDIA's bindings that programs import for their exceptions, if the bindings are not
# installed.
FALLBACKS: dict[str, str] = dict.fromkeys(
    ("cuda", "cuda.core", "cuda.core._utils", "cuda.core._utils.cuda_utils"), f"{_HERE}.bindings"
)

_TESTS = "numba.cuda.tests"

# The replacement: the module of numba's or of its successor's, the shortest name.
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
        _replace(module, target)


def _replace(module: ModuleType, target: ModuleType) -> None:
    """Make a module of sys.modules another one. Programs that load a spec themselves keep the empty
    module, which has that one's names."""
    sys.modules[module.__name__] = target
    vars(module).update(__getattr__=partial(getattr, target), __dir__=partial(dir, target))


class _Typed:
    """A loader of the modules of numba's containers, which are those of the installed numba."""

    def create_module(self, spec: ModuleSpec) -> None:
        """Return None: Python creates an empty module, which ``exec_module`` replaces."""

    def exec_module(self, module: ModuleType) -> None:
        """Replace the module in sys.modules."""
        _replace(module, installed.typed(module.__name__))


def alias(fullname: str, module: str) -> ModuleSpec:
    """The spec that binds an existing module to another name."""
    return ModuleSpec(fullname, _Alias(module), is_package=True)  # type: ignore[arg-type]


class NumbaFinder:
    """Finds every module of numba and of its successor; precedes all other finders."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The replacement of a module of numba's; an error if there is none."""
        if fullname.partition(".")[0] not in ROOTS:
            return None
        if installed.in_place():
            return installed.spec_of(fullname)
        module = MODULES.get(fullname)
        if module is not None:
            return alias(fullname, module)
        if fullname == installed.TYPED or fullname.startswith(installed.TYPED + "."):
            return ModuleSpec(fullname, _Typed(), is_package=True)  # type: ignore[arg-type]
        if fullname == _TESTS or fullname.startswith(_TESTS + "."):
            return _test_module(fullname)
        raise _absent(fullname)


def true_name(fullname: str) -> str:
    """The name of a module below a replacement, as programs import it."""
    parent, _, name = fullname.rpartition(".")
    return f"{_NAMES.get(parent, parent)}.{name}"


def _absent(fullname: str) -> ModuleNotFoundError:
    parent, _, name = fullname.rpartition(".")
    return ModuleNotFoundError(reaches_into_compiler(fullname) or str(missing(name, parent)))


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
        parent = fullname.rpartition(".")[0]
        if parent not in _NAMES:
            return None
        if PathFinder.find_spec(fullname, getattr(sys.modules.get(parent), "__path__", [])):
            return None  # a module of gridlane's own, by who asks this finder out of its turn
        name = true_name(fullname)
        if name in MODULES:  # from numba.cuda.cudadrv import nvrtc
            return alias(fullname, MODULES[name])
        raise _absent(name)

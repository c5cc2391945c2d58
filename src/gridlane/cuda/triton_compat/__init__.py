"""Make ``import triton`` find gridlane: real modules for the imports of tile programs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from gridlane.core import child_paths
from gridlane.cuda.numba_compat.finder import alias

SHIM = str(Path(__file__).parent / "shim")
_SOURCES = str(Path(__file__).parents[3])
_LANGUAGE = "gridlane.frontends.triton.language"
_TILES = "gridlane.tiles"

MODULES: dict[str, str] = {
    "triton": _TILES,
    "triton._C": f"{_TILES}.empty",
    "triton._C.libtriton": f"{_TILES}.empty",
    "triton.backends": f"{_TILES}.compiling",
    "triton.backends.compiler": f"{_TILES}.compiling",
    "triton.compiler": f"{_TILES}.compiling",
    "triton.compiler.code_generator": f"{_TILES}.compiling",
    "triton.compiler.compiler": f"{_TILES}.compiling",
    "triton.compiler.errors": f"{_TILES}.errors",
    "triton.errors": f"{_TILES}.errors",
    "triton.knobs": f"{_TILES}.knobs",
    "triton.language": _LANGUAGE,
    "triton.language.core": _LANGUAGE,
    "triton.language.extra": f"{_LANGUAGE}.extra",
    "triton.language.extra.cuda": f"{_LANGUAGE}.extra.cuda",
    "triton.language.extra.cuda.libdevice": f"{_LANGUAGE}.extra.cuda.libdevice",
    "triton.language.extra.libdevice": f"{_LANGUAGE}.extra.libdevice",
    "triton.language.math": "gridlane.frontends.triton.mathematics",
    "triton.language.random": "gridlane.frontends.triton.random",
    "triton.language.standard": f"{_LANGUAGE}.standard",
    "triton.language.target_info": f"{_LANGUAGE}.target_info",
    "triton.runtime": f"{_TILES}.runtime",
    "triton.runtime._allocation": f"{_TILES}.compiling",
    "triton.runtime.autotuner": f"{_TILES}.autotuning",
    "triton.runtime.errors": f"{_TILES}.errors",
    "triton.runtime.jit": f"{_TILES}.jit",
    "triton.testing": f"{_TILES}.testing",
    "triton.tools": f"{_TILES}.empty",
    "triton.tools.tensor_descriptor": f"{_TILES}.descriptors",
}
"""Triton's modules, and those that take their places."""

_BEHIND_OBJECTS = {"triton.runtime": ("triton.runtime.driver", f"{_TILES}.driver")}
"""Modules by the packages in which an object has their name. An import of one would replace the
object, so they are in sys.modules from the package's import on."""


class TritonFinder:
    """Finds every module of Triton's; precedes all other finders."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The replacement of a module; an error if there is none."""
        if fullname.partition(".")[0] != "triton":
            return None
        module = MODULES.get(fullname)
        if module is not None:
            if fullname in _BEHIND_OBJECTS:
                name, behind = _BEHIND_OBJECTS[fullname]
                sys.modules[name] = import_module(behind)
            return alias(fullname, module)
        raise ModuleNotFoundError(
            f"gridlane has no {fullname}: it has Triton's language and launches "
            "(docs/tiles.md), and no parts of its compiler",
            name=fullname,
        )


def install_as_triton(children: bool = False) -> None:
    """Make ``import triton`` and everything below it find gridlane.

    This holds in this process, whether Triton is installed or not. A second call changes nothing.

    Args:
        children: whether child processes in Python find gridlane as well, by their PYTHONPATH.
    """
    if children:
        child_paths.put_first(SHIM, _SOURCES)
        if SHIM not in sys.path:  # which processes that multiprocessing spawns inherit
            sys.path.insert(1, SHIM)
    if any(isinstance(finder, TritonFinder) for finder in sys.meta_path):
        return
    for name in [n for n in sys.modules if n.partition(".")[0] == "triton"]:
        del sys.modules[name]
    sys.meta_path.insert(0, TritonFinder())

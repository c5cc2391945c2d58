"""numba.cuda's namespace: kernels in Python, arrays, streams and events.

>>> from gridlane import cuda
>>> @cuda.jit
... def add(x, y, out):
...     i = cuda.grid(1)
...     if i < out.size:
...         out[i] = x[i] + y[i]

Names are loaded when they are first used, so the import costs little.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from gridlane.core.endings import at_its_end
from gridlane.core.forks import fork_waits
from gridlane.core.openings import AT_OPENING, OPENED
from gridlane.cuda.names import MODULES, STUBS, SUBMODULES, missing


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return _public()
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = _loaded(name)
    globals()[name] = value
    return value


def _loaded(name: str) -> Any:
    if name in SUBMODULES:
        return _imported(f"{__name__}.{SUBMODULES[name]}")
    if name in MODULES:
        module, original = MODULES[name]
        return getattr(_imported(f"{__name__}.{module}"), original)
    stubs = _imported(STUBS).NAMESPACE
    if name not in stubs:
        raise missing(name, names=_public())
    return stubs[name]


def _imported(module: str) -> ModuleType:
    try:
        with fork_waits():  # the lock of a module stays locked in the child of a fork
            return import_module(module)
    except ImportError:
        if not sys.is_finalizing():
            raise
        raise at_its_end(f"Python's imports, and {module} is not loaded") from None


def _public() -> list[str]:
    """The names that programs use, on the host and in kernels."""
    return sorted({*MODULES, *import_module(STUBS).NAMESPACE})


def __dir__() -> list[str]:
    own = {name for name in globals() if name.startswith("__")}
    return sorted({*own, *_public(), *SUBMODULES})


def _install_manager(device: Any) -> None:
    """Let the plugin of NUMBA_CUDA_MEMORY_MANAGER allocate a device's memory."""
    from gridlane.core.config import config  # the import of this package reads no setting

    if config().memory_manager:
        _imported(f"{__name__}.host.device").install_configured(device)


AT_OPENING.append(_install_manager)
for _device in OPENED.values():
    _install_manager(_device)

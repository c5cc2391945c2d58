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

from importlib import import_module
from typing import Any

from gridlane.cuda.names import MODULES, STUBS, SUBMODULES, missing


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return _public()
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in SUBMODULES:
        value = import_module(f"{__name__}.{SUBMODULES[name]}")
    elif name in MODULES:
        module, original = MODULES[name]
        value = getattr(import_module(f"{__name__}.{module}"), original)
    else:
        stubs = import_module(STUBS).NAMESPACE
        if name not in stubs:
            raise missing(name)
        value = stubs[name]
    globals()[name] = value
    return value


def _public() -> list[str]:
    """The names that programs use, on the host and in kernels."""
    return sorted({*MODULES, *import_module(STUBS).NAMESPACE})


def __dir__() -> list[str]:
    return sorted({*globals(), *_public(), *SUBMODULES})

"""The record of each target, which imports neither passes nor a driver. A new target is a file here
and a line in ``_OWN``; see docs/adding-a-backend.md."""

from __future__ import annotations

from importlib import import_module

from gridlane.backends.record import Backend
from gridlane.core.errors import TargetError

_OWN = (
    "cpu",
    "interp",
    "cuda",
    "vulkan",
    "metal",
    "webgpu",
    "opengl",
)
"""The modules of this package with a ``BACKEND``, in the order in which lists show them."""

_known: dict[str, Backend | None] = dict.fromkeys(_OWN)

NO_BACKENDS = {"webgl2": "WebGL 2 has no compute shaders; use webgpu or opengl"}
"""Names that users may try, and why there is no such backend."""


def names() -> tuple[str, ...]:
    """Every backend's name."""
    return tuple(_known)


def backend(name: str) -> Backend:
    """The record of a target.

    Raises:
        TargetError: there is none of this name.
    """
    if name not in _known:
        raise TargetError(f"there is no target {name!r}; there are {', '.join(_known)}")
    found = _known[name]
    if found is None:
        found = _known[name] = import_module(f"gridlane.backends.{name}").BACKEND
    return found


def backends() -> tuple[Backend, ...]:
    """All records."""
    return tuple(map(backend, _known))


def register(added: Backend) -> None:
    """Register a backend of another package.

    Raises:
        ValueError: another backend has this name.
    """
    if _known.setdefault(added.name, added) is not added:
        raise ValueError(f"there is a backend {added.name!r} already")

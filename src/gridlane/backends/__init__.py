"""The record of each target, which imports neither passes nor a driver. A new target is a file here
and a line in ``_OWN``, or a module of another package that GRIDLANE_BACKENDS names; see
docs/adding-a-backend.md."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module

from gridlane.backends.record import Backend
from gridlane.core.config import further_backends
from gridlane.core.errors import TargetError

_OWN = (
    "cpu", "interp", "cuda", "vulkan", "metal", "webgpu", "opengl",
)  # fmt: skip
"""The modules of this package with a ``BACKEND``, in the order in which lists show them."""

_known: dict[str, Backend | None] = dict.fromkeys(_OWN)

_NAME = re.compile(r"[A-Za-z][\w-]*", re.ASCII)
AUTO = "auto"
"""In place of a device's name, the best device of the machine."""

NO_BACKENDS = {"webgl2": "WebGL 2 has no compute shaders; use webgpu or opengl"}
"""Names that users may try, and why there is no such backend."""


def names() -> tuple[str, ...]:
    """Every backend's name."""
    _load_others()
    return tuple(_known)


def backend(name: str) -> Backend:
    """The record of a target.

    Raises:
        TargetError: there is none of this name.
    """
    if name not in _known:
        _load_others()
    if name not in _known:
        raise TargetError(f"there is no target {name!r}; there are {', '.join(_known)}")
    record = _known[name]
    if record is None:
        record = _known[name] = import_module(f"gridlane.backends.{name}").BACKEND
    return record


def backends() -> tuple[Backend, ...]:
    """All records."""
    return tuple(map(backend, names()))


def is_own(name: str) -> bool:
    """Whether a backend is gridlane's, not of another package."""
    return name in _OWN


def register(added: Backend) -> None:
    """Register a backend of another package.

    Raises:
        TypeError: what is added is no record.
        ValueError: another backend has this name, or it is not a word of letters, digits, ``_`` and
            ``-``.
    """
    if not isinstance(added, Backend):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"a backend is a gridlane.backends.record.Backend, not {added!r}")
    name = added.name
    if not _NAME.fullmatch(name) or name in NO_BACKENDS or name == AUTO:
        raise ValueError(
            f"a backend cannot be named {name!r}: names are words of letters, digits, _ and -, and "
            f"neither {' nor '.join([AUTO, *NO_BACKENDS])}"
        )
    if _known.setdefault(name, added) is not added:
        raise ValueError(
            f"there is a backend {name!r} already; a module that runs as a program and is imported "
            "as well registers its backend twice"
        )


@cache
def _load_others() -> None:
    """Import the modules that GRIDLANE_BACKENDS names, which register backends.

    Raises:
        TargetError: there is no such module, or it fails.
    """
    for module in further_backends():
        try:
            import_module(module)
        except (Exception, SystemExit) as error:
            message = f"GRIDLANE_BACKENDS: {module}: {type(error).__name__}: {error}"
            raise TargetError(message) from error

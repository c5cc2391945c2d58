"""The settings that programs read and write as ``triton.knobs``; the environment's TRITON_DEBUG,
TRITON_CACHE_AUTOTUNING and TRITON_PRINT_AUTOTUNING set them at first."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, ClassVar, Self

from gridlane.core.config import beginning_with

_ON = frozenset(("1", "true", "yes", "on", "y"))
_KNOWN = frozenset((
    "TRITON_CACHE_AUTOTUNING", "TRITON_DEBUG", "TRITON_INTERPRET", "TRITON_PRINT_AUTOTUNING",
))  # fmt: skip


class base_knobs:  # noqa: N801  # Triton's name
    """Settings of one matter."""

    knob_descriptors: ClassVar[dict[str, Any]] = {}

    def copy(self) -> Self:
        """The same settings, apart from these."""
        made = object.__new__(type(self))
        vars(made).update(vars(self))
        return made

    def reset(self) -> Self:
        """The settings without those of the environment."""
        vars(self).update(dict.fromkeys(vars(self), False))
        return self

    @contextmanager
    def scope(self) -> Generator[None]:
        """Give the settings their values back at the end of the with block."""
        before = dict(vars(self))
        try:
            yield
        finally:
            vars(self).clear()
            vars(self).update(before)


class Runtime(base_knobs):
    """Settings of launches.

    Attributes:
        debug: programs check their ``device_assert``.
        interpret: False; GRIDLANE_DEVICE=interp is the interpreter of gridlane.
    """

    def __init__(self, debug: bool) -> None:
        self.debug = debug
        self.interpret = False


class Cache(base_knobs):
    """Settings of the disk cache.

    Attributes:
        dir: has no effect: GRIDLANE_CACHE_DIR names the folder of all compiled kernels.
    """

    def __init__(self) -> None:
        self.dir: str | None = None

    def reset(self) -> Self:
        """The setting at first."""
        self.dir = None
        return self


class Language(base_knobs):
    """Settings of programs.

    Attributes:
        default_fp_fusion: multiplications and additions may contract, where a launch says nothing.
    """

    def __init__(self) -> None:
        self.default_fp_fusion = True

    def reset(self) -> Self:
        """The setting at first."""
        self.default_fp_fusion = True
        return self


class Autotuning(base_knobs):
    """Settings of autotuning.

    Attributes:
        cache: what was measured is kept for later processes, as with ``cache_results=True``.
        print: report the chosen configurations.
        listener: called with ``fn``, ``key``, ``best_config``, ``configs_timings``, ``duration``
            (None where nothing was measured) and ``cache_hit`` when a configuration was chosen.
    """

    def __init__(self, keeps: bool, shows: bool) -> None:
        self.cache, self.print = keeps, shows
        self.listener: Callable[..., Any] | None = None

    def reset(self) -> Self:
        """The settings at first."""
        self.cache, self.print, self.listener = False, False, None
        return self


def _is_on(values: dict[str, str], name: str) -> bool:
    return values.get(name, "0").lower() in _ON


propagate_env = True
"""Whether Triton's compiler passes settings on to programs that it starts; it starts none here."""

_values = beginning_with("TRITON_")
runtime = Runtime(_is_on(_values, "TRITON_DEBUG"))
cache = Cache()
language = Language()
autotuning = Autotuning(
    _is_on(_values, "TRITON_CACHE_AUTOTUNING"), _is_on(_values, "TRITON_PRINT_AUTOTUNING")
)
_other = sorted(_values.keys() - _KNOWN)
if _other:
    warnings.warn(
        f"{', '.join(_other)}: Triton reads these variables, and they have no effect here",
        stacklevel=2,
    )
if _is_on(_values, "TRITON_INTERPRET"):
    warnings.warn(
        "TRITON_INTERPRET has no effect here: programs run on the CPU anyway, and "
        "GRIDLANE_DEVICE=interp interprets them",
        stacklevel=2,
    )

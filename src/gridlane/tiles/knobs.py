"""The settings that programs read and write as ``triton.knobs``; the environment's TRITON_DEBUG,
TRITON_CACHE_AUTOTUNING and TRITON_PRINT_AUTOTUNING set them at first."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, ClassVar, Self

from gridlane.core.config import beginning_with
from gridlane.tiles.hooks import HookChain

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


_LAUNCHES = ("launch_enter_hook", "launch_exit_hook")
_REFUSED = frozenset((
    "add_stages_inspection_hook", "jit_cache_hook", "jit_post_compile_hook",
    "kernel_load_end_hook", "kernel_load_start_hook", "kernel_unload_hook",
))  # fmt: skip
"""Hooks into Triton's own compiler and loader."""


class Runtime(base_knobs):
    """Settings of launches.

    Attributes:
        debug: programs check their ``device_assert``.
        interpret: False; GRIDLANE_DEVICE=interp is the interpreter of gridlane.
        launch_enter_hook, launch_exit_hook: called before and behind each launch with its
            ``hooks.LaunchMetadata``: chains of functions, or one that the program sets; None for
            none. Launches with hooks take the slow path.
        hooks: whether there are any.
    """

    debug: bool
    interpret: bool
    launch_enter_hook: Callable[..., Any] | None
    launch_exit_hook: Callable[..., Any] | None

    def __init__(self, debug: bool) -> None:
        self.debug = debug
        self.interpret = False
        self.hooks = False
        self.reset_hooks()

    def reset(self) -> Self:
        """The settings without those of the environment; no hooks."""
        self.debug = self.interpret = False
        self.reset_hooks()
        return self

    def reset_hooks(self) -> None:
        """Have chains without functions."""
        self.launch_enter_hook = HookChain(self._count)
        self.launch_exit_hook = HookChain(self._count, reversed=True)

    def copy(self) -> Self:
        """The same settings, with these hooks, apart from these."""
        made = type(self)(self.debug)
        made.interpret = self.interpret
        for name in _LAUNCHES:
            hook = getattr(self, name)
            if isinstance(hook, HookChain):
                for call in hook.calls:
                    getattr(made, name).add(call)
            else:
                setattr(made, name, hook)
        return made

    @contextmanager
    def scope(self) -> Generator[None]:
        """Give the settings their values back at the end of the with block."""
        try:
            with super().scope():
                yield
        finally:  # chains keep what was added to them
            self._count()

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _REFUSED and value is not None:
            raise NotImplementedError(
                f"triton.knobs.runtime.{name}: gridlane compiles and loads kernels by itself and "
                "calls no such hook; launch_enter_hook and launch_exit_hook are called"
            )
        super().__setattr__(name, value)
        if name in _LAUNCHES:
            self._count()

    def __getattr__(self, name: str) -> Any:
        if name in _REFUSED:
            return None
        raise AttributeError(f"gridlane has no setting triton.knobs.runtime.{name}")

    def _count(self) -> None:
        hooks = [vars(self).get(name) for name in _LAUNCHES]
        have = [bool(each.calls) if isinstance(each, HookChain) else each for each in hooks]
        self.hooks = any(have)


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

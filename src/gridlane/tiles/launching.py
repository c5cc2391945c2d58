"""Launches of tile programs, by the native launcher where one like it was checked before."""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Any

from gridlane.frontends.triton import functions
from gridlane.launch import current
from gridlane.launch.launcher import Launcher
from gridlane.tiles import knobs
from gridlane.tiles.launchable import Launchable
from gridlane.tiles.programs import Options

if TYPE_CHECKING:
    from gridlane.frontends.triton.used import Guard

ABSENT, UNSET = object(), object()
"""In place of an argument without a default, and of an option, that a call does not give."""
IGNORED = frozenset((
    "extern_libs", "instrumentation_mode", "kpack", "launch_cooperative_grid",
    "launch_pdl", "matrix_instr_nonkdim", "maxRegAutoWS", "max_num_imprecise_acc_default",
    "minRegAutoWS", "sanitize_overflow", "schedule_hint", "waves_per_eu",
))  # fmt: skip
"""Options of launches that tune code of one vendor, and change no result."""
_SIMPLE = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
_MOST_NAMES = 400


class TileLaunch(Launcher):
    """A tile program on one device: ``_over(grid)`` is what ``kernel[grid]`` returns.

    Attributes:
        is_named: whether the native launcher binds the arguments of calls; else none is native.
    """

    __slots__ = ("function", "held", "is_named")

    def __init__(self, function: Launchable) -> None:
        super().__init__()
        self.function = function
        self.held: tuple[Guard, ...] = ()
        names = _names(function)
        self.is_named = names is not None
        if names is not None:
            self._name(*names)

    def _elsewhere(self) -> TileLaunch:
        """The same on the device that this thread uses."""
        return TileLaunch(self.function)

    def _failed(self, code: int, args: Any) -> None:
        """Prepare the slow path for a launch that the driver refused and did not run."""
        current.device().forget_thread()
        self._forget()

    def _launch_over(self, grid: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Launch on the slow path."""
        return self.function.launch_slowly(self, grid, args, keywords)

    def hold(self, guards: tuple[Guard, ...]) -> None:
        """Drop the profiles, unless all guards are as they were."""
        same = len(guards) == len(self.held) and all(
            all(one is other or (type(one) is str and one == other) for one, other in zip(*pair))
            for pair in zip(guards, self.held, strict=True)
        )
        if not same:
            self._forget()
            self._guard(guards)
            self.held = guards


def _names(function: Launchable) -> tuple[Any, ...] | None:
    """The arguments of ``Launcher._name``; None where a parameter takes several arguments, or has
    the name of an option."""
    parameters = [*function.signature.parameters.values()]
    options = Options._fields
    known = {*options, *IGNORED}
    if any(each.kind not in _SIMPLE or each.name in known for each in parameters):
        return None
    if len(parameters) > _MOST_NAMES:
        return None
    defaults = [
        ABSENT if each.default is inspect.Parameter.empty else each.default for each in parameters
    ]
    names = *(each.name for each in parameters), *options, *sorted(IGNORED)
    return (
        tuple(map(sys.intern, names)),  # calls' names are, and are compared by identity first
        (*defaults, *[UNSET] * len(options)),
        len(parameters),
        sum(each.kind is _SIMPLE[0] for each in parameters),
        ABSENT,
        function.pre_run_hooks,
    )


def settings_guards(function: Launchable) -> tuple[Guard, ...]:
    """Guards of the settings that a launch's options depend on, and of all functions' texts."""
    return (
        (vars(functions), "updates", functions.updates),
        (vars(function), "debug", function.debug),
        (vars(knobs), "runtime", knobs.runtime),
        (vars(knobs.runtime), "debug", knobs.runtime.debug),
        (vars(knobs.runtime), "hooks", knobs.runtime.hooks),
        (vars(knobs), "language", knobs.language),
        (vars(knobs.language), "default_fp_fusion", knobs.language.default_fp_fusion),
    )

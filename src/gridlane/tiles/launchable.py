"""What launches and signatures need of a function that is compiled for its arguments."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from gridlane.frontends.triton.functions import TileFunction
from gridlane.tiles.arguments import Parameter
from gridlane.tiles.programs import Options


class Launchable(TileFunction, ABC):
    """A function with options of launches.

    Attributes:
        debug: check ``device_assert``; None for the launch's option.
        parameters: those that values are known of, and others.
        pre_run_hooks: called in front of each launch.
    """

    debug: bool | None
    parameters: tuple[Parameter, ...]
    pre_run_hooks: list[Callable[..., Any]]

    @abstractmethod
    def bound(
        self, args: tuple[Any, ...], keywords: Mapping[str, Any]
    ) -> tuple[dict[str, Any], Options]:
        """The arguments by the names of all parameters, and the options."""

    @abstractmethod
    def launch_slowly(
        self, launch: Any, grid: Any, args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        """Launch like no launch before, and prepare ``launch`` for others like this one."""

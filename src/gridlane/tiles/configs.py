"""``Config``: the constants and options that autotuning tries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

_OPTIONS = ("num_warps", "num_ctas", "num_stages", "maxnreg")


def hashable(value: Any) -> Any:
    """A value of a configuration, a list as a tuple."""
    return tuple(map(hashable, value)) if isinstance(value, list | tuple) else value  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]  # of any items


class Config:
    """Values for some constants of a program, and options of its launch.

    Args:
        kwargs: the constants by name.
        num_warps, num_stages, num_ctas, maxnreg: options of the launch.
        pre_hook: called with the arguments by name before each launch.
        num_cpu_threads: of Triton's fork for CPUs; GRIDLANE_THREADS sets them here.
    """

    def __init__(
        self,
        kwargs: Mapping[str, Any],
        num_warps: int = 4,
        num_stages: int = 3,
        num_ctas: int = 1,
        maxnreg: int | None = None,
        pre_hook: Callable[[dict[str, Any]], Any] | None = None,
        ir_override: str | None = None,
        num_cpu_threads: int | None = None,
    ) -> None:
        if ir_override is not None:
            raise NotImplementedError("ir_override: gridlane compiles programs from their source")
        self.kwargs = dict(kwargs)
        self.num_warps, self.num_stages, self.num_ctas = num_warps, num_stages, num_ctas
        self.maxnreg, self.pre_hook = maxnreg, pre_hook

    def all_kwargs(self) -> dict[str, Any]:
        """The constants and the options, as keywords of a launch."""
        result = dict(self.kwargs)
        for name in _OPTIONS:
            value = getattr(self, name)
            if value is not None:
                result[name] = value
        return result

    def __str__(self) -> str:
        parts = [f"{name}: {value}" for name, value in self.kwargs.items()]
        parts += [f"num_warps: {self.num_warps}", f"num_ctas: {self.num_ctas}"]
        parts += [f"num_stages: {self.num_stages}", f"maxnreg: {self.maxnreg}"]
        return ", ".join(parts)

    __repr__ = __str__

    def _key(self) -> tuple[Any, ...]:
        pairs = [(name, hashable(value)) for name, value in self.all_kwargs().items()]
        return (*sorted(pairs, key=lambda pair: pair[0]), self.pre_hook)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

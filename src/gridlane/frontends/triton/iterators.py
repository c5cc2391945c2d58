"""What ``for`` of a program iterates over."""

from __future__ import annotations

from typing import Any

from gridlane.frontends.triton.constants import unwrapped

_OUTSIDE = "can only be used in @triton.jit'd functions"


class range:
    """A loop that runs on the device. The options are hints."""

    def __init__(
        self,
        arg1: Any,
        arg2: Any = None,
        step: Any = None,
        num_stages: Any = None,
        loop_unroll_factor: Any = None,
        disallow_acc_multi_buffer: Any = False,
        flatten: Any = False,
        warp_specialize: Any = False,
        disable_licm: Any = False,
    ) -> None:
        self.start, self.end = (
            (0, unwrapped(arg1)) if arg2 is None else map(unwrapped, (arg1, arg2))
        )
        self.step = 1 if step is None else unwrapped(step)
        self.num_stages = unwrapped(num_stages)
        self.loop_unroll_factor = unwrapped(loop_unroll_factor)

    def __iter__(self) -> Any:
        raise RuntimeError(f"tl.range {_OUTSIDE}")


class static_range:
    """A loop that is unrolled when the program is compiled."""

    def __init__(self, arg1: Any, arg2: Any = None, step: Any = None) -> None:
        bounds = (0, arg1) if arg2 is None else (arg1, arg2)
        given = [*map(unwrapped, bounds), 1 if step is None else unwrapped(step)]
        for name, value in zip(("start", "end", "step"), given, strict=True):
            if type(value) is not int:
                raise TypeError(f"{value} used as tl.static_range {name} value is not a constexpr")
        self.start, self.end, self.step = given

    def __iter__(self) -> Any:
        raise RuntimeError(f"static_range {_OUTSIDE}")


class condition:
    """The condition of a ``while``, with hints."""

    def __init__(self, arg1: Any, disable_licm: Any = False) -> None:
        self.condition = arg1

"""Types shared by the launch modules: how arguments are read, the dispatcher's interface, and the
interface of a launch to its route."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from gridlane.core.device_errors import KernelStop
from gridlane.core.weak import live
from gridlane.cuda.kernels.transfers import Convert
from gridlane.launch.dimensions import Dim3
from gridlane.launch.packing import Packer
from gridlane.launch.plan import Plan
from gridlane.runtime import observing

if TYPE_CHECKING:
    from gridlane.cuda.kernels.kernel import Kernel


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Reading:
    """How to launch a kernel with arguments of given types and a given block shape.

    Attributes:
        read: converts arguments to parameter bytes.
        plan: the kernel on its device.
        converts: for each argument its conversion before ``read``; () if none needs any.
        waits: host arrays are used in place or copied back, so the caller sees results on return,
            on every stream, as with CUDA's copies to pageable memory.
        argtypes: the kernel's.
        holds: a test whether the plan's code is for these parameters, if the hot call needs it.
        launch: the kernel's own ``launch``, as it is now: others may watch launches.
    """

    read: Packer
    plan: Plan
    converts: tuple[Convert | None, ...]
    waits: bool
    argtypes: tuple[Any, ...] = ()
    holds: Callable[[bytes], bool] | None = None
    launch: Callable[[bytes, int, int, int, int], None] = field(init=False)

    def __post_init__(self) -> None:
        # In this order: who exchanges the method in between finds the reading, or it the new one.
        _READINGS.add(self)
        self.look_up()

    def look_up(self) -> None:
        """Look the kernel's ``launch`` up."""
        object.__setattr__(self, "launch", self.plan.kernel.launch)


_READINGS: weakref.WeakSet[Reading] = weakref.WeakSet()


def _look_up() -> None:
    for each in live(_READINGS):
        each.look_up()


observing.then(_look_up)


class Launchable(Protocol):
    """The interface of a dispatcher to a launch."""

    __name__: str
    extensions: list[Any]
    launch_bounds: int | None

    def configure(self, griddim: Any, blockdim: Any, stream: Any = 0, sharedmem: int = 0) -> Any:
        """Configure a launch."""
        ...

    def plans_of(self, block: Dim3) -> dict[Hashable, Reading]:
        """The plans of launches with a block shape."""
        ...

    def bound(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments in the order of the parameters."""
        ...

    def checked(self, args: tuple[Any, ...], stream: Any) -> tuple[Any, ...]:
        """The arguments in the kernel's form."""
        ...

    def kernel_for(self, args: tuple[Any, ...]) -> Kernel:
        """The kernel that takes these arguments."""
        ...

    def kernel_of(self, types: tuple[Any, ...]) -> Kernel:
        """The kernel that a launch looked up by types."""
        ...

    def forget(self, kernel: Kernel) -> None:
        """Drop a kernel that does not compile."""
        ...

    def user_exception(self, error: KernelStop) -> Exception:
        """The exception of a stopped kernel."""
        ...

    def mark_launch_config_sensitive(self) -> None:
        """Mark the kernel as dependent on its launch."""
        ...

    def _compile_for_args(self, *args: Any) -> Kernel: ...


class Launch(Protocol):
    """The interface of a configured launch to its route; ``launch.Launching`` has the members."""

    _fast: dict[Hashable, Any]
    _own: Any
    blockdim: Dim3
    dispatcher: Launchable
    griddim: Dim3
    gx: int
    gy: int
    gz: int
    sharedmem: int
    stream: Any

    def _launch_slowly(self, args: tuple[Any, ...]) -> None: ...

    def _install(self, *profile: Any) -> None: ...

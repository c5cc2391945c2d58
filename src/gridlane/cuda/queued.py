"""The hot call on devices whose streams keep work for later, and whose drivers are Python."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gridlane.core.compact import Variant
from gridlane.cuda import active
from gridlane.cuda.argument_types import KEYS
from gridlane.cuda.launch import SLOTS, Launching, Plan, variant_of
from gridlane.cuda.streams import Stream
from gridlane.launch import compact
from gridlane.launch.dimensions import Dim3
from gridlane.runtime.protocol import Limits

if TYPE_CHECKING:
    from gridlane.cuda.dispatcher import Dispatcher


class QueuedConfigured(Launching):
    """A kernel with its grid, block, stream and dynamic shared memory.

    A plan is kept for each device: another may have been chosen since, on this thread or another.
    """

    __slots__ = (*SLOTS, "_own")

    def __init__(
        self, dispatcher: Dispatcher, griddim: Dim3, blockdim: Dim3, stream: Any, sharedmem: int
    ) -> None:
        super().__init__(dispatcher, griddim, blockdim, stream, sharedmem)
        # None for the default stream, which is asked for at each launch: a device that was lost has
        # a new one.
        self._own = stream.native if isinstance(stream, Stream) else None

    def __call__(self, *args: Any) -> None:
        """Launch. Hot: a key and a read for the arguments, then the stream's own launch."""
        device = active.device()
        plan = self._fast.get((device, *[KEYS[arg.__class__](arg) for arg in args]))
        if plan is None:
            self._launch_slowly(args)
            return
        params = plan.read(*args)
        if plan.holds is not None and not plan.holds(params):
            self._launch_slowly(args)
            return
        launch = (self._own or device.default_stream).launch
        launch(plan.kernel, params, self.gx, self.gy, self.gz, self.sharedmem, args)

    def _variant(self, args: tuple[Any, ...], limits: Limits) -> Variant:
        return variant_of(self, args, limits)

    def _remember(
        self, key: Hashable, plan: Plan, args: tuple[Any, ...], given: tuple[Any, ...]
    ) -> None:
        # Streams that were named by number are looked up and refused by the slow way.
        known = self._own is not None or self.stream.handle == 0
        if not known or plan.waits or not isinstance(key, tuple):
            return
        device = active.device()
        if plan.variant.compact:
            holds = compact.checker(plan.kernel.artifact.params)
            self._fast[device, *key] = replace(plan, holds=holds)
        elif not compact.grid_holds(self.griddim, self.blockdim):
            self._fast[device, *key] = plan
        # Else the arguments were large this time, and may be smaller the next.

"""The configured launches of a kernel, by what it was indexed with."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from gridlane.cuda.host.streams import Stream
from gridlane.cuda.kernels.launch import Configured

# Grids that depend on the data would fill the table without bound.
_MOST = 1024


class LaunchTable(dict[Any, Configured]):
    """Configured launches by grid, block, stream and bytes of shared memory."""

    def __init__(self) -> None:
        super().__init__()
        self._owners: weakref.WeakSet[Stream] = weakref.WeakSet()

    def keep(self, item: Any, launch: Configured) -> None:
        """Keep a configured launch; one on a stream for the lifetime of the user's stream."""
        if len(self) >= _MOST:
            self.clear()
        owner = item[2] if len(item) > 2 else None
        if isinstance(owner, Stream):
            item = (*item[:2], launch.stream, *item[3:])  # equal, but not the user's object
            if owner not in self._owners:
                self._owners.add(owner)
                forget = weakref.WeakMethod(self._forget_stream)
                weakref.finalize(owner, _call_weakly, forget, launch.stream).atexit = False
        self[item] = launch

    def _forget_stream(self, stream: Stream) -> None:
        """Drop the launches on a stream."""
        for item in [key for key in list(self) if len(key) > 2 and key[2] == stream]:
            del self[item]


def _call_weakly(method: weakref.WeakMethod[Callable[[Any], None]], argument: Any) -> None:
    """Call a method of an object that may be dead."""
    function = method()
    if function is not None:
        function(argument)

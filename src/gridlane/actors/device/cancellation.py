"""Handlers of resident kernels that give up their message when the host requests it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gridlane.cuda import jit
from gridlane.frontends.python.kernel_source import PythonSource

if TYPE_CHECKING:
    from gridlane.ir.values import Module

GAVE_UP = "the handler has given up in this loop, as it was asked to"
"""The message of the error of a handler that gave up."""


_NAME = "gridlane_heeds"
"""The name of the function below; a handler of this name is renamed."""


def heeding_of(handler: Any) -> Any:
    """A device function (address of the host's requests, ctx, state, message, arrays) that calls a
    handler, whose loops poll the requests; see ``HeedingSource``."""

    def gridlane_heeds(requests: Any, ctx: Any, state: Any, message: Any, arrays: Any) -> None:
        handler(ctx, state, message, *arrays)

    return jit(device=True)(gridlane_heeds)


class HeedingSource(PythonSource):
    """A kernel that calls a function of ``heeding_of``."""

    def key(self) -> bytes:
        """A digest of its source, of the values that it captures, and of the code added to its
        loops."""
        return super().key() + b" heeds requests"

    def complete(self, module: Module) -> None:
        """Add the polls to the loops of the handler.

        Raises:
            CompileError: a loop cannot have them, such as that of a function that calls itself.
        """
        from gridlane.passes.structure.heed_requests import heed_requests

        heed_requests(module, _NAME, GAVE_UP)

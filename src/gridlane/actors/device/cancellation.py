"""Handlers of resident kernels that give up their message when the host requests it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gridlane.core.argtypes import ArgType
from gridlane.core.options import KernelOptions
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

    def translate(self, types: tuple[ArgType, ...], options: KernelOptions) -> Module:
        """The IR for argument types; the same module at every call.

        Raises:
            CompileError: the kernel is outside the dialect or its types do not fit; located.
        """
        from gridlane.passes.structure.heed_requests import heed_requests

        known = (types, options) in self._modules
        module = super().translate(types, options)
        if not known:
            try:
                heed_requests(module, _NAME, GAVE_UP)
            except BaseException:  # such as a function that calls itself
                del self._modules[types, options]
                raise
        return module

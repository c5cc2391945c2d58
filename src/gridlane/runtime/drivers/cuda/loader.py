"""Load PTX and cubins into a context; the driver's own compiler makes machine code of PTX."""

from __future__ import annotations

from typing import Any

from gridlane.core.artifact import Artifact
from gridlane.core.device_errors import device_error, handled
from gridlane.core.errors import DeviceError
from gridlane.runtime.drivers.cuda.api import enum, relaxed
from gridlane.runtime.drivers.cuda.context import Context

_LOG_BYTES = 16384


def load(context: Context, artifact: Artifact) -> Any:
    """The handle of the artifact's module.

    PTX is loaded as it is, for the driver compiles it as a whole program then. The linker's
    functions (``cuLinkAddData``) compile it as a part of one: ``setmaxnreg`` is ignored there,
    ``wgmma`` is serialized, and other kernels take up to 1.6 times the registers. The driver keeps
    the machine code in its own cache on disk.

    Raises:
        DeviceError: INVALID_PTX, INVALID_IMAGE and their like, with the log of the driver's
            compiler.
    """
    message = f"{artifact.name}, {len(artifact.code)} bytes of {artifact.format}"
    if artifact.format != "ptx":
        with relaxed():
            return context.call("cuModuleLoadData", artifact.code, what=message)
    log = bytearray(_LOG_BYTES)
    options: dict[str, Any] = {
        "CU_JIT_ERROR_LOG_BUFFER": log,
        "CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES": _LOG_BYTES,
    }
    if b".loc" in artifact.code:
        options["CU_JIT_GENERATE_LINE_INFO"] = 1
    keys = [enum("CUjit_option", name) for name in options]
    image = artifact.code + b"\0"
    try:
        values = list(options.values())
        with relaxed():
            return context.call("cuModuleLoadDataEx", image, len(keys), keys, values, what=message)
    except DeviceError as error:
        said = bytes(log).split(b"\0")[0].decode(errors="replace").strip()
        if not said:
            raise
        handled(error)  # the next one says more
        what = f"kernel {artifact.name}: {said}"
        raise device_error(error.number, what, device=context.name) from None

"""Compile PTX to machine code with the driver's own compiler."""

from __future__ import annotations

import ctypes
from dataclasses import replace

from gridlane.core.artifact import Artifact
from gridlane.core.device_errors import device_error
from gridlane.core.errors import DeviceError
from gridlane.runtime.drivers.cuda.api import enum
from gridlane.runtime.drivers.cuda.context import Context

_LOG_BYTES = 16384


def link(context: Context, artifact: Artifact) -> Artifact:
    """The artifact with a cubin in place of its PTX.

    Raises:
        DeviceError: INVALID_PTX and its like, with the log of the driver's compiler.
    """
    if artifact.format != "ptx":
        return artifact
    log = bytearray(_LOG_BYTES)
    options = {
        "CU_JIT_ERROR_LOG_BUFFER": log,
        "CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES": _LOG_BYTES,
    }
    if b".loc" in artifact.code:
        options["CU_JIT_GENERATE_LINE_INFO"] = 1
    keys = [enum("CUjit_option", name) for name in options]
    state = context.call("cuLinkCreate", len(keys), keys, list(options.values()))
    try:
        source = artifact.code + b"\0"
        kind = enum("CUjitInputType", "CU_JIT_INPUT_PTX")
        name = artifact.entry.encode()
        context.call("cuLinkAddData", state, kind, source, len(source), name, 0, [], [])
        address, size = context.call("cuLinkComplete", state)
        code = ctypes.string_at(address, size)
    except DeviceError as error:
        said = bytes(log).split(b"\0")[0].decode(errors="replace").strip()
        raise device_error(error.number, f"kernel {artifact.name}: {said}") from None
    finally:
        context.call("cuLinkDestroy", state)
    return replace(artifact, format="cubin", code=code)

"""Files by which C runs programs without Python; see ``ready.h``.

After a launch that left a plan in C, Python stores what a later process in C needs: a file of the
device and a file of the kernel. The thread pool is a part of C's library. C computes the keys from
all that decides the code. The files lie in the compiler's cache, and are counted and swept with it.

    magic (8)  version (u32)  digest (32)  |  a structure of ready.c's  what it says the sizes of
                                           '- what the digest covers, after the key
"""

from __future__ import annotations

import ctypes
import os
import struct
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from gridlane.abi.failure import Failure
from gridlane.abi.state import contexts, devices, registered, threads
from gridlane.abi.state.contexts import Context
from gridlane.abi.state.modules import Function
from gridlane.compiler.cache import READY_SUFFIX, default_cache
from gridlane.core.artifact import Artifact
from gridlane.core.embedding import is_guest
from gridlane.core.errors import GridlaneError
from gridlane.runtime.drivers.cpu import CpuKernel
from gridlane.runtime.drivers.cpu_debug_lines import code_range
from gridlane.runtime.drivers.cpu_native import pool

AHEAD = (1 << 64) - 2
"""GL_AHEAD."""
_PACKAGE = Path(__file__).parents[2]
_START = struct.Struct("<8sI")
_DEVICE = struct.Struct("<4Iq")
_KERNEL = struct.Struct("<10I4q")
_DEVICE_FILE, _KERNEL_FILE = 1, 2
_VARIABLES = "GRIDLANE_", "CUDA_"


class _Names(ctypes.Structure):
    """``struct gl_ready_names``."""

    _fields_ = (
        ("device", ctypes.c_uint8 * 32),
        ("kernel", ctypes.c_uint8 * 32),
        ("environment", ctypes.c_char_p),
        ("package", ctypes.c_char_p),
    )


_MakeNames = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_void_p)


def keep(
    make_names: int,
    number: int,
    function: Function,
    bound: object,
    limits: tuple[int, int, int, int],
    pieces: bytes,
    constants: bytes,
) -> None:
    """Store a kernel for processes without Python, if C could launch it there.

    Args:
        make_names: the address of C's function.
        number: the host address that is registered for the kernel.
        bound: its code.
        limits: of the grid along x, y and z, and of dynamic shared memory.
        pieces, constants: offsets of parameters, and the block's constants, as in the plan.
    """
    cache = default_cache()
    if cache is None or not isinstance(bound, CpuKernel) or not _is_plain(number, function, bound):
        return
    block = bound.artifact.block
    assert block is not None
    names = _Names()
    shape = (ctypes.c_uint32 * 3)(*block)
    has_names = _MakeNames(make_names)(number, ctypes.addressof(shape), ctypes.addressof(names))
    if not has_names or not _is_ours(names):
        return
    kernel = _kernel_data(bound.artifact, len(function.params), limits, pieces, constants)
    for key, data in ((bytes(names.kernel), kernel), (bytes(names.device), _device_data())):
        cache.put_file(key.hex() + READY_SUFFIX, encode(key, data))


def _device_data() -> bytes:
    """The content of the device's file: how many devices and threads, and the time of a launch."""
    known = pool()
    return _DEVICE.pack(_DEVICE_FILE, devices.count(), known.threads, 0, known.limit)


def _kernel_data(
    artifact: Artifact,
    parameters: int,
    limits: tuple[int, int, int, int],
    pieces: bytes,
    constants: bytes,
) -> bytes:
    """The content of a kernel's file."""
    entry = artifact.entry.encode() + b"\0"
    head = _KERNEL.pack(
        _KERNEL_FILE,
        parameters,
        len(pieces) // 16,
        len(constants),
        *limits,
        len(entry),
        len(artifact.code),
        artifact.scratch + artifact.static_shared,
        artifact.work,
        *code_range(artifact.code, artifact.entry),
    )
    return head + pieces + constants + entry + artifact.code


def encode(key: bytes, data: bytes) -> bytes:
    """The bytes of a file."""
    return _START.pack(b"gl-ready", 4) + sha256(key + data).digest() + data


def _is_plain(number: int, function: Function, bound: CpuKernel) -> bool:
    """Whether a kernel needs only its code and its parameters."""
    artifact, context = bound.artifact, contexts.top()
    further = any(slot.argument >= len(function.params) for slot in artifact.params)
    changed = function.attributes or function.inherited or (context is not None and context.limits)
    calls_python = artifact.prints or artifact.asks_host
    needs_python = (
        further or calls_python or artifact.cooperative or changed or artifact.requires_cluster
    )
    return registered.is_kernel(number) and not needs_python


def _is_ours(names: _Names) -> bool:
    """Whether C read the same environment as this Python, of the same gridlane."""
    lines = sorted(
        os.fsencode(f"{name}={value}")
        for name, value in os.environ.items()
        if name.startswith(_VARIABLES) and name != "GRIDLANE_CACHE_DIR"
    )
    environment = b"".join(line + b"\n" for line in lines)
    package = os.fsencode(_PACKAGE)
    return is_guest() and names.environment == environment and names.package == package


# --- taking over from C ---


def first_context() -> Context:
    """The context in which C allocated ahead of Python: the first device's primary one."""
    devices.initialise()
    return contexts.primary(0).for_runtime()


def take_over_thread() -> int:
    """Apply to this thread the state that C gave it: it uses the first device."""
    with suppress(Failure, GridlaneError):  # a fault, which its own call reports
        threads.bind(0)
    return 0

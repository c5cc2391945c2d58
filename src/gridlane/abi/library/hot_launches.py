"""Plans by which C launches kernels alone; see ``hot_launches.c``.

A plan is made after a launch by Python, and valid while ``epochs.code`` is unchanged. An old plan
is freed after the last launch that uses it.
"""

from __future__ import annotations

import ctypes
import threading
from dataclasses import dataclass
from typing import Any

from gridlane.abi.calls.function_attributes import (
    MAX_DYNAMIC_SHARED,
    attributes,
    names_clusters,
)
from gridlane.abi.calls.registry import calls
from gridlane.abi.errors import called
from gridlane.abi.library import ready
from gridlane.abi.state import contexts, libraries, registered, streams
from gridlane.abi.state.contexts import Context
from gridlane.abi.state.modules import Function
from gridlane.core import epochs
from gridlane.core.cuda_table import functions
from gridlane.core.cuda_table.functions import Api
from gridlane.core.device_errors import KernelEnded, KernelStop
from gridlane.core.errors import DeviceError, KernelError
from gridlane.launch.dimensions import Dim3
from gridlane.launch.plan import Plan
from gridlane.memory.resource import Buffer
from gridlane.runtime.host_device import HostKernel, MachineCode, shares_memory
from gridlane.runtime.queues.host_queue import Failure, raise_failure

_LAUNCHES: tuple[tuple[Api, str], ...] = (
    ("driver", "cuLaunchKernel"),
    ("runtime", "cudaLaunchKernel"),
)
"""The API and function of each number of ``enum { GL_DRIVER, GL_RUNTIME }``."""
_RUNTIME = 1
_MOST_BYTES = 4096
_LAUNCH_NUMBER = 2
"""The slot of the launch's number among the code's inputs besides parameters; each launch has
another."""

_u32, _u64, _pointer = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p
_Change = ctypes.PYFUNCTYPE(None, _pointer)


class _Plan(ctypes.Structure):
    """``struct gl_plan``."""

    _fields_ = (
        *((name, _u64) for name in ("function", "context", "code")),
        ("api", _u32),
        ("block", _u32 * 3),
        *((name, _u32) for name in ("usable", "parameters", "pieces", "bytes")),
        ("most_grid", _u32 * 3),
        ("most_shared", _u32),
        *((name, _u64) for name in ("launch", "native", "piece", "constants", "next")),
        ("users", _u32),
    )


@dataclass(slots=True)
class _Known:
    """A plan that C has.

    Attributes:
        remove: C's function that removes it from the table.
        keep: the objects to which it points.
        code: the code that raises the errors of its launches.
    """

    plan: _Plan
    context: Context
    remove: Any
    keep: tuple[Any, ...] = ()
    code: HostKernel | None = None


_lock = threading.RLock()
_known: dict[int, _Known] = {}
"""Plans by address. Lifetime: old ones stay while launches use them."""
_latest: dict[tuple[int, ...], _Plan] = {}
"""The latest plan of each library, context, function and block."""


def begin() -> None:
    """Allow C to append launches to streams of programs."""
    raise_failure[0] = _raise_failure


def learn(launches: int, api: int, number: int, *block: int) -> int:
    """Leave C a plan of a finished launch; a plan without code if only Python can do the launch.

    Args:
        launches: the address of the library's ``struct gl_launches``.
        number: of the function, as in the launch; ``api``: of that name.
    """
    _plan(launches, api, number, block)
    return 0


def _plan(launches: int, api: int, number: int, block: tuple[int, ...]) -> None:
    code = epochs.code.number  # before the inputs of the plan are read
    context = contexts.top()
    if context is None or context.faulted:
        return
    key = launches, context.handle, api, number, *block
    if _has(key, code):  # C looks for it by what it knows of the thread, which launches first
        return
    *changes, make_names = (_u64 * 3).from_address(launches)
    add, remove = map(_Change, changes)
    function = (registered.function if api else libraries.function_of)(number, context)
    plan = _Plan(number, context.handle, code, api, (_u32 * 3)(*block))
    known = _Known(plan, context, remove)
    x, y, z = block
    _fill(known, function, (x, y, z))
    if plan.usable and api == _RUNTIME:
        _keep(make_names, known, function)
    with _lock:
        if _has(key, code):  # another thread's
            return
        _latest[key] = plan
        _known[ctypes.addressof(plan)] = known
        add(ctypes.addressof(plan))
    if code != epochs.code.number:
        _forget_old()


def _has(key: tuple[int, ...], code: int) -> bool:
    latest = _latest.get(key)
    return latest is not None and latest.code == code


def _raise_failure(address: int) -> None:
    """Raise the error of a launch that C appended to a stream."""
    failure = Failure.from_address(address)
    known, (gx, gy, _) = _known[failure.plan], failure.grid
    assert known.code is not None
    _raise(known.code, failure.code, address + ctypes.sizeof(Failure), gx, gy)


def _forget_old() -> None:
    """Free the plans that no launch uses, or will use."""
    if not _known:
        return
    with _lock:
        code = epochs.code.number
        for key, plan in tuple(_latest.items()):
            if plan.code != code:
                del _latest[key]
        for address, known in tuple(_known.items()):
            if known.plan.code != code:
                known.remove(address)
                if not known.plan.users:
                    del _known[address]


epochs.code.then(_forget_old)


def _fill(known: _Known, function: Function, block: Dim3) -> None:
    """Describe how C launches a function, if it can."""
    device, kernel = known.context.device, function.kernel
    if function.module.context is not known.context or names_clusters(function):
        return
    _, plan = kernel.plan(block, device)
    bound, artifact = plan.kernel, plan.kernel.artifact
    code = bound.machine_code if isinstance(bound, HostKernel) else None
    count = len(function.params)
    takes_number = any(slot.argument == count + _LAUNCH_NUMBER for slot in artifact.params)
    static, limits = artifact.static_shared, device.limits
    if (
        code is None
        or takes_number
        or (artifact.spins and shares_memory(device))  # it may wait for the host
        or artifact.param_bytes > _MOST_BYTES
        or static > limits.max_shared
    ):
        return
    assert isinstance(bound, HostKernel)
    known.code = bound
    record = known.plan
    record.parameters = count
    record.most_grid[:] = limits.max_grid
    most = attributes(function).read(MAX_DYNAMIC_SHARED)
    record.most_shared = max(0, min(most, limits.max_dynamic_shared - static))
    _fill_block(known, function, plan, code)
    record.usable = 1


def _fill_block(known: _Known, function: Function, plan: Plan, code: MachineCode) -> None:
    """Write the offsets of parameters in the block of the code, and the constants of the block."""
    artifact, count = plan.kernel.artifact, len(function.params)
    further = function.kernel.further(artifact, plan.device)
    constants = ctypes.create_string_buffer(max(1, artifact.param_bytes))
    pieces: list[int] = []
    for slot in artifact.params:
        if slot.argument >= count:
            value = further[slot.argument - count]
            number = value.address if isinstance(value, Buffer) else value
            constants[slot.offset : slot.end] = number.to_bytes(slot.size, "little")
        else:
            path = slot.path[0] if slot.path else 0
            assert isinstance(path, int)
            pieces += (slot.argument, path, slot.offset, slot.size)
    record, array = known.plan, (_u32 * max(1, len(pieces)))(*pieces)
    record.pieces, record.bytes = len(pieces) // 4, artifact.param_bytes
    record.piece, record.constants = ctypes.addressof(array), ctypes.addressof(constants)
    record.launch, record.native = code.launch, code.plan
    known.keep = array, constants, further, function, plan


def _keep(make_names: int, known: _Known, function: Function) -> None:
    """Store a plan for later processes, which have no Python."""
    plan = known.plan
    pieces = ctypes.string_at(plan.piece, 16 * plan.pieces)
    constants = ctypes.string_at(plan.constants, plan.bytes)
    x, y, z = plan.most_grid
    limits = x, y, z, plan.most_shared
    ready.keep(make_names, plan.function, function, known.code, limits, pieces, constants)


def _known_of(address: int) -> _Known:
    """The record of a plan; of one that C made ahead of Python, the record that Python would have
    made."""
    known = _known.get(address)
    if known is not None:
        return known
    plan = _Plan.from_address(address)
    assert plan.context == ready.AHEAD
    context = ready.first_context()
    x, y, z = plan.block
    bound = registered.function(plan.function, context).kernel.plan((x, y, z), context.device)[1]
    assert isinstance(bound.kernel, HostKernel)
    return _Known(plan, context, None, code=bound.kernel)


def failed(address: int, code: int, report: int, gx: int, gy: int) -> int:
    """Note the error of a launch that C did; later calls report that the kernel failed.

    Args:
        address: of the plan.
        code: the kernel's, as 64 bits; ``report``: the address of the kernel's report.
    """
    known = _known_of(address)
    api, name = _LAUNCHES[known.plan.api]
    number = code - (1 << 64) if code >> 63 else code

    def tell() -> None:
        assert known.code is not None and known.code.machine_code is not None
        try:
            _raise(known.code, number, report, gx, gy)
        except (KernelError, KernelEnded) as error:
            known.context.fault(error)
        except DeviceError as error:
            raise streams.faulted(known.context, error) from None

    assert calls(api)
    return called(functions(api)[name], tell, ())[0]


def _raise(kernel: HostKernel, code: int, report: int, gx: int, gy: int) -> None:
    """Raise the error of a launch, as its stream does."""
    assert kernel.machine_code is not None
    try:
        kernel.machine_code.fail(code, report, gx, gy)
    except KernelStop as error:
        raise (kernel.explain(error) if kernel.explain else error) from None

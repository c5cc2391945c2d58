"""Resident kernels: the devices that can have them, their programs, and the memory that they share
with the host."""

from __future__ import annotations

import ctypes
import dataclasses
import threading
import time
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from gridlane.actors._engine import Actor as EngineActor
from gridlane.actors.device.cancellation import HeedingSource
from gridlane.actors.device.context import Rules, context_class
from gridlane.actors.device.layout import EMPTY
from gridlane.actors.device.resident import resident_of
from gridlane.actors.device.resident_form import Form
from gridlane.actors.errors import ActorError
from gridlane.actors.layouts import wire
from gridlane.actors.layouts.blocks import Latencies
from gridlane.actors.resident.channels import TABLE_BYTES, Channel, Table, shut_keys
from gridlane.actors.values.actor import Actor
from gridlane.core import numpy_types
from gridlane.core.argtypes import ArgType, ArrayType, TupleType
from gridlane.core.compact import Variant
from gridlane.core.cpu_abi import REPORT
from gridlane.core.errors import DeviceError, LaunchError
from gridlane.core.forks import fork_waits
from gridlane.core.threads import start_thread
from gridlane.launch.compact import array_checker
from gridlane.launch.kernel import Kernel
from gridlane.launch.parameters import array_layout
from gridlane.memory.resource import Buffer

ON_CPU = False
"""Whether the CPU runs such kernels, on a thread each: for tests, which have no GPU."""
ON_CPU_HAS: dict[str, int] = {"far": 1, "near": 1}
"""Differences of their form there: the tests' time goes into compiling them."""
SHARED = 48 << 10
"""Bytes of shared memory that such a kernel may take."""


def refusal(device: Any) -> str:
    """The reason why a device cannot have resident kernels; "" where it can."""
    if device.name == "cpu":
        return "" if ON_CPU else "its native threads handle messages already, without launches"
    if not hasattr(device, "resident"):
        return "it has no way to give messages to a kernel that runs: they go in batches"
    facts = device.attributes()
    if facts["KERNEL_EXEC_TIMEOUT"]:
        return "it drives a display, and its driver ends kernels that run for seconds"
    if not facts["CAN_MAP_HOST_MEMORY"] or not facts["UNIFIED_ADDRESSING"]:
        return "its kernels cannot use the host's memory"
    return ""


def form_of(actor: Actor, tier: int, emits: int, lazy: bool, timed: bool = False) -> Form:
    """The form of an actor's kernel; ``Form`` has the arguments.

    Raises:
        LaunchError: a resident kernel cannot have this one.
    """
    state = None if actor.state is None else actor.state.record
    form = Form(actor.message.record, tier, emits, actor.threads, lazy, state, timed=timed)
    if not lazy:  # a CPU, where longer code is no faster
        form = form._replace(**ON_CPU_HAS)
    if actor.threads > 1 and actor.threads % 32:
        raise LaunchError(
            f"{actor.name}: threads={actor.threads}; a kernel that does not end has whole warps, 1 "
            "thread or a multiple of 32: or launch it with persistent=False"
        )
    used = form.shared
    if used > SHARED:
        raise LaunchError(
            f"{actor.name}: its message and {emits} of {tier} bytes that it emits take {used} "
            f"bytes of shared memory, and a kernel that does not end has {SHARED}: launch it with "
            "a smaller emits= or tier=, or persistent=False"
        )
    return form


def fitting_form(actor: Actor, tier: int, emits: int, home: Any) -> Form | None:
    """The form of an actor's resident kernel; None where it handles batches instead, if it may."""
    try:
        return form_of(actor, tier, emits, home.by_host, home.timed)
    except LaunchError:
        if home.must_reside:
            raise
        return None


def variant_for(home: Any, arrays: tuple[Any, ...]) -> Variant:
    """The variant of an actor's kernel: compact on a GPU where its arrays are small."""
    small = [
        array_checker(each.ndim)(
            array_layout(each.ndim).pack(each.device_pointer, *each.shape, *each.strides)
        )
        for each in arrays
    ]
    return Variant(compact=home.by_host and all(small))


class ResidentProgram:
    """The compiled resident kernel of an actor; ``Program`` has the arguments. ``variant`` is as of
    ``variant_for``."""

    def __init__(
        self,
        actor: Actor,
        device: Any,
        form: Form,
        emits: int,
        arrays: tuple[ArgType, ...],
        variant: Variant,
    ) -> None:
        self.actor, self.form, self.device = actor, form, device
        self.state = EMPTY if actor.state is None else actor.state.record.numpy
        record = numpy_types.from_numpy(EMPTY) if actor.state is None else actor.state.record
        replies = None if actor.replies is None else actor.replies.record
        context = context_class(Rules(replies, form.tier, emits, actor.threads))
        types: tuple[ArgType, ...] = (
            ArrayType(numpy_types.from_numpy(wire.ROW), 1, "C"),
            ArrayType(record, 1, "C"),
            TupleType(arrays),
        )
        function = resident_of(actor.handler, context, form)
        options = actor.handler.options
        if device.name == "cpu":  # for tests, in which compiling takes longer than running
            options = dataclasses.replace(options, opt=False)
        kernel = Kernel(HeedingSource(function), types, options)
        self.plan = kernel.plan((form.block, 1, 1), variant, device)

    def params(
        self, rows: int, count: int, states: Buffer, arrays: tuple[Any, ...], name: str
    ) -> bytes:
        """The parameters of a launch: the address of the rows of so many actors, their states.

        Raises:
            ActorError: the kernel has parameters for other arrays.
        """
        values: list[Any] = []
        for array in arrays:
            values += [array.device_pointer, *array.shape, *array.strides]
        size, plan = wire.ROW.itemsize, self.plan
        params = plan.pack(rows, count, size, states, count, self.state.itemsize, *values)
        if plan.variant_of((count, 1, 1), params) != plan.variant:
            raise ActorError(f"{name}: its arrays are larger than its kernel was made for")
        return params


class _OnThread:
    """A resident kernel on a thread of the host."""

    raised = 0

    def __init__(self, program: ResidentProgram, there: EngineActor) -> None:
        kernel: Any = program.plan.kernel
        self._how, self._there = kernel.machine_code, there
        self._report = (ctypes.c_int64 * REPORT)()
        self._code = 0
        self._thread: threading.Thread | None = None
        kinds = (ctypes.c_void_p, ctypes.c_char_p, *[ctypes.c_int] * 4, ctypes.c_void_p)
        self._launch = ctypes.CFUNCTYPE(ctypes.c_int, *kinds)(self._how.launch)

    def start(self, params: bytes, keep: object) -> None:
        """Run it."""

        def run(keep: object = keep) -> None:
            report = ctypes.addressof(self._report)
            self._code = self._launch(self._how.plan, params, 1, 1, 1, 0, report)
            if self._code:
                self._there.fail(self._code)

        self._thread = threading.Thread(target=run, name="gridlane resident", daemon=True)
        start_thread(self._thread)

    def ended(self) -> bool:
        """Whether it has ended, or has never run."""
        return self._thread is None or not self._thread.is_alive()

    def stop(self) -> BaseException | None:
        """The error that it has raised; it has ended."""
        code, self._code = self._code, 0
        if not code:
            return None
        try:
            self._how.fail(code, ctypes.addressof(self._report), 1, 1)
        except BaseException as error:
            return error

    def flush(self) -> None:
        """Do nothing: its output is printed at once."""

    def lost(self) -> None:
        """Do nothing: no context is lost."""


LEAKED: list[Any] = []
"""Lifetime: memory that kernels which never end use is never freed."""
_ERROR = 15
"""The index of ``error`` among the words of a control block."""
PATIENCE = 2.0
"""Seconds in which a kernel follows the order to end, unless its handler runs longer."""


class Residence:
    """The kernel of one actor, and the memory that it shares with the host.

    Args:
        program: that runs.
        there: the engine's part of the actor, which has no messages yet.
        capacity, outbox: of its inbox, and of its ring to the host.

    Attributes:
        started: whether its kernel runs, as far as the host has seen.
        diverted: full channels that a checkpoint has taken from it: its messages go by the host,
            once earlier ones are handled.
        cluster, rank: of an actor that is launched with others; see ``cluster.Member``.
        leaked: its kernel never ends; what it may use is in LEAKED, and in ``kept``.
    """

    cluster: Any = None
    rank = 0
    leaked = False

    def __init__(
        self,
        program: ResidentProgram,
        there: EngineActor,
        name: str,
        number: int,
        capacity: int,
        outbox: int,
    ) -> None:
        form, device = program.form, program.device
        self.program, self.there, self.name = program, there, name
        self.started = self._closed = False
        self.kept: list[Any] = []
        self._lock = threading.RLock()
        self._away: tuple[Any, ...] | None = None
        self._launched: tuple[Any, ...] = ()
        slot, out_slot = wire.slot_of(form.chunks), wire.slot_of(form.out_chunks)
        offsets, size = _offsets(form, capacity * slot, outbox * out_slot)
        self.memory: Buffer = device.allocate_host(size, "mapped")
        start = self.memory.address
        ctypes.memset(start, 0, size)
        addresses = {name: start + offset for name, offset in offsets.items()}
        shift, out_shift = capacity.bit_length() - 1, outbox.bit_length() - 1
        there.connect(
            self.memory, addresses["inbox"], addresses["out"], addresses["answers"],
            addresses["orders"], addresses["status"], addresses["control"],
            addresses["latencies"] if form.timed else 0, shift, form.chunks, slot, out_shift,
            out_slot, form.answer_bytes,
        )  # fmt: skip
        self._row: Any = np.frombuffer(_bytes_at(addresses["row"], wire.ROW.itemsize), wire.ROW)[
            0:1
        ]
        self._row_address, self._status = addresses["row"], addresses["status"]
        for part in addresses.keys() - {"row"}:
            self._row[part] = addresses[part]
        self.capacity, self.slot = capacity, slot
        self._inbox = _bytes_at(addresses["inbox"], capacity * slot)
        self.routes, self.sources = Table(addresses["routes"]), Table(addresses["sources"])
        self._version = 0
        self.diverted: list[Channel] = []
        self._row["number"], self._row["shift"], self._row["out_shift"] = number, shift, out_shift
        self._kernel: Any = self._new_kernel()

    def _new_kernel(self) -> Any:
        """The object that runs the kernel."""
        program, device = self.program, self.program.device
        if not hasattr(device, "resident"):
            return _OnThread(program, self.there)
        return device.resident(program.plan.kernel.artifact, (program.form.block, 1, 1), self)

    def start(self, state: Buffer, arrays: tuple[Any, ...], drift: int) -> None:
        """Launch the kernel, or launch it again where it has ended.

        Raises:
            DeviceError: the device does not hold it besides the others.
        """
        self._launched = state, arrays, drift
        self._write_row(drift)
        params = self.program.params(self._row_address, 1, state, arrays, self.name)
        self.there.resides(self._kernel.raised)
        try:
            self._kernel.start(params, (self.memory, state, arrays))
        except BaseException:
            self.there.ended()
            raise
        self.started = True

    def _write_row(self, drift: int) -> None:
        """Write the positions at which the kernel continues."""
        order, head, out_tail, physical, logical, *_ = self.there.position
        row = self._row
        row["drift"], row["started"], row["order"] = drift, time.time_ns(), order
        row["head"], row["out_tail"] = head, out_tail
        row["physical"], row["logical"] = physical, logical
        control = np.frombuffer(self.there.control, np.int64)
        row["received"], row["answered"] = control[2], control[3]

    def away(self) -> AbstractContextManager[None]:
        """Make the other actors of its launch leave the device for the with block, so that its
        kernel can be launched again, and its inboxes changed.

        Raises:
            DeviceError: NOT_PERMITTED, a handler runs on.
        """
        return nullcontext() if self.cluster is None else self.cluster.away()

    # --- ways to other actors ---

    def announce(self) -> None:
        """Publish to the kernel that its tables have changed."""
        with fork_waits(), self._lock:
            self._version += 1
            self.there.tables(self._version)

    def has_learned(self) -> bool:
        """Whether the kernel uses the present tables, or does not run."""
        return not self.started or self.there.position[5] == self._version

    def waiting(self) -> list[bytes]:
        """The host's messages that the kernel has not taken, headers and payloads. It is held."""
        return self.there.ring(self._inbox, self.there.position[1])

    def unsent(self) -> int:
        """The number of the kernel's messages that are not delivered."""
        position = self.there.position
        return position[2] - position[7]

    def is_quiet(self, timeout: float) -> bool:
        """Wait until all that the kernel has sent is delivered; return whether it is. It is
        held."""
        until = time.monotonic() + timeout
        while self.unsent():
            if time.monotonic() > until:
                return False
            time.sleep(50e-6)
        return True

    # --- leaving the device for a while ---

    def ask_to_leave(self) -> None:
        """Order the kernel to leave for a while."""
        with fork_waits(), self._lock:
            if self.started and self._away is None:
                self._away = self._launched
                self.there.leaves()

    def leave(self) -> bool:
        """Wait until it has left; return whether it has."""
        return self._away is None or self.wait(PATIENCE)

    def come_back(self) -> None:
        """Launch the kernel again, after an order to leave. A kernel that has raised an error stays
        away. One whose handler did not let it leave runs on, and its order is withdrawn."""
        with fork_waits(), self._lock:
            launched, self._away = self._away, None
            if launched is None or self._closed:
                return
            if self.started:
                self.there.resides(self._kernel.raised)
            elif not self.failed():
                self.start(*launched)

    def failed(self) -> bool:
        """Whether its handler has failed, and the failure is not handled."""
        return bool(np.frombuffer(self.there.control, np.int32)[_ERROR])

    # --- the end ---

    def finish(self, timeout: float) -> bool:
        """Order the kernel to end; return whether it has ended in time."""
        with fork_waits(), self._lock:
            self._closed = True
        self.there.ends()
        return self.wait(timeout)

    def wait(self, timeout: float) -> bool:
        """Wait until the kernel has ended; return whether it has.

        Raises:
            DeviceError: a kernel has brought the context down.
        """
        until = time.monotonic() + timeout
        pause = 20e-6
        while not self._kernel.ended():
            if time.monotonic() >= until:
                return False
            time.sleep(pause)
            pause = min(2 * pause, 2e-3)
        self._note_end()
        return True

    def is_gone(self) -> bool:
        """Whether the kernel has ended without an order.

        Raises:
            DeviceError: a kernel has brought the context down.
        """
        with fork_waits(), self._lock:
            if not self.started or self._closed or self._away is not None:
                return False
            return bool(self._kernel.ended())

    def _note_end(self) -> None:
        with fork_waits():
            if self.started:
                self.started = False
                self._kernel.flush()
                self.there.ended()

    def lost(self) -> None:
        """Note that the context is lost, and the kernel with it."""
        self._kernel.lost()
        self._note_end()

    def error(self) -> BaseException | None:
        """The error that the kernel has raised; it has ended."""
        return self._kernel.stop()


def _bytes_at(address: int, size: int) -> Any:
    return (ctypes.c_uint8 * size).from_address(address)


def _offsets(form: Form, inbox: int, out: int) -> tuple[dict[str, int], int]:
    """Where the parts of the shared memory are, and its bytes, for queues of so many."""
    sizes = {
        "orders": wire.ORDERS_BYTES,
        "status": wire.STATUS_BYTES,
        "control": 128,
        "row": -(-wire.ROW.itemsize // 128) * 128,
        "routes": TABLE_BYTES,
        "sources": TABLE_BYTES,
        "latencies": Latencies.size,
        "answers": wire.PLACES * form.answer_bytes,
        "inbox": inbox,
        "out": out,
    }
    offsets, size = dict[str, int](), 0
    for name, each in sizes.items():
        offsets[name], size = size, size + -(-each // 128) * 128
    return offsets, size


def end_residence(instance: Any, residence: Residence) -> None:
    """End the kernel of an actor that ends. A handler that does not end is requested to give up its
    message. If it does not, the kernel stays on the device, and the actor's failure says so. A
    kernel whose context is lost is gone already."""
    try:
        ended = residence.finish(PATIENCE)
        if not ended and residence.there.give_up(0):
            ended = residence.wait(PATIENCE)
    except DeviceError as error:
        residence.lost()
        instance.failure = instance.failure or error
        ended = True
    if not ended:
        residence.leaked = True
        LEAKED.append((residence, instance.memory, instance.arrays))
        instance.failure = instance.failure or ActorError(
            f"{instance.name} is ended, but its handler goes on with message "
            f"{instance.control.received}: nothing stops a block of a GPU from outside, and it "
            "stays there until the process ends"
        )
        residence.there.ended()
    residence.there.retire(shut_keys(residence.diverted))

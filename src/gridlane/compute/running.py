"""Functions of loops on devices: from the decorator to the launches."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from contextlib import nullcontext
from functools import partial, update_wrapper
from typing import Any, Self

import numpy as np

import gridlane
from gridlane.compute.again import calls, keep
from gridlane.compute.alone import alone
from gridlane.compute.checking import shared_names
from gridlane.compute.copying import on_device
from gridlane.compute.emission import Emitter
from gridlane.compute.explaining import outline_of
from gridlane.compute.hand import HandSchedule, schedule_of
from gridlane.compute.heterogeneous import Threshold, copies, fastest
from gridlane.compute.hints import Hints
from gridlane.compute.known import (
    Known,
    LibraryCall,
    Repeatable,
    Steps,
    key_of,
    on_host,
    run_again,
)
from gridlane.compute.libraries import Library
from gridlane.compute.metadata import Metadata, check_device, metadata_of
from gridlane.compute.on_stream import OnStream, refuse_captured
from gridlane.compute.ordering import in_order
from gridlane.compute.repeating import Repeated
from gridlane.compute.roofline import default_values, roofline_line, work_of
from gridlane.compute.scheduled import Scheduled, rates_of
from gridlane.compute.sums import are_ahead, sums_array
from gridlane.compute.tuning import shapes_of, tuned
from gridlane.core.device_errors import noted
from gridlane.core.errors import ArgumentError, GridlaneError
from gridlane.launch import current
from gridlane.profiler.peaks import peaks
from gridlane.runtime.protocol import Stream
from gridlane.tuning.errors import TuningError
from gridlane.tuning.results import Tuning
from gridlane.tuning.schedules import exact_key
from gridlane.tuning.search import MOST, SECONDS

_HOST = "cpu"
_Run = Callable[[dict[str, Any], dict[str, int]], None]


class Compute(Scheduled):
    """A function whose loops run on devices.

    Calling it with arrays computes what its loops say; arrays that it assigns to are changed in
    place. An array of NumPy is copied to a device that does not share the host's memory, and back.

    Args:
        function: its source is that of the loops.
        kernel: the kind of the loops, which they are required to be of; see ``kinds``.
        device: the name of a device; ``auto`` is the one that is in use.
        workgroup: threads of a block along the innermost loops, x first.
        fastmath: every freedom with floating-point operations.
        hints: what the schedule may do, and should; ``Hints`` or its words.
        launch_bounds: the largest number of threads of a block; then, for a GPU, the blocks that a
            multiprocessor should hold.
        max_registers: of a thread, on an NVIDIA GPU.
        shared_bytes: of shared memory for each block, beside what kernels need.
        compile_target: ``heterogeneous`` computes NumPy's arrays on the processor or the device,
            whichever was measured to be faster for their size; see ``heterogeneous.Threshold``.

    Raises:
        CompileError: the function is no such nest, or one of another kind; located.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        kernel: str | None = None,
        device: str = "auto",
        workgroup: tuple[int, ...] | None = None,
        fastmath: bool = False,
        hints: Hints | Mapping[str, Any] | None = None,
        launch_bounds: int | tuple[int, ...] | None = None,
        max_registers: int | None = None,
        shared_bytes: int = 0,
        compile_target: str = "device",
        _like: Compute | None = None,
    ) -> None:
        update_wrapper(self, function)
        metadata = metadata_of(workgroup, launch_bounds, max_registers, shared_bytes)
        super().__init__(function, kernel, metadata, workgroup, fastmath, Hints.of(hints), _like)
        self.device, self.compile_target = device, compile_target
        if compile_target not in ("device", "heterogeneous"):
            raise ArgumentError(
                f"compile_target={compile_target!r}; it must be device or heterogeneous"
            )
        self._is_checked = self.metadata != Metadata() or self.hints.async_copy
        self.threshold = Threshold() if compile_target == "heterogeneous" else None
        self._known, self._calls = Known(), calls()
        self._is_repeatable = device == "auto" and self.threshold is None and not self._is_checked
        self._repeated = Repeated(self.nest.arguments, self.nest.tensors)
        self._tuned: dict[tuple[str, str], Compute] = {}
        self._tuned_for: dict[Hashable, Compute] = {}

    def __gridlane_name__(self) -> tuple[str, str]:
        """The module and the qualified name by which other processes may find it."""
        return self.function.__module__, self.function.__qualname__

    def __gridlane_parts__(self) -> tuple[Any, ...]:
        """What another process makes it of, in the form of ``__reduce__``."""
        from gridlane.compute.sending import parts_of  # few programs need it

        return parts_of(self)

    def __reduce__(self) -> Any:
        from gridlane.frontends.python.pickled import reduced

        return reduced(self, *self.__gridlane_name__())

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __call__(self, *args: Any, **keywords: Any) -> None:
        """Compute.

        Raises:
            ArgumentError: the arguments are not those of the function's types.
            DeviceError: STREAM_CAPTURE_IMPLICIT, this thread captures a stream; see ``on``.
        """
        if not keywords and self._calls(*args):
            return
        try:
            refuse_captured(self.nest.name)
            if keywords:
                args = self.bound(args, keywords)
            self.run_fastest(args)
        except GridlaneError as error:
            noted(error, device=current.name(), kernel=self.nest.name)
            raise

    def on(self, stream: Any) -> OnStream:
        """The function whose launches are on a stream, and recorded while that is captured.

        >>> import numpy as np
        >>> from gridlane import cuda
        >>> from gridlane.compute import Tensor, compute, f64, grid
        >>> @compute
        ... def double(x: Tensor[f64, "N"]):
        ...     for i in grid(N):
        ...         x[i] = 2.0 * x[i]
        >>> stream, x = cuda.stream(), cuda.to_device(np.ones(2))
        >>> with cuda.capture(stream) as graph:
        ...     double.on(stream)(x)
        >>> graph.instantiate().launch(stream)
        >>> stream.synchronize()
        >>> x.copy_to_host().tolist()
        [2.0, 2.0]

        Args:
            stream: any that ``cuda.jit`` takes.
        """
        return OnStream(self, stream)

    def known_on(self, stream: Stream, args: tuple[Any, ...]) -> tuple[Repeatable, ...]:
        """The launches of a call like one before on a stream of a GPU; () if there are none.
        Hot."""
        device = stream.device
        if device.route != "native" or self.threshold is not None or self._tuned:
            return ()
        return self._known.get(key_of(device, args, in_order=False)) or ()

    def run_fastest(self, args: tuple[Any, ...]) -> None:
        """Compute by the schedule that was measured to be the fastest."""
        made = self._measured(args) if self._tuned else None
        if made is None:
            self._run_known(args)
        else:
            made._run_untuned(args)

    def _run_untuned(self, args: tuple[Any, ...]) -> None:
        self._run_known(args)

    def _run_known(self, args: tuple[Any, ...]) -> None:
        """Compute by the launches of an equal call before, or by the host's function."""
        if self.threshold is not None:  # the size decides on which device
            self._run(args, plain=False)
        elif self.device == "auto":
            self._run_here(args)
        else:
            with gridlane.device(self.device):
                self._run_here(args)

    def _run_here(self, given: tuple[Any, ...]) -> None:
        device = current.device()
        args = on_host(given) if device.host_visible else given
        key = key_of(device, args)
        steps = self._known.get(key)
        if steps is None:
            self._run(args, plain=False, key=key)
            return
        run_again(key, device, steps, args)
        if steps and not self._tuned and device.route != "queued":
            keep(self._calls, device, given, steps)

    def _measured(self, args: tuple[Any, ...]) -> Compute | None:
        """The function of the schedule that was measured to be the fastest for such arguments; None
        where none was, or it is this one."""
        if len(args) != len(self.nest.arguments):
            return None
        key = exact_key(args)
        made = self._tuned_for.get(key)
        if made is None:
            name = current.name() if self.device == "auto" else self.device
            made = self._tuned.get((name, shapes_of(self, args)), self)
            self._tuned_for[key] = made
        return None if made is self else made

    def tune(
        self,
        *args: Any,
        seconds: float = SECONDS,
        most: int = MOST,
        tolerance: float | None = None,
    ) -> Tuning:
        """Find the fastest schedule for arguments by measurement, inside a deadline: of the orders,
        workgroups, vectors and unrolled loops. Calls with arguments of their shape class use it.

        Args:
            args: the arguments, whose arrays keep their values.
            seconds: the deadline.
            most: the most schedules that are measured.
            tolerance: what floats may differ by from those of the schedule that is used untuned,
                relative to the largest one of an array; None for equal bits, or under ``fastmath``
                what is usual for their type.

        Raises:
            TuningError: there is no time; arrays share memory; the function is heterogeneous.
            ArgumentError: the arguments are not those of the function's types.
        """
        refuse_captured(self.nest.name)
        if self.threshold is not None:
            raise TuningError(
                f"tune: {self.nest.name} is heterogeneous, and measures which device is faster; "
                "tune a function of one device"
            )
        self._bounds.check(self._values(args))
        with nullcontext() if self.device == "auto" else gridlane.device(self.device):
            tuning, made = tuned(self, rates_of(self), args, seconds, most, tolerance)
        self._tuned[tuning.device, tuning.shapes] = made
        self._tuned_for.clear()
        self._calls.forget()
        return tuning

    def with_choices(self, workgroup: tuple[int, ...] | None, hints: Hints) -> Compute:
        """The same function with another workgroup and other hints, which shares its analyses."""
        known = self.metadata
        made = Compute(
            self.function, None, self.device, workgroup, self.fastmath, hints, known.launch_bounds,
            known.max_registers, known.shared_bytes, _like=self,
        )  # fmt: skip
        made._schedule = self._schedule
        for name in ("_polyhedra", "_bounds", "_typing"):
            made.__dict__[name] = getattr(self, name)
        return made

    def plain(self, *args: Any) -> None:
        """Compute by one thread, which runs the loops in the order of the text."""
        refuse_captured(self.nest.name)
        self._run(args, plain=True)

    def _run(
        self, args: tuple[Any, ...], plain: bool, key: tuple[Hashable, ...] | None = None
    ) -> None:
        """Compute.

        Args:
            key: of the call, whose launches are kept.
        """
        is_like = self._is_repeatable and not plain
        like = self._repeated.call_of(args) if is_like else None
        if like is not None:
            is_of_algorithms = self._repeated.is_of_algorithms(like)
            with in_order(args, is_of_algorithms):
                is_done = self._repeated.run(like, args)
            if is_done and key is not None and not is_of_algorithms:
                again = self._repeated.again(like)
                if again is not None:
                    self._known.keep_call(key, LibraryCall(again))
            if is_done:
                return
        extents = self._values(args)
        self._bounds.check(extents)
        name = self.device if plain else self._device_by_size(args, extents)
        used = self._run_on(name, args, extents, plain, key if self.threshold is None else None)
        if like is not None and used is not None and self._rest is None:
            self._repeated.keep(like, used)

    def _run_on(
        self,
        name: str,
        args: tuple[Any, ...],
        extents: dict[str, int],
        plain: bool,
        key: tuple[Hashable, ...] | None = None,
    ) -> Library | None:
        """Compute on a device of a name, or on the one that is in use; return the library that
        computed."""
        with nullcontext() if name == "auto" else gridlane.device(name):
            nest = self.nest
            given: dict[str, Any] = dict(zip(nest.arguments, args, strict=True))
            given |= {name: extents[name] for name in nest.scalars if name in extents}
            program = self._program(shared_names(nest.tensors, given, self._written), plain)
            library, run = None if plain or program.same else self._library[0], program.run
            by_library = library is not None and self._is_for(library, given, extents)
            if self._is_checked:
                check_device(self.metadata, self.hints, current.device(), self._loc, by_library)
            if library is not None and by_library:
                run = partial(self._by_library, library)
            is_ordered = not by_library or library is None or library.is_of_algorithms
            if key is None or library is not None:
                written = self._written & {*nest.tensors}
                with in_order(args, is_ordered):
                    on_device(run, given, extents, nest.tensors, written, program.same)
                return library if by_library else None
            steps = Steps(nest.arguments)
            with in_order(args, is_ordered):
                program.run(given, extents, steps)
            self._known.keep(key, steps, args)
            return None

    def _is_for(self, library: Library, given: dict[str, Any], extents: dict[str, int]) -> bool:
        """Whether a library computes these arguments."""
        results = [given[name] for name in self._written & {*self.nest.tensors}]
        return are_ahead(results) and library.is_large(given, extents)

    def _device_by_size(self, args: tuple[Any, ...], extents: dict[str, int]) -> str:
        """The name of the device for arrays of their size."""
        if self.threshold is None:
            return self.device
        pairs = zip(self.nest.arguments, args, strict=True)
        arrays = [each for name, each in pairs if name in self.nest.tensors]
        device = current.name() if self.device == "auto" else self.device
        is_host = all(isinstance(each, np.ndarray) for each in arrays)
        if not is_host or device == _HOST:
            return self.device
        names = {"host": _HOST, "device": device}

        def seconds(which: str) -> float:
            return fastest(partial(self._run_on, names[which], copies(args), extents, False))

        return device if self.threshold.is_device(arrays, seconds) else _HOST

    def _by_library(self, library: Library, given: dict[str, Any], extents: dict[str, int]) -> None:
        if self._rest is None:
            library.run(given, None)
            return
        name, type_ = library.sums
        with in_order(given.values()):  # the sums' memory may be in use by what was before
            sums = sums_array(type_, extents)
        library.run(given, sums)
        with in_order(given.values()):
            self._rest.run({**given, name: sums}, extents)

    @alone
    def schedule(
        self,
        *order: str,
        threads: tuple[str, ...],
        vector: int = 1,
        unroll: Mapping[str, int] | None = None,
        workgroup: tuple[int, ...] | None = None,
        stage: tuple[str, ...] = (),
        split: tuple[str, int] | tuple[str, int, int] | None = None,
    ) -> Compute:
        """The same loops by a schedule of the user's.

        Args:
            order: all loops of the text by name, outermost first; ``"i/16"`` is a loop over tiles
                of 16 iterations of ``i``. Loops in front of the threads run on the host.
            threads: those of them that are threads, x first; they stand directly in each other.
            vector: iterations along x that a thread has, next to each other; 1 to 16.
            unroll: iterations of a loop that are written out, by its name; 1 to 64.
            workgroup: threads of a block along x, y and z; that of ``compute`` by default.
            stage: arrays that nothing writes, of which each block copies to shared memory what its
                threads read. Loops of a thread over them have tiles in front of the threads, or
                constant bounds.
            split: a loop whose sums threads add up together, and how many of a block do; then how
                many blocks divide it, whose sums another kernel adds. ``("j", 256)`` or
                ``("j", 32, 8)``; the block's shape is the split's. Sums of floats need
                ``fastmath``.

        Raises:
            ArgumentError: a word is no loop, one is missing, or a number does not fit.
            UnsupportedError: the schedule breaks a dependence, at the line of what depends; or a
                staged array is written, or has no part of a constant size.
        """
        known = self.metadata
        made = Compute(
            self.function, None, self.device, workgroup or self.workgroup, self.fastmath,
            self.hints, known.launch_bounds, known.max_registers, known.shared_bytes, _like=self,
        )  # fmt: skip
        made._schedule = schedule_of(
            made._polyhedra, order, threads, vector, unroll or {}, tuple(stage), made.workgroup,
            split,
        )  # fmt: skip
        if split is not None and known.launch_bounds:
            raise ArgumentError("split has the shape of blocks, and launch_bounds too")
        hand = HandSchedule(made._polyhedra, made._schedule)
        hand.emitted(made._typing, rates_of(made).of_lanes)
        return made

    @alone
    def explain(self, *args: Any) -> str:
        """The schedule for the current device: its loops with the reason of each, a line of the
        roofline, and the text of the kernels and of what launches them.

        Args:
            args: arguments for whose extents the roofline is; else these are 1024.
        """
        rates = rates_of(self)
        library, reasons = self._library
        emitted, choice = self._chosen()
        values = self._values(args) if args else default_values(self._polyhedra)
        own = rates.of_lanes if self._has_lanes else rates
        emitter = Emitter(self._polyhedra, self._typing, order=emitted.order, rates=own)
        if self._schedule is not None:
            emitter = HandSchedule(self._polyhedra, self._schedule).emitter(
                self._typing, rates.of_lanes
            )
        device = current.device()
        work = work_of(self._polyhedra, self._typing, values)
        parts = [f"# {self.nest.name}: {self.kind.value}, on {device.name}"]
        if self.threshold is not None:
            parts.append(f"# heterogeneous: {self.threshold}")
        parts += [f"# {each}" for each in reasons]
        parts += [f"# large ones: {library.call}"] if library is not None else []
        parts += [f"# {roofline_line(work, values, peaks(device), device.name)}", choice]
        parts += [f"# {each.name}: {note}" for each in emitted.kernels for note in each.notes]
        parts += [*outline_of(emitter), "", emitted.host]
        kernels = [*emitted.kernels, *(emitted.small.kernels if emitted.small else ())]
        parts += [
            text for k in kernels for text in (k.text, *(k.splits[-1].texts if k.splits else ()))
        ]
        return "\n".join(parts)

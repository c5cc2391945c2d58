"""Launch actors: their programs, their parts of the engine, their memory, and their places in the
directory."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from gridlane.actors._engine import Actor as EngineActor
from gridlane.actors.device.layout import OUTPUT_BYTES
from gridlane.actors.errors import ActorError, Reason
from gridlane.actors.local.batches import Batches
from gridlane.actors.local.home import Home
from gridlane.actors.local.instance import Instance
from gridlane.actors.local.program import Program, device_arrays
from gridlane.actors.resident.cluster import Cluster, Member, check_room, has_clusters
from gridlane.actors.resident.residence import (
    Residence,
    ResidentProgram,
    fitting_form,
    variant_for,
)
from gridlane.actors.values.actor import Actor
from gridlane.actors.values.options import POLICIES, Options, Restart, tiers_of
from gridlane.core.forks import fork_waits
from gridlane.memory.resource import Buffer


class Launcher:
    """Launches the actors of a runtime, and keeps their compiled programs."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self._lock = threading.RLock()
        self._programs: dict[Any, Program | ResidentProgram] = {}

    def launch(
        self,
        actor: Actor,
        names: Sequence[str | None],
        capacity: int,
        args: tuple[Any, ...],
        state: Any,
        limits: tuple[int | None, int, int, int | None, str, Restart],
        together: bool,
    ) -> list[Instance]:
        """Launch actors of a handler: ``together`` as a cluster, where the device has such."""
        home = self.home
        home.require_open()
        if not isinstance(actor, Actor):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"{actor!r:.60} is no actor: decorate its handler by @actors.kernel")
        tier, emits, batch, outbox, on_full, restart = limits
        outbox = max(capacity, 256) if outbox is None else outbox
        options = Options(tiers_of(actor, tier), capacity, outbox, emits, batch, on_full, restart)
        home.directory.topics.check(actor)
        arrays = device_arrays(actor, self.home.device, args)
        first = _first_state(actor, state)
        clustered = together and home.residents and has_clusters(self.home.device)
        program = self.program(actor, options, arrays, clustered)
        with fork_waits(), home.directory.lock:
            home.directory.require_open()
            free_names = [self._free_name(actor, name) for name in names]
            numbers = [home.numbers.take() for _ in free_names]
            cluster = None
            if clustered and isinstance(program, ResidentProgram):
                check_room(program, len(free_names), capacity)
                cluster = Cluster(program, numbers, capacity)
            results = [
                self.place(program, name, number, options, first, arrays, 0, cluster)
                for name, number in zip(free_names, numbers, strict=True)
            ]
            self._run(results, cluster)
            for instance in results:
                home.directory.add(instance)
                instance.move("launch")
        home.start()
        return results

    def _free_name(self, actor: Actor, name: str | None) -> str:
        """The name of a new actor: the given one, if there is any."""
        if name is not None and self.home.lattices.find(name) is not None:
            raise ActorError(f"there is a lattice {name!r} already")
        return self.home.directory.free_name(actor, name)

    def _run(self, instances: list[Instance], cluster: Cluster | None) -> None:
        """Start the kernels of new actors, of all or of none."""
        try:
            with nullcontext() if cluster is None else cluster.away():
                for instance in instances:
                    instance.run(self.home.drift)
        except BaseException:
            for instance in instances:  # some of their kernels may run
                instance.end(Reason.STOPPED)
            raise

    def place(
        self,
        program: Program | ResidentProgram,
        name: str,
        number: int,
        options: Options,
        first: bytes,
        arrays: tuple[Any, ...],
        outputs: int = 0,
        cluster: Cluster | None = None,
    ) -> Instance:
        """An actor of the engine that no route leads to yet, with its first state, and room for so
        many outputs at least. A resident kernel does not run yet."""
        home, there = self.home, self._engine_actor(program, number, options, outputs)
        residence = None
        if isinstance(program, ResidentProgram):
            what = there, name, number, options.capacity, options.outbox
            residence = Residence(program, *what) if cluster is None else Member(cluster, *what)
        instance = Instance(
            program.actor,
            name,
            number,
            self.home.device,
            home.engine,
            there,
            program,
            self._memory(first, cluster),
            first,
            options,
            home.directory.remove,
        )
        instance.write_now(first)
        instance.arrays, instance.residence = arrays, residence
        if isinstance(program, Program):
            self._bind(instance, program)
        return instance

    def _memory(self, first: bytes, cluster: Cluster | None) -> Buffer:
        """The memory of an actor's state: its own, or its part of the cluster's."""
        if cluster is None:
            return self.home.device.allocate(max(len(first), 16))
        return cluster.state(len(cluster.members) - 1)

    def _engine_actor(
        self, program: Program | ResidentProgram, number: int, options: Options, outputs: int
    ) -> EngineActor:
        """The engine's part of a new actor, with room for so many outputs at least."""
        tier, out_tier = options.tiers
        # A resident kernel has an inbox of its own.
        capacity = 1 if isinstance(program, ResidentProgram) else options.capacity
        return self.home.engine.actor(
            number,
            program.actor.message.number,
            tier,
            capacity,
            options.outbox,
            out_tier,
            options.messages,
            max(options.outputs, outputs),
            OUTPUT_BYTES + out_tier,
            POLICIES[options.on_full],
            self.home.by_host,
        )

    def program(
        self,
        actor: Actor,
        options: Options,
        arrays: tuple[Any, ...],
        clustered: bool = False,
    ) -> Program | ResidentProgram:
        types = tuple([array._numba_type_ for array in arrays])
        tiers, emits = options.tiers, options.emits
        variant = variant_for(self.home, arrays)
        key = actor, tiers, emits, types, variant, clustered
        with fork_waits(), self._lock:
            program = self._programs.get(key)
            if program is None:
                home = self.home
                stays = home.residents
                form = fitting_form(actor, tiers[1], emits, home) if stays else None
                if form is None:
                    program = Program(actor, self.home.device, *tiers, emits, types)
                else:
                    form = form._replace(clustered=clustered and form.shape.apart)
                    program = ResidentProgram(actor, self.home.device, form, emits, types, variant)
                self._programs[key] = program
            return program

    def _bind(self, instance: Instance, program: Program) -> None:
        """Bind the step of an actor in the engine."""
        info, slots, output, _ = instance.there.places
        memory, arrays = instance.memory, instance.arrays
        capacity = instance.options.capacity
        batch, outputs = instance.options.messages, instance.options.outputs
        if self.home.by_host:
            instance.batches = Batches(
                program,
                self.home.device,
                (info, slots, output),
                capacity,
                batch,
                outputs,
                memory,
                arrays,
            )
            return
        params = program.pack(info, (slots, capacity), (output, outputs), memory, arrays)
        kernel: Any = program.plan.kernel
        how = kernel.machine_code
        instance.there.bind(how.launch, how.plan, params)


def _first_state(actor: Actor, state: Any) -> bytes:
    if actor.state is None:
        if state is not None:
            raise TypeError(f"{actor.name} has no state")
        return bytes(4)
    if state is None:
        return bytes(actor.state.layout.size)
    if type(state) is not actor.state.cls:
        raise TypeError(f"the state of {actor.name} is a {actor.state.cls.__qualname__}")
    return bytes(state)

"""``Runtime``: the actors of one device."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from gridlane.actors._engine import Actor as EngineActor
from gridlane.actors._engine import now
from gridlane.actors.checkpoint.lattices import SavedLattice
from gridlane.actors.checkpoint.runtime_methods import Checkpoints
from gridlane.actors.checkpoint.snapshot import SavedActor
from gridlane.actors.device.layout import OUTPUT_BYTES
from gridlane.actors.errors import ActorError, QueueFull, Reason
from gridlane.actors.lattices.lattice import Lattice
from gridlane.actors.lattices.ref import LatticeRef
from gridlane.actors.lattices.runtime_methods import Lattices
from gridlane.actors.local.batches import Batches
from gridlane.actors.local.home import BURY_OTHERS, Home, seconds_of
from gridlane.actors.local.instance import Instance
from gridlane.actors.local.program import Program, device_arrays
from gridlane.actors.local.ref import ActorRef
from gridlane.actors.resident.cluster import MOST, Cluster, Member, check_room, has_clusters
from gridlane.actors.resident.residence import (
    Residence,
    ResidentProgram,
    fitting_form,
    variant_for,
)
from gridlane.actors.telemetry.publishing import publish
from gridlane.actors.telemetry.runtime_methods import Telemetry
from gridlane.actors.values.actor import Actor
from gridlane.actors.values.dead import DeadLetter
from gridlane.actors.values.keys import Numbers, key_of
from gridlane.actors.values.messages import shape_of
from gridlane.actors.values.options import POLICIES, Options, Restart, tiers_of
from gridlane.core.config import config
from gridlane.core.forks import fork_waits
from gridlane.memory.resource import Buffer

IS_PUBLISHED = 2
"""The flag of a header; engine/layout.h has the same number."""
MOST_WORKERS = 1024


class Runtime(Checkpoints, Lattices, Telemetry):
    """Actors that run on a device, and the threads that serve them.

    On ``cpu`` their handlers run on native threads, without Python's lock. On other devices a
    thread of Python gives the device the messages of an actor in batches, one launch a batch.

    It is a context manager: the end of the block closes it.

    Args:
        device: the device's name.
        workers: native threads on ``cpu``; one for each processor by default.
        spin: seconds that ``call`` waits before it parks its thread.
        idle: seconds that a worker without work spins before it parks.
        watchdog: seconds after which a step counts as hung and is stopped; None never.
        dead_letters: how many are kept.
        drift: seconds that a message's clock may be ahead of this node's.
        telemetry: whether ``gridlane actors top`` of this user shows it, and kernels that do not
            end count how long messages wait and are handled; by default as GRIDLANE_TELEMETRY says.
        persistent: whether actors have kernels that do not end, which take messages without a
            launch. None has them where the device can keep them; True makes that an error
            elsewhere.

    Raises:
        DeviceError: there is no such device.
        ActorError: gridlane was built without a C compiler, or persistent=True and the device
            keeps no kernels.

    >>> from gridlane import actors
    >>> from gridlane.cuda import int32, int64
    >>> @actors.message
    ... class Add:
    ...     value: int32
    >>> @actors.message
    ... class Sum:
    ...     value: int64
    >>> @actors.state
    ... class Total:
    ...     value: int64
    >>> @actors.kernel(state=Total, replies=Sum)
    ... def total(ctx, state, add: Add):
    ...     state.value += add.value
    ...     ctx.reply(Sum(state.value))
    >>> with actors.Runtime(device="cpu") as runtime:
    ...     ref = runtime.launch(total)
    ...     ref.activate()
    ...     ref.call(Add(2)), ref.call(Add(3))
    (Sum(value=2), Sum(value=5))
    """

    def __init__(
        self,
        device: str = "cpu",
        *,
        workers: int | None = None,
        spin: float = 50e-6,
        idle: float = 200e-6,
        watchdog: float | None = 10.0,
        dead_letters: int = 4096,
        drift: float = 60.0,
        telemetry: bool | None = None,
        persistent: bool | None = None,
    ) -> None:
        _verify_settings(
            workers, dead_letters, spin=spin, idle=idle, watchdog=watchdog, drift=drift
        )
        telemetry = config().telemetry if telemetry is None else telemetry
        limits = watchdog, dead_letters, drift
        self._home = Home(device, workers, spin, idle, *limits, persistent, telemetry)
        self._lock = threading.RLock()
        self._numbers = Numbers(1)
        self._programs: dict[Any, Program | ResidentProgram] = {}
        if telemetry:
            publish(self._home)

    def __enter__(self) -> Runtime:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<actors.Runtime on {self.device.name}, {len(self.actors())} actors>"

    @property
    def device(self) -> Any:
        """The device of its actors."""
        return self._home.device

    # --- launching ---

    def launch(
        self,
        actor: Actor,
        *,
        name: str | None = None,
        capacity: int = 256,
        args: tuple[Any, ...] = (),
        state: Any = None,
        tier: int | None = None,
        emits: int = 4,
        batch: int = 64,
        outbox: int | None = None,
        on_full: str = "block",
        restart: Restart = "never",
    ) -> ActorRef:
        """Launch an actor: it has its inbox, and handles messages from ``activate`` on.

        Args:
            name: by which others send to it; the handler's own by default, with a number where
                there is one already.
            capacity: messages in its inbox, a power of two.
            args: arrays for the handler, behind the message; numpy's are copied to the device.
            state: its first state, of zeros by default.
            tier: bytes of the largest message in its inbox, and of the largest that it emits: one
                of 256, 1024, 4096, 16384. The smallest that its messages and replies fit in.
            emits: how many messages it may emit for one.
            batch: how many messages one step handles at most.
            outbox: replies that wait for ``receive``, a power of two; by default as ``capacity``,
                and 256 at least.
            on_full: what its own messages do where another's inbox is full: ``"block"`` or
                ``"dead"``.
            restart: what follows a failure: ``"never"`` ends it, ``"fresh"`` gives it its first
                state, ``"checkpoint"`` its state of the last checkpoint.

        Raises:
            CompileError: the handler is outside the dialect, or emits what it may not, with the
                line.
            ArgumentError: wrong arrays.
            ValueError: a wrong number or word.
        """
        limits = tier, emits, batch, outbox, on_full, restart
        (reference,) = self._launch(actor, [name], capacity, args, state, limits, False)
        return reference

    def launch_cluster(
        self,
        actor: Actor,
        *,
        names: Sequence[str],
        capacity: int = 32,
        args: tuple[Any, ...] = (),
        state: Any = None,
        tier: int | None = None,
        emits: int = 4,
        batch: int = 64,
        outbox: int | None = None,
        on_full: str = "block",
        restart: Restart = "never",
    ) -> list[ActorRef]:
        """Launch actors of one handler, near each other where the device has such places: kernels
        that do not end, on a GPU with clusters, send to each other through shared memory there.
        Elsewhere this is as many launches. All answers are the same.

        Args:
            names: of the actors, 2 to 8; see ``launch`` for all others.
            capacity: messages in an inbox, a power of two, and in a ring from one to another.

        Raises:
            LaunchError: a cluster cannot have such actors; the message says why.
            DeviceError: the device has no room for the cluster besides the kernels that run.
            ValueError, CompileError, ArgumentError: as ``launch``.
        """
        wanted = list(names)
        strings = all(isinstance(each, str) for each in wanted)  # pyright: ignore[reportUnnecessaryIsInstance]
        fits = not isinstance(names, str) and strings and 2 <= len(wanted) <= MOST
        if not fits or len({*wanted}) < len(wanted):
            raise ValueError(f"names={names!r:.100} are 2 to {MOST} names of actors, each once")
        limits = tier, emits, batch, outbox, on_full, restart
        return self._launch(actor, wanted, capacity, args, state, limits, True)

    def _launch(
        self,
        actor: Actor,
        names: Sequence[str | None],
        capacity: int,
        args: tuple[Any, ...],
        state: Any,
        limits: tuple[int | None, int, int, int | None, str, Restart],
        together: bool,
    ) -> list[ActorRef]:
        """Launch actors of a handler: ``together`` as a cluster, where the device has such."""
        home = self._home
        home.require_open()
        if not isinstance(actor, Actor):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"{actor!r:.60} is no actor: decorate its handler by @actors.kernel")
        tier, emits, batch, outbox, on_full, restart = limits
        outbox = max(capacity, 256) if outbox is None else outbox
        options = Options(tiers_of(actor, tier), capacity, outbox, emits, batch, on_full, restart)
        home.directory.check_topics(actor)
        arrays = device_arrays(actor, self.device, args)
        first = _first_state(actor, state)
        clustered = together and home.residents and has_clusters(self.device)
        program = self._program(actor, options, arrays, clustered)
        with fork_waits(), home.directory.lock:
            home.directory.require_open()
            free_names: list[str] = []
            for name in names:
                if name is not None and home.lattices.find(name) is not None:
                    raise ActorError(f"there is a lattice {name!r} already")
                free_names.append(home.directory.free_name(actor, name))
            numbers = [self._numbers.take() for _ in free_names]
            cluster = None
            if clustered and isinstance(program, ResidentProgram):
                check_room(program, len(free_names), capacity)
                cluster = Cluster(program, numbers, capacity)
            results = [
                self._place(program, name, number, options, first, arrays, 0, cluster)
                for name, number in zip(free_names, numbers, strict=True)
            ]
            try:
                with nullcontext() if cluster is None else cluster.away():
                    for instance in results:
                        instance.run(home.drift)
            except BaseException:
                for instance in results:  # some of their kernels may run
                    instance.end(Reason.STOPPED)
                raise
            for instance in results:
                home.directory.add(instance)
                instance.move("launch")
        home.start()
        return [ActorRef(home, instance) for instance in results]

    def _place(
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
        home, there = self._home, self._engine_actor(program, number, options, outputs)
        residence = None
        if isinstance(program, ResidentProgram):
            what = there, name, number, options.capacity, options.outbox
            residence = Residence(program, *what) if cluster is None else Member(cluster, *what)
        instance = Instance(
            program.actor,
            name,
            number,
            self.device,
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
            return self.device.allocate(max(len(first), 16))
        return cluster.state(len(cluster.members) - 1)

    def _engine_actor(
        self, program: Program | ResidentProgram, number: int, options: Options, outputs: int
    ) -> EngineActor:
        """The engine's part of a new actor, with room for so many outputs at least."""
        tier, out_tier = options.tiers
        # A resident kernel has an inbox of its own.
        capacity = 1 if isinstance(program, ResidentProgram) else options.capacity
        return self._home.engine.actor(
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
            self._home.by_host,
        )

    def _program(
        self,
        actor: Actor,
        options: Options,
        arrays: tuple[Any, ...],
        clustered: bool = False,
    ) -> Program | ResidentProgram:
        types = tuple([array._numba_type_ for array in arrays])
        tiers, emits = options.tiers, options.emits
        variant = variant_for(self._home, arrays)
        key = actor, tiers, emits, types, variant, clustered
        with fork_waits(), self._lock:
            program = self._programs.get(key)
            if program is None:
                home = self._home
                stays = home.residents
                form = fitting_form(actor, tiers[1], emits, home) if stays else None
                if form is None:
                    program = Program(actor, self.device, *tiers, emits, types)
                else:
                    form = form._replace(clustered=clustered and form.shape.apart)
                    program = ResidentProgram(actor, self.device, form, emits, types, variant)
                self._programs[key] = program
            return program

    def _bind(self, instance: Instance, program: Program) -> None:
        """Bind the step of an actor in the engine."""
        info, slots, output, _ = instance.there.places
        memory, arrays = instance.memory, instance.arrays
        capacity = instance.options.capacity
        batch, outputs = instance.options.messages, instance.options.outputs
        if self._home.by_host:
            instance.batches = Batches(
                program,
                self.device,
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

    def _place_saved(self, actor: Actor, saved: SavedActor, arrays: tuple[Any, ...]) -> Instance:
        queues, options = saved.queues, saved.options.holding(len(saved.queues.inbox))
        program = self._program(actor, options, arrays)
        what = saved.name, saved.number, options, saved.first
        return self._place(program, *what, arrays, len(queues.outputs))

    def _place_saved_lattice(
        self, lattice: Lattice, saved: SavedLattice, args: tuple[Any, ...]
    ) -> LatticeRef:
        what = saved.name, saved.shape, saved.periodic, saved.boundary, args
        lattice_ref = self._launch_lattice(lattice, *what, None, "auto", None, True, saved.number)
        return lattice_ref

    # --- names and topics ---

    def __getitem__(self, name: str) -> Any:
        """The actor or lattice of a name; KeyError where there is none."""
        lattice = self._home.lattices.find(name)
        if lattice is not None:
            return lattice
        return ActorRef(self._home, self._home.directory.by_name[name])

    def actors(self) -> list[ActorRef | LatticeRef]:
        """All actors that have not ended, and then the lattices."""
        actor_refs = [ActorRef(self._home, each) for each in self._home.directory.all()]
        return [*actor_refs, *self._home.lattices.all()]

    def topic(self, name: str, cls: type) -> None:
        """Declare a topic and the class of its messages. Actors that publish to it are launched
        after that.

        Raises:
            ValueError: it is no name of a topic.
            TypingError: it has messages of another class, or a subscriber handles another.
        """
        self._home.require_open()
        self._home.directory.declare(name, shape_of(cls, "message"))

    def subscribe(self, ref: ActorRef, pattern: str) -> None:
        """Subscribe an actor to the topics that match a pattern, declared before or after.

        Raises:
            ValueError: it is no pattern.
            TypingError: a topic has messages of a class that the actor does not handle.
        """
        self._home.require_open()
        self._home.directory.subscribe(self._of(ref), pattern)

    def unsubscribe(self, ref: ActorRef, pattern: str) -> None:
        """End a subscription; ValueError where there is none."""
        self._home.require_open()
        self._home.directory.unsubscribe(self._of(ref), pattern)

    def connect(self, sender: ActorRef, receiver: ActorRef) -> None:
        """Open a channel on the device from one actor to another that it sends to by its number,
        with ``ctx.send_to``. Actors that its handler names have one already. On a GPU with resident
        kernels messages take it; without one they go by the host. They arrive on all devices.

        Raises:
            ActorError: one of them has ended, or is of another runtime.
        """
        self._home.require_open()
        self._home.directory.connect(self._of(sender), self._of(receiver))

    def _of(self, ref: ActorRef) -> Instance:
        instance = self._home.directory.by_number.get(ref.id)
        if instance is None or ref != ActorRef(self._home, instance):
            raise ActorError(f"{ref.name} has ended, or is of another runtime")
        return instance

    def publish(self, topic: str, message: Any, timeout: float | None = None) -> int:
        """Post a message to all subscribers of a topic; return their number.

        Raises:
            ActorError: the topic is not declared.
            QueueFull: a subscriber has no room in time, and those before it have the message. Where
                a subscriber refuses it for another reason, it is a dead letter.
        """
        self._home.require_open()
        wait = seconds_of("timeout", timeout)
        shape, there = self._home.directory.topic(topic)
        if type(message) is not shape.cls:
            raise TypeError(f"the topic {topic} has messages of {shape.cls.__qualname__}")
        data, key, post = bytes(message), key_of(topic), self._home.engine.post
        for instance in there:
            arguments = instance.there, data, wait, 0, 0, key, 0, 0, IS_PUBLISHED
            reason = post(*arguments, BURY_OTHERS)
            if reason == Reason.FULL:
                raise QueueFull(f"the inbox of {instance.name} is full")
        return len(there)

    # --- dead letters ---

    def dead_letters(self) -> list[DeadLetter]:
        """Take the present dead letters, the oldest first: at most as many as the runtime keeps.
        Later ones are for the next call."""
        return self._home.take_dead()

    def replay(self, letter: DeadLetter, timeout: float | None = None) -> None:
        """Post a dead letter again, to the actor that it was for, or that has the name now.

        Raises:
            ActorError: the actor has ended, or accepts no messages; the letter is dead again. Or it
                has no receiver: a reply without a waiting caller, a topic that was not declared.
        """
        self._home.replay(letter, timeout)

    def expire_dead_letters(self, age: float) -> int:
        """Drop the dead letters that were posted more than ``age`` seconds ago; return their
        number."""
        self._home.require_open()
        age = min(seconds_of("age", age), 1e9)
        return self._home.engine.expire(max(now() - int(age * 1e9), 0))

    # --- the end ---

    def metrics(self) -> dict[str, Any]:
        """Counters of the runtime, and those of each actor by its name."""
        self._home.require_open()
        facts = self._home.engine.facts()
        return facts | {"actors": {ref.name: ref.metrics() for ref in self.actors()}}

    def close(self) -> None:
        """Terminate all actors, without handling their inboxes, and end the threads."""
        self._end_lattices()
        self._home.close()

    def abandon(self) -> None:
        """Abandon the runtime in the child of a fork: the threads are the parent's, and nothing
        here works."""
        self._home.abandon()


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


def _verify_settings(workers: int | None, dead_letters: int, **seconds: float | None) -> None:
    """Raise ValueError for numbers that no runtime can have."""
    if workers is not None and not 1 <= workers <= MOST_WORKERS:
        raise ValueError(f"workers={workers} is not between 1 and {MOST_WORKERS}")
    if not 0 <= dead_letters < 1 << 32:
        raise ValueError(f"dead_letters={dead_letters} is no number of letters")
    for name, value in seconds.items():
        if value is not None and not 0 <= value <= 1e9:
            raise ValueError(f"{name}={value!r} is no number of seconds, of 0 to 1e9")

"""``Runtime``: the actors of one device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gridlane.actors.checkpoint.lattices import SavedLattice
from gridlane.actors.checkpoint.runtime_methods import Checkpoints
from gridlane.actors.lattices.lattice import Lattice
from gridlane.actors.lattices.ref import LatticeRef
from gridlane.actors.lattices.runtime_methods import Lattices
from gridlane.actors.local.home import Home
from gridlane.actors.local.launcher import Launcher
from gridlane.actors.local.ref import ActorRef
from gridlane.actors.local.runtime_methods import Messages
from gridlane.actors.resident.cluster import MOST
from gridlane.actors.telemetry.publishing import publish
from gridlane.actors.telemetry.runtime_methods import Telemetry
from gridlane.actors.values.actor import Actor
from gridlane.actors.values.options import Restart
from gridlane.core.config import config

MOST_WORKERS = 1024


class Runtime(Messages, Checkpoints, Lattices, Telemetry):
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
        self._launcher = Launcher(self._home)
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
        (instance,) = self._launcher.launch(actor, [name], capacity, args, state, limits, False)
        return ActorRef(self._home, instance)

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
        instances = self._launcher.launch(actor, wanted, capacity, args, state, limits, True)
        return [ActorRef(self._home, each) for each in instances]

    def _place_saved_lattice(
        self, lattice: Lattice, saved: SavedLattice, args: tuple[Any, ...]
    ) -> LatticeRef:
        what = saved.name, saved.shape, saved.periodic, saved.boundary, args
        lattice_ref = self._launch_lattice(lattice, *what, None, "auto", None, True, saved.number)
        return lattice_ref

    # --- the actors ---

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


def _verify_settings(workers: int | None, dead_letters: int, **seconds: float | None) -> None:
    """Raise ValueError for numbers that no runtime can have."""
    if workers is not None and not 1 <= workers <= MOST_WORKERS:
        raise ValueError(f"workers={workers} is not between 1 and {MOST_WORKERS}")
    if not 0 <= dead_letters < 1 << 32:
        raise ValueError(f"dead_letters={dead_letters} is no number of letters")
    for name, value in seconds.items():
        if value is not None and not 0 <= value <= 1e9:
            raise ValueError(f"{name}={value!r} is no number of seconds, of 0 to 1e9")

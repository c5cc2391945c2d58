"""A launched actor: its lifecycle, and messages to and from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gridlane.actors._engine import Caller
from gridlane.actors.errors import ActorError
from gridlane.actors.local.home import Home
from gridlane.actors.local.instance import Instance
from gridlane.actors.local.ref_lifecycle import Lifecycle
from gridlane.actors.local.ref_messages import Messaging
from gridlane.actors.values.actor import Actor
from gridlane.actors.values.latencies import Latency, read_latencies
from gridlane.actors.values.messages import Shape
from gridlane.actors.values.numbers import verify

if TYPE_CHECKING:
    from gridlane.actors.local.share import Share


class ActorRef(Caller, Lifecycle, Messaging):
    """A launched actor; ``Runtime.launch`` makes one. Any thread may use it."""

    def __init__(self, home: Home, instance: Instance) -> None:
        message, replies = instance.actor.message, instance.actor.replies
        super().__init__(
            home.engine,
            instance.there,
            message.cls,
            message.form or message.pack,
            None if replies is None else replies.form or replies.unpack,
            home.spin,
        )
        self._home, self._instance = home, instance
        self._engine, self._there = home.engine, instance.there
        self._message = message
        self._class, self._pack = message.cls, message.pack
        self._unpack = None if replies is None else replies.unpack

    def __repr__(self) -> str:
        return f"<actor {self.name} ({self.id}), {self.state}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ActorRef) and other._instance is self._instance

    def __hash__(self) -> int:
        return hash(self._instance)

    @property
    def name(self) -> str:
        """The name by which others send to it."""
        return self._instance.name

    @property
    def id(self) -> int:
        """Its number, in headers and for ``ctx.send_to``."""
        return self._instance.number

    @property
    def actor(self) -> Actor:
        """The actor that was launched."""
        return self._instance.actor

    @property
    def mode(self) -> str:
        """How it handles messages: ``"persistent"``, by a resident kernel; ``"threads"``, on native
        threads; ``"batches"``, by one launch for a batch."""
        if self._instance.residence is not None:
            return "persistent"
        return "threads" if self._instance.batches is None else "batches"

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The device arrays of its launch."""
        return self._instance.arrays

    @property
    def failure(self) -> BaseException | None:
        """The error that ended it, or that it was restarted after."""
        return self._instance.failure

    # --- C ---

    @property
    def c_handle(self) -> int:
        """The address of its handle in C, for threads without Python: see gridlane_actors.h, in
        ``actors.include_folder()``. It is valid as long as there is a ref of the actor, and while C
        keeps it; after the actor's end, C's functions return an error. ActorError: it has ended."""
        return self._instance.c_handle()

    # --- other processes ---

    def share(
        self, name: str, *, capacity: int = 256, peers: int = 64, lease: float = 1.0
    ) -> Share:
        """Allow other processes of this user to post to it, by ``actors.connect(name)``.

        Args:
            name: ASCII letters, digits, ``_``, ``-`` and dots.
            capacity: messages in the shared inbox, a power of two; the actor's own inbox follows
                it.
            peers: seats: one for each connection, and one for each further call at a time.
            lease: seconds for which a process that is stopped while it writes a message delays
                later messages; then its message is a dead letter.

        Raises:
            ActorError: there is an inbox of the name, or processes cannot share memory here.
            ValueError: it is no name, or a number is out of its range.
        """
        from gridlane.actors.local.share import share

        verify(capacity=capacity)
        self._home.require_open()
        if self._instance.has_ended():
            raise ActorError(f"{self.name} has ended")
        return share(self._instance, name, capacity, peers, lease)

    # --- its state ---

    def read_state(self) -> Any:
        """The state as a value of its class, between two steps.

        Raises:
            ActorError: it has none.
        """
        shape = self._state()
        return shape.unpack(self._instance.read())

    def write_state(self, value: Any) -> None:
        """Replace the state, between two steps."""
        shape = self._state()
        if type(value) is not shape.cls:
            raise TypeError(f"the state of {self.name} is a {shape.cls.__qualname__}")
        self._instance.write(shape.pack(value))

    def _state(self) -> Shape:
        self._home.require_open()
        shape = self.actor.state
        if shape is None:
            raise ActorError(f"{self.name} has no state")
        return shape

    # --- facts ---

    def metrics(self) -> dict[str, int]:
        """Counters and lengths: messages received, answered, failed and dead, queued now and at
        most."""
        return self._instance.metrics()

    def latencies(self) -> dict[str, Latency]:
        """Times for which messages waited for their step (``"wait"``), were handled
        (``"handling"``), and for which callers waited for their answers (``"calls"``): counts,
        means and quantiles in seconds. The wait begins at the time of the message's clock. Of an
        actor with a resident kernel, only callers' messages are counted, and no handling."""
        return read_latencies(self._there.latencies)

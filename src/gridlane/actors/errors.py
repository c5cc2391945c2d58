"""What goes wrong between actors.

GridlaneError
└── ActorError
    ├── StateError           a transition that is not allowed
    ├── QueueFull            a message for a full inbox, whose sender did not want to wait
    ├── CheckpointError      a file that is no whole checkpoint, or of other actors
    └── MessageDead          a message that nobody handles; ``reason`` says why
"""

from __future__ import annotations

from enum import IntEnum

from gridlane.core.errors import GridlaneError


class Reason(IntEnum):
    """Reasons of dead letters; engine/layout.h follows from them."""

    FULL = 1
    INACTIVE = 2
    NO_ACTOR = 3
    NO_TOPIC = 4
    EXPIRED = 5
    FAILED = 6
    LATE = 7
    UNREAD = 8
    TOO_LARGE = 9
    WRONG_TYPE = 10
    DRIFTED = 11
    STOPPED = 12
    UNANSWERED = 13
    CYCLE = 14
    ABANDONED = 15
    WRONG_TOKEN = 16
    GARBLED = 17

    @property
    def meaning(self) -> str:
        """The reason as text."""
        return _MEANINGS[self]


_MEANINGS = {
    Reason.FULL: "the inbox is full",
    Reason.INACTIVE: "the actor takes no messages; activate it, unless it has ended",
    Reason.NO_ACTOR: "no actor has the name or number",
    Reason.NO_TOPIC: "nobody has declared the topic",
    Reason.EXPIRED: "its deadline has passed",
    Reason.FAILED: "its handler failed",
    Reason.LATE: "it answers a caller who waits no more",
    Reason.UNREAD: "the outbox is full of replies that nobody has received",
    Reason.TOO_LARGE: "it is larger than the receiver's tier",
    Reason.WRONG_TYPE: "the receiver handles messages of another class",
    Reason.DRIFTED: "its clock is too far ahead of this node's",
    Reason.STOPPED: "the actor was terminated before it",
    Reason.UNANSWERED: "its handler has not replied to it",
    Reason.CYCLE: "actors in a cycle would wait for room in each other's full inboxes",
    Reason.ABANDONED: "its sender, another process, ended or was stopped before it was whole",
    Reason.WRONG_TOKEN: "another process posted it without the token of the inbox",
    Reason.GARBLED: "another process wrote what is no message",
}


class ActorError(GridlaneError, RuntimeError):
    """An actor cannot do what was requested."""


class StateError(ActorError):
    """A transition that the actor's state does not allow."""


class QueueFull(ActorError):
    """An inbox has no room, and the sender did not want to wait."""


class CheckpointError(ActorError):
    """A file is no complete checkpoint, or does not fit the given actors."""


class MessageDead(ActorError):
    """A message that no actor handles.

    Attributes:
        reason: why.
    """

    def __init__(self, text: str, reason: Reason) -> None:
        super().__init__(f"{text}: {reason.meaning}")
        self.reason = reason

"""Actors: handlers of typed messages, whose state stays on a device; see docs/actors.md.

Names are loaded when they are first used, so that layouts are read without the rest.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gridlane.core.forks import fork_waits

if TYPE_CHECKING:
    from gridlane.actors.errors import ActorError as ActorError
    from gridlane.actors.errors import CheckpointError as CheckpointError
    from gridlane.actors.errors import MessageDead as MessageDead
    from gridlane.actors.errors import QueueFull as QueueFull
    from gridlane.actors.errors import Reason as Reason
    from gridlane.actors.errors import StateError as StateError
    from gridlane.actors.lattices.lattice import Lattice as Lattice
    from gridlane.actors.lattices.lattice import lattice as lattice
    from gridlane.actors.lattices.ref import LatticeRef as LatticeRef
    from gridlane.actors.layouts.from_class import array as array
    from gridlane.actors.local.ref import ActorRef as ActorRef
    from gridlane.actors.local.share import Share as Share
    from gridlane.actors.processes.c_programs import include_folder as include_folder
    from gridlane.actors.processes.remote import RemoteRef as RemoteRef
    from gridlane.actors.processes.remote import connect as connect
    from gridlane.actors.runtime import Runtime as Runtime
    from gridlane.actors.values.actor import Actor as Actor
    from gridlane.actors.values.actor import kernel as kernel
    from gridlane.actors.values.dead import DeadLetter as DeadLetter
    from gridlane.actors.values.messages import message as message
    from gridlane.actors.values.messages import state as state
    from gridlane.actors.values.states import State as State

_MODULES = {
    **dict.fromkeys(("Actor", "kernel"), "values.actor"),
    "include_folder": "processes.c_programs",
    "DeadLetter": "values.dead",
    **dict.fromkeys(("ActorError", "CheckpointError", "MessageDead"), "errors"),
    **dict.fromkeys(("QueueFull", "Reason", "StateError"), "errors"),
    **dict.fromkeys(("Lattice", "lattice"), "lattices.lattice"),
    "LatticeRef": "lattices.ref",
    "array": "layouts.from_class",
    **dict.fromkeys(("message", "state"), "values.messages"),
    "Share": "local.share",
    "ActorRef": "local.ref",
    **dict.fromkeys(("RemoteRef", "connect"), "processes.remote"),
    "Runtime": "runtime",
    "State": "values.states",
}

__all__ = [*_MODULES]  # pyright: ignore[reportUnsupportedDunderAll]  # the table has them


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with fork_waits():  # the lock of a module stays locked in the child of a fork
        value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value

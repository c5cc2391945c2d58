"""A consistent cut: all actors of a runtime between two steps, and no message in flight.

All actors are held first, so that none is in a step; then the host's senders wait. Each emitted
message is then in exactly one place: an inbox, an outbox, with a caller, among the dead letters or
in the sender's outputs. A resident kernel is parked. One that waits for room in another's inbox,
which is held too, sends to the host instead. The engine keeps what such kernels have sent and no
receiver has.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager

from gridlane.actors.errors import ActorError
from gridlane.actors.local.home import Home
from gridlane.actors.local.instance import Instance
from gridlane.actors.values.states import State
from gridlane.core.forks import fork_waits

ENDING = (State.TERMINATING, State.TERMINATED)
QUIET = 0.02
"""Seconds for the delivery of what a kernel has sent; the rest is kept."""
SLICE = 0.1
"""Seconds of a wait in the engine, after which Python's signal handlers run."""


@contextmanager
def cut(home: Home, timeout: float) -> Generator[list[Instance]]:
    """Hold all actors in the with block, in the order of their launches, and the host's senders.

    Failures are handled first, and terminations waited for.

    Raises:
        ActorError: a step or a termination has not ended in time.
    """
    until = time.monotonic() + timeout
    home.require_open()  # in the child of a fork, the lock may be held for ever
    with home.cutting:  # two at once would wait for each other's actors
        while True:
            home.require_open()
            with ExitStack() as stack:
                instances = _held(home, stack, until)
                unsettled = [each for each in instances or () if _is_unsettled(each)]
                if instances is not None and not unsettled:
                    _hold_lattices(home, stack, until)
                    _keep(instances, stack, until)
                    _pause(instances, stack, until)
                    yield instances
                    return
            _settle(home, unsettled, until)


def _held(home: Home, stack: ExitStack, until: float) -> list[Instance] | None:
    """All actors, with their locks and the directory's; None where the set of actors has changed
    meanwhile.

    Lock order: the locks follow the holds, because the watchdog needs them to stop a hung step.
    """
    stack.enter_context(fork_waits())
    instances = home.directory.all()
    for each in instances:
        while not each.there.hold(SLICE):
            _verify_time(until, f"{each.name} is in a step that has not ended")
            if each.residence is not None:
                with home.directory.lock:
                    home.directory.channels.relieve(each)
        stack.callback(each.there.release)
    stack.enter_context(home.directory.lock)
    if instances != home.directory.all():
        return None
    for each in instances:
        stack.enter_context(each.lock)
    return instances


def _hold_lattices(home: Home, stack: ExitStack, until: float) -> None:
    for each in home.lattices.all():
        while not each.hold(SLICE):
            _verify_time(until, f"the lattice {each.name} is in a step that has not ended")
        stack.callback(each.release)


def _is_unsettled(instance: Instance) -> bool:
    return bool(instance.control.error) or instance.ending or instance.state in ENDING


def _keep(instances: list[Instance], stack: ExitStack, until: float) -> None:
    """Keep the messages of resident kernels that no receiver has."""
    residents = [each for each in instances if each.residence is not None]
    for each in residents:
        assert each.residence is not None
        each.residence.is_quiet(QUIET)
    for each in residents:
        assert each.residence is not None
        each.there.dam(1)
        stack.callback(each.there.dam, -1)
        while each.there.keep() != each.residence.unsent() or not each.residence.has_learned():
            _verify_time(until, f"what {each.name} has sent does not arrive")


def _pause(instances: list[Instance], stack: ExitStack, until: float) -> None:
    for each in instances:
        stack.callback(each.apply_phase)
        while not each.there.pause(SLICE):
            _verify_time(until, f"a message for {each.name} is being posted")


def _settle(home: Home, unsettled: list[Instance], until: float) -> None:
    for each in unsettled:
        if each.control.error:
            home.supervisor.settle(each)
        _verify_time(until, f"{each.name} is {each.state}, or has failed")
    _verify_time(until, "actors come and go")
    time.sleep(0.0005)


def _verify_time(until: float, what: str) -> None:
    if time.monotonic() > until:
        raise ActorError(f"there is no checkpoint: {what}; give it a longer timeout=")

"""Replaced and counted commands of a recorder."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any


def replace(device, monkeypatch, **methods) -> None:
    """Let the recorder of a device call these instead of its commands of the same names."""
    names = "launch", "barrier", "submit", "submit_again", "poll", "end"
    own = {name: getattr(device.recorder.commands, name) for name in names}
    monkeypatch.setattr(device.recorder, "commands", SimpleNamespace(**own | methods))


def count(device, monkeypatch, *names: str) -> list[str]:
    """A list that receives the name of each of these commands that is called."""
    calls: list[str] = []

    def counted(name: str) -> Callable[..., Any]:
        original = getattr(device.recorder.commands, name)
        return lambda *args: (calls.append(name), original(*args))[1]

    replace(device, monkeypatch, **{name: counted(name) for name in names})
    return calls

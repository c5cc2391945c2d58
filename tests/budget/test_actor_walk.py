"""How many functions a message to an actor enters before the launch of its step."""

from __future__ import annotations

import pytest
from scripts.testing.actor_walk import walk_of
from tests.devices import DEVICES


@pytest.mark.parametrize("device", ["interp", *(each for each in DEVICES if each != "cpu")])
def test_functions_before_the_launch_of_a_step(device):
    """Four of the sender and the engine's post, the thread of batches, two copies, the launch."""
    entered = walk_of(device)
    names = [name for _, name in entered]
    assert names[0] == "send" and names[-1] == "launch" and names.count("write") == 2
    assert len(names) < 25, entered

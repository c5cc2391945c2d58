"""What lattices refuse, with the line where there is one."""

from __future__ import annotations

import numpy as np
import pytest
from tests.actors.lattice_samples import heat, wave

from gridlane import actors
from gridlane.core.errors import ArgumentError, TypingError
from gridlane.cuda import float32, int32

FIELDS = {"u": float32}


def refused(match, function, **options):
    with pytest.raises(TypingError, match=match) as caught:
        actors.lattice(**{"fields": FIELDS, "neighbours": 4, **options})(function)
    assert "test_lattice_refusals.py" in str(caught.value)


def test_offsets():
    def distant(ctx, u):
        return u[0, 2]

    refused("2 cells away.*halo=2", distant)

    def corner(ctx, u):
        return u[1, 1]

    refused("neighbours=8", corner)

    def variable(ctx, u, n):
        return u[0, n]

    refused("2 constant integers", variable)

    def three(ctx, u):
        return u[0, 0, 0]

    refused("2 constant integers", three)

    def whole(ctx, u):
        return sum(u)

    refused("u is a field of cells", whole)


def test_parameters():
    def other(ctx, w):
        return w[0, 0]

    refused(r"takes \(ctx, u, …\)", other)

    def stateless(ctx, u):
        return u[0, 0]

    made = actors.lattice(fields=FIELDS, neighbours=4)(stateless)

    def handler(ctx, state, message: int):
        state.x = message

    with pytest.raises(TypingError, match="has no state"):
        made.on(handler)
    with pytest.raises(ValueError, match="neighbours=5"):
        actors.lattice(fields=FIELDS, neighbours=5)
    with pytest.raises(ValueError, match="halo=9"):
        actors.lattice(fields=FIELDS, neighbours=4, halo=9)
    with pytest.raises(TypeError, match="the field u"):
        actors.lattice(fields={"u": int}, neighbours=4)


def test_launches(on_cpu):
    for options, match in (
        ({"shape": (4, 4)}, "3 axes"),
        ({"shape": (4, 4, 0)}, "0 cells"),
        ({"shape": (1, 4, 4), "periodic": True}, "2 at least"),
        ({"shape": (4, 4, 4), "periodic": (True,)}, "one for each"),
        ({"shape": (4, 4, 4), "boundary": "open"}, "boundary='open'"),
        ({"shape": (4, 4, 4), "mode": "quick"}, "mode='quick'"),
    ):
        with pytest.raises(ValueError, match=match):
            on_cpu.lattice(wave, args=(0.1,), **options)
    with pytest.raises(ArgumentError, match="takes 1 arguments"):
        on_cpu.lattice(wave, (4, 4, 4))
    with pytest.raises(ArgumentError, match="numbers and arrays"):
        on_cpu.lattice(wave, (4, 4, 4), args=("c",))
    with pytest.raises(TypeError, match="no lattice"):
        on_cpu.lattice(test_offsets, (4, 4))


def test_lifecycle(on_cpu):
    ref = on_cpu.lattice(heat, (4, 4), args=(0.1,))
    with pytest.raises(actors.StateError, match="launched"):
        ref.step()
    ref.activate()
    ref.step()
    ref.suspend()
    with pytest.raises(actors.StateError, match="suspended"):
        ref.step()
    ref.resume()
    with pytest.raises(ValueError, match="has the fields t, not w"):
        ref.read("w")
    with pytest.raises(ValueError, match="shape"):
        ref.write(t=np.zeros(3, np.float32))
    with pytest.raises(TypeError, match="float32"):
        ref.write(t=np.zeros((4, 4), np.complex64))
    with pytest.raises(TypeError, match="handles no messages"):
        ref.post(3)
    with pytest.raises(actors.ActorError, match="no state"):
        ref.read_state()
    ref.terminate()
    with pytest.raises(actors.StateError, match="terminated"):
        ref.read("t")


@actors.lattice(fields={"n": int32}, neighbours=4)
def failing(ctx, n):
    if n[0, 0] == 3:
        raise ValueError("three")
    return n[0, 0] + 1


def test_a_cell_that_raises(runtime):
    ref = runtime.lattice(failing, (4, 5))
    ref.activate()
    with pytest.raises(ValueError, match="three"):
        ref.step(5)
        ref.wait()

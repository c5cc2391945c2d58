"""Blocks of ``fused()`` that were submitted before: other numbers, other memory, other streams."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.cuda.test_launcher import Driver
from tests.devices import DEVICES

import gridlane
from gridlane import cuda
from gridlane.analysis.footprints.passed import passed_on
from gridlane.launch import current, launcher
from gridlane.launch.fusion import Fusion, block, fused, recipes, seams
from gridlane.launch.fusion.members import Form, found_of
from gridlane.runtime import observing
from gridlane.runtime.protocol import NativeLaunch

N = 64


@cuda.jit
def scale(x, y, by, n):
    i = cuda.grid(1)
    if i < n:
        y[i] = x[i] * by


@cuda.jit
def mirrored(x, y, n):
    i = cuda.grid(1)
    if i < n:
        y[i] += x[n - 1 - i]


@pytest.fixture
def appended(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kernels of launches that Python appends."""
    names: list[str] = []
    own = Fusion.append

    def append(self: Fusion, stream: Any, kernel: Any, launch: Any) -> bool:
        delayed = own(self, stream, kernel, launch)
        names.extend([kernel.artifact.name] if delayed else [])
        return delayed

    monkeypatch.setattr(Fusion, "append", append)
    return names


def line(value: float = 1) -> Any:
    return cuda.to_device(np.full(N, value, np.float32))


@pytest.mark.parametrize("device", ["interp", *DEVICES])
def test_a_second_block_is_appended_by_launchers(device: str, appended: list[str]) -> None:
    with gridlane.device(device) as used:
        x, y = line(), line()
        for count, by in enumerate((2.0, 3.0, 0.5, np.float32(4), np.float32(0.25))):
            appended.clear()
            with fused() as fusion:
                scale[2, 32](x, y, by, N)
                scale[2, 32](y, x, by, N)
            assert fusion.kernels == 1
            if used.several_buffers is None and count in (1, 2, 4):  # else by is of another type
                assert not appended
        assert x.copy_to_host()[0] == (2 * 3 * 0.5) ** 2


def test_numbers_go_to_their_launches() -> None:
    x, arrays = line(), [line() for _ in range(4)]
    for first in range(3):
        with fused() as fusion:
            for k, each in enumerate(arrays):
                scale[2, 32](x, each, float(first + k), N - k)
        assert fusion.kernels == 1
        for k, each in enumerate(arrays):
            assert each.copy_to_host().tolist() == [first + k] * (N - k) + [1] * k


@cuda.jit
def shifted(x, y, by, add, times, n):
    i = cuda.grid(1)
    if i < n:
        total = add
        for _ in range(times):
            total = total * 2 + add
        y[i + by] = x[i] + total


def test_integers_that_are_values_alone_decide_nothing() -> None:
    x, y = (cuda.to_device(np.arange(N)) for _ in "xy")
    module = shifted.kernel_for(shifted.checked((x, y, 0, 0, 0, N), 0)).module
    names = [module.kernel.params[place].value.name for place in passed_on(module.kernel)]
    assert names == ["add"]


@pytest.mark.parametrize("device", ["interp", *DEVICES])
def test_integers_of_later_runs_are_those_of_the_later_runs(device: str) -> None:
    start = np.arange(2 * N)
    with gridlane.device(device) as used:
        recipes_before = len(found_of(used).recipes)
        for by, times in ((0, 1), (3, 0), (3, 2)):
            for add in (1, 5, -7, 2**31, -(2**40), 3):
                x, y = cuda.to_device(start), cuda.to_device(start)
                with fused() as fusion:
                    shifted[2, 32](x, y, by, add, times, N)
                    shifted[2, 32](x, x, 0, add + 1, times, N)
                assert fusion.launches == 2
                wanted, other = start.copy(), start.copy()
                factor = 2 ** (times + 1) - 1
                wanted[by : by + N] = start[:N] + add * factor
                other[:N] = start[:N] + (add + 1) * factor
                assert (y.copy_to_host() == wanted).all() and (x.copy_to_host() == other).all()
        assert len(found_of(used).recipes) - recipes_before <= 18


def test_other_memory_at_the_same_address_decides_anew() -> None:
    """What was apart in its memory may meet in another one's."""
    results = []
    for _ in range(2):
        for together in (False, True):
            whole = cuda.to_device(np.arange(2 * N, dtype=np.float32))
            x = whole[:N]
            y = whole[N // 2 : N // 2 + N] if together else whole[N:]
            with fused() as fusion:
                scale[2, 32](x, y, 2.0, N)
                mirrored[2, 32](y, x, N)
            results.append((fusion.kernels, whole.copy_to_host().tobytes()))
            alone = cuda.to_device(np.arange(2 * N, dtype=np.float32))
            a, b = alone[:N], alone[N // 2 : N // 2 + N] if together else alone[N:]
            scale[2, 32](a, b, 2.0, N)
            mirrored[2, 32](b, a, N)
            assert alone.copy_to_host().tobytes() == whole.copy_to_host().tobytes()
            del whole, x, y, alone, a, b
    assert results[:2] == results[2:]


def test_streams_in_turn_keep_the_order(appended: list[str]) -> None:
    x, y, own = line(), line(), cuda.stream()
    for _ in range(3):
        with fused() as fusion:
            scale[2, 32](x, y, 2.0, N)  # y = 2 x
            scale[2, 32, own](y, x, 3.0, N)  # x = 3 y
            scale[2, 32](x, y, 0.5, N)
            scale[2, 32](y, x, 2.0, N)
        own.synchronize()
    assert x.copy_to_host()[0] == 6**3
    assert fusion.launches == 4 and fusion.kernels == 3


def test_a_full_queue_is_submitted(appended: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = line(), line(0)
    monkeypatch.setattr(block, "MOST_DELAYED", 8)
    with fused() as fusion:
        for _ in range(20):
            mirrored[2, 32](x, y, N)
        assert "20 launches, 4 of them delayed" in repr(fusion)
    assert (fusion.launches, fusion.kernels, len(appended)) == (20, 3, 1)
    assert y.copy_to_host()[0] == 20


def test_classes_have_their_methods_again_after_some_calls() -> None:
    stream = cuda.default_stream().native
    with fused():
        pass
    assert seams.state.kinds and not seams.state.blocks
    for _ in range(seams._MOST_IDLE + 2):
        stream.synchronize()
    assert not seams.state.kinds
    with fused() as fusion:
        x = line()
        scale[2, 32](x, x, 2.0, N)
        assert "1 of them delayed" in repr(fusion)
    assert x.copy_to_host()[0] == 2


def test_a_block_on_another_device_ends_by_itself(appended: list[str]) -> None:
    """Devices have classes in common: the outer block still delays when the inner one ends."""
    x = line()
    with fused() as outer:
        scale[2, 32](x, x, 2.0, N)
        with gridlane.device("interp"):
            y = line()
            with fused() as inner:
                scale[2, 32](y, y, 3.0, N)
            for _ in range(2 * seams._MOST_IDLE):
                cuda.synchronize()
            assert y.copy_to_host()[0] == 3
        scale[2, 32](x, x, 5.0, N)
        scale[2, 32](x, x, 7.0, N)
        assert "2 of them delayed" in repr(outer)
    assert x.copy_to_host()[0] == 70 and (inner.kernels, outer.kernels) == (1, 2)


# ---- exceptions of signal handlers, and their launches


class Interrupt:
    """Raises at the n-th call, in front of a function."""

    def __init__(self, own: Any, number: int) -> None:
        self.own, self.left = own, number

    def __call__(self, *args: Any) -> Any:
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt
        return self.own(*args)


@pytest.mark.parametrize("where", ["recipe_of", "is_own"])
def test_what_is_interrupted_in_front_of_its_submission_is_submitted(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = line()
    monkeypatch.setattr(block, where, Interrupt(getattr(block, where), 1))
    with pytest.raises(KeyboardInterrupt), fused():
        try:
            scale[2, 32](x, x, 2.0, N)
        except KeyboardInterrupt:  # it was not launched
            scale[2, 32](x, x, 2.0, N)
            scale[2, 32](x, x, 3.0, N)
            raise
        scale[2, 32](x, x, 3.0, N)
    assert current.delays() is None
    assert x.copy_to_host()[0] == 6


def test_what_comes_behind_an_interrupted_kernel_is_submitted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, y = line(), line(0)
    own = recipes.Step.submit

    def submit(step: recipes.Step, *args: Any) -> None:
        own(step, *args)
        if step.kernel.artifact.name == "mirrored":
            monkeypatch.setattr(recipes.Step, "submit", own)
            raise KeyboardInterrupt

    monkeypatch.setattr(recipes.Step, "submit", submit)
    with pytest.raises(KeyboardInterrupt), fused() as fusion:
        scale[2, 32](x, x, 2.0, N)
        mirrored[2, 32](x, y, N)  # y += mirrored x
        scale[2, 32](y, x, 5.0, N)
        mirrored[2, 32](x, y, N)
    assert y.copy_to_host()[0] == 2 + 10
    assert fusion.launches == 4


def test_a_block_whose_end_is_interrupted_ends() -> None:
    x, manager = line(), fused()
    fusion = manager.__enter__()
    scale[2, 32](x, x, 2.0, N)
    del manager  # Ctrl-C in front of __exit__
    assert current.delays() is None and fusion.is_closed and fusion.kernels == 1
    scale[2, 32](x, x, 3.0, N)
    assert x.copy_to_host()[0] == 6


def test_a_launch_of_a_handler_at_the_end_of_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    x, own = line(), current.delay

    def delay(by: Any) -> None:
        if by is None:
            scale[2, 32](x, x, 3.0, N)  # as a signal handler would
        own(by)

    for _ in range(2):
        with fused() as fusion:
            scale[2, 32](x, x, 2.0, N)
            monkeypatch.setattr(current, "delay", delay)
        monkeypatch.undo()
        assert fusion.kernels == 1
    assert x.copy_to_host()[0] == 36


# ---- the native launcher


class Bound:
    """Stands for a kernel of NVIDIA's driver."""

    def __init__(self, driver: Driver) -> None:
        # The driver reads no bytes behind the last parameter.
        self.artifact = SimpleNamespace(own_dynamic=0, coarse=2, param_bytes=16, name="k")
        self.block, self.driver = (32, 1, 1), driver
        self.prepared = 0

    def native_launch(self, stream: Any) -> NativeLaunch | None:
        self.prepared += 1
        if observing.observers:
            return None
        return NativeLaunch(self.driver.address, 0, 77, 5, 12, 0, 0, self)


class Stream:
    """Stands for its default stream."""

    def __init__(self) -> None:
        self.device = SimpleNamespace(default_stream=self, forget_thread=lambda: None)
        self.launches: list[Any] = []

    def launch(self, *launch: Any) -> None:
        self.launches.append(launch)


def native_step(driver: Driver) -> tuple[recipes.Step, Bound, Stream]:
    bound, stream = Bound(driver), Stream()
    form = Form(bound, (4, 3, 2), 64, True, ((0, 4), (8, 4)))
    only = recipes.Delayed(form, b"aaaabbbbcccc\0\0\0\0", ())
    return recipes.Step(recipes.Group(0, 1), [only], 1, stream), bound, stream


def test_a_step_is_launched_by_the_driver() -> None:
    driver = Driver()
    step, _, stream = native_step(driver)
    step.submit([b"....", b"1111", b"2222"], stream, ["kept"])
    step.submit([b"....", b"3333", b"4444"], stream, ["kept"])
    shape = (2, 3, 2, 32, 1, 1)  # coarse code has half as many blocks
    assert driver.calls == [
        (77, shape, 64, 5, b"1111bbbb2222"),
        (77, shape, 64, 5, b"3333bbbb4444"),
    ]
    assert not stream.launches


def test_a_step_that_the_driver_refuses_is_launched_slowly() -> None:
    step, bound, stream = native_step(Driver(code=400))
    step.submit([b"....", b"1111", b"2222"], stream, ["kept"])
    ((kernel, params, *shape, keep),) = stream.launches
    whole = b"1111bbbb2222\0\0\0\0"
    assert (kernel, params, shape, keep) == (bound, whole, [4, 3, 2, 64], ["kept"])


def test_observers_see_steps() -> None:
    class Nobody:
        def launched(self, launch: Any, /) -> None: ...

        def copied(self, copy: Any, /) -> None: ...

        def compiled(self, *facts: Any) -> None: ...

        def forked(self) -> None: ...

    driver, nobody = Driver(), Nobody()
    observing.start(nobody)
    try:
        step, bound, stream = native_step(driver)
        step.submit([b"....", b"1111", b"2222"], stream, [])
        assert len(stream.launches) == 1 and not driver.calls
    finally:
        observing.stop(nobody)
    step.submit([b"....", b"1111", b"2222"], stream, [])
    step.submit([b"....", b"1111", b"2222"], stream, [])
    assert len(stream.launches) == 2 and len(driver.calls) == 1 and bound.prepared == 2


def test_another_thread_number_launches_slowly() -> None:
    driver = Driver()
    step, _, stream = native_step(driver)
    launcher.select(10**6)
    try:
        step.submit([b"....", b"1111", b"2222"], stream, [])
    finally:
        launcher.select(-1)
    assert len(stream.launches) == 1 and not driver.calls

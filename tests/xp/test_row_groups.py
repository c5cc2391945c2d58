"""Reductions whose results are used with the elements of their rows: one kernel, the same bits."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import DEVICES

from gridlane import xp
from gridlane.launch.devices import get_device
from gridlane.xp import computing
from gridlane.xp.reductions import row_groups


def softmax(x):
    power = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
    return power / xp.sum(power, axis=-1, keepdims=True)


def layer_norm(x):
    middle = xp.mean(x, axis=-1, keepdims=True)
    variance = xp.mean((x - middle) ** 2, axis=-1, keepdims=True)
    weights = xp.astype(xp.arange(x.shape[-1], device=x.device) + 0, x.dtype)
    weights.leaf()
    return (x - middle) / xp.sqrt(variance + 1e-5) * weights


def variance(x):
    return xp.var(x, axis=-1)


def places(x):
    return x - xp.astype(xp.argmax(x, axis=-1, keepdims=True), x.dtype)


def over_two_axes(x):
    rows = xp.reshape(x, (*x.shape[:-1], 5, x.shape[-1] // 5))
    rows.leaf()
    return rows / xp.sqrt(xp.sum(rows * rows, axis=(-2, -1), keepdims=True))


CASES = [softmax, layer_norm, variance, places, over_two_axes]


def groups_of(monkeypatch):
    """The groups of several reductions that are computed from now on."""
    found = []
    own = computing.row_group_of

    def noted(root, compute):
        group = own(root, compute)
        found.extend([group] if group is not None else [])
        return group

    monkeypatch.setattr(computing, "row_group_of", noted)
    monkeypatch.setattr(computing, "_recipes", {})
    return found


def apart(monkeypatch, compute):
    """The elements by a kernel for each reduction."""
    with monkeypatch.context() as patch:
        patch.setattr(computing, "row_group_of", lambda root, compute: None)
        patch.setattr(computing, "_recipes", {})
        return [np.asarray(each) for each in compute()]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("device", ["interp", *DEVICES])
def test_one_kernel_and_the_same_bits(monkeypatch, device, case):
    shapes = [(16, 35)] if device == "interp" else [(17, 100), (3, 6, 1025)]
    for shape in shapes:
        host = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
        x = xp.asarray(host, device=device)
        expected = apart(monkeypatch, lambda x=x: [case(x)])[0]
        with monkeypatch.context() as patch:
            found = groups_of(patch)
            result = np.asarray(case(x))
        assert len(found) == 1
        assert result.dtype == expected.dtype and result.tobytes() == expected.tobytes()


def test_results_that_somebody_keeps(monkeypatch):
    x = xp.asarray(np.random.default_rng(2).standard_normal((40, 300)))

    def kept():
        largest = xp.max(x, axis=1, keepdims=True)
        power = xp.exp(x - largest)
        total = xp.sum(power, axis=1, keepdims=True)
        root = xp.sqrt(total)
        result = power / root
        result.leaf()
        return [largest, power, total, root, result]

    expected = apart(monkeypatch, kept)
    found = groups_of(monkeypatch)
    for one, other in zip(kept(), expected, strict=True):
        assert not one.node.is_pending
        assert np.asarray(one).tobytes() == other.tobytes()
    assert len(found) == 1 and len(found[0].stored) == 5


@pytest.mark.parametrize(
    ("shape", "axis"),
    [((15, 100), 1), ((100, 32), 1), ((16, 8193), 1), ((100, 100), 0), ((64, 64), None)],
)
def test_rows_that_are_apart(monkeypatch, shape, axis):
    """Few or short rows, rows of several parts, columns, and all elements."""
    host = np.random.default_rng(3).standard_normal(shape)
    x = xp.asarray(host)
    found = groups_of(monkeypatch)
    result = np.asarray(x - xp.max(x, axis=axis, keepdims=True))
    assert np.array_equal(result, host - host.max(axis=axis, keepdims=True)) and not found


def test_reductions_of_other_rows_are_computed_first(monkeypatch):
    host = np.random.default_rng(4).standard_normal((32, 64))
    x = xp.asarray(host)
    found = groups_of(monkeypatch)
    result = (x - xp.max(x, axis=1, keepdims=True)) * xp.min(x, axis=0) + xp.max(x)
    expected = (host - host.max(axis=1, keepdims=True)) * host.min(axis=0) + host.max()
    assert np.array_equal(np.asarray(result), expected) and len(found) == 1


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_few_reductions_a_kernel_where_integers_compute_float64(monkeypatch, dtype):
    x = xp.asarray(np.random.default_rng(8).standard_normal((20, 70)).astype(dtype))

    def chained():
        result = x
        for name in ("max", "sum", "min", "prod", "mean"):
            result = result - getattr(xp, name)(result / 8, axis=1, keepdims=True)
        return [result]

    expected = apart(monkeypatch, chained)[0]
    monkeypatch.setattr(row_groups, "emulates_float64", lambda device: True)
    found = groups_of(monkeypatch)
    assert np.asarray(*chained()).tobytes() == expected.tobytes()
    counts = [len(group.form.stages.folds) for group in found]
    # The first one alone has a kernel of another kind.
    assert counts == ([2, 2] if dtype is np.float64 else [5])


def test_which_devices_compute_float64_by_integers():
    emulating = {each: row_groups.emulates_float64(get_device(each)) for each in DEVICES}
    natively = {"interp", "cpu", "cuda"} & set(DEVICES)
    assert not any(emulating[each] for each in natively)
    assert all(emulating[each] for each in {"webgpu", "opengl", "metal"} & set(DEVICES))


@pytest.mark.parametrize("name", ["sum", "any", "mean", "max"])
def test_masks(monkeypatch, name):
    """The last reduction, and one inside, have a mask."""
    host = np.random.default_rng(6).standard_normal((18, 70))
    x = xp.asarray(host)
    more = {"initial": -9.0} if name == "max" else {}

    def masked():
        middle = x - getattr(xp, name)(x, axis=1, keepdims=True, where=x > 0.5, **more)
        return [getattr(xp, name)(middle, axis=1, where=x * middle > 0, **more)]

    expected = apart(monkeypatch, masked)[0]
    found = groups_of(monkeypatch)
    assert np.asarray(*masked()).tobytes() == expected.tobytes() and len(found) == 1
    own = getattr(host, name)(axis=1, keepdims=True, where=host > 0.5, **more)
    middle = host - own
    own = getattr(middle, name)(axis=1, where=host * middle > 0, **more)
    assert np.allclose(expected, own, rtol=1e-12)


def test_a_scan_of_rows_less_their_maximum():
    host = np.random.default_rng(7).standard_normal((20, 100))
    x = xp.asarray(host)
    result = np.asarray(xp.cumulative_sum(x - xp.max(x, axis=1, keepdims=True), axis=1))
    expected = np.cumsum(host - host.max(axis=1, keepdims=True), axis=1)
    assert np.allclose(result, expected, rtol=1e-13)


def test_many_reductions_share_memory(monkeypatch):
    """Apart, the shared memory of each would be more than 16 KiB, which WebGPU has."""
    x = xp.asarray(np.random.default_rng(8).standard_normal((16, 1100)))

    def places():
        result = x
        for number in range(9):
            result = result - xp.argmax(x * float(number - 4), axis=1, keepdims=True)
        return [result]

    expected = apart(monkeypatch, places)[0]
    found = groups_of(monkeypatch)
    assert np.asarray(*places()).tobytes() == expected.tobytes() and len(found) == 1
    kernel = computing._kernels[found[0].form, None]
    arrays = kernel.source.translate((), kernel.options).globals.values()
    assert sum(each.size for each in arrays) < 16 << 10


def test_complex_rows(monkeypatch):
    host = np.random.default_rng(5).standard_normal((20, 50, 2)).view(complex)[..., 0]
    x = xp.asarray(host)
    found = groups_of(monkeypatch)
    result = np.asarray(x - xp.mean(x, axis=1, keepdims=True))
    assert np.allclose(result, host - host.mean(axis=1, keepdims=True), rtol=1e-14)
    assert len(found) == 1


def test_the_plan():
    x = xp.ones((64, 64))
    text = str(xp.explain(softmax(x)))
    assert text.startswith("1. ") and "2. " not in text
    assert "max, subtract, exp, sum, divide" in text

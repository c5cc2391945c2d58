"""Normalisation over the places of channels: of a batch (Ioffe & Szegedy 2015), of an instance
(Ulyanov et al. 2016), and of groups of channels (Wu & He 2018)."""

from __future__ import annotations

from typing import Any, NamedTuple

from gridlane.core.errors import ArgumentError
from gridlane.tiles.kernels.blocks import (
    held_row,
    multiprocessors,
    power_of_2,
    record,
)
from gridlane.tiles.kernels.norms import step_of, value_of
from gridlane.tiles.kernels.operands import (
    FLOATS,
    Operand,
    contiguous,
    expect_like,
    expect_shape,
    index_type,
    merged,
    new,
    operand,
    result,
    sum_name,
    sum_type,
    zeros,
)
from gridlane.tiles.kernels.programs.channel_norms import (
    gradient_parts,
    gradient_sums,
    keep_statistics,
    norm_parts,
    part_moments,
)

_PROGRAMS = 8
"""For each of a GPU's multiprocessors, where sets are divided."""
_MOST_PARTS = 256
_KEPT = 8, 64
"""Sets and channels of a tile of statistics."""


class Sets(NamedTuple):
    """What is normalised together.

    Attributes:
        total: how many there are.
        inner: how many of them have an outer number in common.
        rows, length: of a set.
        of_batch: a set is a channel, and a row an item of the batch; else a set is some channels of
            an item, each of which is a row.
    """

    total: int
    inner: int
    rows: int
    length: int
    of_batch: bool

    @property
    def channels(self) -> tuple[int, int]:
        """Factors of the inner number, and of the row, in a channel's number."""
        return (1, 0) if self.of_batch else (self.rows, 1)

    def steps(self, array: Operand) -> tuple[int, int, int, int]:
        """The steps of outer and inner numbers of sets, of rows, and of elements."""
        n, c, step = array.strides
        return (0, c, n, step) if self.of_batch else (n, c * self.rows, c, step)


def _sets(x: Operand, groups: int | None) -> Sets:
    """The sets of an array of shape (batch, channels, places): groups of channels of each item, or
    channels."""
    n, c, length = x.shape
    if groups is None:
        return Sets(c, c, n, length, True)
    return Sets(n * groups, groups, c // groups, length, False)


def batch_norm(
    x: Any,
    weight: Any = None,
    bias: Any = None,
    out: Any = None,
    *,
    running_mean: Any = None,
    running_variance: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
    return_statistics: bool = False,
) -> Any:
    """Elements less their channel's mean, divided by its deviation, times a weight, plus a bias.

    Args:
        x: of shape (batch, channels, ...), of float16, bfloat16, float32 or float64.
        weight: one number for each channel, of any of these dtypes; None for 1.
        bias: one number for each channel; None for 0.
        out: an array of x's shape and dtype, which may be x itself; a new one by default.
        running_mean, running_variance: of each channel, float32, or float64 for float64. They are
            what elements are normalised by, or, when ``training``, change in place.
        training: normalise by the mean and the variance of all elements of a channel.
        momentum: of the new mean and variance in the running ones, which take the variance
            as that of a sample (divided by one less than the number of elements).
        eps: added to the variance.
        return_statistics: return the mean and the variance of each channel as well.

    Returns:
        ``out``; with ``return_statistics`` a tuple with the means and the variances that elements
        were normalised by, which ``batch_norm_backward`` needs.

    Raises:
        ArgumentError: an array does not fit; or there is nothing to normalise by.

    >>> import numpy as np
    >>> batch_norm(np.array([[1.0, 0.0], [3.0, 4.0]]), training=True, eps=0.0)
    array([[-1., -1.],
           [ 1.,  1.]])
    """
    source = _image(x)
    kept = _running(source, running_mean, running_variance)
    if not training and kept is None:
        raise ArgumentError("without training, running_mean and running_variance must be given")
    c = source.shape[1]
    if not training and kept is not None:
        given = _normalised(source, weight, bias, out, eps, 1, kept)
        return (given, kept[0].value, kept[1].value) if return_statistics else given
    wants = return_statistics or kept is not None
    known = zeros("statistics", source, (c, 2), sum_name(source.dtype)) if wants else None
    given = _normalised(source, weight, bias, out, eps, None, None, known)
    if kept is not None and known is not None and source.size:
        _keep(known, kept, 1, source.size // c, momentum)
    if not return_statistics or known is None:
        return given
    return given, known.value[:, 0], known.value[:, 1]


def instance_norm(
    x: Any,
    weight: Any = None,
    bias: Any = None,
    out: Any = None,
    *,
    running_mean: Any = None,
    running_variance: Any = None,
    use_input_statistics: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """``batch_norm`` by the mean and the variance of each channel of each item of the batch.

    Args:
        x, weight, bias, out, eps: as of ``batch_norm``.
        running_mean, running_variance: of each channel; they change in place towards the averages
            of the batch, or, without ``use_input_statistics``, are what elements are normalised by.
        use_input_statistics: normalise by the elements' own mean and variance.
        momentum: as of ``batch_norm``.

    Returns, raises: as ``batch_norm``.

    >>> import numpy as np
    >>> instance_norm(np.array([[[1.0, 3.0], [5.0, 9.0]]]), eps=0.0)
    array([[[-1.,  1.],
            [-1.,  1.]]])
    """
    source = _image(x)
    kept = _running(source, running_mean, running_variance)
    if not use_input_statistics:
        if kept is None:
            raise ArgumentError(
                "without use_input_statistics, running_mean and running_variance must be given"
            )
        return _normalised(source, weight, bias, out, eps, 1, kept)
    n, c = source.shape[:2]
    known = None
    if kept is not None:
        known = new("statistics", source, (n * c, 2), sum_name(source.dtype))
    given = _normalised(source, weight, bias, out, eps, c, None, known)
    if kept is not None and known is not None and source.size:
        _keep(known, kept, n, source.size // (n * c), momentum)
    return given


def group_norm(
    x: Any, groups: int, weight: Any = None, bias: Any = None, out: Any = None, *, eps: float = 1e-5
) -> Any:
    """``batch_norm`` by the mean and the variance of groups of channels of each item of the batch.

    Args:
        groups: into how many groups the channels are divided.
        x, weight, bias, out, eps: as of ``batch_norm``.

    Returns, raises: as ``batch_norm``.

    >>> import numpy as np
    >>> group_norm(np.array([[1.0, 3.0, 5.0, 9.0]]), 2, eps=0.0)
    array([[-1.,  1., -1.,  1.]])
    """
    source = _image(x)
    if groups < 1 or source.shape[1] % groups:
        raise ArgumentError(f"groups is {groups}, and {source}: it must divide the channels")
    return _normalised(source, weight, bias, out, eps, groups)


def batch_norm_backward(
    grad: Any,
    x: Any,
    mean: Any,
    variance: Any,
    weight: Any = None,
    out: Any = None,
    *,
    training: bool = True,
    eps: float = 1e-5,
) -> tuple[Any, Any, Any]:
    """The gradients of ``batch_norm``'s input, weight and bias.

    Args:
        grad: the gradient of the result, of x's shape and dtype.
        x, weight, training, eps: as they were passed to ``batch_norm``.
        mean, variance: of each channel, which ``batch_norm`` returned with ``return_statistics``.
        out: the array for the input's gradient; a new one by default.

    Returns:
        ``out``, and new arrays of float32, or float64 for float64, for the weight and the bias.

    Raises:
        ArgumentError: an array does not fit.

    >>> import numpy as np
    >>> x, mean, variance = np.array([[1.0], [3.0]]), np.array([2.0]), np.array([1.0])
    >>> batch_norm_backward(np.array([[1.0], [2.0]]), x, mean, variance, eps=0.0)[1:]
    (array([1.]), array([3.]))
    """
    source, given = _image(x), operand("grad", grad, FLOATS)
    expect_like(given, source)
    kept = _running(source, mean, variance, ("mean", "variance"))
    if kept is None:
        raise ArgumentError("mean and variance must be given")
    values, steps = [each.value for each in kept], [step_of(each) for each in kept]
    target = result("out", out, source, source.shape, source.dtype)
    c, make = source.shape[1], new if target.size else zeros
    sums = [make(name, source, (c,), sum_name(source.dtype)) for name in ("weight", "bias")]
    if not target.size:
        return target.value, sums[0].value, sums[1].value
    scale = _parameter("weight", weight, source)
    given, source, written = _flat(given, source, target)
    sets = _sets(source, None)
    whole, parts, constants = _work(sets, source, written, given, EPS=float(eps))
    rows = [sets.steps(each) for each in (given, source, written)]
    known, grid = None, (c * parts,)
    if not whole:
        known = new("sums", source, (c * parts, 2), sum_name(source.dtype)).value
        gradient_sums[grid](
            given.value, source.value, *values, known, c, parts, sets.rows, sets.length, *rows[:2],
            *steps, **constants,
        )  # fmt: skip
    gradient_parts[grid](
        given.value, source.value, value_of(scale), *values, known, written.value, sums[0].value,
        sums[1].value, c, parts, sets.rows, sets.length, *rows, step_of(scale), *steps,
        TRAINED=bool(training), WHOLE=whole, PARTS=power_of_2(parts), **constants,
    )  # fmt: skip
    return target.value, sums[0].value, sums[1].value


def _image(x: Any) -> Operand:
    made = operand("x", x, FLOATS)
    if len(made.shape) < 2:
        raise ArgumentError(f"{made}; it must have a batch and channels")
    return made


def _parameter(
    name: str, value: Any, x: Operand, dtypes: tuple[str, ...] = FLOATS
) -> Operand | None:
    if value is None:
        return None
    made = operand(name, value, dtypes, 1)
    expect_shape(made, x.shape[1:2])
    return made


_NAMES = "running_mean", "running_variance"


def _running(
    x: Operand, mean: Any, variance: Any, names: tuple[str, str] = _NAMES
) -> tuple[Operand, Operand] | None:
    if (mean is None) != (variance is None):
        raise ArgumentError(f"{names[0]} and {names[1]} must be given together")
    if mean is None:
        return None
    dtypes = (sum_name(x.dtype),)
    one, other = _parameter(names[0], mean, x, dtypes), _parameter(names[1], variance, x, dtypes)
    return None if one is None or other is None else (one, other)


def _flat(*arrays: Operand) -> list[Operand]:
    """Arrays of shape (batch, channels, places) over the same memory, or over copies; the last
    array is written.

    Raises:
        ArgumentError: the last array's places have no one step.
    """
    *read, written = arrays
    for given in (read, [*map(contiguous, read)]):
        found = [_places(each) for each in (*given, written)]
        if all(each is not None for each in found):
            return [each for each in found if each is not None]
        if found[-1] is None:
            break
    raise ArgumentError(
        f"{written}, with strides {written.strides}: its places are not one step apart; pass a "
        "contiguous array"
    )


def _places(array: Operand) -> Operand | None:
    groups = merged(array.shape[2:], [array.strides[2:]])
    if len(groups) > 1:
        return None
    extent, (step,) = groups[0] if groups else (1, (0,))
    shape, strides = (*array.shape[:2], extent), (*array.strides[:2], step)
    return Operand(array.name, array.value, shape, strides, array.dtype)


def _tile(sets: Sets, size: int) -> tuple[int, int, dict[str, int]]:
    """The rows and the elements of a tile, and the options of its launch.

    Args:
        size: bytes of an element while it is computed with.
    """
    held = held_row(power_of_2(sets.rows) * power_of_2(sets.length), size)
    room = held.pop("BLOCK")
    block = min(power_of_2(sets.length), room)
    return min(power_of_2(sets.rows), max(room // block, 1)), block, held


def _work(
    sets: Sets, *arrays: Operand, is_known: bool = False, **more: Any
) -> tuple[bool, int, dict[str, Any]]:
    """Whether a tile is a whole set, into how many parts a set is divided, and constants of the
    launch.

    Args:
        is_known: moments are, so that no tile is computed as a whole.
        more: further constants.
    """
    kind = sum_type(arrays[0].dtype)
    rows, block, options = _tile(sets, kind.primitive_bitwidth // 8)
    whole = not is_known and rows >= sets.rows and block >= sets.length
    parts = 1 if whole else _parts(sets, rows, block)
    constants = {"ROWS": rows, "BLOCK": block, "SUM": kind, "INDEX": index_type(*arrays)}
    return whole, parts, constants | options | more


def _parts(sets: Sets, rows: int, block: int) -> int:
    """Into how many parts a set is divided, so that the device is busy."""
    tiles = -(-sets.rows // rows) * -(-sets.length // block)
    busy = multiprocessors() * (1 if record().on_host else _PROGRAMS)
    return max(min(-(-busy // max(sets.total, 1)), tiles, _MOST_PARTS), 1)


def _normalised(
    x: Operand,
    weight: Any,
    bias: Any,
    out: Any,
    eps: float,
    groups: int | None,
    by: tuple[Operand, Operand] | None = None,
    known: Operand | None = None,
) -> Any:
    """The array ``out``, normalised.

    Args:
        groups: into which the channels of an item are divided; None for the norm of a batch.
        by: the mean and the variance of each channel, if these are known.
        known: receives those of each set.
    """
    scale, shift = _parameter("weight", weight, x), _parameter("bias", bias, x)
    target = result("out", out, x, x.shape, x.dtype)
    if not target.size:
        return target.value
    source, written = _flat(x, target)
    sets = _sets(source, groups)
    whole, parts, constants = _work(sets, source, written, is_known=by is not None)
    steps, grid = sets.steps(source), (sets.total * parts,)
    moments = None
    if by is None and not whole:
        moments = new("moments", x, (sets.total * parts, 3), sum_name(x.dtype)).value
        part_moments[grid](
            source.value, moments, sets.inner, parts, sets.rows, sets.length, steps, **constants
        )
    mean, variance = by or (None, None)
    norm_parts[grid](
        source.value, value_of(scale), value_of(shift), value_of(mean), value_of(variance), moments,
        written.value, value_of(known), sets.inner, parts, sets.rows, sets.length, sets.channels,
        steps, sets.steps(written), step_of(scale), step_of(shift), step_of(mean),
        step_of(variance), EPS=float(eps), WHOLE=whole, PARTS=power_of_2(parts), **constants,
    )  # fmt: skip
    return target.value


def _keep(
    known: Operand, kept: tuple[Operand, Operand], sets: int, count: int, momentum: float
) -> None:
    """Move running means and variances towards those of sets of so many elements."""
    mean, variance = kept
    (channels,) = mean.shape
    keep_statistics[(-(-channels // _KEPT[1]),)](
        known.value, mean.value, variance.value, sets, channels, mean.strides[0],
        variance.strides[0], count / max(count - 1, 1), MOMENTUM=float(momentum),
        SETS=min(power_of_2(sets), _KEPT[0]), CHANNELS=_KEPT[1], SUM=sum_type(known.dtype),
        INDEX=index_type(known),
    )  # fmt: skip

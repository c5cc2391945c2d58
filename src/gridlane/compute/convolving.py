"""Convolutions in nests, which the tile library computes as implicit products of matrices.

A nest qualifies whose sums start at zero and walk all of a kernel: of channels, and of one or two
axes of places, with strides, dilations, and padding by the bounds of its loops.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

from gridlane.compute.freedom import Freedom
from gridlane.compute.kinds import elements_of, inner_loops
from gridlane.compute.linear import Linear, linear
from gridlane.compute.model import Access, Nest, Statement
from gridlane.compute.polyhedra import Polyhedra
from gridlane.compute.sums import axes_of, conversions_of, destination_of, turned
from gridlane.compute.tensors import Dim, TensorType
from gridlane.core.dtypes import DType, bf16, f16, f32, f64
from gridlane.core.frozen import frozen

SMALLEST = 32**3
"""Convolutions with fewer multiplications are loops."""
_WORDS = "stride", "padding", "dilation"
_SUMS = {f32: f32, f64: f64, f16: f32, bf16: f32}


@frozen
class Places:
    """An axis of places: ``stride * result + dilation * inner - padding``."""

    result: str
    inner: str
    stride: int
    dilation: int
    padding: int


@frozen
class Convolution:
    """A convolution, and what is left of its nest.

    Attributes:
        images: the tensor, and the order of its axes: images, channels, places.
        weights: the tensor, and the order of its axes: filters, channels, places.
        target: the tensor of the result, or None where ``rest`` reads the sums.
        axes: the order of the target's axes: images, filters, places.
        places: strides, dilations and paddings.
        sums: the name of the variable of sums, and the type of their tensor.
        rest: the nest that reads the sums; None where they are the result as they are.
        precision: of the factors, as the library has it.
    """

    is_of_algorithms: ClassVar[bool] = False

    images: tuple[str, tuple[int, ...]]
    weights: tuple[str, tuple[int, ...]]
    target: str | None
    axes: tuple[int, ...]
    places: tuple[Places, ...]
    sums: tuple[str, TensorType]
    rest: Nest | None
    precision: str

    @property
    def call(self) -> str:
        """The call of the tile library."""
        words = ", ".join(
            f"{word}={tuple([getattr(each, word) for each in self.places])}" for word in _WORDS
        )
        out = self.target or f"the sums of {self.rest.name if self.rest else ''}"
        words += f", precision={self.precision!r}" if self.precision != "ieee" else ""
        return f"tiles.kernels.convolution({self.images[0]}, {self.weights[0]}, {words}) -> {out}"

    def is_large(self, given: dict[str, Any], extents: dict[str, int]) -> bool:
        """Whether the result has all places, and enough of them."""
        x, w = self._arrays(given)
        ends: list[int] = []
        for each, size, taps in zip(self.places, x.shape[2:], w.shape[2:], strict=True):
            reach = each.dilation * (taps - 1) + 1
            ends.append((size + 2 * each.padding - reach) // each.stride + 1)
        known = [e if isinstance(e, int) else extents[e.name] for e in self.sums[1].extents]
        whole = [x.shape[0], w.shape[0], *ends]
        return known == whole and math.prod(whole) * math.prod(w.shape[1:]) >= SMALLEST

    def run(self, given: dict[str, Any], out: Any) -> None:
        """Compute the result into the target, or the sums into ``out``.

        Args:
            given: the arguments by name.
            out: of the sums' type, with the axes images, filters, places.
        """
        from gridlane.tiles.kernels import convolution  # of nests with convolutions alone

        if self.target is not None:
            out = turned(given[self.target], self.axes)
        x, w = self._arrays(given)
        steps = [(each.stride, each.padding, each.dilation) for each in self.places]
        stride, padding, dilation = zip(*steps, strict=True)
        convolution(
            x, w, None, out, stride=stride, padding=padding, dilation=dilation,
            out_dtype=str(out.dtype).removeprefix("torch."), precision=self.precision,
        )  # fmt: skip

    def _arrays(self, given: dict[str, Any]) -> tuple[Any, Any]:
        images, weights = self.images, self.weights
        return turned(given[images[0]], images[1]), turned(given[weights[0]], weights[1])


def convolution_of(
    polyhedra: Polyhedra, types: dict[str, DType], freedom: Freedom
) -> Convolution | str:
    """The convolution that a nest is, or why it is loops.

    Args:
        types: of the variables.
    """
    nest = polyhedra.nest
    adders = [s for s in nest.statements if s.operator == "+" and inner_loops(polyhedra, s)]
    if len(adders) != 1 or polyhedra.same:
        return ""
    (adder,) = adders
    shape = _shape(polyhedra, adder)
    if shape is None:
        return ""
    name = adder.write.name
    total = nest.tensors[name].dtype if name in nest.tensors else types[name]
    factors = [nest.tensors[each.name].dtype for each in (shape.images, shape.weights)]
    calls = conversions_of(nest, adder)
    if factors[0] is not factors[1] or _SUMS.get(factors[0]) is not total:
        return f"loops: the library has no sums of {total} of products of {factors[0]}"
    if any(each is not total for each in calls) or (factors[0] is not total and len(calls) != 2):
        return "loops: the products are rounded before they are added"
    if not freedom.any_order:
        if factors[0] is not total:
            return "loops: matrix instructions add in another order; Hints(tensor_cores=True)"
        if [each.name for each in adder.loops[-len(shape.inner) :]] != [*shape.inner]:
            return "loops: their sums have another order than the library's; fastmath=True"
        if any(each.padding for each in shape.places):
            return "loops: the library multiplies zeros of padding, of infinity; fastmath=True"
    extents = _extents(nest, adder, shape)
    if extents is None or not _is_whole(polyhedra, adder, shape, extents):
        return "loops: they walk a part of the kernel, or of the result"
    both = shape.images, shape.weights
    where = destination_of(nest, adder, shape.loops, extents, total, both)
    if where is None:
        return "loops: the sums start at another number, or are read elsewhere"
    return Convolution(
        (shape.images.name, shape.axes), (shape.weights.name, axes_of(shape.weights, shape.taps)),
        where.target, where.axes, shape.places, where.sums, where.rest,
        "tf32" if freedom.rounds and factors[0] is f32 else "ieee",
    )  # fmt: skip


@frozen
class _Shape:
    """The accesses and loops of a convolution.

    Attributes:
        axes: the order of the images' axes.
        loops: those of the result: images, filters, places.
        inner: those of the sums: channels, places.
        taps: those of the weights: filters, channels, places.
    """

    images: Access
    weights: Access
    axes: tuple[int, ...]
    places: tuple[Places, ...]
    loops: tuple[str, ...]
    inner: tuple[str, ...]
    taps: tuple[str, ...]


def _shape(polyhedra: Polyhedra, adder: Statement) -> _Shape | None:
    found = elements_of(polyhedra.nest, adder)
    if found is None or adder.tests or any(each.indices is None for each in found):
        return None
    inner = inner_loops(polyhedra, adder)
    indices = [[linear(polyhedra, adder, i) for i in each.indices or ()] for each in found]
    for one, other in ((0, 1), (1, 0)):
        places, plain = [_places(each, inner) for each in indices[one]], indices[other]
        if any(places) and all(each is not None and each.loop for each in plain):
            break
    else:
        return None
    images, weights = found[one], found[other]
    alone = [each.loop if each else "" for each in indices[one]]
    taps = [each.loop for each in indices[other] if each]
    outer = [each.name for each in adder.loops if each.name not in inner]
    known = [each for each in places if each is not None]
    count = len(known)
    channels = [each for each in alone if each in inner and each in taps]
    batch = [each for each in alone if each in outer and each not in taps]
    filters = [each for each in taps if each in outer and each not in alone]
    if (len(channels), len(batch), len(filters)) != (1, 1, 1) or count not in (1, 2):
        return None
    known.sort(key=lambda each: outer.index(each.result))
    results = tuple([each.result for each in known])
    inside = channels[0], *[each.inner for each in known]
    loops, walked = (batch[0], filters[0], *results), (filters[0], *inside)
    if sorted(loops) != sorted(outer) or sorted(inside) != sorted(inner):
        return None
    if sorted(walked) != sorted(taps) or len(alone) != count + 2:
        return None
    axes = alone.index(batch[0]), alone.index(channels[0]), *[places.index(e) for e in known]
    return _Shape(images, weights, axes, tuple(known), loops, inside, walked)


def _places(index: Linear | None, inner: list[str]) -> Places | None:
    """The axis of places that an index walks."""
    if index is None or len(index.factors) != 2 or index.constant > 0:
        return None
    results = [each for each in index.factors if each not in inner]
    taps = [each for each in index.factors if each in inner]
    if len(results) != 1 or len(taps) != 1 or min(index.factors.values()) < 1:
        return None
    (result,), (tap,) = results, taps
    return Places(result, tap, index.factors[result], index.factors[tap], -index.constant)


def _extents(nest: Nest, adder: Statement, shape: _Shape) -> tuple[int | Dim, ...] | None:
    """The extents of the result, by what is written at its loops."""
    for each in nest.statements:
        write = each.write
        whole = write.name in nest.tensors and sorted(write.indices or ()) == sorted(shape.loops)
        if whole and (each is adder or each.place > adder.place):
            known = nest.tensors[write.name].extents
            return tuple([known[axis] for axis in axes_of(write, shape.loops)])
    return None


def _is_whole(
    polyhedra: Polyhedra, adder: Statement, shape: _Shape, extents: tuple[int | Dim, ...]
) -> bool:
    """Whether the loops walk all results and taps whose places are inside of the image."""
    nest = polyhedra.nest
    box = [f"0 <= {e} < {n}" for e, n in zip(shape.loops, extents, strict=True)]
    taps = nest.tensors[shape.weights.name].extents
    axes = axes_of(shape.weights, shape.taps)
    box += [f"0 <= {e} < {taps[axis]}" for e, axis in zip(shape.taps[1:], axes[1:], strict=True)]
    if not _are_extents(nest, shape, extents, taps[axes[0]]):
        return False
    inside: list[str] = []
    assert shape.images.indices is not None
    sizes = nest.tensors[shape.images.name].extents
    for axis in shape.axes[2:]:
        inside.append(f"0 <= {shape.images.indices[axis]} < {sizes[axis]}")
    channels = f"0 <= {shape.inner[0]} < {sizes[shape.axes[1]]}"
    names = ", ".join(each.name for each in adder.loops)
    domain = polyhedra.domain(adder)

    def is_equal(conditions: list[str]) -> bool:
        text = f"{{ {adder.name}[{names}] : {' and '.join(conditions)} }}"
        return bool(domain.is_equal(polyhedra.set(text).intersect_params(polyhedra.context)))

    padded = any(each.padding for each in shape.places)
    return is_equal([*box, channels, *inside]) or (not padded and is_equal([*box, channels]))


def _are_extents(
    nest: Nest, shape: _Shape, extents: tuple[int | Dim, ...], filters: int | Dim
) -> bool:
    """Whether images and filters of the result are those of the factors."""
    images = nest.tensors[shape.images.name].extents[shape.axes[0]]
    return (str(images), str(filters)) == (str(extents[0]), str(extents[1]))

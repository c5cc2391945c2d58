"""Layouts for the tests, and random ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from gridlane.actors.layouts import python
from gridlane.actors.layouts.blocks import BLOCKS, Clock
from gridlane.actors.layouts.names import Scope
from gridlane.actors.layouts.schema import SCALARS, Array, Layout, lay_out
from gridlane.core.argtypes import boolean, float16, float32, float64, int8, int16, uint8, uint64

EVERY = lay_out(
    "Every",
    *[(f"one_{each}", each, f"a {each}") for each in SCALARS],
    *[(f"few_{each}", Array(each, (2, 3))) for each in SCALARS],
    meaning="Every type, and arrays of it.",
)
TINY = lay_out("Tiny", ("flag", boolean), ("level", int8), ("mark", uint8))
SHORT = lay_out("Short", ("half", int16), ("tiny", Array(TINY, (2,))), ("value", float16))
# Behind these is padding that the scalar layout of GLSL would use for what follows.
ODD = lay_out("Odd", ("wide", int16), ("last", uint8))
TAILED = lay_out("Tailed", ("far", uint64), ("last", uint8))
NESTED = lay_out(
    "Nested",
    ("tailed", TAILED),
    ("behind", uint8),
    ("odd", ODD),
    ("next", uint8),
    ("shorts", Array(SHORT, (2, 2))),
    ("clocks", Array(Clock, (2,))),
    ("Clock", Clock),
    ("exact", Array(float64, (1,))),
    ("again", Array(TAILED, (2,))),
    ("end", boolean),
)
AWKWARD = lay_out(
    "half",
    *[(name, float32) for name in ("half", "half_", "type", "uint", "linux", "sampler2D", "it")],
    ("float", TINY),
    ("at", uint8),
)
SAMPLES = (EVERY, TINY, SHORT, TAILED, NESTED, AWKWARD)
ALL = (*BLOCKS, *SAMPLES)

_FIELDS = (
    "a b price size half type float input output buffer self value it at double int uint new from_ "
    "operator sample filter thread target words_0 linux Clock class_ x2 f32 sampler"
).split()
_STRUCTS = ("half", "array", "atomic", "sampler", "Order", "float4", "buffer", "value", "match")


@st.composite
def families(draw: st.DrawFn, most: int = 9) -> list[Layout]:
    """Layouts of which later ones may contain earlier ones."""
    made: list[Layout] = []
    for number in range(draw(st.integers(1, most))):
        inner = [each for each in made if each.size <= 256]
        elements = st.sampled_from([*SCALARS, *inner])
        shapes = st.lists(st.integers(1, 3), min_size=1, max_size=3).map(tuple)
        types = st.one_of(elements, st.builds(Array, elements, shapes))
        names = draw(st.lists(st.sampled_from(_FIELDS), unique=True, min_size=1, max_size=7))
        title = _STRUCTS[number] if number < len(_STRUCTS) else f"Layout{number}"
        made.append(lay_out(title, *[(name, draw(types)) for name in names]))
    return made


Path = tuple["str | int", ...]


@dataclass(frozen=True)
class Leaf:
    """A scalar inside a structure, by numpy's dtype."""

    path: Path
    offset: int
    dtype: np.dtype


def leaves(layout: Layout) -> list[Leaf]:
    """All scalars of a layout, array elements as well."""
    return list(_leaves(python.dtype(layout), (), 0))


def _leaves(dtype: np.dtype, path: Path, offset: int):
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        for number, index in enumerate(np.ndindex(shape)):
            yield from _leaves(base, (*path, *index), offset + number * base.itemsize)
    elif dtype.fields is not None:
        for name in dtype.names:
            inner, at = dtype.fields[name][:2]
            yield from _leaves(inner, (*path, name), offset + at)
    else:
        yield Leaf(path, offset, dtype)


def values(layout: Layout) -> list[tuple[Leaf, object]]:
    """Another value for each scalar; half of the bools are true."""
    made = []
    for number, leaf in enumerate(leaves(layout)):
        if leaf.dtype.kind == "b":
            value: object = number % 2 == 0
        elif leaf.dtype.kind == "f":
            value = leaf.dtype.type(number % 1000 + 0.5)
        else:
            raw = bytes((7 * number + 31 * byte) % 251 + 2 for byte in range(leaf.dtype.itemsize))
            value = np.frombuffer(raw, leaf.dtype)[0]
        made.append((leaf, value))
    return made


def bytes_of(layout: Layout) -> np.ndarray:
    """A structure with these values, as numpy lays it out: bytes; padding is 0."""
    memory = np.zeros(layout.size, np.uint8)
    for leaf, value in values(layout):
        memory[leaf.offset :][: leaf.dtype.itemsize].view(leaf.dtype)[0] = value
    return memory


def assert_same(memory: np.ndarray, layout: Layout) -> None:
    """Compare the bytes of each scalar, not of padding."""
    wanted = bytes_of(layout)
    wrong = [
        (
            leaf.path,
            leaf.offset,
            memory[leaf.offset : end].tolist(),
            wanted[leaf.offset : end].tolist(),
        )
        for leaf in leaves(layout)
        for end in [leaf.offset + leaf.dtype.itemsize]
        if memory[leaf.offset : end].tobytes() != wanted[leaf.offset : end].tobytes()
    ]
    assert not wrong, (layout.name, wrong[:5])


def spelled(path: Path, layout: Layout, scope: Scope) -> Path:
    """A path by the names that a language has."""
    made: list[str | int] = []
    for step in path:
        if isinstance(step, int):
            made.append(step)
            continue
        made.append(scope.members(layout)[1][step])
        type_ = layout[step].type
        inner = type_.element if isinstance(type_, Array) else type_
        layout = inner if isinstance(inner, Layout) else layout
    return tuple(made)


def access(path: Path) -> str:
    """``.name[2]``."""
    return "".join(f".{step}" if isinstance(step, str) else f"[{step}]" for step in path)

"""``frozen`` makes of a class what ``dataclass(frozen=True, slots=True)`` makes of it."""

from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import FrozenInstanceError, InitVar, dataclass, field, fields, replace
from typing import Any, ClassVar

import pytest

from gridlane.core.frozen import frozen

Decorator = Callable[[type], type]
WAYS: tuple[Decorator, Decorator] = (dataclass(frozen=True, slots=True), frozen)


class Named:
    """A base class with a repr of its own."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"named {self.a}"  # type: ignore[attr-defined]


def classes(way: Decorator) -> dict[str, type]:
    """Classes of every kind that the sources have."""

    @way
    class Nothing:
        """No field."""

    @way
    class One:
        """A field."""

        a: int

    @way
    class Many:
        """Defaults, factories, a field that is not compared, one that is not shown, one that is not
        hashed, and a class variable."""

        kind: ClassVar[str] = "many"
        a: int
        b: str = "b"
        c: list[int] = field(default_factory=list, hash=False)
        d: float = field(default=0.5, compare=False)
        e: tuple[int, ...] = field(default=(), repr=False)
        f: str = field(default="f", kw_only=True)

    @way
    class Computed:
        """A field that the class computes."""

        a: int
        size: int = field(init=False, compare=False)
        unset: int = field(init=False, default=3)

        def __post_init__(self) -> None:
            object.__setattr__(self, "size", self.a * 8)

    @way
    class Child(Many):  # type: ignore[misc, valid-type]  # a class of this function
        """Fields of a base class, with another default."""

        b: str = "child"
        g: int = 7

    @way
    class Own:
        """Methods of its own."""

        a: int

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 12

        def __repr__(self) -> str:
            return "own"

    @way
    class Compared:
        """An equality of its own, and no hash."""

        a: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Compared) and abs(self.a) == abs(other.a)

    made = (Nothing, One, Many, Computed, Child, Own, Compared)
    return {each.__name__: each for each in made}


VALUES = {
    "Nothing": [((), {})],
    "One": [((1,), {}), ((2,), {}), ((float("nan"),), {}), (([],), {})],
    "Many": [
        ((1,), {}),
        ((1, "c"), {}),
        ((1,), {"f": "g"}),
        ((1,), {"d": 9.0}),
        ((1,), {"c": [1]}),
    ],
    "Computed": [((1,), {}), ((2,), {})],
    "Child": [((1,), {}), ((1,), {"g": 8}), ((1, "b", [2]), {})],
    "Own": [((1,), {}), ((2,), {})],
    "Compared": [((1,), {}), ((-1,), {})],
}


def seen(action: Callable[[], Any]) -> Any:
    """What comes of it: a value or an exception."""
    try:
        return action()
    except (TypeError, AttributeError) as error:
        return type(error), str(error)


def assign(value: Any, name: str) -> None:
    setattr(value, name, 5)


@pytest.mark.parametrize("name", VALUES)
def test_it_is_what_dataclass_makes(name: str) -> None:
    theirs, ours = (classes(way)[name] for way in WAYS)
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    for attribute in ("__slots__", "__match_args__", "__doc__"):
        assert getattr(ours, attribute) == getattr(theirs, attribute)
    assert [f.name for f in fields(ours)] == [f.name for f in fields(theirs)]
    pairs = [
        (theirs(*a, **copy.deepcopy(k)), ours(*a, **copy.deepcopy(k))) for a, k in VALUES[name]
    ]
    for their, our in pairs:
        assert repr(our) == repr(their)
        assert seen(lambda x=our: hash(x)) == seen(lambda x=their: hash(x))
        for each in fields(ours):
            assert getattr(our, each.name) is getattr(their, each.name) or each.name == "c"
        for change in (assign, delattr):
            refused = seen(lambda x=our, change=change: change(x, "a"))
            if "a" in theirs.__slots__:
                assert refused == seen(lambda x=their, change=change: change(x, "a"))
            assert seen(lambda x=our, change=change: change(x, "z"))[0] is FrozenInstanceError
        assert repr(copy.copy(our)) == repr(our)
        assert repr(seen(lambda x=our: replace(x, a=4))) == repr(
            seen(lambda x=their: replace(x, a=4))
        )
    for their, our in pairs:
        for their_other, our_other in pairs:
            assert (our == our_other) is (their == their_other)
        assert (our != 3) is (their != 3)
    for wrong in ((), (1, 2, 3, 4, 5, 6, 7, 8)):
        assert isinstance(seen(lambda w=wrong: ours(*w)), tuple) is isinstance(
            seen(lambda w=wrong: theirs(*w)), tuple
        )


@frozen
class Kept(Named):
    """Pickled by its name."""

    a: int
    b: list[int] = field(default_factory=list)


class Subclass(Kept):
    """A plain subclass, with attributes of its own."""


def test_pickles() -> None:
    value = pickle.loads(pickle.dumps(Kept(3, [1])))
    assert value == Kept(3, [1]) and value.b == [1]


def test_a_repr_of_a_base_class_is_kept() -> None:
    assert repr(Kept(3)) == "named 3"


def test_factories_are_called_for_each_value() -> None:
    assert Kept(1).b is not Kept(1).b


def test_subclasses_have_attributes_of_their_own() -> None:
    value = Subclass(3)
    value.other = 4  # type: ignore[attr-defined]
    assert value.other == 4  # type: ignore[attr-defined]
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'a'"):
        value.a = 4  # type: ignore[misc]


def test_one_function_is_compiled_for_a_class() -> None:
    """What it is for: the standard library's takes eight in Python 3.11 and 3.12."""
    program = (
        "import builtins, typing\n"
        "from gridlane.core.frozen import frozen\n"
        "calls, plain = [], exec\n"
        "def counted(*args):\n    calls.append(args[0])\n    return plain(*args)\n"
        "builtins.exec = counted\n"
        "@frozen\nclass A:\n    'A class.'\n    a: int\n    b: int = 3\n"
        "print(len(calls))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) <= 2  # a later Python's dataclass() calls it once for nothing


def definitions(way: Decorator) -> dict[str, Callable[[], type]]:
    """Classes that dataclass refuses, and unusual ones that it accepts."""

    class Order:
        a: int = 1
        b: int

    class OrderOfFactories:
        a: list[int] = field(default_factory=list)
        b: int = field()

    class Assigns:
        def __setattr__(self, name: str, value: object) -> None: ...

    class Deletes:
        def __delattr__(self, name: str) -> None: ...

    class NoHash:
        a: int
        __hash__ = None  # type: ignore[assignment]

    class Self:
        self: int
        _set: int = 2
        _factory: list[int] = field(default_factory=list)

    class Behind:
        a: int = field(default=1, kw_only=True)
        b: int
        c: int = field(default=1, init=False)
        d: int

    each = (Order, OrderOfFactories, Assigns, Deletes, NoHash, Self, Behind)
    return {cls.__name__: lambda cls=cls: way(cls) for cls in each}


UNUSUAL: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(definitions(frozen), ()),
    **{"NoHash": (5,), "Self": (5,), "Behind": (5, 6)},
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_unusual_definitions(name: str) -> None:
    theirs, ours = (seen(definitions(way)[name]) for way in WAYS)
    if isinstance(theirs, tuple):
        assert ours == theirs
        return
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    arguments = UNUSUAL[name]
    assert repr(ours(*arguments)) == repr(theirs(*arguments))
    assert seen(lambda: hash(ours(*arguments))) == seen(lambda: hash(theirs(*arguments)))


def test_what_it_does_not_support_is_refused() -> None:
    class Given:
        a: InitVar[int]

    with pytest.raises(TypeError, match="InitVar is not supported: field 'a' of Given"):
        frozen(Given)

    @dataclass
    class Changing:
        a: int

    class Child(Changing):
        b: int

    with pytest.raises(TypeError, match="Child is frozen, but Changing, its base, is not"):
        frozen(Child)


class Compared(ABC):
    """A class whose subclasses can be compared."""

    __slots__ = ()

    @abstractmethod
    def __eq__(self, other: object) -> bool: ...

    @abstractmethod
    def __hash__(self) -> int: ...


@pytest.mark.parametrize("way", WAYS)
def test_abstract_methods_that_it_makes(way: Decorator) -> None:
    @way
    class Concrete(Compared):
        a: int

    assert Concrete(3) == Concrete(3) and hash(Concrete(3)) == hash(Concrete(3))

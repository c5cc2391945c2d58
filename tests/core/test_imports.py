"""Modules import each other in one direction, imports under TYPE_CHECKING included.

import-linter holds the layers of packages; see .importlinter.
"""

from __future__ import annotations

import grimp
import pytest

from gridlane.compiler.cache_key import COMPILER_HALF


def cycles(imports: dict[str, set[str]]) -> list[list[str]]:
    """The modules that reach each other, from what each imports directly."""
    left = dict(imports)
    while left:
        # What imports nothing that is left, or is imported by nothing, is on no cycle.
        used = set().union(*left.values())
        ends = [name for name in left if not left[name] & left.keys() or name not in used]
        if not ends:
            break
        for name in ends:
            del left[name]
    reached = {name: reachable(left, name) for name in left}
    found = {
        tuple(sorted(other for other in reached[name] if name in reached[other]))
        for name in left
        if name in reached[name]
    }
    return sorted(map(list, found))


def reachable(imports: dict[str, set[str]], start: str) -> set[str]:
    """The modules that a module imports, directly or by others."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = (imports[waiting.pop()] & imports.keys()) - found
        found |= new
        waiting += new
    return found


@pytest.mark.parametrize(
    ("imports", "expected"),
    [
        ({"a": {"b", "c"}, "b": {"c"}, "c": set()}, []),
        ({"a": {"b"}, "b": {"a"}}, [["a", "b"]]),
        (
            {"top": {"a"}, "a": {"b"}, "b": {"c"}, "c": {"a", "low"}, "low": set()},
            [["a", "b", "c"]],
        ),
        ({"a": {"b"}, "b": {"a", "c"}, "c": {"d"}, "d": {"c"}}, [["a", "b"], ["c", "d"]]),
        (
            {"a": {"b"}, "b": {"a", "m"}, "m": {"c"}, "c": {"d"}, "d": {"c"}},
            [["a", "b"], ["c", "d"]],
        ),
    ],
)
def test_cycles_are_found(imports, expected):
    assert cycles(imports) == expected


def test_no_cycle_between_modules():
    graph = grimp.build_graph("gridlane", exclude_type_checking_imports=False, cache_dir=None)
    imports = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    assert len(imports) > 300  # the whole package
    found = [[name.removeprefix("gridlane.") for name in cycle] for cycle in cycles(imports)]
    assert found == []


def test_all_that_the_compiler_imports_is_in_the_keys_of_its_cache():
    graph = grimp.build_graph("gridlane", exclude_type_checking_imports=True, cache_dir=None)
    used = set(COMPILER_HALF)
    for room in COMPILER_HALF:
        found = graph.find_upstream_modules(f"gridlane.{room}", as_package=True)
        used |= {name.split(".")[1] for name in found if name != "gridlane"}
    assert used == set(COMPILER_HALF)

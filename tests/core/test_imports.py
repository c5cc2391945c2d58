"""Modules import each other in one direction, imports under TYPE_CHECKING and those by name
included.

import-linter holds the layers of packages; see .importlinter.
"""

from __future__ import annotations

from pathlib import Path

import grimp
import pytest
from scripts.testing.graph import ROOT, modules
from tests.core.by_name import named_modules

from gridlane.compiler.cache_key import COMPILER_HALF

NAMES = {
    "gridlane.backends.": "a record has the names of its driver, code generator and passes",
    "gridlane.cuda.names": "the modules of the names that users import",
    "gridlane.frontends.triton.language": "the names of tl, loaded when they are used",
    "gridlane.cuda.triton_compat": "the modules that take the places of Triton's",
    "gridlane.abi.calls.registry": "the modules of CUDA's functions",
    "gridlane.frontends.python.libdevice_stubs": "a stub has the name of its handlers' module",
    "gridlane.cuda.arrays.devicearray": "methods that are kernels, whose arguments are arrays",
    "gridlane.xp.protocols": "NumPy's functions on arrays, which stand on arrays",
    "gridlane.compute.outside": "compared with a function's module",
    "gridlane.cuda.numba_compat.installed": "looked up in sys.modules",
}
"""What may close a circle of imports by naming modules, and why."""


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


def test_no_cycle_by_names_of_modules():
    graph = grimp.build_graph("gridlane", exclude_type_checking_imports=False, cache_dir=None)
    files = {name: ROOT / path for name, path in modules(ROOT).items() if name in graph.modules}
    imports = {name: graph.find_modules_directly_imported_by(name) for name in files}
    named = named_modules(files)
    assert cycles({name: imports[name] | _unless_allowed(named, name) for name in files}) == []
    found = cycles({name: imports[name] | named[name] for name in files})
    closing = {name for cycle in found for name in cycle if named[name] & {*cycle}}
    unused = [each for each in NAMES if not any(name.startswith(each) for name in closing)]
    assert unused == []


def _unless_allowed(named: dict[str, set[str]], name: str) -> set[str]:
    return set() if name.startswith("gridlane.backends.") or name in NAMES else named[name]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('import_module("gridlane.a.b")', {"gridlane.a.b"}),
        ('__import__("gridlane.a")', {"gridlane.a"}),
        ('DRIVER = "gridlane.a.b.open"', {"gridlane.a.b"}),
        ('NAMES = {"a.b": "one two"}', {"gridlane.a.b"}),
        ('import_module(f"gridlane.a.{name}")\nNAMES = "b x"', {"gridlane.a", "gridlane.a.b"}),
        ('import_module(f"{__name__}.{name}")\nNAMES = "a c"', {"gridlane.a", "gridlane.c"}),
        ('fail("gridlane.a has no such name: take another")', set()),
        ('"""gridlane.a"""', set()),
        ('NAMES = {"b": "a"}', set()),
    ],
)
def test_names_of_modules_are_found(text, expected, tmp_path):
    files: dict[str, Path] = {}
    for name in ("gridlane", "gridlane.a", "gridlane.a.b", "gridlane.c"):
        file = tmp_path / f"{name}.py" if name != "gridlane" else tmp_path / "__init__.py"
        file.write_text(text if name == "gridlane" else "")
        files[name] = file
    assert named_modules(files)["gridlane"] == expected


def test_all_that_the_compiler_imports_is_in_the_keys_of_its_cache():
    graph = grimp.build_graph("gridlane", exclude_type_checking_imports=True, cache_dir=None)
    used = set(COMPILER_HALF)
    for room in COMPILER_HALF:
        found = graph.find_upstream_modules(f"gridlane.{room}", as_package=True)
        used |= {name.split(".")[1] for name in found if name != "gridlane"}
    assert used == set(COMPILER_HALF)

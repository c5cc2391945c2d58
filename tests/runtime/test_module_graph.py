"""No module of the runtime imports itself by way of others, imports for types included."""

from __future__ import annotations

import grimp


def in_circles(imports: dict[str, set[str]]) -> set[str]:
    """The modules on circles of imports, and between such."""
    left = {module: set(found) for module, found in imports.items()}
    while True:
        imported = set().union(*left.values())
        ends = {module for module, found in left.items() if not found or module not in imported}
        if not ends:
            return set(left)
        left = {module: found - ends for module, found in left.items() if module not in ends}


def test_circles_are_found():
    assert in_circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == {"b", "c"}
    assert in_circles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == set()


def test_the_runtime_has_none():
    graph = grimp.build_graph("gridlane", exclude_type_checking_imports=False, cache_dir=None)
    modules = {name for name in graph.modules if name.startswith("gridlane.runtime")}
    assert "gridlane.runtime.drivers.vulkan.stream" in modules
    imports = {name: graph.find_modules_directly_imported_by(name) & modules for name in modules}
    assert in_circles(imports) == set()

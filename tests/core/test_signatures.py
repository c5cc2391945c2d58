"""The parameters of functions whose annotations cannot be evaluated."""

from __future__ import annotations

import sys

import pytest

from gridlane.core.signatures import signature_of


def test_parameters_and_defaults():
    def function(x: NowhereDefined, /, y: int = 2, *, z=3):  # noqa: F821
        return x

    found = signature_of(function)
    assert {n: p.default for n, p in found.parameters.items() if p.default is not p.empty} == {
        "y": 2,
        "z": 3,
    }
    assert list(found.parameters) == ["x", "y", "z"]
    found.bind(1, z=2)


@pytest.mark.skipif(sys.version_info < (3, 14), reason="annotations are evaluated at once")
def test_annotations_that_name_what_is_defined_later():
    space = {}
    exec("def function(x: NowhereDefined, y): pass\n", space)
    assert list(signature_of(space["function"]).parameters) == ["x", "y"]

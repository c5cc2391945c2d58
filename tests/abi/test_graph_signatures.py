"""The functions of graphs and captures in Python against NVIDIA's bindings, where they are."""

import re

import pytest

from gridlane.abi.calls.registry import calls
from gridlane.abi.python.functions import resolve
from gridlane.core.cuda_table.functions import functions

FAMILIES = "graphs", "capture"


def told(api):
    """What the bindings' own descriptions say: the parameters of each function, and how many values
    it gives back."""
    module = pytest.importorskip(f"cuda.bindings.{api}")
    found = {}
    for row in functions(api).values():
        function = getattr(module, row.base, None)
        if row.family in FAMILIES and row.outs is not None and function is not None:
            first, _, rest = function.__doc__.partition("\n")
            inside = re.sub(r"\[[^()]*?\](?=[,)])", "", first.partition("(")[2].rstrip(")"))
            inside = re.sub(r"\w+\[[^\]]*\]( \| \w+\[[^\]]*\])*\]?", "", inside)
            names = [re.split(r"[:=]", each)[0].split() for each in inside.split(",")]
            section = rest.partition("Returns\n-------\n")[2].partition("\n\n")[0]
            outs = re.findall(r"^\w+ : ", section, re.MULTILINE)
            found[row.base] = [each[-1].lstrip("*") for each in names if each], len(outs)
    return found


def ours(api, name):
    first = resolve(api, name).__doc__.partition("\n")[0]
    names, outs = re.fullmatch(r"\w+\((.*)\) -> \((.*)\)", first).groups()
    return [each for each in names.split(", ") if each], len(outs.split(", ")) - 1


@pytest.mark.parametrize("api, count", [("driver", 85), ("runtime", 85)])
def test_parameters_and_results_are_those_of_the_bindings(api, count):
    there = told(api)
    assert len(there) >= count
    assert {name: ours(api, name) for name in there} == there


@pytest.mark.parametrize("api", ["driver", "runtime"])
def test_every_function_is_there_or_says_why_not(api):
    for name, row in functions(api).items():
        if row.family in FAMILIES:
            assert (name in calls(api)) != bool(row.refused), name

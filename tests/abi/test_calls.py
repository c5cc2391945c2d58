"""What the functions take and give back, against the rows of the table."""

import inspect

import pytest

from gridlane.abi.calls import registry
from gridlane.abi.calls.registry import calls
from gridlane.core.cuda_table import functions

APIS = ["driver", "runtime", "nvrtc"]


@pytest.mark.parametrize("api", APIS)
def test_a_call_takes_what_its_row_does_not_give_back(api):
    wrong = {}
    for name, call in calls(api).items():
        row = functions(api)[name]
        given = set(row.given) - set(row.both)
        taken = [each.name for each in row.parameters if each.name not in given]
        params = inspect.signature(call).parameters.values()
        if any(each.kind is each.VAR_POSITIONAL for each in params):
            continue
        if len(params) != len(taken):
            wrong[name] = taken, [each.name for each in params]
    assert wrong == {}


def test_each_call_has_a_row():
    assert all(list(calls(api)) for api in APIS)  # which imports all modules
    known = {name for api in APIS for name in functions(api)}
    assert set(registry.written) - known == set()


@pytest.mark.parametrize("api", APIS)
def test_a_refused_function_has_no_call(api):
    refused = {name for name, row in functions(api).items() if row.refused}
    assert refused & set(calls(api)) == set()

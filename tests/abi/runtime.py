"""Calls by their results."""

from gridlane.abi import errors
from gridlane.abi.calls.registry import calls
from gridlane.core.cuda_table import functions
from gridlane.cuda import runtime as rt

OK = rt.cudaError_t.cudaSuccess


def good(result):
    """What a call gives back, if it succeeded."""
    assert not result[0], result
    return result[1] if len(result) == 2 else result[1:] or None


def error(result):
    """The error of a call, which gives nothing back then."""
    assert result[0] and not any(each is not None for each in result[1:]), result
    return result[0]


def called(name, *values):
    """The error and the results of a function that only programs in C have."""
    api = "runtime" if name.startswith("cuda") else "driver"
    return errors.called(functions(api)[name], calls(api).get(name), values)

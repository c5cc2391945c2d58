"""Loops of others' reports: by each device, by one thread, and by the kernels that GPUs get."""

from __future__ import annotations

import numpy as np
import pytest
from tests.compute.gpu_kernels import run_ways
from tests.compute.reported import REPORTS, Report
from tests.devices import DEVICES

import gridlane

EVERY = ["interp", *DEVICES]


def require(report: Report, arguments: tuple, results: dict[int, np.ndarray], how: str) -> None:
    for place, wanted in results.items():
        if report.is_exact:
            assert (arguments[place] == wanted).all(), how
        else:
            assert np.allclose(arguments[place], wanted, rtol=1e-12), how


def case(name: str) -> tuple[Report, dict[int, np.ndarray]]:
    report = REPORTS[name]
    return report, report.wanted(*report.make(np.random.default_rng(5)))


@pytest.mark.parametrize("device", EVERY)
@pytest.mark.parametrize("name", REPORTS)
def test_devices(name: str, device: str) -> None:
    report, results = case(name)
    with gridlane.device(device):
        for run in (report.nest, report.nest, report.nest.plain):  # the second is a known call
            arguments = report.make(np.random.default_rng(5))
            run(*arguments)
            require(report, arguments, results, f"{device}, {run}")


@pytest.mark.parametrize("name", REPORTS)
def test_kernels_of_gpus(name: str) -> None:
    report, results = case(name)
    for arguments, how in run_ways(report.nest, lambda: report.make(np.random.default_rng(5))):
        require(report, arguments, results, how)

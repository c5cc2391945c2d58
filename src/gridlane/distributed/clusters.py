"""Clusters of Dask: a local one, and others that learn to send arrays."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from gridlane.core.config import config
from gridlane.core.errors import ArgumentError, MissingError


def dask(name: str = "dask") -> Any:
    """A module of Dask.

    Raises:
        MissingError: it is not installed.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise MissingError(
            f"gridlane.distributed needs {error.name}, which is not installed: "
            "pip install 'gridlane[dask]'"
        ) from error


def local(n: int | None = None, *, threads: int = 1, **options: Any) -> Any:
    """Start processes on this machine as a cluster of Dask.

    Args:
        n: how many; by default one for each two cores, at least one.
        threads: of each process, which run tasks.
        options: of ``distributed.LocalCluster``.

    Returns:
        The ``distributed.Client``, a context manager, whose end is that of the processes. Start it
        under ``if __name__ == "__main__"``, as the processes import the program's module.

    Raises:
        ArgumentError: ``n`` or ``threads`` is less than one.
        MissingError: Dask is not installed.
    """
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    count = max(1, cores // 2) if n is None else n
    if count < 1 or threads < 1:
        raise ArgumentError(f"local({n!r}, threads={threads!r}): both are at least 1")
    distributed = dask("distributed")
    # The processes share the cores among their kernels.
    environment = {"GRIDLANE_THREADS": str(config().threads or max(1, cores // count))}
    given = {
        "dashboard_address": None, "processes": True, "preload": ["gridlane.distributed"],
        "env": environment,
    }  # fmt: skip
    given |= options
    client = distributed.Client(n_workers=count, threads_per_worker=threads, **given)
    register_sizes()
    return client


def connect(client: Any) -> Any:
    """Let the workers of a client send device arrays, those that come later too. Other clusters
    than ``local`` need it, or ``dask worker --preload gridlane.distributed``.

    Returns:
        The client.
    """
    # A class of Dask's, which is not there until it is asked for; workers take it by value.
    base = dask("distributed").WorkerPlugin
    names = {"name": "gridlane", "setup": lambda self, worker: dask_setup(worker)}
    client.register_plugin(type("GridlanePlugin", (base,), names)())
    register_sizes()
    return client


def dask_setup(worker: Any) -> None:
    """What Dask calls in each worker that loads ``gridlane.distributed`` first."""
    register_sizes()


def register_sizes() -> None:
    """Let Dask know how much memory arrays take, by which it spills and places tasks."""
    from gridlane import xp
    from gridlane.cuda.numba_compat.devicearray import DeviceNDArray

    sizes = dask("dask.sizeof").sizeof
    sizes.register(DeviceNDArray, lambda array: int(array.nbytes))
    sizes.register(xp.Array, lambda array: int(array.nbytes))

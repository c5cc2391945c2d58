"""Kernels and arrays on several machines, by engines that exist: Dask, and whatever pickles.

Importing this module lets device arrays and those of ``gridlane.xp`` be pickled: with protocol 5
their memory is a buffer of its own, which Dask sends as a frame, without a copy where the host sees
the memory. Device arrays arrive on the device that the thread there uses.

>>> import pickle
>>> import numpy as np
>>> from gridlane import cuda
>>> import gridlane.distributed
>>> array = pickle.loads(pickle.dumps(cuda.to_device(np.arange(3))))
>>> array.copy_to_host()
array([0, 1, 2])
"""

from __future__ import annotations

from gridlane.distributed.arrays import register
from gridlane.distributed.blocks import map_blocks, map_overlap
from gridlane.distributed.clusters import connect, dask_setup, local

__all__ = ["connect", "dask_setup", "local", "map_blocks", "map_overlap"]

register()

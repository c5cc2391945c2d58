"""The types of arrays' elements in checkpoints."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

_BFLOAT16 = "bfloat16"


def to_table(dtype: np.dtype[Any]) -> Any:
    """A type as a value of JSON, from which ``from_table`` makes it again.

    >>> to_table(np.dtype("f4")), to_table(np.dtype((np.int16, (2, 3))))
    ('<f4', {'element': '<i2', 'shape': [2, 3]})
    """
    if dtype == ml_dtypes.bfloat16:
        return _BFLOAT16
    if dtype.subdtype is not None:
        return {"element": to_table(dtype.subdtype[0]), "shape": list(dtype.shape)}
    if dtype.fields is None:
        return dtype.str
    fields: Any = dtype.fields
    members = [fields[name] for name in dtype.names or ()]
    return {
        "names": list(dtype.names or ()),
        "formats": [to_table(each[0]) for each in members],
        "offsets": [each[1] for each in members],
        "itemsize": dtype.itemsize,
        "aligned": dtype.isalignedstruct,
    }


def from_table(table: Any) -> np.dtype[Any]:
    """The type of a value of JSON; TypeError, KeyError or ValueError where it is invalid."""
    if table == _BFLOAT16:
        return np.dtype(ml_dtypes.bfloat16)
    if isinstance(table, str):
        result = np.dtype(table)
        if result.hasobject:
            raise TypeError("objects of Python are not in device memory")
        return result
    if "shape" in table:
        return np.dtype((from_table(table["element"]), tuple(table["shape"])))
    spec: Any = {name: table[name] for name in ("names", "offsets", "itemsize")}
    spec["formats"] = [from_table(each) for each in table["formats"]]
    return np.dtype(spec, align=table["aligned"])

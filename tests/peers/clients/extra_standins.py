"""A plugin of pytest for the tests of array-api-extra: gridlane.xp is behind the name ``cupy``, the
library that these tests need no further module for, and they run for it alone."""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import Any

import pytest

from gridlane import xp

sys.path.insert(0, os.path.join(os.environ["EXTRA"], "src"))


class _Named(ModuleType):
    """The namespace by the name of the library; its arrays say that it is gridlane.xp.

    Attributes:
        ndarray: the library's arrays, of which there are none.
    """

    ndarray = type("ndarray", (), {})

    def __getattr__(self, name: str) -> Any:
        return getattr(xp, name)


sys.modules["cupy"] = _Named("cupy")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests of other libraries, and of none."""
    own = [each for each in items if _is_own(each)]
    config.hook.pytest_deselected(items=[each for each in items if not _is_own(each)])
    items[:] = own


def _is_own(item: pytest.Item) -> bool:
    called = getattr(item, "callspec", None)
    return called is not None and getattr(called.params.get("library"), "value", "") == "cupy"

"""Tests that need a GPU are collected where GRIDLANE_TEST_GPU=1 says that there is one."""

from __future__ import annotations

import os

collect_ignore_glob = [] if os.environ.get("GRIDLANE_TEST_GPU") == "1" else ["test_*.py"]

"""Settings of all tests."""

from __future__ import annotations

import os

from hypothesis import settings
from tests.effort import NIGHTLY

# In CI the random cases are the same at every run, so that a change is judged by what it changes;
# everywhere else each run tries new ones (`make fuzz` and the nightly run many).
settings.register_profile("ci", derandomize=True, deadline=None, database=None)
settings.register_profile("local", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") and not NIGHTLY else "local")

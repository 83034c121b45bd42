"""The fixtures of every test, and how hypothesis runs."""

from __future__ import annotations

import os

from hypothesis import settings

pytest_plugins = [
    # In this order, since each must be imported as a plugin before another imports it.
    "pytester",
    "tests.support.validation",
    "tests.support.stub",
    "tests.support.aio_stub",
    "tests.support.engines",
    "tests.support.tables",
]

# No deadline: a busy machine is not a failure. In CI the same examples each time, so that a red run can be repeated.
settings.register_profile("tablekit", deadline=None, print_blob=True, derandomize="CI" in os.environ)
# On other interpreters and releases (.ci/compat), where what differs shows in the first examples.
settings.register_profile("tablekit-quick", settings.get_profile("tablekit"), max_examples=15)
settings.load_profile("tablekit")

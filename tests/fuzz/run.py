"""Feeds one target from atheris, which looks for inputs that reach new code.

::

    python -m tests.fuzz.run answer -runs=100000 -max_len=4000     # in an environment with atheris and the library

It begins with the corpus, keeps nothing, and ends with a traceback and the input where a target raises.
"""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["tablekit"]):
    from tests.fuzz.mutations import CORPUS
    from tests.fuzz.targets import TARGETS


def main() -> None:
    """Fuzz."""
    name, *options = sys.argv[1:]
    atheris.Setup([sys.argv[0], *options, str(CORPUS / name)], TARGETS[name])
    atheris.Fuzz()


if __name__ == "__main__":
    main()

"""Where the command `tablekit` begins, installed with its extra or not."""

from __future__ import annotations

import sys

__all__ = ["main"]

NEEDED = ("click", "rich")


def main() -> None:
    """Run the command, or say how to install what it needs and exit with 2."""
    try:
        from tablekit.cli import main as command
    except ModuleNotFoundError as error:
        if error.name not in NEEDED:
            raise
        sys.stderr.write('tablekit: the command needs the extra: pip install "tablekit[cli]"\n')
        sys.exit(2)
    command()


if __name__ == "__main__":
    main()

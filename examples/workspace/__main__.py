"""``python -m examples.workspace``; needs ``pip install "tablekit[local,cli]"``."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    try:
        from examples.workspace.command import main
    except ModuleNotFoundError as error:
        if error.name not in ("click", "rich"):
            raise
        sys.exit(f'The example needs {error.name}. Install it: pip install "tablekit[local,cli]"')
    main(prog_name="python -m examples.workspace")

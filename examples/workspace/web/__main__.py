"""``python -m examples.workspace.web``; needs ``pip install "tablekit[local,cli,cursors]"`` and the group ``web``."""

from __future__ import annotations

import sys

NEEDED = ("click", "itsdangerous", "jinja2", "markdown_it", "multipart", "python_multipart", "starlette", "uvicorn")

if __name__ == "__main__":
    try:
        from examples.workspace.web.command import main
    except ModuleNotFoundError as error:
        if error.name not in NEEDED:
            raise
        sys.exit(f'The web app needs {error.name}. Install it: pip install "tablekit[local,cli,cursors]" --group web')
    main(prog_name="python -m examples.workspace.web")

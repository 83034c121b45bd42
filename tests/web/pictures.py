"""Makes the pictures of docs/_static/screens anew: ``python -m tests.web.pictures``, with Chromium on the PATH."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from tests.web.conftest import found, write

ROOT = Path(__file__).parents[2]
SCREENS = ROOT / "docs" / "_static" / "screens"
SIZE = {"width": 1200, "height": 750}


def main() -> None:
    """Serve a copy of the documentation, without its history, and look at it."""
    with tempfile.TemporaryDirectory() as folder:
        ignored = shutil.ignore_patterns("_*", "reference")
        notes = shutil.copytree(ROOT / "docs", Path(folder) / "handbook", ignore=ignored)
        command = [sys.executable, "-m", "examples.workspace.web", "--port", "0", "--keep", f"{folder}/data"]
        with subprocess.Popen([*command, "--path", str(notes)], stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            address = next(line.split()[1] for line in server.stdout if line.startswith("Workspaces: "))
            with sync_playwright() as playwright:
                program = shutil.which("chromium")
                browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
                pictures(browser, address.rstrip("/"))
            server.terminate()


def pictures(browser: Browser, address: str) -> None:
    """All of them."""
    page = browser.new_context(base_url=address, viewport=SIZE, color_scheme="light").new_page()  # type: ignore[arg-type]
    found(page, "Lighthouse")
    where = write(
        page, "lighthouse", "Opening hours", "Daily, from nine to five.\nClosed in January.\n", tags="visitors"
    )
    page.get_by_label("Your comment, Ada").fill("And at Easter?")
    page.get_by_role("button", name="Say it").click()
    conflict(page, where)
    page.goto("/w/handbook")
    page.get_by_text("comment").first.wait_for(state="attached")
    keep(page, "workspace")
    page.goto("/table?pk=WS%23lighthouse")
    keep(page, "table")
    page.goto("/flags")
    keep(page, "flags")


def conflict(page: Page, where: str) -> None:
    """Two tabs save the same revision."""
    tabs = [page, page.context.new_page()]
    for tab in tabs:
        tab.goto(where)
        tab.get_by_role("link", name="Edit").click()
    tabs[0].get_by_label("Text").fill("Daily, from ten to five.\nClosed in January.\n")
    tabs[1].get_by_label("Text").fill("Daily, from nine to six.\nClosed in January.\n")
    for tab in tabs:
        tab.get_by_role("button", name="Save").click()
    tabs[1].get_by_role("heading", name="It was changed meanwhile").wait_for()
    keep(tabs[1], "conflict")
    tabs[1].close()


def keep(page: Page, name: str) -> None:
    """Take a picture."""
    SCREENS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENS / f"{name}.png")


if __name__ == "__main__":
    main()

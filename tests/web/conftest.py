"""The web app as ``make app`` serves it, and a browser that looks at it."""

from __future__ import annotations

import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "artefacts"

NOTES = {
    "welcome.md": "# Welcome\n\nThis workspace was imported from a folder.\n",
    "guides/keys.md": "# Keys\n\nA `|` stands between cells.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
}


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the app, with an engine of its own and two imported documents."""
    folder = tmp_path_factory.mktemp("web")
    for name, text in NOTES.items():
        path = folder / "notes" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    command = [sys.executable, "-m", "examples.workspace.web", "--port", "0", "--keep", str(folder / "data")]
    with subprocess.Popen(
        [*command, "--path", str(folder / "notes")], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        lines = []
        for line in server.stdout:
            lines.append(line)
            if line.startswith("Workspaces: "):
                break
        else:
            pytest.fail("the web app did not start: " + "".join(lines))
        yield lines[-1].split()[1].rstrip("/")
        server.terminate()


@pytest.fixture
def client(site: str) -> Iterator[httpx.Client]:
    """A browser without a screen: it keeps cookies, and follows no redirects."""
    with httpx.Client(base_url=site, timeout=30) as client:
        yield client


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium. It ends with the module, since Playwright's loop would be in the way of asyncio.run."""
    program = shutil.which("chromium")
    if program is None:
        pytest.fail("chromium is not on the PATH; .ci/needs installs it", pytrace=False)
    expect.set_options(timeout=20_000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


Tab = Callable[..., Page]


@pytest.fixture
def tab(browser: Browser, site: str, request: pytest.FixtureRequest) -> Iterator[Tab]:
    """Opens a tab of one browser session; what the page logs as an error or raises fails the test.

    A picture of each tab is left in artefacts/ when the test ends.
    """
    context = browser.new_context(base_url=site, viewport={"width": 1280, "height": 900})
    context.set_default_timeout(20_000)
    problems: list[str] = []

    def opened(path: str = "/") -> Page:
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("dialog", lambda dialog: (problems.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.goto(path)
        return page

    yield opened
    PICTURES.mkdir(exist_ok=True)
    for number, page in enumerate(context.pages):
        page.screenshot(path=PICTURES / f"{request.node.name[:100].replace('/', '-')}-{number}.png")
    context.close()
    assert problems == []


@pytest.fixture
def name() -> str:
    """The name of a workspace that no other test has."""
    return f"team-{uuid.uuid4().hex[:10]}"


def found(page: Page, name: str) -> None:
    """Found a workspace; its owner is then signed in."""
    page.goto("/")
    page.get_by_label("Its name").fill(name)
    page.get_by_label("Your name").fill("Ada")
    page.get_by_label("Your e-mail address").fill("ada@example.com")
    page.get_by_role("button", name="Found it").click()
    page.get_by_text(f"{name} is yours.").wait_for()


def write(page: Page, workspace: str, title: str, body: str = "A text.", **more: Any) -> str:
    """Create a document; gives the address of its page."""
    page.goto(f"/w/{workspace}/new")
    page.get_by_label("Title").fill(title)
    page.get_by_label("Text").fill(body)
    for label, value in more.items():
        page.get_by_label(label.capitalize()).fill(value)
    page.get_by_role("button", name="Create").click()
    page.get_by_role("heading", level=1, name=title).wait_for()
    return page.url

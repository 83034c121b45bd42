"""The web app in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.web.conftest import Tab, found, write

PAGES = ["/", "/w/notes", "/w/notes/doc/welcome.md", "/w/notes/feed", "/w/notes/join", "/flags", "/table", "/nowhere"]
AXE = Path(__file__).parents[1] / "node_modules/axe-core/axe.min.js"
TABLE = ["/table?pk=WS%23notes", "/table/row?pk=WS%23notes&sk=META"]


@pytest.mark.parametrize("width", [360, 1440])
@pytest.mark.parametrize("path", PAGES + TABLE)
def test_a_page_fits_its_window(browser: Browser, site: str, path: str, width: int) -> None:
    """No page scrolls sideways, on a telephone or on a wide screen; each has one heading of the first level."""
    with browser.new_context(base_url=site, viewport={"width": width, "height": 800}) as context:
        page = context.new_page()
        page.goto(path)

        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        assert page.locator("h1").count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", [*PAGES, *TABLE, "/w/notes/doc/guides/keys.md"])
def test_axe_finds_nothing_that_keeps_people_from_using_a_page(
    browser: Browser, site: str, path: str, scheme: Literal["light", "dark"]
) -> None:
    """Contrast, names of controls, order of headings, landmarks: the rules of WCAG 2.2 AA and axe's best practices."""
    # The site's policy allows no script of others, this one included.
    with browser.new_context(base_url=site, color_scheme=scheme, bypass_csp=True) as context:
        page = context.new_page()
        page.goto(path)
        page.add_script_tag(path=AXE)

        found = page.evaluate("axe.run()")["violations"]

    assert {each["id"]: [node["html"] for node in each["nodes"]] for each in found} == {}


def test_a_workspace_page_is_one_query_of_its_mixed_partition(tab: Tab) -> None:
    """Documents and members come from one Query, which the page shows."""
    page = tab("/w/notes")

    expect(page.get_by_role("link", name="Keys")).to_be_visible()
    page.get_by_text("Behind this page").click()
    operations = page.get_by_role("region", name="Requests behind this page").locator("tbody td:first-child")
    assert [text for text in operations.all_inner_texts() if text != "GetItem"] == ["Query"]


def test_the_second_of_two_tabs_sees_the_conflict_and_both_versions(tab: Tab, name: str) -> None:
    """Whoever saves later is shown what the other saved, and may still save theirs over it."""
    first = tab()
    found(first, name)
    where = write(first, name, "Plan", "one\ntwo\nthree")
    second = tab(where)
    for page in (first, second):
        page.goto(where)
        page.get_by_role("link", name="Edit").click()
    first.get_by_label("Title").fill("Plan of Ada")
    first.get_by_role("button", name="Save").click()
    expect(first.get_by_role("heading", level=1, name="Plan of Ada")).to_be_visible()

    second.get_by_label("Text").fill("one\n2\nthree")
    second.get_by_role("button", name="Save").click()

    expect(second.get_by_role("heading", name="It was changed meanwhile")).to_be_visible()
    expect(second.get_by_role("row", name="title Plan of Ada Plan")).to_be_visible()
    expect(second.locator(".difference .theirs")).to_have_text("-two")
    expect(second.locator(".difference .mine")).to_have_text("+2")
    second.get_by_role("button", name="Save mine over revision 2").click()
    expect(second.get_by_text("Saved as revision 3.")).to_be_visible()
    expect(second.get_by_role("heading", level=1, name="Plan", exact=True)).to_be_visible()


def test_a_slug_is_an_address_and_no_two_documents_share_one(tab: Tab, name: str) -> None:
    """The second document with a slug is refused in the form, with what was typed still there."""
    page = tab()
    found(page, name)
    where = write(page, name, "First", slug="start")
    page.goto(f"/w/{name}/start")
    assert page.url == where

    page.goto(f"/w/{name}/new")
    page.get_by_label("Title").fill("Second")
    page.get_by_label("Slug").fill("start")
    page.get_by_role("button", name="Create").click()

    expect(page.get_by_text("Another document of this workspace has this slug.")).to_be_visible()
    expect(page.get_by_label("Title")).to_have_value("Second")


def test_script_in_what_people_write_is_text(tab: Tab, name: str) -> None:
    """Titles, texts, tags and comments are shown as they are written; nothing of them runs."""
    script = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    page = tab()
    found(page, name)
    write(page, name, script, f"{script}\n\n[link](javascript:alert(3))", tags=script)
    page.get_by_label("Your comment, Ada").fill(script)
    page.get_by_role("button", name="Say it").click()

    expect(page.locator(".said")).to_contain_text(script)
    expect(page.get_by_role("heading", level=1)).to_have_text(script)
    assert page.locator("main img, main script, a[href^=javascript]").count() == 0


def test_the_feed_goes_page_by_page_and_back(tab: Tab, name: str) -> None:
    """Older and newer pages are links; no document is on two of them."""
    page = tab()
    found(page, name)
    for number in range(12):
        write(page, name, f"Note {number:02}")

    page.goto(f"/w/{name}/feed")
    titles = page.locator(".feed li h3, .feed li a:first-child")
    newest = titles.all_inner_texts()
    page.get_by_role("link", name="Older").click()
    older = titles.all_inner_texts()
    page.get_by_role("link", name="Newer").click()

    assert newest[0] == "Note 11"
    assert older[-1] == "Note 00"
    assert not set(newest) & set(older)
    expect(titles.first).to_have_text("Note 11")


@pytest.fixture
def flags(tab: Tab) -> Iterator[Page]:
    """The page of the flags; they are put back as they were."""
    page = tab("/flags")
    yield page
    page.goto("/flags")
    for name, value in {"signup_enabled": True, "maintenance_mode": False, "ai_search_enabled": False}.items():
        page.get_by_role("switch", name=name).set_checked(value)
    page.get_by_role("button", name="Change the flags").click()
    page.get_by_role("status").first.wait_for()


def test_a_flag_that_is_flipped_is_seen_by_the_site(flags: Page, tab: Tab) -> None:
    """Maintenance closes the pages and not the operator's; sign-up closes the form."""
    flags.get_by_role("switch", name="maintenance_mode").check()
    flags.get_by_role("button", name="Change the flags").click()
    expect(flags.get_by_role("switch", name="maintenance_mode")).to_be_checked()
    visitor = tab("/w/notes")
    expect(visitor.get_by_role("heading", level=1)).not_to_have_text("Notes")

    flags.get_by_role("switch", name="maintenance_mode").uncheck()
    flags.get_by_role("switch", name="signup_enabled").uncheck()
    flags.get_by_role("button", name="Change the flags").click()
    expect(flags.get_by_role("switch", name="signup_enabled")).not_to_be_checked()
    visitor.goto("/w/notes/join")
    expect(visitor.get_by_text("Sign-up is closed at the moment.")).to_be_visible()


def test_the_operator_who_is_late_is_shown_the_race(flags: Page, tab: Tab) -> None:
    """A second change on the same version is not written, and says what moved."""
    other = tab("/flags")
    flags.get_by_role("switch", name="ai_search_enabled").check()
    flags.get_by_role("button", name="Change the flags").click()
    expect(flags.get_by_role("switch", name="ai_search_enabled")).to_be_checked()

    other.get_by_role("switch", name="maintenance_mode").check()
    other.get_by_role("button", name="Change the flags").click()

    expect(other.get_by_role("heading", name="Another operator was first")).to_be_visible()
    expect(other.get_by_role("row", name="ai_search_enabled")).to_contain_text("changed meanwhile")


def test_the_table_page_says_query_or_scan_before_it_runs(tab: Tab) -> None:
    """Without a partition key nothing is sent until the reader asks for the Scan."""
    page = tab("/table")
    expect(page.get_by_role("button", name="Scan", exact=True)).to_be_visible()
    expect(page.get_by_text("Nothing was sent yet.")).to_be_visible()

    page.get_by_role("textbox", name="Partition key").fill("WS#notes")
    page.get_by_role("button", name="Query", exact=True).click()

    expect(page.get_by_text("Query: 3 rows shown")).to_be_visible()
    page.get_by_role("combobox", name="Type").select_option("Workspace")
    page.get_by_role("button", name="Query", exact=True).click()
    expect(page.get_by_role("region", name="Rows").locator("tbody tr")).to_have_count(1)
    assert "type=Workspace" in page.url


def test_a_staged_edit_names_what_changed_meanwhile(tab: Tab, name: str) -> None:
    """It is sent under the condition that the field is as it was seen; the refusal says what it is now."""
    page = tab()
    found(page, name)
    row = f"/table/row?pk=WS%23{name}&sk=META"
    page.goto("/table")
    page.get_by_role("button", name="Switch edits on").click()
    page.goto(row)
    page.get_by_label("name", exact=True).fill("Mine")
    page.get_by_role("button", name="Stage the changes").click()
    expect(page.get_by_role("heading", name="Staged edits")).to_be_visible()
    other = tab("/table")
    other.get_by_role("button", name="Back to read only").wait_for()
    other.goto(row)
    change_elsewhere(other, "Theirs")

    page.get_by_role("button", name="Send 1 edit").click()

    expect(page.get_by_role("alert")).to_contain_text("1 row refused")
    expect(page.get_by_text("Theirs")).to_be_visible()
    page.get_by_role("button", name="Drop all").click()
    expect(page.get_by_text("Nothing is staged.")).to_be_visible()


def change_elsewhere(page: Page, value: str) -> None:
    """Another operator, with a session of their own, changes the row that a tab shows."""
    with page.context.browser.new_context(base_url=page.url) as context:  # type: ignore[union-attr]
        context.set_default_timeout(20_000)
        other = context.new_page()
        other.goto("/table")
        other.get_by_role("button", name="Switch edits on").click()
        other.goto(page.url)
        other.get_by_label("name", exact=True).fill(value)
        other.get_by_role("button", name="Stage the changes").click()
        other.get_by_role("button", name="Send 1 edit").click()
        other.get_by_text("Sent: 1 of 1 rows written.").wait_for()


def test_everything_can_be_reached_by_the_keyboard(tab: Tab) -> None:
    """The first Tab shows a way past the navigation; Enter follows it; a query is asked for without a mouse."""
    page = tab("/table")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()

    page.get_by_role("textbox", name="Partition key").focus()
    page.keyboard.type("WS#notes")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Query: 3 rows shown")).to_be_visible()
    page.get_by_role("region", name="Rows").get_by_role("link", name="META").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("META")


def test_a_request_can_be_copied(tab: Tab) -> None:
    """The button beside a request copies it, and says so to those who hear the page."""
    page = tab("/table?pk=WS%23notes")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])

    page.get_by_role("button", name="Copy In DynamoDB's names").click()

    expect(page.locator("#said")).to_have_text("Copied.")
    assert "KeyConditionExpression" in page.evaluate("navigator.clipboard.readText()")


def test_pages_work_in_the_dark(browser: Browser, site: str) -> None:
    """The page follows the reader's colour scheme."""
    grounds = []
    for scheme in ("light", "dark"):
        with browser.new_context(base_url=site, color_scheme=scheme) as context:  # type: ignore[arg-type]
            page = context.new_page()
            page.goto("/")
            grounds.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    assert grounds[0] != grounds[1]

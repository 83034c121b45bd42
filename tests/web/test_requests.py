"""What the web app answers to requests that no page of it makes, and to failures of the engine."""

from __future__ import annotations

import asyncio
import html
import re
import socket

import httpx
import pytest

from examples.workspace.models import app
from examples.workspace.web.site import site as web_site


def token(client: httpx.Client, path: str = "/") -> str:
    """The token that the forms of a page carry."""
    found = re.search(r'name="token" value="([^"]+)"', client.get(path).text)
    assert found is not None
    return found.group(1)


def post(client: httpx.Client, path: str, **fields: str) -> httpx.Response:
    """Send a form as a page of this session would."""
    return client.post(path, data={"token": token(client, "/flags"), **fields})


def join(client: httpx.Client, email: str) -> str:
    """Join the imported workspace; gives the code to sign in by."""
    assert post(client, "/w/notes/join", name="Ada", email=email).status_code == 303
    found = re.search(r"Your code to sign in again is (\S+);", client.get("/w/notes").text)
    assert found is not None
    return found.group(1)


@pytest.mark.parametrize("given", [{}, {"token": ""}, {"token": "x" * 32}])
def test_a_form_without_the_sessions_token_changes_nothing(client: httpx.Client, given: dict[str, str]) -> None:
    """The cookie alone, which another site could have sent, is not enough."""
    token(client, "/flags")

    answer = client.post("/flags", data={**given, "version": "1", "maintenance_mode": "on"})

    assert answer.status_code == 403
    assert client.get("/w/notes").status_code == 200


def test_a_form_of_another_site_is_refused_with_the_token_too(client: httpx.Client) -> None:
    """A browser says where a form came from."""
    headers = {"origin": "http://elsewhere.example"}
    answer = client.post("/flags/read", data={"token": token(client, "/flags")}, headers=headers)
    assert answer.status_code == 403


def test_another_host_name_gets_no_answer(client: httpx.Client) -> None:
    """A name that another site made to resolve to this machine opens nothing."""
    assert client.get("/", headers={"host": "elsewhere.example"}).status_code == 400


def test_pages_run_and_load_nothing_but_the_sites_own_files(client: httpx.Client) -> None:
    """The policy allows no inline script, no other source and no frame around a page."""
    policy = client.get("/").headers["content-security-policy"]

    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert client.get("/").headers["x-content-type-options"] == "nosniff"


def test_the_cookie_is_kept_from_scripts_and_other_sites(client: httpx.Client) -> None:
    """It is HttpOnly and SameSite."""
    cookie = client.get("/flags").headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie


def test_nobody_writes_without_having_joined(client: httpx.Client) -> None:
    """Creating, saving and commenting are for members."""
    for path in ("/w/notes/new", "/w/notes/edit/welcome.md", "/w/notes/comment/welcome.md"):
        assert post(client, path, title="x", body="x", status="draft", revision="1").status_code == 403


def test_who_is_refused_is_told_where_to_join(client: httpx.Client) -> None:
    """The page of the refusal links to the one that ends it."""
    refused = post(client, "/w/notes/new", title="x", status="draft").text
    assert 'href="/w/notes/join"' in refused


def test_comments_of_html_in_a_document_are_left_out(client: httpx.Client) -> None:
    """A remark to who edits the file is no text of the page; in a block of code it is."""
    join(client, "remarks@example.com")
    body = "<!-- a remark -->\n\nSome text.\n\n```\n<!-- code -->\n```\n"
    there = post(client, "/w/notes/new", title="Remarks", body=body, status="draft").headers["location"]

    page = client.get(there).text

    assert "Some text." in page
    assert "a remark" not in page
    assert "&lt;!-- code --&gt;" in page


def test_signing_in_takes_the_code_that_joining_gave(client: httpx.Client) -> None:
    """Another code is refused, and so is an address that nobody has."""
    code = join(client, "signs@example.com")
    post(client, "/w/notes/sign-out")
    assert post(client, "/w/notes/new", title="x", status="draft").status_code == 403

    for email, given in (("signs@example.com", "wrong"), ("nobody@example.com", code)):
        assert post(client, "/w/notes/sign-in", sign_in_email=email, code=given).status_code == 403
    assert post(client, "/w/notes/sign-in", sign_in_email="signs@example.com", code=code).status_code == 303
    assert client.get("/w/notes/new").status_code == 200


def test_a_secret_is_masked_on_the_table_page(client: httpx.Client) -> None:
    """The hash of a member's code is shown nowhere: not in the table, and not in the row."""
    join(client, "hidden@example.com")

    table = client.get("/table", params={"pk": "WS#notes", "type": "Member"}).text
    row = client.get("/table/row", params={"pk": "WS#notes", "sk": "MEMBER#hidden@example.com"}).text

    assert "code_hash" in row
    assert not re.search(r"[0-9a-f]{64}", table + row)


def test_the_table_is_read_only_until_edits_are_switched_on(client: httpx.Client) -> None:
    """Staging and sending are refused before."""
    row = "/table/row?pk=WS%23notes&sk=META"
    assert post(client, row, name="Mine").status_code == 403
    assert post(client, "/table/staged").status_code == 403


def staged(client: httpx.Client, key: str, **fields: str) -> httpx.Response:
    """Stage changes of a row, as the form of its page would, and send them."""
    post(client, "/table/mode", writing="on")
    page = client.get(f"/table/row?{key}").text
    seen = {name: html.unescape(text) for name, text in re.findall(r'name="(was\.\w+)" value="([^"]*)"', page)}
    answer = post(client, f"/table/row?{key}", **seen, **fields)
    assert answer.headers.get("location") == "/table/staged", answer.text
    return post(client, "/table/staged")


def draft(client: httpx.Client, title: str) -> str:
    """Create a document; gives the query string of its row on the table page."""
    there = post(client, "/w/notes/new", title=title, status="draft").headers["location"]
    return f"pk=WS%23notes&sk=DOC%23{there.rpartition('/')[2]}"


def test_a_set_that_is_empty_can_be_edited(client: httpx.Client) -> None:
    """DynamoDB has no empty sets: the row lacks the attribute, and the form shows an empty list."""
    join(client, "sets@example.com")
    key = draft(client, "Without tags")

    assert staged(client, key, tags='["one"]').status_code == 303
    assert "[&#34;one&#34;]" in client.get(f"/table/row?{key}").text


def test_an_edit_that_takes_what_is_anothers_says_so(client: httpx.Client) -> None:
    """The row was not changed meanwhile, and the page does not say that it was."""
    join(client, "slugs@example.com")
    draft(client, "The first one")
    key = draft(client, "The second one")

    answer = staged(client, key, slug="the-first-one")

    assert answer.status_code == 409
    assert "Another row has this workspace_id and slug" in answer.text
    assert "meanwhile" not in answer.text


def test_types_of_which_there_is_one_row_are_no_filter(client: httpx.Client) -> None:
    """The settings' row is shown under its key; a query of its class would be refused."""
    page = client.get("/table", params={"pk": "SETTINGS#APP"}).text
    assert "AppFlags" in page
    assert "<option>AppFlags" not in page
    assert "type=AppFlags" not in page


@pytest.mark.parametrize("path", ["/w/nowhere", "/w/notes/doc/nothing.md", "/table/row?pk=a&sk=b", "/w/a%23b", "/x"])
def test_what_is_not_there_is_a_page_that_says_so(client: httpx.Client, path: str) -> None:
    """404, in the site's own words."""
    answer = client.get(path)
    assert (answer.status_code, "text/html" in answer.headers["content-type"]) == (404, True)
    assert "<h1>" in answer.text


@pytest.mark.parametrize(
    "path", ["/w/notes/feed?after=x", "/table?pk=WS%23notes&cursor=x", "/w/notes/feed?before=AAAA"]
)
def test_a_cursor_that_is_none_is_a_page_that_says_so(client: httpx.Client, path: str) -> None:
    """400, and a way on."""
    assert client.get(path).status_code == 400


def test_a_form_that_is_too_large_is_refused(client: httpx.Client) -> None:
    """By its length, 1 MB, before it is read."""
    assert client.post("/flags", content=b"x" * 1_000_001).status_code == 413


def test_an_engine_that_cannot_be_reached_is_a_page_that_says_so() -> None:
    """503 with a time to try again, and not the maintenance page that the safe flags would give."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}"
        options = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region": "us-east-1", "max_attempts": 1}
        with app.bound(endpoint_url=address, **options):
            answer = asyncio.run(_get("/w/notes"))

    assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
    assert "cannot be reached" in answer.text


async def _get(path: str) -> httpx.Response:
    transport = httpx.ASGITransport(web_site("secret"))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        return await client.get(path)

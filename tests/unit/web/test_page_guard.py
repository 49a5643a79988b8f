"""Who gets in: the session's own browser, from its own pages, and nobody else."""

from __future__ import annotations

import pytest
from tests.unit.web.conftest import BASE, HOST, Browser

from takeback.web.security import HEADERS
from takeback.web.server import ROUTES


def test_without_the_link_nothing_is_shown(browser):
    for path in ("/", "/1/", "/static/htmx.min.js", "/static/takeback.css", "/nothing"):
        answer = browser.stranger.get(path)
        assert answer.status_code == 403
        assert "open the link" in answer.text


def test_the_link_becomes_an_http_only_same_site_cookie(browser):
    fresh = Browser(browser.shelf.all[0].harness)
    assert fresh.get("/1/").status_code == 200
    other = Browser(browser.shelf.all[0].harness)
    answer = other.stranger.get(f"/open?link={other.session.link}")
    assert answer.status_code == 403  # used already, by the other client of this browser
    (cookie,) = list(fresh.client.cookies.jar)
    assert cookie.value == fresh.session.cookie
    assert cookie.has_nonstandard_attr("HttpOnly")
    assert cookie.get_nonstandard_attr("SameSite") == "strict"


def test_the_link_works_once(browser):
    answer = browser.stranger.get(f"/open?link={browser.session.link}")
    assert (answer.status_code, "set-cookie" in answer.headers) == (403, False)


def test_wrong_links_prefetches_and_other_methods_do_not_consume_the_link(three):
    browser = Browser(three)
    browser.session._opened = False
    browser.client.cookies.clear()
    link = f"/open?link={browser.session.link}"
    assert browser.stranger.get("/open?link=wrong").status_code == 403
    assert browser.stranger.get("/open?link=%ff%c3").status_code == 403
    assert browser.stranger.get("/open").status_code == 403
    assert browser.stranger.head(link).status_code == 403
    assert browser.stranger.get(link, headers={"sec-purpose": "prefetch;prerender"}).status_code == 403
    assert browser.stranger.get(link).status_code == 303


@pytest.mark.parametrize("cookie", ["wrong", "", "\xff"])
def test_a_wrong_cookie_is_rejected(browser, cookie):
    header = f"takeback-8765={cookie}".encode("latin-1")
    assert browser.stranger.get("/1/", headers={"cookie": header}).status_code == 403


@pytest.mark.parametrize("host", ["evil.example", f"evil.example:{HOST[-4:]}", "127.0.0.1", "127.0.0.1:1", ""])
def test_other_hosts_are_refused(browser, host):
    assert browser.get("/1/", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
def test_other_methods_are_refused(browser, method):
    assert browser.client.request(method, "/1/").status_code == 405


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"origin": f"https://{HOST}"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_other_origins_are_refused(browser, headers):
    assert browser.get("/1/", headers=headers).status_code == 403


def test_a_change_needs_a_same_origin_header(browser):
    fields = {"form_token": browser.session.form_token}
    assert browser.client.post("/1/", data=fields).status_code == 403
    assert browser.client.post("/1/", data=fields, headers={"sec-fetch-site": "same-origin"}).status_code == 405
    assert browser.client.post("/1/", data=fields, headers={"origin": BASE}).status_code == 405
    assert browser.client.post("/1/", json=fields, headers={"origin": BASE}).status_code == 415


def changing():
    return [route.path.replace("{number:int}", "1") for route in ROUTES if "POST" in route.methods]


def test_no_route_answers_both_get_and_post(browser):
    for route in ROUTES:
        assert not {"GET", "POST"} <= set(route.methods), route.path


@pytest.mark.parametrize("path", changing())
def test_a_form_without_the_token_changes_nothing(browser, path):
    head = browser.shelf.all[0].harness.ledger.head
    assert browser.post(path, {}, token=False).status_code == 403
    assert browser.post(path, {"form_token": browser.session.cookie}, token=False).status_code == 403
    assert browser.shelf.all[0].harness.ledger.head == head


@pytest.mark.parametrize("path", changing())
def test_a_read_only_page_refuses_changes(three, path):
    browser = Browser(three, read_only=True)
    answer = browser.post(path, {})
    assert answer.status_code == 403
    assert "read-only" in answer.text


@pytest.mark.parametrize("path", changing())
def test_a_form_that_is_too_large_is_not_read(browser, path):
    assert browser.post(path, {"note": "x" * 1_100_000}).status_code == 413


def test_every_answer_carries_the_security_headers(browser):
    answers = [
        browser.get("/1/"),
        browser.get("/nothing"),
        browser.get("/9/"),
        browser.get("/1/?surface=nonsense"),
        browser.get("/static/takeback.css"),
        browser.stranger.get("/1/"),
    ]
    assert [answer.status_code for answer in answers] == [200, 404, 404, 400, 200, 403]
    for answer in answers:
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS


def test_the_policy_allows_no_inline_code_and_no_external_content(browser):
    policy = HEADERS["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none'")
    text = browser.get("/1/").text
    assert "<style" not in text
    assert " style=" not in text
    assert "//" not in text.replace("Takeback", "")


def test_web_sockets_are_refused(browser):
    from starlette.websockets import WebSocketDisconnect

    with pytest.raises(WebSocketDisconnect), browser.client.websocket_connect("/1/"):
        pass

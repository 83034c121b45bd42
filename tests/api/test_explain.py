"""Requests shown before they are sent, and what they are expected to cost."""

from __future__ import annotations

import pytest

from tablekit import Entity, Field, GlobalIndex, QueryError, RequestError, Table, field, index_key
from tests.support.models import Comment, Document, Member, Workspace

LOCAL = {"endpoint_url": "http://127.0.0.1:1", "region": "us-east-1"}

feeds = Table("feeds", indexes=[GlobalIndex("GSI1", pk="GSI1PK", sk="GSI1SK")]).connect(**LOCAL)


class Post(Entity, table=feeds, pk="POST#{post_id}", sk="META"):
    """Stands in the feed, among others."""

    post_id: Field[str]
    day: Field[str]
    feed = index_key("GSI1", pk="FEED", sk="{day}")


class Event(Entity, table=feeds, pk="EVENT#{event_id}", sk="META"):
    """Stands in the same feed under keys of the same form."""

    event_id: Field[str]
    day: Field[str]
    feed = index_key("GSI1", pk="FEED", sk="{day}")


class Login(Entity, table=feeds, pk="USER#{user}", sk="LOGIN"):
    """Holds what must not be shown."""

    user: Field[str]
    password: Field[str] = field(secret=True)
    note: Field[str] = field(default="")


def test_the_request_is_what_is_sent(app, recorder):
    """Explain shows the very request that the query then sends."""
    query = Document.query(workspace_id="acme").where(Document.words > 3).reverse().limit(7)
    explained = query.explain()
    assert recorder.sent("Query") == []
    query.all()
    assert recorder.sent("Query") == [explained.request]


def test_a_get_is_explained_as_it_is_sent(app, recorder):
    """A key shows the GetItem of its get, options included."""
    key = Document.key(workspace_id="acme", doc_id="d1")
    explained = key.explain(consistent=True, select=[Document.title])
    key.get(consistent=True, select=[Document.title])
    assert recorder.sent("GetItem") == [explained.request]
    assert explained.estimate(item_bytes=9 * 1024).read_units == 3


def test_inside_a_meter_the_request_asks_for_index_capacity(app, recorder):
    """A meter changes what is sent, and explain shows that too."""
    with app.meter():
        explained = Document.query(workspace_id="acme").explain()
        Document.query(workspace_id="acme").all()
    assert recorder.sent("Query") == [explained.request]
    assert explained.request["ReturnConsumedCapacity"] == "INDEXES"


def test_a_mixed_index_is_narrowed_by_filter_and_priced():
    """100 mixed rows of 2 KB of which 30 are posts: 25 units with the filter, 7.5 in a sparse index."""
    explained = Post.feed.query().explain()
    estimate = explained.estimate(items=100, item_bytes=2048, matching=30)
    assert explained.narrowing == "filter"
    assert (estimate.read_units, estimate.discarded_units) == (25, 17.5)
    assert estimate.alternative("sparse index").read_units == 7.5
    assert estimate.alternative("disjoint sort keys").read_units == 7.5


def test_the_text_says_who_forces_the_filter():
    """The human form names the classes whose rows are billed as well, and the way out."""
    text = Post.feed.query().explain().text
    assert "FilterExpression" in text
    assert "rows of Event may lie where this reads" in text
    assert "sparse" in text


def test_disjoint_keys_are_narrowed_by_key_and_the_filter_is_priced(app):
    """Where the key condition does it, what a filter would have cost stands beside."""
    explained = Workspace.query(workspace_id="acme").explain()
    estimate = explained.estimate(items=100, item_bytes=2048, matching=1)
    assert explained.narrowing == "key"
    assert (estimate.read_units, estimate.discarded_units) == (0.5, 0)
    assert estimate.alternative("type filter").read_units == 25
    assert "Narrowed by key" in explained.text


def test_a_query_of_whatever_is_there_is_not_narrowed(app):
    """Without classes every row is returned, and none is paid for in vain."""
    explained = app.query(pk="WS#acme").explain()
    estimate = explained.estimate(items=100, item_bytes=2048)
    assert explained.narrowing == "none"
    assert (estimate.read_units, estimate.discarded_units, estimate.alternatives) == (25, 0, ())


def test_rows_between_the_classes_are_announced(app):
    """A range that takes in neighbours says whose rows they are, and that they are billed and dropped."""
    text = app.query(Document, Comment, workspace_id="acme", doc_id="1").explain().text
    assert "only rows of Document, Comment are billed" in text
    assert "may take in rows of Document, Comment that were not asked for" in text
    assert "dropped here" in text


def test_no_rows_between_the_classes_are_announced_where_there_can_be_none(app):
    """All rows of each class are asked for, and no other class has keys between them: nothing is dropped."""
    explained = app.query(Workspace, Document, Comment, Member, workspace_id="acme").explain()
    assert "BETWEEN" in explained.request["KeyConditionExpression"]
    assert "only rows of Workspace, Document, Comment, Member are billed" in explained.text
    assert "dropped here" not in explained.text


def test_the_end_of_a_range_that_is_read_unasked_is_announced():
    """BETWEEN takes in an end that the query leaves out."""
    text = Post.feed.query().after(day="2026-11-01").before(day="2026-11-30").explain().text
    assert "may take in rows of Post that were not asked for" in text


def test_an_estimate_knows_pages_and_consistency():
    """Each request's sum is rounded by itself; consistent reads cost twice."""
    query = Login.query(user="a")
    paged = query.page_size(1).explain().estimate(items=3, item_bytes=1000)
    assert (paged.requests, paged.read_units) == (3, 1.5)
    assert query.consistent().explain().estimate(items=3, item_bytes=1000).read_units == 1


def test_a_limit_ends_the_estimate_early():
    """A limit behind a filter reads on until enough rows match, here every third one."""
    estimate = Post.feed.query().limit(10).explain().estimate(items=300, item_bytes=4096, matching=100)
    assert (estimate.rows_read, estimate.rows_returned) == (30, 10)
    assert estimate.read_units == 15


@pytest.mark.parametrize("wrong", [{"items": -1}, {"matching": 3}, {"items": 1.5}])
def test_an_impossible_estimate_is_refused(wrong):
    """Negative, broken or contradictory numbers are no rows."""
    with pytest.raises(RequestError):
        Post.feed.query().explain().estimate(**{"items": 2, "item_bytes": 10, **wrong})


def test_what_cannot_be_sent_cannot_be_explained():
    """Explain does not lie: a query that DynamoDB refuses is refused."""
    with pytest.raises(QueryError):
        Post.feed.query().consistent()


def test_r61_explain_masks_secrets():
    """R61: a secret in a filter is shown in no form, unless it is asked for."""
    query = Login.query(user="a").where(Login.password == "s3cret")
    explained = query.explain()
    shown = [str(explained), repr(explained), repr(explained.request), explained.aws_cli, explained.boto3]
    assert not [form for form in shown if "s3cret" in form]
    assert "s3cret" in query.explain(reveal=True).aws_cli


def test_r61_planned_writes_mask_secrets():
    """R61: a dry run shows a put and an update without the secret; to_wire has what would be sent."""
    with feeds.dry_run() as plan:
        login = Login(user="a", password="s3cret").create()
        Login.key(user="a").update(Login.password.set("s3cret"))
        login.delete()
    shown = [str(plan), repr(plan.requests)]
    for planned in plan:
        shown += [repr(planned), planned.text, planned.aws_cli, planned.boto3, repr(planned.explain().request)]
    assert not [form for form in shown if "s3cret" in form]
    assert [("s3cret" in repr(planned.to_wire())) for planned in plan] == [True, True, False]


def test_a_planned_put_is_estimated_from_its_row():
    """A put spells its row, so that table and index units are known; a larger old row costs more."""
    with feeds.dry_run() as plan:
        Post(post_id="1", day="2026-11-30").create()
    explained = plan.requests[0].explain()
    assert explained.estimate().units == {"": 1, "GSI1": 1}
    assert explained.estimate(previous_bytes=5000).units == {"": 5, "GSI1": 1}


def test_a_planned_update_is_estimated_at_most():
    """An update that moves its row in the index is a delete and a put there; its size must be told."""
    with feeds.dry_run() as plan:
        Post.key(post_id="1").update(Post.day.set("2026-12-01"))
    explained = plan.requests[0].explain()
    assert explained.estimate(item_bytes=1500).units == {"": 2, "GSI1": 4}
    with pytest.raises(RequestError, match="item_bytes"):
        explained.estimate()

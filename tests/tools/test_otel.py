"""Spans of OpenTelemetry: one for each call, with the names of the conventions, without values."""

from __future__ import annotations

import json

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode, get_current_span

from tablekit import ItemExists
from tablekit.tools.otel import instrument
from tests.support.models import Comment, Document, Workspace


@pytest.fixture
def spans(app):
    """Gives the finished spans of the workspace app, which is instrumented for the test."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    remove = instrument(app, tracer_provider=provider)
    yield exporter.get_finished_spans
    remove()


def test_a_get_is_one_internal_span(app, spans):
    """The span says what was asked of what, and what it consumed, in the names of the conventions."""
    Workspace.get(workspace_id="acme")
    (span,) = spans()
    assert (span.name, span.kind) == ("Workspace.get", SpanKind.INTERNAL)
    assert span.attributes["db.system.name"] == "aws.dynamodb"
    assert span.attributes["db.operation.name"] == "GetItem"
    assert span.attributes["db.collection.name"] == app.name
    assert span.attributes["db.query.summary"] == "Workspace.get"
    assert span.attributes["aws.dynamodb.table_names"] == (app.name,)
    assert span.attributes["tablekit.entity"] == ("Workspace",)
    (capacity,) = span.attributes["aws.dynamodb.consumed_capacity"]
    assert json.loads(capacity) == {"TableName": app.name, "CapacityUnits": 0.5}


def test_a_query_of_several_pages_is_one_span(app, spans):
    """All requests of one call stand in its span: pages, rows, units, options."""
    for number in range(5):
        Document(workspace_id="acme", doc_id=str(number), title="t").create()
    Document.feed.query(workspace_id="acme").reverse().page_size(2).all()
    span = spans()[-1]
    assert span.name == "Document.all"
    assert span.attributes["tablekit.pages"] == span.attributes["tablekit.requests"] == 3
    assert span.attributes["db.response.returned_rows"] == 5
    assert span.attributes["aws.dynamodb.scanned_count"] == span.attributes["aws.dynamodb.count"] == 5
    assert span.attributes["aws.dynamodb.index_name"] == "GSI1"
    assert span.attributes["aws.dynamodb.scan_forward"] is False
    assert span.attributes["aws.dynamodb.limit"] == 2


def test_a_batch_is_one_span(app, spans):
    """A batch of several requests is one call, with the number of its rows."""
    with app.batch() as batch:
        for number in range(30):
            batch.put(Comment(workspace_id="acme", doc_id="d", comment_id=str(number), body="b"))
    (span,) = spans()
    assert (span.name, span.attributes["db.operation.name"]) == ("batch_write", "BatchWriteItem")
    assert (span.attributes["tablekit.requests"], span.attributes["db.operation.batch.size"]) == (2, 30)


def test_iterating_is_a_span_for_each_request(app, spans):
    """What the application does between two pages is not part of the query."""
    Comment(workspace_id="acme", doc_id="d", comment_id="c", body="b").create()
    for _ in app.query(Document, Comment, workspace_id="acme"):
        assert not get_current_span().is_recording()
    assert [span.name for span in spans()] == ["Comment.create", "Document | Comment.query"]


def test_an_error_is_named_and_not_quoted(app, spans):
    """A failure has its type and DynamoDB's code, and no message that could hold a key."""
    Workspace(workspace_id="acme", name="Acme").create()
    with pytest.raises(ItemExists):
        Workspace(workspace_id="acme", name="Acme").create()
    span = spans()[-1]
    assert span.attributes["error.type"] == "ItemExists"
    assert span.attributes["db.response.status_code"] == "ConditionalCheckFailedException"
    assert (span.status.status_code, span.status.description, span.events) == (StatusCode.ERROR, None, ())


def test_no_span_holds_what_items_hold(app, spans):
    """Neither values nor keys nor expressions come into a span."""
    doc = Document(workspace_id="hush-ws", doc_id="hush-id", title="hush-title").create()
    doc.update(Document.title.set("hush-new"), condition=Document.words == 0)
    Document.query(workspace_id="hush-ws").where(Document.title == "hush-title").all()
    assert len(spans()) == 3
    assert "hush" not in "".join(span.to_json() for span in spans())


def test_instrumentation_can_be_taken_off(app):
    """After it is taken off no span is made."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    instrument(app, tracer_provider=provider)()
    Workspace.get(workspace_id="acme")
    assert exporter.get_finished_spans() == ()


def test_spans_of_calls_below_are_children(app, spans):
    """What runs inside a call, as botocore's own instrumentation does, sees its span as the current one."""
    current = []
    remove = app.on_request(lambda operation, wire: current.append(get_current_span().get_span_context().span_id))
    Workspace.get(workspace_id="acme")
    remove()
    (span,) = spans()
    assert current == [span.context.span_id]

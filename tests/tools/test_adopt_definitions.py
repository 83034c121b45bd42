"""Definitions of tables in the languages that people keep them in: CloudFormation, SAM, serverless.yml, Terraform."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from textwrap import dedent

import pytest

from tablekit.tools.adopt_tables import AdoptError, SourceTable, read_definitions


def definitions(tmp_path: Path, name: str, text: str) -> list[SourceTable]:
    """The tables of a file with this text."""
    (tmp_path / name).write_text(dedent(text), encoding="utf-8")
    return read_definitions(tmp_path / name)


TEMPLATE = """
    AWSTemplateFormatVersion: 2010-09-09
    Parameters:
      Stage: {Type: String, Default: dev}
      SortKey: {Type: String, Default: SK}
    Mappings:
      Keys: {byMail: {hash: mail}}
    Resources:
      Bucket: {Type: AWS::S3::Bucket}
      Orders:
        Type: AWS::DynamoDB::Table
        Properties:
          TableName: !Sub "orders-${Stage}"
          Tags: [{Key: stack, Value: !Ref AWS::StackName}, {Key: arn, Value: !GetAtt Bucket.Arn}]
          AttributeDefinitions:
            - {AttributeName: PK, AttributeType: S}
            - {AttributeName: !Ref SortKey, AttributeType: N}
            - AttributeName: !FindInMap [Keys, byMail, hash]
              AttributeType: S
          KeySchema:
            - {AttributeName: PK, KeyType: HASH}
            - {AttributeName: !Ref SortKey, KeyType: RANGE}
          GlobalSecondaryIndexes:
            - IndexName: !Join ["-", [by, mail]]
              KeySchema: [{AttributeName: !FindInMap [Keys, byMail, hash], KeyType: HASH}]
              Projection: {ProjectionType: KEYS_ONLY}
            - !If [Never, !Ref AWS::NoValue, !Ref AWS::NoValue]
          TimeToLiveSpecification: {AttributeName: gone, Enabled: true}
"""


def test_a_yaml_template_is_read_with_its_short_forms(tmp_path: Path) -> None:
    """Ref, Sub, Join, FindInMap and If, as far as parameters and mappings answer them; others do no harm."""
    (found,) = definitions(tmp_path, "stack.yaml", TEMPLATE)

    assert (found.name, found.pk, found.sk, found.ttl) == ("orders-dev", "PK", "SK", "gone")
    assert found.key_types == {"PK": "S", "SK": "N", "mail": "S"}
    assert [(index.name, index.pk, index.projection) for index in found.indexes] == [
        ("by-mail", ("mail",), "KEYS_ONLY")
    ]


def test_a_name_that_the_template_does_not_know_is_the_logical_one(tmp_path: Path) -> None:
    """A parameter without a default, and no name at all."""
    text = TEMPLATE.replace('!Sub "orders-${Stage}"', "!Ref Elsewhere")

    assert [table.name for table in definitions(tmp_path, "stack.yml", text)] == ["Orders"]


def test_sam_and_serverless_have_tables_of_their_own_kind(tmp_path: Path) -> None:
    """SimpleTable with a key alone, and the resources inside serverless.yml."""
    (simple,) = definitions(
        tmp_path,
        "sam.yaml",
        """
        Transform: AWS::Serverless-2016-10-31
        Resources:
          Things: {Type: AWS::Serverless::SimpleTable, Properties: {PrimaryKey: {Name: thing, Type: Number}}}
          Bare: {Type: AWS::Serverless::Function}
        """,
    )
    (served,) = definitions(
        tmp_path,
        "serverless.yml",
        """
        service: shop
        resources:
          Resources:
            Carts:
              Type: AWS::DynamoDB::Table
              Properties:
                TableName: carts-${sls:stage}
                AttributeDefinitions: [{AttributeName: id, AttributeType: S}]
                KeySchema: [{AttributeName: id, KeyType: HASH}]
        """,
    )

    assert (simple.name, simple.pk, simple.sk, simple.key_types) == ("Things", "thing", None, {"thing": "N"})
    assert (served.name, served.pk) == ("carts-${sls:stage}", "id")


MODULE = """
    variable "stage" {
      default = "dev"
    }
    locals {
      indexes = { by_mail = { hash = "mail" }, by_day = { hash = "day", range = "PK" } }
    }
"""
MAIN = """
    resource "aws_dynamodb_table" "orders" {
      name     = "orders-${var.stage}"
      hash_key = "PK"
      dynamic "attribute" {
        for_each = toset(["PK", "mail", "day"])
        content {
          name = attribute.value
          type = "S"
        }
      }
      dynamic "global_secondary_index" {
        for_each = local.indexes
        iterator = index
        content {
          name            = index.key
          hash_key        = index.value.hash
          range_key       = lookup(index.value, "range", null)
          projection_type = try(index.value["projection"], "ALL")
        }
      }
    }
"""


def test_dynamic_blocks_of_terraform_are_followed(tmp_path: Path) -> None:
    """Over lists and maps, through locals and defaults that stand in another file of the folder."""
    (tmp_path / "variables.tf").write_text(dedent(MODULE), encoding="utf-8")

    (found,) = definitions(tmp_path, "main.tf", MAIN)

    assert (found.name, found.key_types) == ("orders-dev", {"PK": "S", "mail": "S", "day": "S"})
    assert {index.name: (index.pk, index.sk) for index in found.indexes} == {
        "by_mail": (("mail",), ()),
        "by_day": (("day",), ("PK",)),
    }


def test_a_dynamic_block_that_is_not_known_is_told(tmp_path: Path) -> None:
    """The table is read without it, and a note says over what it goes."""
    (found,) = definitions(tmp_path, "main.tf", MAIN.replace("local.indexes", "var.indexes"))

    assert found.indexes == ()
    assert found.notes == (
        "the dynamic global_secondary_index blocks are not known: they are made for each of var.indexes",
    )


def test_a_resource_for_each_is_a_table_for_each(tmp_path: Path) -> None:
    """Where what it goes over is known; else one stands for all, and a note says so."""
    text = """
        resource "aws_dynamodb_table" "t" {
          for_each = { carts = "id", stock = "sku" }
          name     = each.key
          hash_key = each.value
        }
    """
    found = definitions(tmp_path, "main.tf", text)
    (unknown,) = definitions(tmp_path, "main.tf", text.replace("each.value", '"id"').replace("{ carts", "var.x # {"))

    assert [(table.name, table.pk) for table in found] == [("carts", "id"), ("stock", "sku")]
    assert (unknown.name, unknown.notes) == ("each.key", ("one table stands for all of for_each of 't'",))


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("main.tf", 'resource "aws_dynamodb_table" "t" { hash_key = var.key }', "The expression 'var.key' stands"),
        ("main.tf", 'resource "aws_dynamodb_table" "t" {', "not of Terraform's language at line"),
        ("main.tf", 'variable "x" {}', "defines no DynamoDB table"),
        ("a.yaml", "a: [", "it is no YAML at line"),
        ("a.yaml", "a: &a [1, 2]\nb: *a", "defines no DynamoDB table"),
        ("a.yaml", "? [1]\n: 2", "no YAML"),
        ("a.json", "a: 1", "YAML in a .yaml"),
    ],
)
def test_what_cannot_be_read_says_why(tmp_path: Path, name: str, text: str, reason: str) -> None:
    """With what stands in the way, and what to give in its place."""
    with pytest.raises(AdoptError, match=reason):
        definitions(tmp_path, name, text)


def test_anchors_do_not_grow_beyond_all_bounds(tmp_path: Path) -> None:
    """Ten lines of YAML can stand for a billion values."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    text = "\n".join([*lines, "Resources: {T: {Type: AWS::DynamoDB::Table, Properties: {Tags: *a9}}}"])
    with pytest.raises(AdoptError, match="more than 100,000 values"):
        definitions(tmp_path, "a.yaml", text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x = 1\n" + "/* a " * 12_000, "at line 2: a comment begins there and does not end"),
        ("/*\n" * 20_000, "at line 1: a comment"),
        ('y = "${f("/*")}"\n/* ', "at line 2: a comment"),
        ("x = <<EOF\n" + " \n" * 60_000, "at line 1: a heredoc begins there and does not end"),
        ("# " + "a" * 200_000, "more than 200,000 characters"),
    ],
    ids=["comments", "lines", "after a string", "heredoc", "size"],
)
def test_what_would_keep_the_parser_busy_is_refused_first(tmp_path: Path, text: str, reason: str) -> None:
    """Its time grows by the square of what is not closed and of blank lines; ours is one pass."""
    started = time.process_time()
    with pytest.raises(AdoptError, match=reason):
        definitions(tmp_path, "main.tf", text)
    assert time.process_time() - started < 1


@pytest.mark.parametrize(
    "text",
    [
        'x = "${f("/*", "a")}/*"',
        'x = "$${a} /* \\" /* "',
        'x = <<-EOF\n  /* <<EOT "\n  EOF\n',
        "# /*\n// <<EOF\n/* # */ x = 1\n",
        'x = "%{ if true }/*%{ endif }"',
        "x = <<EOF\n" + "\n" * 20_000 + "EOF\n",
    ],
    ids=["call", "escapes", "heredoc", "comments", "directive", "blank lines"],
)
def test_what_looks_like_a_comment_in_a_text_is_none(tmp_path: Path, text: str) -> None:
    """Strings, their insertions, heredocs and other comments hold what they like."""
    table = 'resource "aws_dynamodb_table" "t" { \n hash_key = "id" \n name = "shop" }'

    assert [found.pk for found in definitions(tmp_path, "main.tf", f"locals {{\n{text}\n}}\n{table}")] == ["id"]


@pytest.mark.parametrize(("name", "library"), [("main.tf", "hcl2"), ("a.yaml", "yaml")])
def test_what_is_not_installed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, library: str
) -> None:
    """The extra, and no traceback."""
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(AdoptError, match=r"tablekit\[adopt\]"):
        definitions(tmp_path, name, "")

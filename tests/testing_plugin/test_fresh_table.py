"""The plugin's fixtures `tablekit_table` and `tablekit_requests`."""

from __future__ import annotations

import pytest

MODELS = '''
"""Two tables of one entity each."""

from tablekit import Entity, Field, Table

app, other = Table("app", sk=None), Table("other", sk=None)


class Row(Entity, table=app, pk="{id}"):
    id: Field[str]


class OtherRow(Entity, table=other, pk="{id}"):
    id: Field[str]


def keys():
    return [row.id for row in app.scan(Row)]
'''


@pytest.fixture
def project(pytester):
    """The project with its models, in which a test writes its own tests."""
    pytester.makepyfile(models=MODELS)
    return pytester


def test_each_test_has_an_empty_table(project, run_pytest):
    """What one test writes, the next one does not see."""
    project.makepyfile(
        """
        import pytest
        from models import Row, app, keys

        @pytest.mark.parametrize("key", ["a", "b"])
        def test_it(tablekit_table, key):
            assert tablekit_table(app) is app
            Row(id=key).create()
            assert keys() == [key]
        """
    )
    run_pytest("--strict-markers", "-W", "error").assert_outcomes(passed=2)


def test_the_table_is_dropped_and_unbound_afterwards(project, run_pytest):
    """A test leaves no table, no binding and no listener, also when it failed."""
    project.makepyfile(
        """
        import botocore.session
        from models import app

        name = None

        def tables(engine):
            options = engine.connect_options()
            options["region_name"] = options.pop("region")
            client = botocore.session.get_session().create_client("dynamodb", **options)
            return client.list_tables()["TableNames"]

        def test_fails(tablekit_engine, tablekit_table):
            global name
            name = tablekit_table(app).name
            assert tables(tablekit_engine) == [name]
            raise ValueError

        def test_after(tablekit_engine):
            assert tables(tablekit_engine) == []
            assert app.name == "app" != name
        """
    )
    run_pytest("-W", "error").assert_outcomes(passed=1, failed=1)


def test_two_tables_can_be_bound(project, run_pytest):
    """An application with several tables binds each of them, under a name of its own or a given one."""
    project.makepyfile(
        """
        from models import app, other

        def test_it(tablekit_table):
            tablekit_table(app), tablekit_table(other, name="the-other")
            assert app.name.startswith("test_it-") and other.name == "the-other"
        """
    )
    run_pytest().assert_outcomes(passed=1)


def test_a_test_may_drop_its_table(project, run_pytest):
    """The end of a test minds no table that is gone already."""
    project.makepyfile(
        """
        from models import app

        def test_it(tablekit_table):
            tablekit_table(app).delete_table()
        """
    )
    run_pytest("-W", "error").assert_outcomes(passed=1)


def test_any_test_name_gives_a_table_name(project, run_pytest):
    """Names of tests hold characters, and are of a length, that DynamoDB does not take."""
    project.makepyfile(
        """
        import pytest
        from models import app

        @pytest.mark.parametrize("value", ["[ü/#]", "x" * 300])
        def test_it(tablekit_table, value):
            tablekit_table(app)
        """
    )
    run_pytest().assert_outcomes(passed=2)


def test_requests_are_recorded(project, run_pytest):
    """`tablekit_requests` holds what the bound tables sent, without the creation of the table."""
    project.makepyfile(
        """
        from models import Row, app

        def test_it(tablekit_table, tablekit_requests):
            tablekit_table(app)
            Row(id="a").create()
            assert tablekit_requests.operations == ["PutItem"]
            assert tablekit_requests[0].wire["TableName"] == app.name
            assert tablekit_requests[0].wire["Item"]["PK"] == {"S": "a"}
            assert tablekit_requests.of("Query") == []
            tablekit_requests.clear()
            assert len(tablekit_requests) == 0
        """
    )
    run_pytest().assert_outcomes(passed=1)

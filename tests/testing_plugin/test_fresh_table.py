"""The plugin's fixtures `tablekit_table` and `tablekit_requests`."""

from __future__ import annotations

import pytest

MODELS = '''
"""A table with the methods that the plugin uses, kept apart from the rest of tablekit."""

import contextlib

import botocore.session


class SmallTable:
    def __init__(self):
        self.name = self.client = None
        self.listeners = []

    @contextlib.contextmanager
    def bound(self, *, name, region, **options):
        session = botocore.session.get_session()
        self.name, self.client = name, session.create_client("dynamodb", region_name=region, **options)
        yield self
        self.name = self.client = None

    def create_table(self, *, wait=True):
        self.client.create_table(
            TableName=self.name,
            AttributeDefinitions=[{"AttributeName": "PK", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "PK", "KeyType": "HASH"}],
            BillingMode="PAY_PER_REQUEST",
        )

    def delete_table(self):
        from tablekit.errors import TableNotFound

        try:
            self.client.delete_table(TableName=self.name)
        except self.client.exceptions.ResourceNotFoundException as error:
            raise TableNotFound("gone") from error

    def on_request(self, callback):
        self.listeners.append(callback)
        return lambda: self.listeners.remove(callback)

    def put(self, key):
        wire = {"TableName": self.name, "Item": {"PK": {"S": key}}}
        for listener in self.listeners:
            listener("PutItem", wire)
        self.client.put_item(**wire)

    def keys(self):
        return [item["PK"]["S"] for item in self.client.scan(TableName=self.name)["Items"]]


app, other = SmallTable(), SmallTable()
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
        from models import app

        @pytest.mark.parametrize("key", ["a", "b"])
        def test_it(tablekit_table, key):
            assert tablekit_table(app) is app
            app.put(key)
            assert app.keys() == [key]
        """
    )
    run_pytest("--strict-markers", "-W", "error").assert_outcomes(passed=2)


def test_the_table_is_dropped_and_unbound_afterwards(project, run_pytest):
    """A test leaves no table, no binding and no listener, also when it failed."""
    project.makepyfile(
        """
        from models import app

        client = None

        def test_fails(tablekit_table):
            global client
            client = tablekit_table(app).client
            assert client.list_tables()["TableNames"] == [app.name]
            raise ValueError

        def test_after(tablekit_engine):
            assert client.list_tables()["TableNames"] == []
            assert app.name is None and app.listeners == []
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
        from models import app

        def test_it(tablekit_table, tablekit_requests):
            tablekit_table(app).put("a")
            assert tablekit_requests.operations == ["PutItem"]
            assert tablekit_requests[0].wire == {"TableName": app.name, "Item": {"PK": {"S": "a"}}}
            assert tablekit_requests.of("Query") == []
            tablekit_requests.clear()
            assert len(tablekit_requests) == 0
        """
    )
    run_pytest().assert_outcomes(passed=1)

"""What importing each library means; kept apart, so that reading it imports none of them."""

IMPORTS = {
    "tablekit_": "import tablekit",
    "tablekit_aio_": "import tablekit",
    "pynamodb_": "import pynamodb.models",
    "boto3_": "import boto3",
    "pydynox_": "import pydynox",
    "dynamoxy_": "import dynamoxy",
    "aiodynamo_": "import aiodynamo.client, aiodynamo.http.aiohttp, aiohttp",
    "pydynantic_": "import pydynantic",
    "dyntastic_": "import dyntastic",
    "floor_": "import http.client, json",
}

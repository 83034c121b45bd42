"""Signatures equal botocore's."""

from __future__ import annotations

import random
import string

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tablekit.operations.signer import NOT_SIGNED, Keys, Signer, Stamp, canonical_path, stamp_at

SPACES = ["", " ", "  ", "\t", " \t "]


class FixedAuth(SigV4Auth):
    """botocore's signer at a moment that the test says."""

    def sign(self, request, stamp):
        """The Authorization header."""
        request.context["timestamp"] = stamp.moment
        self._modify_request_before_signing(request)
        canonical = self.canonical_request(request)
        signature = self.signature(self.string_to_sign(request, canonical), request)
        self._inject_signature_to_request(request, signature)
        return request.headers["Authorization"]


def text(dice, alphabet=string.ascii_letters + string.digits + "/+=_-%{}"):
    """Some text with odd whitespace in it and around it."""
    words = ["".join(dice.choices(alphabet, k=dice.randint(1, 12))) for _ in range(dice.randint(1, 3))]
    return dice.choice(SPACES) + dice.choice(["  ", " ", "\t "]).join(words) + dice.choice(SPACES)


def botocores(keys, stamp, region, url, headers, body):
    """What botocore makes of the same request."""
    request = AWSRequest("POST", url, headers=headers, data=body)
    return FixedAuth(Credentials(*keys), "dynamodb", region).sign(request, stamp)


def moments(dice):
    """Seconds at random, and those around midnights."""
    midnight = 86_400 * dice.randint(10_000, 40_000)
    return dice.choice([midnight - 1, midnight, midnight + 1, midnight + dice.randint(0, 86_399)])


def test_ten_thousand_random_requests_are_signed_as_botocore_signs_them():
    """Tokens, odd whitespace, custom headers, percent signs, and the change of days: all signatures are equal."""
    dice = random.Random(20261130)
    for _ in range(100):
        host, region, path = (
            "dynamodb.example:8000",
            dice.choice(["eu-west-1", "us-east-1"]),
            dice.choice(["/", "/a b/"]),
        )
        fixed = {
            "content-type": "application/x-amz-json-1.0",
            "host": host,
            "user-agent": text(dice),
            "x-own": text(dice),
        }
        signer = Signer(region=region, service="dynamodb", path=canonical_path(path), headers=fixed)
        pair = [Keys(text(dice).strip(), text(dice), dice.choice([None, text(dice)])) for _ in range(2)]
        for _ in range(100):
            keys, stamp, body = dice.choice(pair), stamp_at(moments(dice)), dice.randbytes(dice.randint(0, 60))
            varying = {"invocation": text(dice), "attempt": text(dice), "target": text(dice).strip()}
            varying = {name: " ".join(value.split()) for name, value in varying.items()}
            headers = {
                **fixed,
                "amz-sdk-invocation-id": varying["invocation"],
                "amz-sdk-request": varying["attempt"],
                "x-amz-target": varying["target"],
            }
            ours = signer.authorization(keys, stamp, **varying, body=body)
            assert ours == botocores(keys, stamp, region, f"http://{host}{path}", headers, body)


def test_the_key_changes_with_the_day_and_with_the_secret():
    """A cached signing key is good for its day and for its secret alone."""
    signer = Signer(region="eu-west-1", service="dynamodb", path="/", headers={"host": "h"})
    given = {"invocation": "i", "attempt": "a", "target": "t", "body": b"{}"}
    days = [Stamp("20260131T235959Z", "20260131"), Stamp("20260201T000000Z", "20260201")]
    first = [signer.authorization(Keys("k", secret), day, **given) for day in days for secret in ("one", "two")]
    again = [signer.authorization(Keys("k", secret), day, **given) for day in days for secret in ("one", "two")]
    assert first == again
    assert len(set(first)) == 4


@pytest.mark.parametrize("path", ["", "/", "/a//b/./c/../d/", "/a b/%41", "/.."])
def test_a_path_is_made_canonical_as_botocore_makes_it(path):
    """Dot segments, doubled slashes and characters to quote."""
    assert canonical_path(path) == SigV4Auth(None, "dynamodb", "r")._normalize_url_path(path)


def test_the_same_headers_are_left_unsigned():
    """What botocore leaves out, because proxies may change it, is left out."""
    from botocore.auth import SIGNED_HEADERS_BLACKLIST

    assert set(SIGNED_HEADERS_BLACKLIST) <= NOT_SIGNED


def test_r61_keys_do_not_show_themselves():
    """R61: no repr prints a secret."""
    assert "hush" not in repr(Keys("AKIA", "hush", "pst"))

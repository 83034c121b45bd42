"""Send through a proxy: with botocore's own urllib3 session, which knows tunnels, their credentials and their TLS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["ProxyExchange", "proxies_for", "trusted_certificates"]


def trusted_certificates() -> Any:
    """The file of certificates that botocore trusts where no other is configured."""
    from botocore import httpsession

    path: Any = httpsession.get_cert_path  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return path(verify=True)


def proxies_for(url: str, config: Any) -> dict[str, str]:
    """The proxies by which botocore would reach a URL: those of the client's config, or of the environment."""
    from botocore import utils

    environ: Any = utils.get_environ_proxies  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    found: dict[str, str] = config.proxies if config.proxies is not None else environ(url)
    return found if found.get(url.partition(":")[0]) else {}


class ProxyExchange:
    """Sends requests to one URL through a proxy.

    Parameters:
        url: where. proxies: by scheme. config: the client's config. verify: the file of trusted certificates.
    """

    def __init__(self, url: str, proxies: Mapping[str, str], config: Any, verify: Any) -> None:
        from botocore.httpsession import URLLib3Session

        self._url = url
        self._session: Any = URLLib3Session(
            verify=verify,
            proxies=dict(proxies),
            timeout=(config.connect_timeout, config.read_timeout),
            max_pool_connections=config.max_pool_connections,
            client_cert=config.client_cert,
            proxies_config=config.proxies_config,
        )

    def exchange(self, headers: Mapping[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        """POST a body. Raises botocore's exceptions."""
        from botocore.awsrequest import AWSPreparedRequest, HeadersDict

        sent = HeadersDict({**headers, "content-length": str(len(body))})
        answer = self._session.send(AWSPreparedRequest("POST", self._url, sent, body, stream_output=False))
        return answer.status_code, {name.lower(): value for name, value in answer.headers.items()}, answer.content

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

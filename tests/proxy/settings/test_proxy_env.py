"""Which proxy the environment wants, as curl and the Python clients read it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.settings.proxy_env import excepted, from_environment

P = "http://proxy:3128"
API = "https://api.example.org/v1"


@pytest.mark.parametrize(
    ("url", "environ", "found"),
    [
        (API, {"HTTPS_PROXY": P}, (P, "HTTPS_PROXY")),
        (API, {"https_proxy": P, "HTTPS_PROXY": "http://other:1"}, (P, "https_proxy")),
        (API, {"https_proxy": "", "HTTPS_PROXY": P}, None),
        (API, {"HTTP_PROXY": P}, None),
        (API.replace("https", "http"), {"HTTP_PROXY": P}, (P, "HTTP_PROXY")),
        (API, {"ALL_PROXY": P}, (P, "ALL_PROXY")),
        (API, {"all_proxy": "socks5h://s:1080", "https_proxy": P}, (P, "https_proxy")),
        (API, {"ALL_PROXY": "socks5://s:1080"}, ("socks5://s:1080", "ALL_PROXY")),
        (API, {"HTTPS_PROXY": "proxy:3128"}, (P, "HTTPS_PROXY")),
        (API, {"HTTPS_PROXY": "ftp://proxy"}, None),
        (API, {"HTTPS_PROXY": "http://proxy:port"}, None),
        (API, {"HTTPS_PROXY": P, "NO_PROXY": "example.org"}, None),
        (API, {"HTTPS_PROXY": P, "no_proxy": "*"}, None),
        (API, {"HTTPS_PROXY": P, "NO_PROXY": "*", "no_proxy": ""}, (P, "HTTPS_PROXY")),
        ("http://127.0.0.1:8000/v1", {"HTTP_PROXY": P}, None),
        ("http://localhost:8000/v1", {"ALL_PROXY": P}, None),
        ("http://[::1]:8000/v1", {"HTTP_PROXY": P}, None),
        ("http://10.0.0.7/v1", {"HTTP_PROXY": P}, (P, "HTTP_PROXY")),
        (API, {}, None),
    ],
)
def test_the_proxy_of_an_address(url: str, environ: dict[str, str], found: tuple[str, str] | None) -> None:
    assert from_environment(url, environ) == found


@pytest.mark.parametrize(
    ("host", "port", "no_proxy", "out"),
    [
        ("api.example.org", 443, "example.org", True),
        ("api.example.org", 443, ".example.org", True),
        ("api.example.org", 443, "*.example.org", True),
        ("example.org", 443, ".example.org", True),
        ("api.example.org", 443, "EXAMPLE.ORG.", True),
        ("badexample.org", 443, "example.org", False),
        ("api.example.org", 443, "other.org, api.example.org", True),
        ("api.example.org", 443, "other.org api.example.org", True),
        ("api.example.org", 443, "example.org:443", True),
        ("api.example.org", 443, "example.org:8443", False),
        ("10.1.2.3", 80, "10.0.0.0/8", True),
        ("10.1.2.3", 80, "10.1.2.3", True),
        ("10.1.2.3", 80, "10.1.2.3:80", True),
        ("10.1.2.3", 80, "10.1.2.3:81", False),
        ("192.168.1.1", 80, "10.0.0.0/8", False),
        ("110.1.2.3", 80, "10.1.2.3", False),
        ("fd00::7", 80, "fd00::/8", True),
        ("fd00::7", 80, "[fd00::7]:80", True),
        ("api.example.org", 443, "10.0.0.0/8", False),
        ("api.example.org", 443, "", False),
        ("api.example.org", 443, ", ,", False),
    ],
)
def test_no_proxy(host: str, port: int, no_proxy: str, out: bool) -> None:
    assert excepted(host, port, no_proxy) is out


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_words_are_read(proxy: str, no_proxy: str) -> None:
    from_environment(API, {"https_proxy": proxy, "no_proxy": no_proxy})

"""The official Python SDKs, fed with bytes through a mock transport: no socket, one client each for the whole run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

os.environ.setdefault("LANGSMITH_TRACING", "false")
# So that building a chat model never asks the network for token tables.
os.environ.setdefault("TIKTOKEN_CACHE_DIR", "/nonexistent")


class Wireside:
    """What the next request is answered with."""

    def __init__(self) -> None:
        self.body = b""
        self.status = 200
        self.content_type = "text/event-stream"

    def __call__(self, request: Any) -> Any:
        import httpx2

        return httpx2.Response(self.status, headers={"content-type": self.content_type}, content=self.body)


@pytest.fixture(scope="session")
def wireside() -> Wireside:
    return Wireside()


@pytest.fixture(scope="session")
def http(wireside: Wireside) -> Iterator[Any]:
    httpx2 = pytest.importorskip("httpx2", reason="the official SDKs are not installed (pip install -e .[test])")
    with httpx2.Client(transport=httpx2.MockTransport(wireside)) as client:
        yield client


@pytest.fixture(scope="session")
def openai_client(http: Any) -> Any:
    import openai

    return openai.OpenAI(api_key="k", base_url="http://fuse.test/v1", http_client=http, max_retries=0)


@pytest.fixture(scope="session")
def anthropic_client(http: Any) -> Any:
    import anthropic

    return anthropic.Anthropic(api_key="k", base_url="http://fuse.test", http_client=http, max_retries=0)


@pytest.fixture(scope="session")
def langchain_openai(http: Any) -> Any:
    from langchain_openai import ChatOpenAI

    def model(responses: bool) -> Any:
        return ChatOpenAI(
            model="m",
            api_key="k",
            base_url="http://fuse.test/v1",
            http_client=http,
            max_retries=0,
            use_responses_api=responses,
            stream_usage=False,
        )

    return model


@pytest.fixture(scope="session")
def langchain_anthropic(anthropic_client: Any) -> Any:
    from langchain_anthropic import ChatAnthropic

    model = ChatAnthropic(model="claude-sonnet-4-5", api_key="k", max_retries=0)
    model.__dict__["_client"] = anthropic_client
    return model.bind_tools([{"name": "read", "input_schema": {"type": "object"}}])

"""The scripted provider speaks each wire well enough for the official SDKs, which are the independent readers here."""

import anthropic
import openai
import pytest

from proxy.demo.provider import CLEAN, ScriptedProvider


@pytest.fixture
async def provider():
    provider = ScriptedProvider(pace=0)
    url = await provider.start()
    yield provider, url
    await provider.stop()


@pytest.fixture
async def ask(provider):
    async with openai.AsyncOpenAI(base_url=provider[1], api_key="none", max_retries=0) as client:
        yield client


@pytest.fixture
async def claude(provider):
    base = provider[1].removesuffix("/v1")
    async with anthropic.AsyncAnthropic(base_url=base, api_key="none", max_retries=0) as client:
        yield client


HELLO = [{"role": "user", "content": "hello"}]
READ = {"type": "object", "properties": {"path": {"type": "string"}}}


async def test_chat_stream(ask):
    async with ask.chat.completions.stream(model="clean", messages=HELLO) as stream:
        final = await stream.get_final_completion()
    assert final.choices[0].message.content == CLEAN
    assert final.choices[0].finish_reason == "stop"


async def test_chat_whole_with_a_tool_call(ask):
    tools = [{"type": "function", "function": {"name": "look", "parameters": READ}}]
    whole = await ask.chat.completions.create(model="tool", messages=HELLO, tools=tools)
    call = whole.choices[0].message.tool_calls[0]
    assert (call.function.name, call.function.arguments) == ("look", '{"path": "notes.txt"}')


async def test_completions_stream(ask):
    stream = await ask.completions.create(model="clean", prompt="hello", stream=True)
    assert "".join([chunk.choices[0].text async for chunk in stream]) == CLEAN


async def test_responses_stream(ask):
    async with ask.responses.stream(model="clean", input="hello") as stream:
        async for _ in stream:
            pass
        final = await stream.get_final_response()
    assert final.output_text == CLEAN
    assert final.status == "completed"


async def test_responses_stream_with_text_then_a_call(ask):
    async with ask.responses.stream(model="tool", input="hello") as stream:
        async for _ in stream:
            pass
        final = await stream.get_final_response()
    assert [item.type for item in final.output] == ["message", "function_call"]
    assert final.output[1].arguments == '{"path": "notes.txt"}'


async def test_messages_stream(claude):
    async with claude.messages.stream(model="clean", max_tokens=100, messages=HELLO) as stream:
        final = await stream.get_final_message()
    assert final.content[0].text == CLEAN
    assert final.stop_reason == "end_turn"


async def test_messages_stream_with_text_then_a_call(claude):
    async with claude.messages.stream(model="tool", max_tokens=100, messages=HELLO) as stream:
        final = await stream.get_final_message()
    assert [block.type for block in final.content] == ["text", "tool_use"]
    assert final.content[1].input == {"path": "notes.txt"}


async def test_messages_whole(claude):
    final = await claude.messages.create(model="clean", max_tokens=100, messages=HELLO)
    assert final.content[0].text == CLEAN

"""A strict reader of /responses streams: order, indices, numbers, texts, the final output."""

from __future__ import annotations

from typing import Any

from . import Answer, objects, require

TEXTS = {
    "response.output_text": ("output_text", "text"),
    "response.refusal": ("refusal", "refusal"),
    "response.reasoning_text": ("reasoning_text", "text"),
    "response.reasoning_summary_text": ("summary_text", "text"),
}
ARGUMENTS = {
    "response.function_call_arguments": ("function_call", "arguments"),
    "response.custom_tool_call_input": ("custom_tool_call", "input"),
}


class Part:
    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.text = ""
        self.done: str | None = None
        self.closed = False
        self.deltas = 0


class Item:
    def __init__(self, value: dict[str, Any], index: int) -> None:
        self.value = value
        self.index = index
        self.parts: dict[tuple[str, int], Part] = {}
        self.arguments = str(value.get("arguments") or value.get("input") or "")
        self.done: dict[str, Any] | None = None


class Reader:
    def __init__(self, lean: bool) -> None:
        self.lean = lean
        self.answer = Answer()
        self.items: dict[int, Item] = {}
        self.number = -1
        self.count = 0

    def find(self, event: dict[str, Any]) -> Item:
        if "output_index" in event:
            require(event["output_index"] in self.items, f"{event['type']} before its item")
            item = self.items[event["output_index"]]
        else:
            require(self.lean, f"{event['type']} without output_index")
            items = [item for item in self.items.values() if item.value.get("id") == event["item_id"]]
            require(items, f"{event['type']} before its item")
            item = items[0]
        if "item_id" in event:
            require(event["item_id"] == item.value.get("id"), "item_id is not that of the item")
        require(item.done is None, f"{event['type']} after the item was done")
        return item

    def part(self, event: dict[str, Any], kind: str) -> Part:
        item = self.find(event)
        home = "summary" if kind == "summary_text" else "content"
        at = event.get(f"{home}_index")
        if at is None:
            require(self.lean, f"{event['type']} without {home}_index")
            at = max((index for of, index in item.parts if of == home), default=0)
        if (home, at) not in item.parts:
            require(self.lean and kind == "reasoning_text", f"{event['type']} before its part")
            item.parts[home, at] = Part(kind)
        part = item.parts[home, at]
        require(part.kind == kind, f"{event['type']} in a part {part.kind}")
        require(not part.closed, f"{event['type']} after the part was done")
        return part

    def feed(self, event: dict[str, Any]) -> None:
        kind = event["type"]
        number = event.get("sequence_number")
        if kind == "keepalive":
            require(self.count, "keepalive before response.created")
            require(number is None or number in (self.number, self.number + 1), "keepalive out of order")
            self.number = self.number if number is None else number
            return
        require(self.lean or number is not None, f"{kind} without sequence_number")
        if number is not None:
            require(number == self.number + 1, f"{kind}: sequence {number} after {self.number}")
            self.number = number
        self.count += 1
        require((self.count == 1) == (kind == "response.created"), f"{kind} is event {self.count}")
        require(not self.answer.end, f"{kind} after the terminal event")
        stem, _, verb = kind.rpartition(".")
        if isinstance(event.get("response"), dict):
            self.lifecycle(kind, event["response"])
            self.answer.marker = event.get("streamfuse")
        elif kind == "error":
            self.answer.end, self.answer.error = "error", event
        elif kind == "response.output_item.added":
            self.added(event)
        elif kind == "response.output_item.done":
            self.item_done(event)
        elif stem in TEXTS:
            self.text(TEXTS[stem], verb, event)
        elif stem in ARGUMENTS:
            self.argument(ARGUMENTS[stem], verb, event)
        elif stem in ("response.content_part", "response.reasoning_summary_part"):
            self.part_event(verb, event)
        elif "output_index" in event:
            self.find(event)

    def lifecycle(self, kind: str, response: dict[str, Any]) -> None:
        require(response.get("id"), "a response without id")
        require(self.answer.ident in ("", response["id"]), "the response id changed")
        self.answer.ident = response["id"]
        status = kind.removeprefix("response.")
        if status in ("created", "in_progress", "queued"):
            return
        require(response.get("status") == status, f"status {response.get('status')} in {kind}")
        self.answer.end, self.answer.usage, self.answer.items = status, response.get("usage"), response["output"]
        self.answer.error = response.get("error")
        if status == "failed":
            require(isinstance(self.answer.error, dict) and self.answer.error["message"], "failed without error")
            return
        for item in self.items.values():
            require(item.done is not None, f"item {item.index} was never done")
        done = [self.items[index].done for index in sorted(self.items)]
        require(response["output"] == done, "the final output is not what was shown")
        self.answer.calls = [
            (item["name"], item.get("arguments", item.get("input")))
            for item in response["output"]
            if item["type"] in ("function_call", "custom_tool_call")
        ]

    def added(self, event: dict[str, Any]) -> None:
        index: Any = event.get("output_index", len(self.items) if self.lean else None)
        require(index == len(self.items), f"output_index {index} after {len(self.items)} items")
        item = event["item"]
        ids = [other.value.get("id") for other in self.items.values()]
        require(item.get("id") and item["id"] not in ids, "item ids must be there and differ")
        self.items[index] = Item(item, index)

    def item_done(self, event: dict[str, Any]) -> None:
        final = event["item"]
        item = self.find({**event, "item_id": final.get("id")})
        require(final["type"] == item.value["type"], "the item changed its type")
        if final["type"] in ("function_call", "custom_tool_call"):
            given = final.get("arguments", final.get("input"))
            require(final["call_id"] == item.value["call_id"], "the call changed its id")
            require(given == item.arguments, "the call's arguments are not what was streamed")
        for home in ("content", "summary"):
            parts = [item.parts[key] for key in sorted(item.parts) if key[0] == home]
            texts = [part.get("text", part.get("refusal")) for part in final.get(home) or ()]
            require(texts == [part.text for part in parts], f"the item's {home} is not what was streamed")
            for part in parts:
                require(part.closed or self.lean, "the item was done before its part")
        item.done = final

    def part_event(self, verb: str, event: dict[str, Any]) -> None:
        value = event["part"]
        if verb == "added":
            item = self.find(event)
            home = "summary" if value["type"] == "summary_text" else "content"
            count = sum(1 for of, _ in item.parts if of == home)
            at: Any = event.get(f"{home}_index", count if self.lean else None)
            require(at == count, f"part {at} after {count}")
            item.parts[home, at] = Part(value["type"])
            return
        part = self.part(event, value["type"])
        require(part.done is not None, "the part was done before its text")
        require(value.get("text", value.get("refusal")) == part.text, "the part's text is not what was streamed")
        part.closed = True

    def text(self, how: tuple[str, str], verb: str, event: dict[str, Any]) -> None:
        if verb not in ("delta", "done"):
            return
        part = self.part(event, how[0])
        require(part.done is None, "text after its done")
        if verb == "done":
            require(not part.deltas or event[how[1]] == part.text, "done repeats another text than was streamed")
            if not part.deltas:
                part.text = event[how[1]]
                self.count_text(how[0], part.text, event)
            part.done = part.text
        else:
            part.text += event["delta"]
            part.deltas += 1
            self.count_text(how[0], event["delta"], event)

    def count_text(self, kind: str, text: str, event: dict[str, Any]) -> None:
        if kind == "output_text":
            index = self.find(event).index
            self.answer.texts[index] = self.answer.texts.get(index, "") + text
        elif kind == "refusal":
            self.answer.refusal += text
        else:
            self.answer.reasoning += text

    def argument(self, how: tuple[str, str], verb: str, event: dict[str, Any]) -> None:
        item = self.find(event)
        require(item.value["type"] == how[0], f"{event['type']} in a {item.value['type']}")
        if verb == "delta":
            item.arguments += event["delta"]
        else:
            require(event[how[1]] == item.arguments or not item.arguments, "done repeats other arguments")
            item.arguments = event[how[1]]


def read(raw: bytes, *, lean: bool = False, unended: bool = False) -> Answer:
    """Read a whole stream. `lean`: as llama.cpp writes it. `unended`: a prefix is fine. Raises Illegal."""
    reader = Reader(lean)
    for name, event in objects(raw):
        require(name == event["type"], f"event {name!r} is a {event['type']!r}")
        reader.feed(event)
    require(unended or reader.answer.end, "no terminal event")
    return reader.answer

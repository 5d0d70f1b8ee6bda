"""The wire formats of four model services, as their servers speak them: one reply in, a body or a stream of events out."""

import json
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Call:
    name: str
    arguments: str = "{}"
    id: str | None = "call_1"


@dataclass(frozen=True)
class Answer:
    """What a fake service sends for one request.

    `pieces`: into how many deltas a text or an argument string is cut. `finish` is in the words of the chat wire.
    """

    text: str = ""
    reasoning: str = ""
    signature: str = ""
    calls: tuple[Call, ...] = ()
    finish: str | None = "stop"
    pieces: int = 2
    usage: tuple[int, int, int] = (11, 7, 4)
    refusal: str = ""
    # instead of a reply
    status: int = 200
    error: object = None
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    content_type: str = "application/json"
    # faults of the line
    events: int | None = None
    """Send only so many events, then stop."""
    chunked: bool = False
    """A stopped stream is visibly broken (chunked coding without its end) rather than merely over."""
    hang: bool = False


def cut(text: str, pieces: int) -> list[str]:
    size = max(1, -(-len(text) // pieces))
    return [text[i : i + size] for i in range(0, len(text), size)]


def sse(data: object, event: str | None = None) -> str:
    head = f"event: {event}\n" if event else ""
    return f"{head}data: {data if isinstance(data, str) else json.dumps(data)}\n\n"


# ---- OpenAI Chat Completions


def _chat_usage(answer: Answer) -> dict:
    given, made, cached = answer.usage
    return {
        "prompt_tokens": given,
        "completion_tokens": made,
        "total_tokens": given + made,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


def _chat_call(call: Call, **more) -> dict:
    function = {"name": call.name, "arguments": call.arguments}
    return {**more, "type": "function", "function": function, **({} if call.id is None else {"id": call.id})}


def chat(answer: Answer, body: dict) -> dict:
    message: dict = {"role": "assistant", "content": answer.text or None}
    if answer.reasoning:
        message["reasoning_content"] = answer.reasoning
    if answer.refusal:
        message["refusal"] = answer.refusal
    if answer.calls:
        message["tool_calls"] = [_chat_call(call) for call in answer.calls]
    choice = {"index": 0, "message": message, "finish_reason": answer.finish}
    return {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": body["model"],
        "choices": [choice],
        "usage": _chat_usage(answer),
    }


def chat_stream(answer: Answer, body: dict) -> list[str]:
    base = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}

    def delta(delta: dict, finish: str | None = None) -> str:
        return sse({**base, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    out = [delta({"role": "assistant", "content": ""})]
    out += [delta({"reasoning_content": piece}) for piece in cut(answer.reasoning, answer.pieces)]
    out += [delta({"content": piece}) for piece in cut(answer.text, answer.pieces)]
    if answer.refusal:
        out += [delta({"refusal": piece}) for piece in cut(answer.refusal, answer.pieces)]
    for index, call in enumerate(answer.calls):
        empty = Call(call.name, "", call.id)
        out.append(delta({"tool_calls": [_chat_call(empty, index=index)]}))
        for piece in cut(call.arguments, answer.pieces):
            out.append(delta({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}))
    if answer.finish is not None:
        out.append(delta({}, answer.finish))
        out.append(sse({**base, "choices": [], "usage": _chat_usage(answer)}))
        out.append(sse("[DONE]"))
    return out


# ---- OpenAI Responses


def _response_items(answer: Answer) -> list[dict]:
    items: list[dict] = []
    if answer.reasoning:
        summary = [{"type": "summary_text", "text": answer.reasoning}]
        items.append(
            {"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": answer.signature or None}
        )
    if answer.text:
        content = [{"type": "output_text", "text": answer.text, "annotations": []}]
        items.append({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content})
    if answer.refusal:
        content = [{"type": "refusal", "refusal": answer.refusal}]
        items.append({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content})
    for index, call in enumerate(answer.calls):
        item = {
            "type": "function_call",
            "id": f"fc_{index}",
            "name": call.name,
            "arguments": call.arguments,
            "status": "completed",
        }
        items.append({**item, "call_id": call.id})
    return items


def responses(answer: Answer, body: dict) -> dict:
    given, made, cached = answer.usage
    cut_off = answer.finish == "length"
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": body["model"],
        "status": "incomplete" if cut_off else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if cut_off else None,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "output": _response_items(answer),
        "usage": {
            "input_tokens": given,
            "output_tokens": made,
            "total_tokens": given + made,
            "input_tokens_details": {"cached_tokens": cached},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
    }


def responses_stream(answer: Answer, body: dict) -> list[str]:
    whole = responses(answer, body)
    number = iter(range(10_000))

    def event(kind: str, **more) -> str:
        return sse({"type": kind, "sequence_number": next(number), **more}, kind)

    out = [
        event(
            "response.created",
            response={**whole, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None},
        )
    ]
    for index, item in enumerate(whole["output"]):
        out += _item_events(event, item, index, answer)
    out.append(event("response.incomplete" if answer.finish == "length" else "response.completed", response=whole))
    return out


def _item_events(event, item: dict, index: int, answer: Answer) -> list[str]:
    at = {"output_index": index}
    if item["type"] == "function_call":
        place = {**at, "item_id": item["id"]}
        out = [event("response.output_item.added", item={**item, "arguments": "", "status": "in_progress"}, **at)]
        out += [
            event("response.function_call_arguments.delta", delta=piece, **place)
            for piece in cut(item["arguments"], answer.pieces)
        ]
        out.append(
            event("response.function_call_arguments.done", arguments=item["arguments"], name=item["name"], **place)
        )
        return [*out, event("response.output_item.done", item=item, **at)]
    if item["type"] == "reasoning":
        place = {**at, "item_id": item["id"], "summary_index": 0}
        out = [event("response.output_item.added", item={**item, "summary": []}, **at)]
        out.append(event("response.reasoning_summary_part.added", part={"type": "summary_text", "text": ""}, **place))
        out += [
            event("response.reasoning_summary_text.delta", delta=piece, **place)
            for piece in cut(answer.reasoning, answer.pieces)
        ]
        out.append(event("response.reasoning_summary_text.done", text=answer.reasoning, **place))
        out.append(event("response.reasoning_summary_part.done", part=item["summary"][0], **place))
        return [*out, event("response.output_item.done", item=item, **at)]
    place = {**at, "item_id": item["id"], "content_index": 0}
    kind = item["content"][0]["type"]
    text = answer.text or answer.refusal
    out = [event("response.output_item.added", item={**item, "content": [], "status": "in_progress"}, **at)]
    if kind == "output_text":
        out.append(event("response.content_part.added", part={"type": kind, "text": "", "annotations": []}, **place))
        out += [
            event("response.output_text.delta", delta=piece, logprobs=[], **place) for piece in cut(text, answer.pieces)
        ]
        out.append(event("response.output_text.done", text=text, logprobs=[], **place))
    else:
        out += [event("response.refusal.delta", delta=piece, **place) for piece in cut(text, answer.pieces)]
        out.append(event("response.refusal.done", refusal=text, **place))
    out.append(event("response.content_part.done", part=item["content"][0], **place))
    return [*out, event("response.output_item.done", item=item, **at)]


# ---- Anthropic Messages

_STOP = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal", None: None}


def _stop(answer: Answer) -> str | None:
    return (
        "refusal"
        if answer.refusal
        else "tool_use"
        if answer.calls and answer.finish == "stop"
        else _STOP[answer.finish]
    )


def messages(answer: Answer, body: dict) -> dict:
    given, made, cached = answer.usage
    content: list[dict] = []
    if answer.reasoning:
        content.append({"type": "thinking", "thinking": answer.reasoning, "signature": answer.signature})
    if answer.text or answer.refusal:
        content.append({"type": "text", "text": answer.text or answer.refusal})
    for call in answer.calls:
        try:
            value = json.loads(call.arguments)
        except ValueError:
            value = call.arguments
        content.append({"type": "tool_use", "id": call.id, "name": call.name, "input": value})
    usage = {
        "input_tokens": given - cached,
        "output_tokens": made,
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": 0,
    }
    return {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": content,
        "stop_reason": _stop(answer),
        "stop_sequence": None,
        "usage": usage,
    }


def messages_stream(answer: Answer, body: dict) -> list[str]:
    whole = messages(answer, body)

    def event(kind: str, **more) -> str:
        return sse({"type": kind, **more}, kind)

    start = {**whole, "content": [], "stop_reason": None, "usage": {**whole["usage"], "output_tokens": 1}}
    out = [event("message_start", message=start)]
    calls = iter(answer.calls)
    for index, block in enumerate(whole["content"]):
        kind = block["type"]
        empty = {"text": {"text": ""}, "thinking": {"thinking": "", "signature": ""}, "tool_use": {"input": {}}}[kind]
        out.append(event("content_block_start", index=index, content_block={**block, **empty}))
        text = {"text": block.get("text"), "thinking": block.get("thinking")}.get(kind)
        text = next(calls).arguments if kind == "tool_use" else text
        delta = {
            "text": ("text_delta", "text"),
            "thinking": ("thinking_delta", "thinking"),
            "tool_use": ("input_json_delta", "partial_json"),
        }[kind]
        for piece in cut(text, answer.pieces):
            out.append(event("content_block_delta", index=index, delta={"type": delta[0], delta[1]: piece}))
        if kind == "thinking":
            out.append(
                event(
                    "content_block_delta", index=index, delta={"type": "signature_delta", "signature": answer.signature}
                )
            )
        out.append(event("content_block_stop", index=index))
    if answer.finish is not None:
        stop = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        out.append(event("message_delta", delta=stop, usage={"output_tokens": answer.usage[1]}))
        out.append(event("message_stop"))
    return out


# ---- Gemini generateContent

_FINISH = {"stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY", None: None}


def _gemini_part(call: Call, signature: str) -> dict:
    try:
        arguments = json.loads(call.arguments)
    except ValueError:
        arguments = call.arguments
    part: dict = {"functionCall": {"name": call.name, "args": arguments}}
    return {**part, "thoughtSignature": signature} if signature else part


def gemini(answer: Answer, body: dict) -> dict:
    given, made, cached = answer.usage
    parts: list[dict] = []
    if answer.reasoning:
        parts.append({"text": answer.reasoning, "thought": True})
    if answer.text:
        parts.append({"text": answer.text})
    parts += [_gemini_part(call, answer.signature) for call in answer.calls]
    finish = "SAFETY" if answer.refusal else _FINISH[answer.finish]
    candidate = {
        "index": 0,
        "content": {"role": "model", "parts": parts},
        **({"finishReason": finish} if finish else {}),
    }
    usage = {
        "promptTokenCount": given,
        "candidatesTokenCount": made,
        "totalTokenCount": given + made,
        "cachedContentTokenCount": cached,
    }
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": body["model"], "responseId": "g1"}


def gemini_stream(answer: Answer, body: dict) -> list[str]:
    whole = gemini(answer, body)
    parts = whole["candidates"][0]["content"]["parts"]
    out: list[str] = []
    for part in parts:
        pieces = cut(part["text"], answer.pieces) if "text" in part else [None]
        for piece in pieces:
            shown = part if piece is None else {**part, "text": piece}
            out.append(
                sse(
                    {
                        "candidates": [{"index": 0, "content": {"role": "model", "parts": [shown]}}],
                        "modelVersion": body["model"],
                        "responseId": "g1",
                    }
                )
            )
    candidate = {k: v for k, v in whole["candidates"][0].items() if k != "content"}
    return [*out, sse({**whole, "candidates": [{**candidate, "content": {"role": "model", "parts": []}}]})]

"""The prompts of the local model, in its chat format, and what its answers are constrained to."""

import json
import re
from collections.abc import Sequence

from tt_kernel.domain.canonical import JsonObject, canonical_json
from tt_kernel.domain.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from tt_kernel.domain.specs import ToolOffer
from tt_kernel.domain.turns import Sampling
from tt_kernel.providers.local_examples import (
    QUOTES,
    REPLIES,
    ReplyExample,
    call_examples,
    has_examples,
    reply_examples,
)
from tt_kernel.providers.local_schema import LONG_CHARS, constrained
from tt_kernel.providers.local_words import digits

SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
OWN_SYSTEM_CHARS = 300
"""A longer system prompt is left out: generated instructions about tools only confuse a model of this size."""
HISTORY_CHARS = 4_000
"""Of the conversation, newest first; about 1,000 tokens, which take some seconds to read."""
DESCRIPTION_CHARS = 160
UNREPEATED = 1.1
"""Penalty that keeps free text from going in circles; copying words of the prompt needs none."""
REPLY_TOKENS = 192
CALL_TOKENS = 320
SENTENCE_TOKENS = 48
QUESTION_CHARS = 400
SHORT_RESULT = 120
"""Characters up to which a result is put into a sentence; a longer one is quoted."""
_NUMBER_AT_END = re.compile(r"(-?\d+(?:\.\d+)?)\W*$")


def chat_ask(messages: Sequence[Message], sampling: Sampling) -> JsonObject:
    """A free reply to the conversation."""
    parts = [("system", _system(messages)), *_history(messages)]
    return {**_ask(_chat(parts), sampling, REPLY_TOKENS), "repeat_penalty": UNREPEATED}


def choice_ask(tools: Sequence[ToolOffer], prompt: str, sampling: Sampling) -> JsonObject:
    """Which of several tools: the answer is one of their names."""
    known = "\n".join(_signature(tool, {}) for tool in tools)
    parts = [("system", f"Answer with the name of the tool.\n{known}"), ("user", digits(prompt))]
    grammar = "root ::= " + " | ".join(json.dumps(tool.name) for tool in tools)
    return {**_ask(_chat(parts), sampling, SENTENCE_TOKENS), "grammar": grammar, "temperature": 0}


def call_ask(tool: ToolOffer, prompt: str, problem: str | None, sampling: Sampling) -> JsonObject:
    """The arguments of one call, valid by the (cut down) schema.

    Args:
        tool: The tool to call.
        prompt: What the user said.
        problem: The error of an earlier try, if any.
        sampling: Of the profile.
    """
    schema = constrained(tool.input_schema, prompt)
    writes = any(part.get("maxLength") == LONG_CHARS for part in schema["properties"].values())
    parts = [("system", f"Answer with one tool call as JSON.\n{_signature(tool, schema)}")]
    for example in call_examples(tool.name, digits(prompt)):
        parts += [("user", example.prompt), ("assistant", _call(example.tool) + json.dumps(example.arguments) + "}")]
    parts.append(("user", digits(prompt) if problem is None else f"{digits(prompt)}\nNot like before: {problem[:200]}"))
    ask = _ask(_chat(parts) + _call(tool.name), sampling, CALL_TOKENS)
    return {**ask, "json_schema": schema, "temperature": 0, "repeat_penalty": UNREPEATED if writes else 1.0}


def sentence_ask(question: str, result: str, number: str, sampling: Sampling) -> JsonObject:
    """One sentence that tells the number that a result ends with; no other digit can be written."""
    parts = _told("You tell the user the result in one sentence.", REPLIES, question, result)
    grammar = (
        f"root ::= lead {json.dumps(number)} tail\n"
        'lead ::= [A-Z] [a-zA-Z \',_:]{2,48} " "\n'
        'tail ::= "." | " " [a-zA-Z ,\']{2,30} "."\n'
    )
    return {**_ask(_chat(parts), sampling, SENTENCE_TOKENS), "grammar": grammar, "temperature": 0}


def introduction_ask(question: str, result: str, sampling: Sampling) -> JsonObject:
    """A short introduction that ends with a colon, for a result that is quoted below it."""
    parts = _told("You introduce the result to the user.", QUOTES, question, result[:SHORT_RESULT])
    grammar = 'root ::= [A-Z] [a-zA-Z \',]{6,56} ":"'
    return {**_ask(_chat(parts), sampling, SENTENCE_TOKENS), "grammar": grammar, "temperature": 0}


def _told(task: str, bank: Sequence[ReplyExample], question: str, result: str) -> list[tuple[str, str]]:
    parts = [("system", task)]
    for example in reply_examples(bank, question, result):
        parts += [("user", f"Question: {example.question}\nResult: {example.result}"), ("assistant", example.reply)]
    return [*parts, ("user", f"Question: {question[:QUESTION_CHARS]}\nResult: {result}")]


def number_of(result: str) -> str | None:
    """The number that a short result of one line ends with: what its sentence is about."""
    text = result.strip()
    match = _NUMBER_AT_END.search(text)
    return match[1] if match and len(text) <= SHORT_RESULT and "\n" not in text else None


def _ask(prompt: str, sampling: Sampling, tokens: int) -> JsonObject:
    """Greedy and with a fixed seed unless the profile says otherwise; without the engine's prompt cache, which changes
    rounding and so, now and then, a word.
    """
    return {
        "prompt": prompt,
        "n_predict": min(tokens, sampling.max_tokens) if sampling.max_tokens else tokens,
        "temperature": sampling.temperature or 0,
        "top_p": sampling.top_p or 1.0,
        "seed": 1 if sampling.seed is None else sampling.seed,
        "stop": list(sampling.stop),
        "cache_prompt": False,
    }


def _chat(parts: Sequence[tuple[str, str]]) -> str:
    said = "".join(f"<|im_start|>{role}\n{_plain(text)}<|im_end|>\n" for role, text in parts)
    return f"{said}<|im_start|>assistant\n"


def _plain(text: str) -> str:
    """Text cannot pose as a mark of the chat format."""
    return text.replace("<|", "< |")


def _call(tool: str) -> str:
    return f'{{"tool": {json.dumps(tool)}, "arguments": '


def _signature(tool: ToolOffer, schema: JsonObject) -> str:
    about = re.split(r"(?<=[.!?])\s", tool.description.strip(), maxsplit=1)[0][:DESCRIPTION_CHARS]
    known = tool.input_schema.get("properties") or {}
    told = not has_examples(tool.name)  # examples say it better than a description
    arguments = "; ".join(_parameter(name, known.get(name), told) for name in schema.get("properties") or {})
    return f"- {tool.name}: {about}" + (f" Arguments: {arguments}" if arguments else "")


def _parameter(name: str, schema: object, told: bool) -> str:
    described = schema if isinstance(schema, dict) else {}
    kind, about = (
        described.get("type", "text"),
        str(described.get("description", ""))[:DESCRIPTION_CHARS] if told else "",
    )
    return f"{name} ({kind if isinstance(kind, str) else canonical_json(kind)})" + (f": {about}" if about else "")


def _system(messages: Sequence[Message]) -> str:
    own = next((m.text for m in messages if isinstance(m, SystemMessage)), "")
    return own if 0 < len(own) <= OWN_SYSTEM_CHARS else SYSTEM


def _history(messages: Sequence[Message]) -> list[tuple[str, str]]:
    """The newest exchanges that fit, each whole (a user message with everything that answers it); the last one always."""
    kept: list[tuple[str, str]] = []
    room = HISTORY_CHARS
    for group in reversed(_groups(messages)):
        size = sum(len(text) for _, text in group)
        if kept and size > room:
            break
        kept = group + kept
        room -= size
    return [(role, _cut(text)) for role, text in kept]


def _groups(messages: Sequence[Message]) -> list[list[tuple[str, str]]]:
    groups: list[list[tuple[str, str]]] = []
    for message in messages:
        if isinstance(message, UserMessage):
            groups.append([("user", message.text)])
        elif groups and isinstance(message, AssistantMessage) and message.text:
            groups[-1].append(("assistant", message.text))
        elif groups and isinstance(message, ToolMessage):
            groups[-1].append(("assistant", f"Result of {message.name}: {message.text[:SHORT_RESULT]}"))
    return groups


def _cut(text: str) -> str:
    """A single text that is too long keeps its beginning and its end."""
    half = HISTORY_CHARS // 2
    return text if len(text) <= HISTORY_CHARS else f"{text[:half]}\n[...]\n{text[-half:]}"

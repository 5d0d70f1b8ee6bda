"""One invocation's walk along its chain: where it is, what is recorded there, what is to be recorded."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from tt_kernel.domain.calls import StoredFile, ToolCall, ToolResult
from tt_kernel.domain.canonical import Json, JsonObject, digest
from tt_kernel.domain.ids import Digest
from tt_kernel.domain.messages import AssistantMessage, Message, ToolMessage
from tt_kernel.domain.ports import ApprovalAnswer
from tt_kernel.domain.specs import ToolChoice, ToolOffer
from tt_kernel.domain.turns import ModelReply, Sampling
from tt_kernel.store.recordings import (
    Chain,
    RecordedFailure,
    RecordedReply,
    RecordedRun,
    Recordings,
    parse_decision,
    parse_result,
)


@dataclass(frozen=True)
class Asked:
    """Everything of a request that does not grow; `blind`, a model that takes no images, is kept with it and in no digest."""

    model: str
    identity: Json
    sampling: Sampling
    tools: tuple[ToolOffer, ...]
    blind: bool = False

    @cached_property
    def body(self) -> JsonObject:
        return {
            "model": self.model,
            "identity": self.identity,
            "sampling": self.sampling.model_dump(mode="json", exclude_defaults=True),
            "tools": [tool.model_dump(mode="json") for tool in self.tools],
        }

    @cached_property
    def digest(self) -> Digest:
        return digest(self.body)


@dataclass(frozen=True)
class Position:
    """Where a tape is, for the explanation of a miss. `turn` counts requests from 1."""

    chain: Chain
    parent: str | None
    line: JsonObject
    fixed: JsonObject
    turn: int


class Tape:
    """Walks a chain turn by turn.

    While everything comes from the record nothing is written: new lines wait until `go_live` names the run that makes them.
    """

    def __init__(
        self, recordings: Recordings, asked: Asked, *, slot: int, borrows: bool = True, recording: bool = True
    ) -> None:
        """`borrows`: the first slot, where it has no reply, may use another's (`Chain.reply`)."""
        self._recordings = recordings
        self._asked = asked
        self._slot = slot
        self._borrows = borrows
        self._recording = recording
        self._fixed = asked.digest
        self._seen = 0
        self._asked_list: Sequence[Message] = ()
        self._asked_last: list[Message] = []
        self._turn = 0
        self._replies = 0
        self._root: Digest | None = None
        self._request: Digest | None = None
        self._choice: ToolChoice | None = None
        self._run: RecordedRun | None = None
        self._source: str | None = None
        self._replayed: list[tuple[str, str]] = []
        self._waiting: list[JsonObject] = []
        self._described: set[str] = set()
        self._pending_request: JsonObject = {}
        self._chain: Chain | None = None

    @property
    def asked(self) -> Asked:
        return self._asked

    def switch(self, asked: Asked) -> None:
        """The next request is made of something else, in the same conversation."""
        self._asked, self._fixed = asked, asked.digest

    @property
    def request(self) -> Digest | None:
        """The digest of the request asked last."""
        return self._request

    @property
    def source(self) -> str | None:
        """The id of the run whose recording answered last; None once the run is live."""
        return self._source if self._run is None else None

    @property
    def is_live(self) -> bool:
        return self._run is not None

    def ask(self, messages: Sequence[Message], choice: ToolChoice) -> RecordedReply | None:
        """Move on to the request made of `messages`; the recorded reply if there is one. Asking the same again is free.

        A list that does not go on from the last one (a question aside, or a conversation that was compacted) continues the
        chain too: it follows from what was asked before, and is digested whole.
        """
        if len(messages) != self._seen or choice != self._choice or not self._goes_on(messages):
            self._advance(messages, choice)
        chain = self._chain
        return chain.reply(self._here, self._slot, self._borrows) if chain else None

    def take(self, reply: RecordedReply) -> None:
        """The recorded reply is used: results are now looked up in the run that recorded it."""
        self._source = reply.run
        self._replies += 1
        self._replayed.append((self._here, reply.run))

    def failure(self) -> RecordedFailure | None:
        """How the model failed at the request asked last, where it has no reply."""
        return self._chain.failures.get((self._here, self._slot)) if self._chain else None

    def fail(self, failure: RecordedFailure) -> None:
        """The recorded failure is used."""
        self._source = failure.run

    def recorded_run(self, reply: RecordedReply | RecordedFailure) -> RecordedRun | None:
        """The run that recorded a reply or a failure."""
        return self._chain.runs.get(reply.run) if self._chain else None

    def go_live(self, run: RecordedRun) -> None:
        """From here on `run` records. Its replayed prefix becomes its own, and what waited is written; the line that names the
        run goes with the first of what it says.
        """
        if self._run is not None:
            return
        self._run = run
        lines: list[JsonObject] = [
            {
                "kind": "run",
                "run": run.id,
                "key": run.key,
                "slot": run.slot,
                "startedAt": run.started_at,
                "seed": run.seed,
            }
        ]
        if self._replayed:
            requests = [request for request, _ in self._replayed]
            lines.append(
                {"kind": "prefix", "run": run.id, "of": self._replayed[-1][1], "slot": self._slot, "requests": requests}
            )
        lines += [{**line, "run": run.id} if "run" in line else line for line in self._waiting]
        self._waiting = lines if len(lines) == 1 else []
        if not self._waiting:
            self._write(lines)

    def record_reply(self, reply: ModelReply) -> None:
        """Keep a live reply to the current request. Requires `go_live` before."""
        self._source = self._run.id if self._run else None
        self._replies += 1
        body = reply.model_dump(mode="json", exclude_defaults=True)
        self._write(
            [
                *self._described_request(),
                {"kind": "reply", "request": self._here, "slot": self._slot, "run": self._source, "reply": body},
            ]
        )

    def record_failure(self, code: str, message: str, text: str) -> None:
        """Keep how a live request failed, and what had come of its reply. Requires `go_live` before."""
        facts = {"request": self._here, "slot": self._slot, "run": self._run.id if self._run else None}
        shown = {"text": text} if text else {}
        line = {"kind": "failure", **facts, "code": code, "message": message, **shown}
        self._write([*self._described_request(), line])

    def find_result(self, call: ToolCall, version: str) -> ToolResult | None:
        """The recorded result of this call, if tool, version and arguments are the same."""
        line = self._find("results", call.index, self._result_key(call, version))
        return parse_result(line).model_copy(update={"call_id": call.id}) if line else None

    def record_result(self, call: ToolCall, version: str, result: ToolResult) -> None:
        # Effects are not part of the record: tools that have any are executed again.
        body = result.model_dump(mode="json", exclude_defaults=True, exclude={"effects"})
        self._write(
            [self._line("result", call.index) | self._result_key(call, version) | {"result": body}],
        )

    def find_decision(self, call: ToolCall) -> ApprovalAnswer | None:
        line = self._find("decisions", call.index, {"tool": str(call.tool_id), "arguments": _arguments(call)})
        return parse_decision(line) if line else None

    def record_decision(self, call: ToolCall, answer: ApprovalAnswer) -> None:
        line = self._line("decision", call.index)
        facts = {"tool": str(call.tool_id), "arguments": _arguments(call)}
        self._write([line | facts | {"answer": answer.model_dump(mode="json", exclude_defaults=True)}])

    def find_guidance(self) -> list[str]:
        """What a person said after the reply that was taken last and before the next request."""
        if self._chain is None or self._source is None or self._request is None:
            return []
        for run in self._chain.lineage(self._source):
            texts = self._chain.guidance.get((run, self._request))
            if texts is not None:
                return texts
        return []

    def record_guidance(self, texts: list[str]) -> None:
        """Keep what a person said before the next request; before the first request there is nothing to keep it by."""
        if self._request is None or not self._replies:
            return
        run = self._run.id if self._run else ""
        self._write([{"kind": "guidance", "run": run, "request": self._request, "texts": texts}])

    def save_blob(self, file: StoredFile, data: bytes) -> None:
        if self._recording:
            self._recordings.save_blob(file.sha256, data)

    def read_blob(self, sha256: str) -> bytes | None:
        return self._recordings.read_blob(sha256)

    @property
    def position(self) -> Position:
        chain = self._chain
        assert chain is not None, "nothing was asked yet"
        line = self._pending_request
        return Position(chain, line["parent"], line, self._asked.body, self._turn)

    def all_roots(self) -> list[tuple[JsonObject, Chain]]:
        """The first requests of all chains of the folder."""
        return [
            (line, chain)
            for chain in self._recordings.roots()
            for line in chain.requests.values()
            if line.get("parent") is None
        ]

    # -- inside

    @property
    def _here(self) -> Digest:
        assert self._request is not None, "nothing was asked yet"
        return self._request

    def _goes_on(self, messages: Sequence[Message]) -> bool:
        """Whether `messages` begin with the ones of the last request. The list that has only grown is known by its end."""
        if self._seen == 0 or len(messages) < self._seen:
            return False
        if messages is self._asked_list and messages[self._seen - 1] is self._asked_last[-1]:
            return True
        return list(messages[: self._seen]) == self._asked_last

    def _advance(self, messages: Sequence[Message], choice: ToolChoice) -> None:
        goes_on = self._goes_on(messages)
        new = messages[self._seen :] if goes_on else messages
        parent = self._request
        body = [parent, self._fixed, choice.model_dump(mode="json"), [m.digest_body() for m in new]]
        self._request = digest(body)
        if self._root is None:
            self._root = self._request
            self._chain = self._recordings.chain(self._root)
        self._seen, self._choice, self._turn = len(messages), choice, self._turn + 1
        self._asked_list, self._asked_last = messages, self._asked_last if goes_on else []
        self._asked_last += new
        self._source = None
        self._pending_request = {
            "kind": "request",
            "digest": self._request,
            "parent": parent,
            "fixed": self._fixed,
            "choice": choice.kind,
            "messages": [_brief(m) for m in new],
        }

    def _described_request(self) -> list[JsonObject]:
        chain = self._chain
        known = chain.requests if chain else {}
        if self._here in known or self._here in self._described:
            return []
        self._described.add(self._here)
        lines = []
        if chain is not None and self._fixed not in chain.bodies:
            seeing = {"blind": True} if self._asked.blind else {}
            lines.append({"kind": "body", "digest": self._fixed, "body": self._asked.body, **seeing})
        return [*lines, self._pending_request]

    def _find(self, table: str, index: int, key: JsonObject) -> JsonObject | None:
        """Of the run that recorded, or the nearest one that it went on from: one of them may have made another call there."""
        chain = self._chain
        if chain is None or self._source is None or (self._run is not None and self._source == self._run.id):
            return None
        lines: dict[tuple[str, str, int], JsonObject] = getattr(chain, table)
        for run in chain.lineage(self._source):
            line = lines.get((run, self._here, index))
            if line is not None and key.items() <= line.items():
                return line
        return None

    def _line(self, kind: str, index: int) -> JsonObject:
        run = self._run.id if self._run else ""
        return {"kind": kind, "run": run, "request": self._here, "index": index}

    @staticmethod
    def _result_key(call: ToolCall, version: str) -> JsonObject:
        return {"tool": str(call.tool_id), "version": version, "arguments": _arguments(call)}

    def _write(self, lines: list[JsonObject]) -> None:
        if not self._recording or self._root is None:
            return
        if self._run is None:
            self._waiting += lines
        else:
            first, self._waiting = self._waiting, []
            self._recordings.append(self._root, first + lines)


def _arguments(call: ToolCall) -> str:
    return digest([call.arguments.value, call.arguments.raw])[:16]


def _brief(message: Message) -> Json:
    """Replies and results are in lines of their own; a request only names them."""
    if isinstance(message, AssistantMessage | ToolMessage):
        return {"role": message.role, "digest": digest(message.digest_body())[:16]}
    return message.model_dump(mode="json", exclude_defaults=True) | {"role": message.role}

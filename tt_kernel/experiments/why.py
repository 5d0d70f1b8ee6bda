"""`why`: where a run left what was recorded, and what was different there (DESIGN §7, §11)."""

from collections.abc import Iterator
from dataclasses import dataclass

from tt_kernel.domain.canonical import JsonObject, canonical_json
from tt_kernel.domain.runs import RunRecord
from tt_kernel.session.contrasts import Contrast, Side, contrasts, distance
from tt_kernel.session.core import Session
from tt_kernel.session.misses import side_of
from tt_kernel.store.recordings import Chain

AGAIN = "The same request had been recorded before, for another run of it: each repeat has its own recording."


@dataclass(frozen=True)
class Why:
    """Why a run asked the model, or called a tool, although there were recordings.

    Attributes:
        run: Its id.
        turn: Its first turn that was not in a recording, from 1; None where nothing was recorded.
        nearest: The run whose recording it was nearest to; None where there was none.
        reason: A sentence, where the difference is of no request.
        contrasts: What differs, the first first.
    """

    run: str
    turn: int | None
    nearest: str | None = None
    reason: str = ""
    contrasts: tuple[Contrast, ...] = ()

    @property
    def sentence(self) -> str:
        """The whole answer in short."""
        return self.contrasts[0].sentence if self.contrasts else self.reason


def why(session: Session, run_id: str) -> Why:
    """Explain one run.

    Args:
        session: Of the run's notebook.
        run_id: Its id or the beginning of it.

    Raises:
        NotFound: No such run.
    """
    record = session.index.find(run_id)
    chain = next((chain for chain in session.recordings.roots() if record.id in chain.runs), None)
    if chain is None:
        reason = (
            "it was run with mode off" if record.mode == "off" else "its recordings were deleted, or it failed before"
        )
        return Why(record.id, None, reason=f"Nothing is recorded of run {record.id}: {reason}.")
    if record.mode == "live":
        return Why(record.id, 1, reason="It was asked to run live, whatever is recorded.")
    return _Search(session, record, chain).answer()


@dataclass(frozen=True)
class _Search:
    session: Session
    record: RunRecord
    chain: Chain

    def answer(self) -> Why:
        prefix = self.chain.prefixes.get(self.record.id, ())
        if prefix:
            return self._after_prefix(prefix)
        request = next((r for r in self._own() if self.chain.requests[r].get("parent") is None), None)
        if request is None:
            return self._why(1, None, "Its recording was replaced by a later live run.")
        if self._others(request):
            return self._why(1, self._others(request)[0], AGAIN)
        return self._nearest_root(request)

    def _after_prefix(self, prefix: tuple[str, ...]) -> Why:
        """It replayed `prefix` and then did something new: a call, or the next request."""
        turn, source = len(prefix), self.chain.parents.get(self.record.id)
        called = list(self._calls(prefix[-1]))
        if called:
            return Why(self.record.id, turn, source, contrasts=tuple(called))
        own = set(self._own())
        request = next((r for r in own if self.chain.requests[r].get("parent") == prefix[-1]), None)
        if request is None:
            return self._why(turn + 1, source, f"Run {source} has no recording after turn {turn}.")
        siblings = [r for r in self._children(prefix[-1]) if r != request and self._others(r)]
        if not siblings:
            return self._why(turn + 1, source, self._ended(turn, source))
        now = self._side(request)
        near = min(siblings, key=lambda r: distance(self._side(r), now))
        found = [self._with_texts(c, prefix[-1], source) for c in contrasts(self._side(near), now)]
        return Why(self.record.id, turn + 1, self._others(near)[0], contrasts=tuple(found))

    def _nearest_root(self, request: str) -> Why:
        now = self._side(request)
        candidates = [
            (distance(side_of(line, chain), now), n, runs[0], side_of(line, chain))
            for n, chain in enumerate(self.session.recordings.roots())
            if (runs := self._earlier(chain))
            for line in chain.requests.values()
            if line.get("parent") is None and line["digest"] != request
        ]
        if not candidates:
            return self._why(1, None, "Nothing had been recorded before it.")
        _, _, run, then = min(candidates, key=lambda found: found[:2])
        return Why(self.record.id, 1, run, contrasts=tuple(contrasts(then, now)))

    def _why(self, turn: int, nearest: str | None, reason: str) -> Why:
        return Why(self.record.id, turn, nearest, reason)

    def _own(self) -> list[str]:
        """The requests that the run asked the model."""
        return [request for request, runs in self.chain.asked.items() if self.record.id in runs]

    def _others(self, request: str) -> list[str]:
        """The runs before this one that asked the same."""
        before = self._before()
        return [run for run in self.chain.asked.get(request, ()) if run in before]

    def _before(self) -> list[str]:
        order = list(self.chain.runs)
        return order[: order.index(self.record.id)]

    def _earlier(self, chain: Chain) -> list[str]:
        """Of another chain, the runs that had started before."""
        if self.record.id in chain.runs:
            return self._before()
        return [run.id for run in chain.runs.values() if run.started_at <= self.record.started_at]

    def _children(self, request: str) -> list[str]:
        return [digest for digest, line in self.chain.requests.items() if line.get("parent") == request]

    def _side(self, request: str) -> Side:
        return side_of(self.chain.requests[request], self.chain)

    def _ended(self, turn: int, source: str | None) -> str:
        return f"Run {source} ended after turn {turn}: there was nothing to replay."

    def _calls(self, request: str) -> Iterator[Contrast]:
        """Calls of a replayed turn that were executed anew, and why they could not be answered from the record."""
        for (run, at, index), line in sorted(self.chain.results.items()):
            if run != self.record.id or at != request:
                continue
            then = self._recorded(request, index)
            yield Contrast("tool", _call_sentence(line, then, index), str(line["tool"]), _version(then), _version(line))

    def _recorded(self, request: str, index: int) -> JsonObject | None:
        lineage = self.chain.lineage(self.record.id)[1:]
        return next((line for run in lineage if (line := self.chain.results.get((run, request, index)))), None)

    def _with_texts(self, contrast: Contrast, parent: str, source: str | None) -> Contrast:
        """A tool result is in a request by its digest only: its text is with the call."""
        if contrast.kind != "result":
            return contrast
        index = int(contrast.name) - 1  # after the reply
        new = self._result(self.record.id, parent, index)
        old = self._result(source, parent, index)
        if old is None or new is None:
            return contrast
        place = _first_line(old["result"]["content"], new["result"]["content"])
        sentence = f"The result of {new['tool']} (call {index + 1}) differs {place}"
        return Contrast("result", sentence, str(new["tool"]), old["result"]["content"], new["result"]["content"])

    def _result(self, run: str | None, request: str, index: int) -> JsonObject | None:
        for one in self.chain.lineage(run) if run else ():
            if (one, request, index) in self.chain.results:
                return self.chain.results[one, request, index]
        return None


def _version(line: JsonObject | None) -> str:
    return f"version {str(line['version'])[:16]}" if line else ""


def _call_sentence(now: JsonObject, then: JsonObject | None, index: int) -> str:
    name = f"{now['tool']} (call {index + 1})"
    if then is None:
        return f"No result of {name} is recorded."
    if then["tool"] != now["tool"]:
        return f"Call {index + 1} is of another tool: recorded {then['tool']}, now {now['tool']}."
    if then["version"] != now["version"]:
        return f"{name} was executed again: the tool's code or schema changed."
    if then["arguments"] != now["arguments"]:
        return f"{name} was executed again: its arguments changed."
    same = canonical_json(then["result"]) == canonical_json(now["result"])
    return f"{name} was executed again" + (" with the same result." if same else " with another result.")


def _first_line(then: str, now: str) -> str:
    old, new = then.splitlines(), now.splitlines()
    for number, (a, b) in enumerate(zip(old, new, strict=False), start=1):
        if a != b:
            return f'at line {number}: recorded "{a[:120]}", now "{b[:120]}".'
    return f"in length: recorded {len(old)} lines, now {len(new)}."

"""Why a strict replay found nothing: the first thing that differs from the nearest recording (DESIGN §7)."""

from tt_kernel.domain.canonical import JsonObject, canonical_json
from tt_kernel.store.recordings import Chain
from tt_kernel.store.tape import Position, Tape


def explain_miss(tape: Tape) -> str:
    """One or two sentences for a person: which request has no recording, and what differs first."""
    position = tape.position
    head = "Nothing is recorded for this request."
    if position.parent is not None:
        siblings = [r for r in position.chain.requests.values() if r.get("parent") == position.parent]
        where = f"No recording for turn {position.turn}."
        if not siblings:
            return f"{where} The recorded run ended before it."
        return f"{where} {_first(position.line, siblings[-1], position, position.chain)}"
    roots = tape.all_roots()
    if not roots:
        return f"{head} This notebook has no recordings yet; run it once with --live."
    near, chain = min(roots, key=lambda pair: _distance(position.line, pair[0], position, pair[1]))
    return f"{head} {_first(position.line, near, position, chain)}"


def _distance(line: JsonObject, other: JsonObject, position: Position, chain: Chain) -> int:
    """Fewer differing parts are nearer; a prompt that shares its beginning is nearer than one that does not."""
    fixed, known = position.fixed, chain.bodies.get(other["fixed"], {})
    parts = sum(int(canonical_json(fixed.get(k)) != canonical_json(known.get(k))) for k in fixed)
    differing = [a for a, b in zip(line["messages"], other["messages"], strict=False) if a != b]
    return parts * 1000 + len(differing) * 400


def _first(line: JsonObject, other: JsonObject, position: Position, chain: Chain) -> str:
    known = chain.bodies.get(other["fixed"], {})
    for part in ("model", "identity", "sampling", "tools"):
        now, then = position.fixed.get(part), known.get(part)
        if canonical_json(now) != canonical_json(then):
            return (
                _tools(then or [], now or [])
                if part == "tools"
                else f"The {part} differs: recorded {_short(then)}, now {_short(now)}."
            )
    for index, (now, then) in enumerate(zip(line["messages"], other["messages"], strict=False)):
        if canonical_json(now) != canonical_json(then):
            return _message(index, then, now)
    if len(line["messages"]) != len(other["messages"]):
        return f"The number of messages differs: recorded {len(other['messages'])}, now {len(line['messages'])}."
    return "It was recorded for another run of the same cell."


def _tools(then: list[JsonObject], now: list[JsonObject]) -> str:
    old, new = {t["name"]: t for t in then}, {t["name"]: t for t in now}
    for name, tool in new.items():
        if name not in old:
            return f"Tool {name} is new."
        if canonical_json(old[name]) != canonical_json(tool):
            return f"Tool {name} has another description or schema."
    gone = [name for name in old if name not in new]
    return f"Tool {gone[0]} is gone." if gone else "The order of the tools differs."


def _message(index: int, then: JsonObject, now: JsonObject) -> str:
    role = now.get("role")
    if "text" not in now or "text" not in then:
        return f"Message {index + 1} ({role}) differs."
    what = {"system": "The system prompt", "user": "The prompt"}.get(str(role), "A message")
    old, new = then["text"].splitlines(), now["text"].splitlines()
    for number, (a, b) in enumerate(zip(old, new, strict=False), start=1):
        if a != b:
            return f'{what} differs at line {number}: recorded "{_cut(a)}", now "{_cut(b)}".'
    if len(old) != len(new):
        return f"{what} differs in length: recorded {len(old)} lines, now {len(new)}."
    return f"The images of message {index + 1} differ."


def _short(value: object) -> str:
    return _cut(canonical_json(value))


def _cut(text: str, width: int = 120) -> str:
    return text if len(text) <= width else text[:width] + "..."

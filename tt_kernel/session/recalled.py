"""Models as the recordings know them: enough to replay where neither script, library nor setting of them is (DESIGN §7)."""

from collections.abc import Iterator
from dataclasses import dataclass

from tt_kernel.domain.canonical import JsonObject, canonical_json
from tt_kernel.domain.messages import BACKGROUND
from tt_kernel.domain.turns import Sampling
from tt_kernel.providers.names import ModelFacts
from tt_kernel.store.recordings import Chain, Recordings


@dataclass(frozen=True)
class _Known:
    """The first request of a recorded conversation, as far as it tells what was asked of which model."""

    model: str
    facts: ModelFacts
    prompt: str
    sampling: str
    newest: str


def recalled_facts(recordings: Recordings, name: str, prompt: str, sampling: Sampling) -> ModelFacts | None:
    """What a model was when it was recorded; None: it never was.

    A script is something else for each conversation, and may have been edited between two of them: the recording of the same
    prompt counts, then that with the same settings, then the newest.

    Args:
        recordings: Of the notebook.
        name: `provider:model`.
        prompt: What the conversation begins with.
        sampling: The settings that will be asked for.
    """
    wanted = _text_of(sampling)
    known = [one for one in _all(recordings) if one.model == name]
    best = max(known, key=lambda one: (one.prompt == prompt, one.sampling == wanted, one.newest), default=None)
    return best.facts if best else None


def recalled_model(recordings: Recordings, prompt: str) -> str | None:
    """The model that this prompt was recorded with last; None: it never was."""
    known = [one for one in _all(recordings) if one.prompt == prompt]
    best = max(known, key=lambda one: one.newest, default=None)
    return best.model if best else None


def _all(recordings: Recordings) -> Iterator[_Known]:
    for chain in recordings.roots():
        for line in chain.requests.values():
            if line.get("parent") is None and line["fixed"] in chain.bodies:
                yield _known(chain, line)


def _known(chain: Chain, line: JsonObject) -> _Known:
    fixed = chain.bodies[line["fixed"]]
    name = fixed["model"]
    return _Known(
        model=name,
        facts=ModelFacts(name, fixed["identity"], accepts_images=line["fixed"] not in chain.blind),
        prompt=_prompt(line),
        sampling=canonical_json(fixed["sampling"]),
        newest=max((run.started_at for run in chain.runs.values()), default=""),
    )


def _prompt(line: JsonObject) -> str:
    said = (m for m in line["messages"] if m["role"] == "user" and m.get("source", "prompt") not in BACKGROUND)
    return next((str(message.get("text", "")) for message in said), "")


def _text_of(sampling: Sampling) -> str:
    return canonical_json(sampling.model_dump(mode="json", exclude_defaults=True))

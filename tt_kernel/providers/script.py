"""The file of a scripted model: what it may say, and the checks that name file, line and turn when it says it wrongly.

A script is YAML. Text that YAML 1.1 would turn into something else (yes, on, 2024-01-01, 1:30) stays text.

    script: 1                       # version of this format
    images: true                    # does the model accept images? (default true)
    pace: 20                        # milliseconds before each piece of text (default 0)
    chunk: 12                       # characters in a piece (default 16)
    conversations:
      - name: dice                  # for messages; must be unique
        when: roll                  # the first user prompt contains this (any case); a list: any of them; absent: every prompt
        turns:
          - think: I need the tool. # reasoning text
            say: Let me roll.       # text of the reply
            call: dice_roll         # one tool call ...
            with: {formula: 2d6}    #   ... and its arguments
          - expect: "= 8"           # the last tool result must contain this (or all of a list), else the run fails
            say: You rolled eight.

A file with `turns` in place of `conversations` is one conversation for every prompt. A turn that is only text is a string.
Which turn is next is the number of replies the conversation has so far, so a script needs no memory, and a continued run goes
on with the next turn. What else a turn may hold:

    calls: [{call: a, with: {}}, {call: b, raw: '{"x":'}]   # several calls; `raw` is an argument text as it is, malformed or not
    id: ""                          # the id of a call (beside `call`); the default is call_<turn>_<index>
    asked: more                     # the last user message must contain this
    say: {repeat: "lorem ", times: 50000}   # long text; `say: ""` is an empty reply
    refuse: I must not.             # a refusal
    finish: length                  # finish reason: stop, length, tool_call, error (default by content)
    wait: 500                       # milliseconds before anything is sent; `pace` and `chunk` may be set here too
    usage: {input: 10, output: 5, cached: 0, cost: 0.001}   # tokens and dollars (default: a quarter of the characters)
    fail: 503                       # the first attempt fails; or in full:
    fail: {error: cut, after: 20, times: 2, retry_after: 1, message: overloaded}
                                    #   error: 400 401 403 404 408 429 500 502 503 504 529, cut (the stream breaks after
                                    #   `after` characters of `say`), hang (no answer), tools, quota; times: how many attempts,
                                    #   or always; retry_after: seconds the service asks to wait (429, 5xx)
"""

from dataclasses import dataclass
from pathlib import Path

from tt_kernel.domain.canonical import Json, digest
from tt_kernel.domain.errors import ProviderError
from tt_kernel.domain.turns import Usage


@dataclass(frozen=True)
class ScriptedCall:
    name: str
    id: str | None
    arguments: Json
    """An object, or the raw text."""


@dataclass(frozen=True)
class Failure:
    """The first `times` attempts of a turn fail (None: all of them), after `after` characters of its text."""

    error: str
    times: int | None = 1
    after: int = 0
    retry_after: float | None = None
    message: str = ""


@dataclass(frozen=True)
class Turn:
    """One reply. Times in milliseconds, `chunk` in characters."""

    line: int
    say: str = ""
    think: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    expect: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    refuse: str | None = None
    finish: str | None = None
    fail: Failure | None = None
    usage: Usage | None = None
    wait: int = 0
    pace: int = 0
    chunk: int = 16


@dataclass(frozen=True)
class Conversation:
    """`digest` covers what decides the replies: not names of files, comments, or the pace."""

    name: str
    when: tuple[str, ...]
    turns: tuple[Turn, ...]
    digest: str

    def fits(self, prompt: str) -> bool:
        folded = prompt.casefold()
        return not self.when or any(text.casefold() in folded for text in self.when)


@dataclass(frozen=True)
class Script:
    path: Path
    conversations: tuple[Conversation, ...]
    accepts_images: bool = True

    def find(self, prompt: str) -> Conversation:
        """The first conversation whose `when` is in the prompt.

        Raises:
            ProviderError: `model.script_no_conversation`, listing what there is.
        """
        for conversation in self.conversations:
            if conversation.fits(prompt):
                return conversation
        known = "; ".join(f"{c.name} (when: {', '.join(c.when)})" for c in self.conversations)
        raise ProviderError(
            "model.script_no_conversation",
            f"Script {self.path.name} has no conversation for the prompt {prompt[:80]!r}. It has: {known}.",
        )

    def identity(self, prompt: str | None) -> Json:
        """What of the script decides the answers: the conversation for the prompt; without a prompt, all of them."""
        chosen = self.conversations if prompt is None else tuple(c for c in self.conversations if c.fits(prompt))[:1]
        return {"script": digest([c.digest for c in chosen])}

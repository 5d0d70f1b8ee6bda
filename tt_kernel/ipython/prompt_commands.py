"""`%agent prompt PROFILE`: exactly what a model would get, with what it costs."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from tt_kernel.domain.canonical import canonical_json
from tt_kernel.domain.errors import UsageProblem
from tt_kernel.domain.specs import ToolOffer
from tt_kernel.ipython.command_words import parsed, plain_words
from tt_kernel.ipython.listing import Listing
from tt_kernel.ipython.notebook import Notebook
from tt_kernel.toolkit.tokens import estimated_tokens
from tt_kernel.widgets.pages import Page, Section
from tt_kernel.widgets.wording import counted

if TYPE_CHECKING:
    from tt_kernel.domain.messages import Message
    from tt_kernel.domain.specs import Binding, Snapshot
    from tt_kernel.session.preview import Preview

USAGE = "%agent prompt [PROFILE] [-m MODEL] [-t TOOL] [-- TEXT]"
PLACEHOLDER = "(the prompt)"
"""Stands where the cell's text stands in a run, and counts nothing."""
ESTIMATE = "Tokens are estimated without the model's tokenizer: a quarter for an ASCII character, one for any other."


def is_prompt_command(rest: Sequence[str]) -> bool:
    """At most one word, the profile; more words are the beginning of a prompt."""
    return len(plain_words(rest)) <= 1


def prompt_command(notebook: Notebook, rest: Sequence[str]) -> "PromptPage":
    from tt_kernel.session.preview import preview  # noqa: PLC0415  wires everything

    line = parsed(rest, USAGE, takes=("--model", "--tool"))
    if len(line.words) > 1:
        raise UsageProblem(message=f"One profile at a time. Write: {USAGE}")
    profile = line.words[0] if line.words else "assistant"
    tools = line.values.get("--tool", ())
    prompt = PLACEHOLDER if line.text is None else line.text
    return PromptPage(preview(notebook.session, profile, prompt=prompt, model=line.value("--model"), tools=tools))


class PromptPage(Page):
    """What a model would get.

    Attributes:
        preview: The first request.
        tokens: Estimate of the whole request.
    """

    def __init__(self, preview: "Preview") -> None:
        self.preview = preview
        said = [_Part(_title(n, m), _body(m), _text_tokens(_body(m))) for n, m in enumerate(preview.messages, 1)]
        tools = [_Part(f"tool {tool.name}", _tool(tool), offer_tokens(tool)) for tool in preview.tools]
        self.tokens = sum(part.tokens for part in [*said, *tools])
        together = _Part(counted(len(tools), "tool"), "", sum(part.tokens for part in tools))
        inner = [part._replace(title=f"- {tool.name}") for part, tool in zip(tools, preview.tools, strict=True)]
        rows = [*said, together, *inner, _Part("all", "", self.tokens)]
        super().__init__(
            f"{preview.profile} for {preview.model or 'any model'}: {self.tokens:,} tokens; ends by {preview.completion}",
            ("section", "tokens"),
            [(part.title, f"{part.tokens:,}") for part in rows],
            [*(part.section(is_open=part in said) for part in [*said, *tools]), *_settings(preview)],
            [ESTIMATE, *_notes(preview)],
        )

    @property
    def system(self) -> str:
        """The system prompt."""
        return "\n\n".join(message.text for message in self.preview.messages if message.role == "system")

    @property
    def messages(self) -> "tuple[Message, ...]":
        return self.preview.messages

    @property
    def tools(self) -> tuple[ToolOffer, ...]:
        return self.preview.tools


def tool_listing(snapshot: "Snapshot") -> Listing["Binding"]:
    """The tools of a snapshot, with what each costs in every request."""
    offers = [
        ToolOffer(name=b.name, description=b.spec.description, input_schema=b.spec.input_schema)
        for b in snapshot.bindings
    ]
    counts = [offer_tokens(offer) for offer in offers]
    rows = [
        (b.name, b.spec.effect, f"{count:,}", str(b.spec.id), b.spec.description)
        for b, count in zip(snapshot.bindings, counts, strict=True)
    ]
    notes = [f"{d.subject}: {d.message}" for d in snapshot.diagnostics]
    notes += [f"{counted(sum(counts), 'token')} in every request. {ESTIMATE}"] if rows else ["No tools."]
    return Listing(snapshot.bindings, ("name", "effect", "tokens", "id", "description"), rows, notes)


class _Part(NamedTuple):
    title: str
    body: str
    tokens: int

    def section(self, *, is_open: bool) -> Section:
        return Section(f"{self.title} ({counted(self.tokens, 'token')})", self.body, is_open)


def offer_tokens(tool: ToolOffer) -> int:
    """Estimate of what one tool costs in every request."""
    return estimated_tokens("\n".join([tool.name, tool.description, canonical_json(tool.input_schema)]))


def _text_tokens(text: str) -> int:
    return 0 if text == PLACEHOLDER else estimated_tokens(text)


def _title(number: int, message: "Message") -> str:
    if message.role == "system":
        return "system prompt" if number == 1 else f"message {number} system"
    source = getattr(message, "source", "prompt")
    return f"message {number} {message.role}" + (f" ({source})" if source != "prompt" else "")


def _body(message: "Message") -> str:
    images = getattr(message, "images", ())
    return message.text + "".join(f"\n[image {image.path}]" for image in images)


def _tool(tool: ToolOffer) -> str:
    return f"{tool.description}\n\n{json.dumps(tool.input_schema, ensure_ascii=False, indent=1)}"


def _settings(preview: "Preview") -> list[Section]:
    chosen = preview.sampling.model_dump(mode="json", exclude_defaults=True)
    return [Section("settings", json.dumps(chosen, ensure_ascii=False, indent=1))] if chosen else []


def _notes(preview: "Preview") -> list[str]:
    notes = [] if preview.model else ["No model is chosen: the tools are those for a model that accepts images."]
    return notes + [f"{found.code}: {found.message}" for found in preview.diagnostics]

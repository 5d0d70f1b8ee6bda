"""A profile's fields in a person's words: how a form groups them, what each is called, and what it does.

Which fields there are and what they may hold is not said here: that is the schema's (`session/profile_form.py`). A test holds
that every field has its place and its words.
"""

from typing import NamedTuple


class Part(NamedTuple):
    """Fields that stand together.

    Attributes:
        title: Their heading; empty: none is needed.
        fields: Beginnings of dotted names; the longest one that fits a field has it.
        folded: Seldom changed: begins closed where all of it is at its defaults.
    """

    title: str
    fields: tuple[str, ...]
    folded: bool = False


class Group(NamedTuple):
    """One page of the form."""

    id: str
    title: str
    parts: tuple[Part, ...]


GROUPS = (
    Group("about", "About", (Part("", ("id", "displayName", "description")),)),
    Group(
        "model",
        "Model",
        (
            Part("", ("model",)),
            Part("Sampling", ("sampling",)),
            Part(
                "Retries and replacements",
                ("run.modelRetry", "run.stream", "model.fallbacks", "model.maxSwitches"),
                True,
            ),
        ),
    ),
    Group(
        "prompt",
        "Prompt",
        (
            Part("", ("instructions",)),
            Part("What it sees of the notebook", ("context",)),
            Part("How lorebooks are scanned", ("context.worldInfo",), True),
            Part("Skills", ("skills",), True),
        ),
    ),
    Group("tools", "Tools", (Part("", ("tools",)),)),
    Group("files", "Files", (Part("Folders of a run", ("workspace",)), Part("Output", ("output",)))),
    Group("permissions", "Permissions", (Part("", ("permissions",)),)),
    Group("limits", "Run and limits", (Part("How it runs", ("run",)), Part("Limits", ("limits",)))),
    Group("agents", "Other agents", (Part("", ("delegation",)),)),
    Group(
        "kept",
        "Compatibility",
        (Part("Kept for documents that came from elsewhere", ("schemaVersion", "kind", "preset", "plan")),),
    ),
)

LABELS = {
    "id": "Id",
    "displayName": "Name",
    "model.mode": "Reached by",
    "model.connectionRef": "Connection",
    "model.modelId": "Model",
    "instructions.agentSystemPrompt": "System prompt",
    "context.initialChatHistoryMessages": "Cells above",
    "context.includeActivatedWorldInfo": "Put active lorebook entries into the prompt",
    "skills.visible": "Visible skills",
    "skills.deny": "Hidden skills",
    "tools.allow": "Allowed",
    "tools.deny": "Denied",
    "tools.toolDescriptions": "Descriptions",
    "tools.externalResultInlineCharLimit": "Characters of a result",
    "tools.httpGetTestUrl": "Address of HttpGetTest",
    "permissions.answerSeconds": "Seconds to answer",
    "run.modelRetry.intervalMs": "Milliseconds between retries",
    "run.completion": "Ends by",
    "run.directRunnable": "Can be started by a cell",
    "run.plan": "Plan first",
    "run.stream": "Stream the reply",
    "limits.costUsd": "Cost in US dollars",
    "limits.wallSeconds": "Seconds",
    "sampling.topP": "Top p",
    "kind": "Kind of document",
}
"""Where the field's own name, split into words, would not do."""

EMPTY = {
    "limits.": "no limit",
    "sampling.stop": "",
    "sampling.extra": "{}",
    "sampling.": "the provider's default",
    "instructions.agentSystemPrompt": "The default text, made from the tools",
    "context.compactAboveTokens": "never",
    "permissions.answerSeconds": "the next document's, else 180",
}
"""What it means that nothing is entered, by the beginning of a field's name."""

HELP = {
    "schemaVersion": "Version of the document's form.",
    "kind": "Both kinds mean the same; the one the document came with is kept.",
    "id": "The name used in %%agent; it is the file's name too and does not change.",
    "displayName": "What people read.",
    "description": "One line for lists of profiles.",
    "preset.mode": "Which SillyTavern preset the profile was written for. A notebook has no presets.",
    "preset.ref": "The preset, in mode ref.",
    "preset.required": "Without the preset the profile cannot run.",
    "preset.reasoningEffort": "Of the preset; in mode ref only.",
    "model.mode": "The notebook's default or a model by its whole name, a connection of yours, or nothing yet.",
    "model.connectionRef": "One of your connections. Its key stays on this machine and is never part of a profile.",
    "model.modelId": "provider:model, or the part after the colon with a connection. Empty: the default.",
    "model.fallbacks": "Models (provider:model) that answer in this order when the first cannot. One a line.",
    "model.maxSwitches": "How often a run may go on with the next model.",
    "run.modelRetry.maxRetries": "Of one request; only for faults that pass, only before anything was shown.",
    "run.modelRetry.intervalMs": "Before the first retry; it grows.",
    "run.presentation": "Foreground: the run answers in its cell. Background: it publishes nothing.",
    "run.stream": "Off: the service is asked for the whole reply at once. The answer is the same.",
    "run.directRunnable": "Off: only other agents can start it.",
    "run.completion": "reply: a message without tool calls ends the run. finish: only the tool workspace_finish does.",
    "run.plan": "The run only looks, and ends with a plan that a person approves.",
    "context.initialChatHistoryMessages": "How many cells above stand in the prompt: 0 none, -1 all.",
    "context.includeActivatedWorldInfo": "Off: the agent can still look them up with its tools.",
    "context.compactAboveTokens": "Above so many tokens the older part is summarised while the run goes on.",
    "context.keepGroups": "So many of the newest replies, with the results of their calls, are never summarised.",
    "context.worldInfo.books": "Names or globs of lorebooks. One a line; * for all.",
    "context.worldInfo.scanDepth": "How many of the last messages are scanned for keys; the prompt is the last one.",
    "context.worldInfo.contextTokens": "What the budget is a share of.",
    "context.worldInfo.budgetPercent": "Share that active entries may take.",
    "context.worldInfo.budgetCap": "At most so many tokens; 0: no cap.",
    "context.worldInfo.minActivations": "Scan further back until so many entries are active.",
    "context.worldInfo.minActivationsDepth": "At most so far back; 0: to the beginning.",
    "context.worldInfo.recursive": "Contents of active entries are scanned for keys too.",
    "context.worldInfo.maxRecursionSteps": "At most so many sweeps; 0: until nothing new is found.",
    "context.worldInfo.includeNames": "Scan “name: text” in place of the text.",
    "context.worldInfo.caseSensitive": "Keys match in their own case only.",
    "context.worldInfo.matchWholeWords": "A key of one word matches only a whole word.",
    "context.worldInfo.useGroupScoring": "Of a group, the entries with most matching keys count.",
    "context.worldInfo.strategy": "Order of character and global books among themselves.",
    "delegation.canDelegate": "It may hand tasks to other agents, and waits for their results.",
    "delegation.canHandoff": "It may hand the whole run to another agent.",
    "delegation.callable": "Other agents may give it work.",
    "delegation.allowAsSubagent": "As a subagent, which returns a result to its caller.",
    "delegation.allowAsHandoffTarget": "As one that takes a run over.",
    "delegation.allowNestedDelegation": "It may delegate also while it works for another agent.",
    "delegation.allowedCallers": "Ids of profiles that may give it work. One a line; * for any.",
    "delegation.descriptionForAgents": "What other agents are told about it.",
    "delegation.maxConcurrentInvocations": "Subagents at the same time.",
    "delegation.maxInvocationsPerRun": "Subagents in one run.",
    "delegation.resultBudgetTokens": "Of one subagent's result.",
    "delegation.maxHandoffDepth": "How often a run may change hands.",
    "instructions.agentSystemPrompt": "The preview shows what a run would send.",
    "tools.allow": "Tool ids or globs of them, one a line. Their order is the order in which the model sees the tools.",
    "tools.deny": "Wins over what is allowed. One a line.",
    "tools.toolDescriptions": "What the model reads about a tool, in your words.",
    "tools.externalResultInlineCharLimit": "Longer results of external tools are put into a file.",
    "tools.httpGetTestUrl": "Where the tool HttpGetTest asks; empty: there is no such tool.",
    "skills.visible": "Names of skills. One a line; * for all.",
    "skills.deny": "Wins over what is visible. One a line.",
    "workspace.visibleRoots": "Folders that the agent sees. tool-results is always there, read-only.",
    "workspace.writableRoots": "Of those, the ones it may write to.",
    "plan.mode": "There is no plan engine: only none can run.",
    "plan.beta": "As the document came.",
    "plan.nodes": "As the document came; must be empty to run.",
    "output.artifacts": "Files that the agent answers with. Exactly one has the target messageBody: the cell's answer.",
    "permissions.safety": "auto: rules and effects decide. ask: everything that is not read-only asks. sandbox: commands run in a sandbox.",
    "permissions.rules": "A deny wins, then the first rule that matches. Tool: an id, a glob, server:NAME or group:NAME.",
    "permissions.rules.arguments": "Globs that the arguments must match, one a line: command = pytest*. All must match.",
    "output.artifacts.path": "Below a writable folder.",
    "output.artifacts.target": "messageBody: the answer of the cell.",
    "permissions.answerSeconds": "How long a person has to answer; then the call is denied.",
    "limits.turns": "Model requests.",
    "limits.toolCalls": "Calls of tools.",
    "limits.tokens": "In and out, as the provider counts them.",
    "limits.costUsd": "Where the price is known.",
    "limits.wallSeconds": "From the start of the run.",
    "sampling.temperature": "How free the choice of words is.",
    "sampling.topP": "Share of the likeliest tokens that are drawn from.",
    "sampling.seed": "For providers that take one.",
    "sampling.maxTokens": "Of one reply.",
    "sampling.stop": "Texts that end a reply. One a line.",
    "sampling.reasoningEffort": "For models that reason: low, medium, high …",
    "sampling.parallelToolCalls": "Whether one reply may have more than one call.",
    "sampling.timeoutSeconds": "Of one request.",
    "sampling.extra": "Further settings as JSON, passed on to the service as they are.",
}

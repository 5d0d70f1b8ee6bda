"""The form of a summary that an agent goes on from (spec liveagent §19): ten sections, four of which must say something."""

import re

SECTIONS: dict[str, str] = {
    "task": "what the user wants, in their words where it matters",
    "constraints": "what must or must not be done",
    "state": "what is done and what is true now",
    "artifacts": "files, results and their content in short; none, if there are none",
    "decisions": "what was decided, and why",
    "dead_ends": "what was tried and does not work",
    "knowledge": "facts and figures found",
    "open_loops": "questions and problems that are open",
    "next_steps": "what to do next, in order",
    "breadcrumbs": "names, paths and commands to find things again",
}
"""Section -> what it is for."""
REQUIRED = ("task", "state", "next_steps", "artifacts")

FORM = (
    "Answer with these sections and nothing else, each as <name>text</name>; leave out what would be empty, but not "
    + (
        f"{', '.join(REQUIRED[:-1])} and {REQUIRED[-1]}:\n"
        + "\n".join(f"<{name}>: {what}" for name, what in SECTIONS.items())
    )
)


def sections_of(text: str) -> dict[str, str]:
    """The known sections that say something, in the order of SECTIONS. Text outside of them is dropped."""
    found = {name: re.search(rf"<{name}>(.*?)</{name}>", text, re.DOTALL) for name in SECTIONS}
    return {name: match[1].strip() for name, match in found.items() if match and match[1].strip()}


def missing_in(text: str) -> list[str]:
    """The required sections that a summary does not have."""
    found = sections_of(text)
    return [name for name in REQUIRED if name not in found]


def normal_form(text: str) -> str:
    return "\n".join(f"<{name}>\n{said}\n</{name}>" for name, said in sections_of(text).items())


def repair_of(text: str) -> str:
    """What is said to a model whose summary lacks something."""
    return f"The summary has no {' and no '.join(missing_in(text))}. Write all of it again. {FORM}"

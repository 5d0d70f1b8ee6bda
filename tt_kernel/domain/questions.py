"""Questions that an agent asks the user, and what the user says to them: spec liveagent §15."""

from tt_kernel.domain.calls import ToolCall
from tt_kernel.domain.frozen import Frozen


class QuestionOption(Frozen):
    """`recommended` is what the agent would choose, and what is chosen when nobody answers."""

    label: str
    description: str = ""
    recommended: bool = False


class Question(Frozen):
    """The recommended option, if there is one, comes first."""

    question: str
    options: tuple[QuestionOption, ...]

    @property
    def fallback(self) -> int:
        """The option that counts when nobody answers: the recommended one, else the first."""
        return next((i for i, option in enumerate(self.options) if option.recommended), 0)


class QuestionRequest(Frozen):
    """What one call asks. Nobody has longer than `timeout_seconds` for all of it together."""

    call: ToolCall
    questions: tuple[Question, ...]
    timeout_seconds: float = 180.0
    run: str = ""


class Reply(Frozen):
    """The answer to one question: the index of an option, or words of the user's own."""

    option: int | None = None
    other: str = ""


class QuestionReply(Frozen):
    """One reply a question, in order."""

    replies: tuple[Reply, ...]

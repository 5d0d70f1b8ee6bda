"""What an invocation has reached, and whether it may finish: spec tauritavern §2.7, §5.11, §5.12."""

from collections.abc import Callable
from dataclasses import dataclass

from tt_kernel.domain.calls import Commit, Finish, ToolCall, ToolResult
from tt_kernel.domain.ports import Caller


@dataclass
class Progress:
    """`published` is the answer so far: the text of the commits; None before the first one."""

    commits: int = 0
    published: str | None = None
    finished: Finish | None = None

    def publish(self, commit: Commit) -> str:
        before = self.published or ""
        self.published = before + commit.text if commit.mode == "append" else commit.text
        self.commits += 1
        return self.published


def admitted(progress: Progress, *, commit_name: str | None) -> Callable[[Caller], Caller]:
    """Refuse to finish a foreground run that published nothing (`agent.foreground_commit_required`).

    `commit_name`: the call name of the commit tool where one is needed first, else None.
    """

    def wrap(inner: Caller) -> Caller:
        async def call(request: ToolCall) -> ToolResult:
            result = await inner(request)
            finishes = any(isinstance(effect, Finish) for effect in result.effects)
            if finishes and commit_name is not None and progress.commits == 0:
                return ToolResult.error(
                    request,
                    "agent.foreground_commit_required",
                    f"Nothing was published yet. Call {commit_name} first, then this tool.",
                )
            return result

        return call

    return wrap

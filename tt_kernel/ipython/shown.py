"""How a Run shows itself: as the bundle of its pictures, except where the cell that ran it has it on display already."""

from typing import TYPE_CHECKING, Any

from IPython.core.displayhook import CapturingDisplayHook, DisplayHook

from tt_kernel.domain.canonical import JsonObject
from tt_kernel.ipython.frames import called_from

if TYPE_CHECKING:
    from tt_kernel.domain.runs import Run
    from tt_kernel.ipython.magics import AgentMagics

_RUN = ("tt_kernel.domain.runs", "Run")
"""By name, so that nothing is imported before there is a Run."""


def register_run_display(shell: Any, magics: "AgentMagics") -> None:
    formatter = shell.display_formatter

    def on_display(run: "Run") -> None:
        """Swallow the value of a cell that shows it already. NotImplementedError lets IPython go on to the bundle."""
        if magics.shown is not run or not _is_value_of_cell():
            raise NotImplementedError
        magics.shown = None

    formatter.ipython_display_formatter.for_type_by_name(*_RUN, on_display)
    formatter.mimebundle_formatter.for_type_by_name(*_RUN, _bundle)
    shell.events.register("pre_run_cell", magics.forget)


def unregister_run_display(shell: Any, magics: "AgentMagics") -> None:
    formatter = shell.display_formatter
    for one in (formatter.ipython_display_formatter, formatter.mimebundle_formatter):
        one.deferred_printers.pop(_RUN, None)
        for kind in [kind for kind in one.type_printers if (kind.__module__, kind.__qualname__) == _RUN]:
            one.type_printers.pop(kind)
    shell.events.unregister("pre_run_cell", magics.forget)


def _bundle(run: "Run", include: object = None, exclude: object = None) -> tuple[JsonObject, JsonObject]:
    from tt_kernel.domain.views import ViewMeta  # noqa: PLC0415
    from tt_kernel.widgets.bundle import bundle  # noqa: PLC0415

    del include, exclude
    return bundle(run.view, ViewMeta(cost_usd=run.usage.cost_usd, replayed=run.replayed))


def _is_value_of_cell() -> bool:
    """Whether a display hook asks (`%%capture` has its own), not an explicit `display(run)`."""
    return called_from(DisplayHook.__call__.__code__, CapturingDisplayHook.__call__.__code__)

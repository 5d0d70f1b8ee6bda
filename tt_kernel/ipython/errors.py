"""How errors look in a cell: one line, the error's own name, and no traceback into this package.

IPython asks an exception for `_render_traceback_`. The attribute is set on the exception itself, so that what is raised is the
error that the Python API raises too, and `except tt_kernel.RunFailed` works around a magic.
(UsageError would be printed to stderr instead, and as the first error of a kernel it loses the reply of an async cell:
notes/frontend.md §3.)
"""

import contextlib
from collections.abc import Iterator

from tt_kernel.domain.errors import TTError


@contextlib.contextmanager
def one_line_errors() -> Iterator[None]:
    """Errors of the tree leave this block so that IPython shows them as `RunFailed: …`."""
    try:
        yield
    except TTError as error:
        line = f"{type(error).__name__}: {error.message}"
        error._render_traceback_ = lambda: [line]  # type: ignore[attr-defined]
        # An ExceptionGroup anywhere in the context would make IPython print everything.
        error.__cause__ = error.__context__ = None
        raise


@contextlib.contextmanager
def giving_up_in_one_line() -> Iterator[None]:
    """A second interrupt leaves a run that does not end; that, too, is one line."""
    try:
        yield
    except KeyboardInterrupt:
        raise AgentInterrupted("the run did not end; it was left to itself") from None


class AgentInterrupted(KeyboardInterrupt):
    """The user stopped a run. Its partial Run is `_` and the variable of `-o`.

    A KeyboardInterrupt: the cells queued behind it do not run, and `except Exception` in a loop does not go on.
    """

    def _render_traceback_(self) -> list[str]:
        return [f"AgentInterrupted: {self}"]

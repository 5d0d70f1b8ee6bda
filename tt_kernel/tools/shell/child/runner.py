"""Runs the commands of one child process, one at a time: plain ones at once, the rest on the event loop."""

import asyncio
import json
import threading
import time
from collections.abc import Callable
from typing import Any

from tt_kernel.tools.shell.child.call import Call
from tt_kernel.tools.shell.child.interpreter import Interpreter, Refused, check_mounts, keep_roots, verify
from tt_kernel.tools.shell.child.output import Output
from tt_kernel.tools.shell.child.quick import is_quick
from tt_kernel.tools.shell.child.table import OURS, STANDING, asked_for, waits
from tt_kernel.tools.shell.wire import DONE, STDERR, pack

SOFT_STOP = 0.15
"""Seconds that the interpreter has to notice a cancellation, before the process gives itself up."""
HOLD = 0.02
"""Seconds for which a plain command's output may wait to be sent together with its end."""

Send = Callable[[bytes], None]


class Runner:
    """At most one command runs at a time; the kernel sees to that.

    Args:
        send: Sends bytes to the kernel; from any thread.
        left: Called on the loop when the process must not be used any more.
    """

    def __init__(self, send: Send, left: Callable[[], None]) -> None:
        self._send = send
        self._left = left
        self._loop = asyncio.get_running_loop()
        self._spare: Interpreter | None = None
        self._spare_lock = threading.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._running: tuple[Any, asyncio.Future[Any]] | None = None
        self._reason = ""

    def run(self, payload: bytes) -> None:
        """Run a command. In the thread that reads frames: a plain command is run there."""
        call = Call.read(json.loads(payload))
        try:
            check_mounts(call)
            interpreter = self._take(call)
            if not is_quick(interpreter.bash, call.command, OURS):
                self._loop.call_soon_threadsafe(self._begin, call, interpreter)
                return
            self._run_plain(call, interpreter)
        except Refused as error:
            self._end(call, None, {"reason": "refused", "code": error.code, "message": str(error)})
        except BaseException as error:  # noqa: BLE001  a panic of the engine is no Exception, and whoever waits must hear of it
            self._fail(call, error)

    def cancel(self) -> None:
        """Stop the running command. On the loop."""
        self._stop("cancelled")

    def _take(self, call: Call) -> Interpreter:
        with self._spare_lock:
            spare, self._spare = self._spare, None
        if spare is None or spare.layout != call.layout:
            spare = Interpreter.build(call)
            verify(spare, call)
        return spare

    def _prepare(self, call: Call) -> None:
        """Build the next interpreter while nobody waits: it is most likely laid out as this one."""
        with self._spare_lock:
            if self._spare is None:
                try:
                    self._spare = Interpreter.build(call)
                except Refused:
                    return

    def _run_plain(self, call: Call, interpreter: Interpreter) -> None:
        interpreter.prepare(call, {})
        held: list[bytes] = []

        def send(kind: int, data: bytes) -> None:
            held.append(pack(kind, data))
            if time.monotonic() - call.started > HOLD:
                self._send(b"".join(held))
                held.clear()

        output = Output(send, call.limit)
        result = interpreter.bash.execute_sync(call.command, on_output=output.text)
        self._end(call, output, _ended(result, call, "", output), b"".join(held))

    def _begin(self, call: Call, interpreter: Interpreter) -> None:
        self._reason = ""
        task = self._loop.create_task(self._run_on_loop(call, interpreter))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run_on_loop(self, call: Call, interpreter: Interpreter) -> None:
        output = Output(lambda kind, data: self._send(pack(kind, data)), call.limit)
        try:
            end = await self._execute(call, interpreter, output)
        except asyncio.CancelledError:
            call.dirty = True
            end = {"reason": self._reason, "exit": 1}
        except BaseException as error:  # noqa: BLE001  as above
            self._fail(call, error)
            return
        self._end(call, output, end)

    async def _execute(self, call: Call, interpreter: Interpreter, output: Output) -> dict[str, Any]:
        interpreter.prepare(call, {**STANDING, **asked_for(call.command)})
        bash = interpreter.bash
        if waits(call.command):
            # What an engine prints comes as it is printed, and a `sleep` can be cancelled.
            running = bash.execute(call.command, stdout=output.stdout, stderr=output.stderr)
        else:
            # The output of each command comes at its end, also when the next one keeps bashkit from doing anything else (awk).
            running = bash.execute(call.command, on_output=output.text)
        future = asyncio.ensure_future(running)
        self._running = (bash, future)
        if self._reason:
            self._stop(self._reason)  # it came before the command had begun
        # bashkit watches its own clock, but some of its commands (awk) do not look at it.
        watch = self._loop.call_later(call.timeout + SOFT_STOP, self._stop, "timeout")
        try:
            result = await future
        finally:
            watch.cancel()
            self._running = None
        return _ended(result, call, self._reason, output)

    def _stop(self, reason: str) -> None:
        self._reason = self._reason or reason
        if self._running is None:
            return
        bash, future = self._running
        bash.cancel()
        self._loop.call_later(SOFT_STOP, future.cancel)

    def _fail(self, call: Call, error: BaseException) -> None:
        """A defect: ours or the engine's."""
        call.dirty = True
        message = f"The shell failed ({type(error).__name__}: {error})."
        self._end(call, None, {"reason": "refused", "code": "workspace.shell_failed", "message": message})

    def _end(self, call: Call, output: Output | None, end: dict[str, Any], held: bytes = b"") -> None:
        keep_roots(call)
        end["truncated"] = output is not None and output.truncated
        end["leaving"] = call.dirty
        self._send(held + pack(DONE, json.dumps(end).encode("ascii")))
        if call.dirty:
            self._loop.call_soon_threadsafe(self._left)
        else:
            self._prepare(call)


def _ended(result: Any, call: Call, reason: str, output: Output) -> dict[str, Any]:
    error = result.error or ""
    # Some commands (jq) notice the end of the time themselves and end as if it were their own failure.
    if not reason and ("execution timeout" in error or call.overdue):
        reason = "timeout"
    if reason:
        return {"reason": reason, "exit": 1}
    if error:
        output.write(STDERR, f"bash: {error}\n".encode("utf-8", "replace"))
        return {"reason": "exit", "exit": 2 if error.startswith("parse error") else result.exit_code or 1}
    return {"reason": "exit", "exit": result.exit_code}

"""`tt`: what can be done with agent notebooks outside a notebook. Parse, call, print."""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from tt_kernel.domain.canonical import canonical_json
from tt_kernel.domain.errors import NotFound, TTError, UsageProblem
from tt_kernel.domain.events import (
    CallDrifted,
    CallEnded,
    CallRequested,
    Event,
    ModelAttemptFailed,
    ModelRequested,
    RunCreated,
    RunEnded,
)
from tt_kernel.domain.runs import RecordMode, RunRecord
from tt_kernel.experiments.command_line import add_commands

if TYPE_CHECKING:
    from tt_kernel.experiments.execute import Execution, Progress
    from tt_kernel.providers.services import Service
    from tt_kernel.session.core import Session

LINE_CHARS = 100
"""Longest piece of a prompt, a cell or arguments that one line of output repeats."""

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Returns:
        0; 1 when what was asked for failed; 2 for a command line that makes no sense; 130 after Ctrl-C.
    """
    _print_any_text()
    options = _parser().parse_args(argv)
    try:
        return int(options.command(options))
    except UsageProblem as problem:
        print(problem.message, file=sys.stderr)
        return EXIT_USAGE
    except TTError as error:
        print(error.message, file=sys.stderr)
        return EXIT_FAILED
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


def _print_any_text() -> None:
    """A console that cannot show a character gets its escape, not an exception."""
    for stream in (sys.stdout, sys.stderr):
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="backslashreplace")


# ---- the grammar


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tt", description="Agent notebooks from the command line.")
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and stop")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_notebook_commands(commands)
    _add_run_commands(commands)
    _add_machine_commands(commands)
    _add_export(commands)
    add_commands(commands, say)
    return parser


class _Version(argparse.Action):
    """Looked up only when asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version  # noqa: PLC0415  slow, and rarely asked for

        print(f"tt_kernel {version('tt_kernel')}")
        parser.exit()


Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001  its only name


def _add_notebook_commands(commands: Subparsers) -> None:
    run = commands.add_parser("run", help="execute a notebook; agent runs that are recorded are replayed")
    run.add_argument("notebook", type=Path)
    mode = run.add_mutually_exclusive_group()
    mode.add_argument("--live", dest="mode", action="store_const", const="live", help="call the model for every run")
    mode.add_argument(
        "--replay", dest="mode", action="store_const", const="replay", help="fail where nothing is recorded"
    )
    run.add_argument(
        "--output", type=Path, metavar="FILE", help="write the executed notebook to FILE, not into NOTEBOOK"
    )
    _add_execution_options(run)
    run.set_defaults(command=_run)

    replay = commands.add_parser("replay", help="execute a notebook from its recordings, into a temporary copy")
    replay.add_argument("notebook", type=Path)
    _add_execution_options(replay)
    replay.set_defaults(command=_replay)


def _add_execution_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kernel", metavar="NAME", help="kernel to use instead of the notebook's own")
    parser.add_argument("--timeout", type=float, metavar="S", help="seconds that one cell may take (default: no limit)")


def _add_run_commands(commands: Subparsers) -> None:
    runs = commands.add_parser("runs", help="list the runs kept next to a notebook, newest first")
    runs.add_argument("notebook", type=Path)
    runs.set_defaults(command=_runs)

    show = commands.add_parser("show", help="show one run")
    show.add_argument("run", metavar="RUN", help="run id, or its first characters")
    show.add_argument("--notebook", type=Path, help="the run's notebook (default: any in this folder)")
    show.set_defaults(command=_show)


def _add_export(commands: Subparsers) -> None:
    export = commands.add_parser("export", help="write a notebook as a script that runs its agent cells and replays")
    export.add_argument("notebook", type=Path)
    export.add_argument("--output", type=Path, metavar="FILE", help="where (default: beside the notebook, .py)")
    export.set_defaults(command=_export)


def _add_machine_commands(commands: Subparsers) -> None:
    install = commands.add_parser("install", help="register the kernel tt-agent with Jupyter")
    where = install.add_mutually_exclusive_group()
    where.add_argument("--user", action="store_true", help="for this user (default)")
    where.add_argument(
        "--sys-prefix", dest="prefix", action="store_const", const=sys.prefix, help="in this environment"
    )
    where.add_argument("--prefix", metavar="DIR", help="below DIR/share/jupyter/kernels")
    install.set_defaults(command=_install)

    model = commands.add_parser("model", help="models that run on this machine")
    actions = model.add_subparsers(metavar="ACTION", required=True)
    actions.add_parser("list", help="known models, and what they need").set_defaults(command=_model_list)
    model_install = actions.add_parser("install", help="install a local model")
    model_install.add_argument("name")
    model_install.set_defaults(command=_model_install)

    doctor = commands.add_parser("doctor", help="say what works here, and what to do about the rest")
    doctor.add_argument(
        "notebook", type=Path, nargs="?", help="look at this notebook's folder (default: the current one)"
    )
    doctor.set_defaults(command=_doctor)


# ---- notebooks


def _run(options: argparse.Namespace) -> int:
    return _execute(options, mode=options.mode, output=options.output)


def _replay(options: argparse.Namespace) -> int:
    folder = Path(tempfile.mkdtemp(prefix="tt-replay-"))
    return _execute(options, mode="replay", output=folder / options.notebook.name)


def _execute(options: argparse.Namespace, *, mode: RecordMode | None, output: Path | None) -> int:
    from tt_kernel.experiments.execute import Execution, execute_notebook  # noqa: PLC0415  heavy

    execution = Execution(options.notebook, output, mode, options.kernel, options.timeout)
    say(_headline(execution))
    executed = asyncio.run(execute_notebook(execution, _report))
    if executed.problem:
        print(executed.problem, file=sys.stderr)
    say(f"Written to {executed.destination}." if executed.written else f"{execution.notebook} is unchanged.")
    if executed.interrupted:
        return EXIT_INTERRUPTED
    return EXIT_FAILED if executed.problem else 0


def _headline(execution: "Execution") -> str:
    return f"{execution.notebook}: {execution.mode or 'as recorded, the rest live'}"


def _report(progress: "Progress") -> None:
    from tt_kernel.experiments.execute import CellStarted, RunMoved  # noqa: PLC0415  loaded by now

    if isinstance(progress, CellStarted):
        say(f"[{progress.number}/{progress.total}] {shortened(progress.line)}")
    elif isinstance(progress, RunMoved):
        if line := event_line(progress.event):
            say(f"      {line}")
    else:
        for answer in progress.answers:
            say("\n".join(f"    | {line}" for line in answer.splitlines()))


def event_line(event: Event) -> str | None:
    """What one event of a run in progress looks like in a terminal; None for those that a watcher need not see."""
    if isinstance(event, CallEnded) and event.type == "tool_call_completed":
        return None
    writer = _LINES.get(type(event))
    return shortened(writer(event)) if writer else None


def _call_line(event: CallRequested) -> str:
    arguments = event.call.arguments
    text = canonical_json(arguments.value) if arguments.is_valid else arguments.echo
    return f"call {event.call.name} {text}"


_LINES: dict[type, Callable[[Any], str]] = {
    RunCreated: lambda e: f"run with profile {e.profile_id} on {e.model}",
    ModelRequested: lambda e: f"turn {e.turn}",
    ModelAttemptFailed: lambda e: f"attempt {e.attempt} failed: {e.message}",
    CallRequested: _call_line,
    CallEnded: lambda e: f"error {e.result.error_code}: {e.result.content}",
    CallDrifted: lambda e: f"drift: {e.difference}",
    RunEnded: lambda e: e.type.removeprefix("run_") + (f": {e.message}" if e.message else ""),
}


# ---- runs


def _runs(options: argparse.Namespace) -> int:
    records = _session(options.notebook).index.list()
    if not records:
        say(f"{options.notebook} has no runs yet. They appear when its %%agent cells are run.")
    for record in records:
        say(_record_line(record))
    return 0


def _record_line(record: RunRecord) -> str:
    size = f"{record.turns} turns  {record.tool_calls} calls  {record.usage.total_tokens} tokens"
    when = record.started_at[:16].replace("T", " ")
    return f"{record.id:12}  {record.status:15}  {when}  {size}  {record.model}  {shortened(record.prompt, 50)}"


def _show(options: argparse.Namespace) -> int:
    from tt_kernel.widgets.text import run_text  # noqa: PLC0415  needed here only

    session, record = _find(options.run, options.notebook)
    run = session.load(record.id)
    for name, value in [
        ("run", run.id),
        ("status", run.status),
        ("started", record.started_at),
        ("key", record.key),
        ("model", record.model),
        ("profile", record.profile.id),
        ("folder", run.folder),
    ]:
        say(f"{name:8} {value}")
    say(f"\n{record.prompt.strip()}\n")
    say(run_text(run.view))
    return 0


def _find(run: str, notebook: Path | None) -> "tuple[Session, RunRecord]":
    """The run with this id (or start of it), in the named notebook or in any agent folder of the current folder."""
    if notebook is not None:
        session = _session(notebook)
        return session, session.index.find(run)
    found = []
    for folder in sorted(Path.cwd().glob("*.agent")):
        session = _session(folder.with_suffix(".ipynb"), must_exist=False)
        try:
            found.append((session, session.index.find(run)))
        except NotFound as error:
            if error.code == "run.ambiguous":
                raise
    if not found:
        raise NotFound("run.not_found", f"No notebook in this folder has a run {run!r}. Name it with --notebook.")
    if len(found) > 1:
        names = ", ".join(str(session.folder.root.name) for session, _ in found)
        raise UsageProblem("run.ambiguous", f"Several notebooks have a run {run!r}: {names}. Name one with --notebook.")
    return found[0]


def _session(notebook: Path, *, must_exist: bool = True) -> "Session":
    from tt_kernel.session.core import Session  # noqa: PLC0415  wires everything

    if must_exist and not notebook.is_file():
        raise NotFound("notebook.not_found", f"There is no notebook {str(notebook)!r}.")
    return Session(notebook)


def _export(options: argparse.Namespace) -> int:
    from tt_kernel.ipython.script_export import script_of  # noqa: PLC0415  needed here only

    target = options.output or options.notebook.with_suffix(".py")
    if target.exists() and options.output is None:
        raise UsageProblem(message=f"{target} exists. Say where to write with --output FILE.")
    target.write_text(script_of(options.notebook), encoding="utf-8", newline="\n")
    say(f"Written to {target}.")
    return 0


# ---- this machine


def _install(options: argparse.Namespace) -> int:
    from tt_kernel.ipython.registration import register_kernel  # noqa: PLC0415  needed here only

    say(f"Registered kernel tt-agent in {register_kernel(prefix=options.prefix)}.")
    return 0


def _model_list(_: argparse.Namespace) -> int:
    from tt_kernel.providers.names import LOCAL, local_installed  # noqa: PLC0415  needed here only
    from tt_kernel.providers.services import SERVICES  # noqa: PLC0415

    say(_model_line(LOCAL, "installed" if local_installed() else "tt model install smollm2"))
    say(_model_line("scripted:FILE", "a script of turns, for tests and lessons"))
    for name, service in SERVICES.items():
        say(_model_line(f"{name}:MODEL", _service_state(service)))
    return 0


def _model_line(name: str, state: str) -> str:
    return f"{name:24}{state}"


def _service_state(service: "Service") -> str:
    from tt_kernel.providers.services import has_key, how_to_install, missing_module  # noqa: PLC0415  loaded by now

    if missing_module(service) is not None:
        return how_to_install(service)
    return "ready" if has_key(service) else f"set {' or '.join(service.keys)}"


def _model_install(options: argparse.Namespace) -> int:
    from tt_kernel.providers.install import install_model  # noqa: PLC0415  needed here only

    install_model(options.name)
    return 0


def _doctor(options: argparse.Namespace) -> int:
    from tt_kernel.ipython.doctor import examine  # noqa: PLC0415  needed here only

    notebook = options.notebook
    findings = examine(notebook.parent if notebook else Path.cwd())
    for finding in findings:
        say(finding.line)
    return EXIT_FAILED if any(finding.essential and not finding.ok for finding in findings) else 0


# ---- printing


def say(text: str) -> None:
    """One line or more, seen at once even through a pipe."""
    print(text, flush=True)


def shortened(text: str, limit: int = LINE_CHARS) -> str:
    """The first line, cut to `limit` characters."""
    line = text.strip().partition("\n")[0]
    return line if len(line) <= limit else line[: limit - 3] + "..."

"""The commands of `tt` that are about experiments: their grammar and what they say. `cli.py` adds them to its own."""

import argparse
import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from tt_kernel.session.core import Session

Say = Callable[[str], None]
Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001  its only name

EXIT_FAILED = 1


def add_commands(commands: Subparsers, say: Say) -> None:
    """Add the commands.

    Args:
        commands: Of the parser of `tt`.
        say: Prints one or more lines.
    """
    verify = commands.add_parser(
        "verify",
        help="execute notebooks offline and compare every run to its record",
        description="Executes notebooks from their record alone and compares every run to it. The cells, and Python processes that they "
        "start, reach no network and write to temporary folders only; other programs that they start are not watched.",
    )
    verify.add_argument("notebooks", type=Path, nargs="+", metavar="NOTEBOOK")
    verify.add_argument("--kernel", metavar="NAME", help="kernel to use instead of the notebook's own")
    verify.add_argument("--timeout", type=float, metavar="S", help="seconds that one cell may take (default: no limit)")
    verify.add_argument(
        "--copy", action="store_true", help="execute in a copy of the notebook's folder, for cells that write there"
    )
    verify.set_defaults(command=lambda options: _verify(options, say))

    check = commands.add_parser("check", help="list the cells that could not pass nbval, and why")
    check.add_argument("notebooks", type=Path, nargs="+", metavar="NOTEBOOK")
    check.set_defaults(command=lambda options: _check(options, say))

    bundle = commands.add_parser(
        "bundle", help="one zip file of a notebook, its folder and a manifest; verifies elsewhere"
    )
    bundle.add_argument("notebook", type=Path)
    bundle.add_argument("--output", type=Path, metavar="FILE", help="where (default: beside the notebook, .zip)")
    bundle.add_argument(
        "--also", type=Path, nargs="*", default=[], metavar="FILE", help="more files that the code reads"
    )
    bundle.set_defaults(command=lambda options: _bundle(options, say))

    prune = commands.add_parser("prune", help="list what a notebook's folder could do without; --yes deletes it")
    prune.add_argument("notebook", type=Path)
    prune.add_argument("--keep", type=int, metavar="RUNS", help="newest runs that stay (default: 100)")
    prune.add_argument("--full", type=int, metavar="RUNS", help="newest runs that keep all their files (default: 20)")
    prune.add_argument("--yes", action="store_true", help="delete it")
    prune.set_defaults(command=lambda options: _prune(options, say))

    diff = commands.add_parser("diff", help="compare two runs")
    diff.add_argument("before", metavar="RUN")
    diff.add_argument("after", metavar="RUN")
    diff.add_argument("--notebook", type=Path, required=True, help="the notebook of the runs")
    diff.set_defaults(command=lambda options: _diff(options, say))


def _verify(options: argparse.Namespace, say: Say) -> int:
    from tt_kernel.experiments.guard import WRITE  # noqa: PLC0415
    from tt_kernel.experiments.verify import verify_notebook  # noqa: PLC0415  heavy

    passed = True
    for notebook in options.notebooks:
        verified = asyncio.run(
            verify_notebook(notebook, kernel=options.kernel, cell_seconds=options.timeout, in_copy=options.copy)
        )
        say("\n".join(verified.lines))
        if not options.copy and any(f"Replay only: {WRITE}" in problem for problem in verified.problems):
            say(f"  Cells that write beside the notebook: tt verify --copy {notebook}")
        passed = passed and verified.passed
    return 0 if passed else EXIT_FAILED


def _check(options: argparse.Namespace, say: Say) -> int:
    from tt_kernel.experiments.check import check_notebook  # noqa: PLC0415  heavy

    found = [(notebook, finding) for notebook in options.notebooks for finding in check_notebook(notebook)]
    for notebook, finding in found:
        say(f"{notebook}: {finding.line}")
    if not found:
        say("Nothing stands in the way of nbval.")
    return EXIT_FAILED if found else 0


def _bundle(options: argparse.Namespace, say: Say) -> int:
    from tt_kernel.experiments.freeze import bundle  # noqa: PLC0415  wires everything

    target = options.output or options.notebook.with_suffix(".zip")
    count = bundle(options.notebook, target, options.also)
    say(f"Written to {target}: {count} files.")
    return 0


def _prune(options: argparse.Namespace, say: Say) -> int:
    from pydantic import ValidationError  # noqa: PLC0415

    from tt_kernel.domain.errors import UsageProblem  # noqa: PLC0415
    from tt_kernel.experiments.pruning import COLUMNS, prune  # noqa: PLC0415  wires everything
    from tt_kernel.store.retention import Retention  # noqa: PLC0415
    from tt_kernel.widgets.table import table_text  # noqa: PLC0415

    numbers = {"keep_runs": options.keep, "keep_full": options.full}
    try:
        retention = Retention(**{name: number for name, number in numbers.items() if number is not None})
    except ValidationError as error:
        raise UsageProblem(message="--keep and --full take numbers of runs from 0 to 10000.") from error
    report = prune(_session(options.notebook), retention, carry=options.yes)
    if report.items:
        say(table_text(COLUMNS, [item.row for item in report.items]))
    say("\n".join(report.notes))
    return EXIT_FAILED if report.failed else 0


def _diff(options: argparse.Namespace, say: Say) -> int:
    from tt_kernel.experiments.diff import diff  # noqa: PLC0415  draws

    session = _session(options.notebook)
    found = diff(session.load(options.before), session.load(options.after))
    say(repr(found))
    return 0 if found.is_same else EXIT_FAILED


def _session(notebook: Path) -> "Session":
    from tt_kernel.domain.errors import NotFound  # noqa: PLC0415
    from tt_kernel.session.core import Session  # noqa: PLC0415  wires everything

    if not notebook.is_file():
        raise NotFound("notebook.not_found", f"There is no notebook {str(notebook)!r}.")
    return Session(notebook)

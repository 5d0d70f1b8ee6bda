"""What works on this machine, one line each: the thing with its version, or what to do about it."""

import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from tt_kernel.domain.errors import ModelUnavailable
from tt_kernel.ipython.registration import KERNEL_NAME, registered_kernel
from tt_kernel.providers.services import SERVICES, Service, has_key, missing_module
from tt_kernel.runtime.loop_thread import submit
from tt_kernel.store.layout import user_folder

ENGINE_SECONDS = 60
"""How long an engine may take to start on a busy machine."""

SHOWN = ("ipykernel", "ipython", "pydantic", "anywidget")
"""Packages whose versions people are asked for when they report a problem."""


@dataclass(frozen=True)
class Finding:
    """One line of the report. `essential`: without it no agent can run."""

    ok: bool
    text: str
    essential: bool = True

    @property
    def mark(self) -> str:
        return "ok" if self.ok else "fix" if self.essential else "tip"

    @property
    def line(self) -> str:
        return f"{self.mark:4}{self.text}"


def examine(folder: Path) -> list[Finding]:
    """Look at everything that agent runs need.

    Args:
        folder: The folder whose notebooks are meant; it must be writable.
    """
    checks = (_packages(), _folders(folder), _shell(), _models(folder), _kernel(), _front_ends())
    return [finding for check in checks for finding in check]


def _packages() -> Iterator[Finding]:
    shown = ", ".join(f"{name} {_installed(name)}" for name in SHOWN)
    yield Finding(True, f"tt_kernel {_installed('tt_kernel')}, Python {platform.python_version()}, {shown}")
    for wanted in _unmet(requires("tt_kernel") or ()):
        yield Finding(False, f"{wanted} is needed. Install it: pip install '{wanted}'")


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _unmet(lines: Iterable[str]) -> Iterator[str]:
    """The requirements, extras not counted, that this environment does not meet."""
    from packaging.requirements import Requirement  # noqa: PLC0415  needed here only

    for requirement in map(Requirement, lines):
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            found = _installed(requirement.name)
            if found is None or not requirement.specifier.contains(found, prereleases=True):
                yield f"{requirement.name}{requirement.specifier}"


def _folders(folder: Path) -> Iterator[Finding]:
    yield _writable(folder, "notebooks' folder", essential=True)
    settings = user_folder()
    nearest = next(place for place in (settings, *settings.parents) if place.exists())
    yield _writable(nearest, "settings folder", essential=False)


def _writable(folder: Path, what: str, *, essential: bool) -> Finding:
    try:
        with tempfile.TemporaryFile(dir=folder):
            return Finding(True, f"{what} {folder} is writable")
    except OSError as error:
        advice = f"{what} {folder} cannot be written ({error.strerror}). Runs are kept there: change its permissions."
        return Finding(False, advice, essential=essential)


def _shell() -> Iterator[Finding]:
    with tempfile.TemporaryDirectory() as folder:
        printed, problem = submit(_shell_says_hello(Path(folder)))[0].result()
    if printed == "hello":
        yield Finding(True, f"shell engine starts, bashkit {_installed('bashkit')}")
    else:
        yield Finding(
            False, f"the shell engine does not work: {problem} Reinstall it: pip install --force-reinstall bashkit"
        )


async def _shell_says_hello(folder: Path) -> tuple[str, str]:
    from tt_kernel.tools.shell.job import Job, Mount, Printed  # noqa: PLC0415  needed here only
    from tt_kernel.tools.shell.worker import ShellWorker  # noqa: PLC0415

    job = Job("echo hello > hello; cat hello", "/output", [Mount("output", folder, writable=True)], epoch=0, seed=0)
    printed = Printed.nothing()
    async with ShellWorker() as worker:
        ending = await worker.run(job, printed)
    return printed.stdout.decode().strip(), ending.message or printed.stderr.decode().strip()


def _models(folder: Path) -> Iterator[Finding]:
    from tt_kernel.providers.names import LOCAL, default_model, local_installed  # noqa: PLC0415

    ready = [f"{name}:" for name, service in SERVICES.items() if service.keys and not _lacks(service)]
    if local_installed():
        yield Finding(True, f"model {LOCAL} is installed")
        yield from _local_engine()
    else:
        yield Finding(
            False, "no local model, the one that needs no key. Run: tt model install smollm2", essential=not ready
        )
    if ready:
        yield Finding(True, f"models with a key: {', '.join(ready)}")
    if (chosen := default_model()) is not None:
        yield _chosen_model(chosen, folder)


def _lacks(service: Service) -> bool:
    return missing_module(service) is not None or not has_key(service)


def _chosen_model(name: str, folder: Path) -> Finding:
    from tt_kernel.providers.names import provider_for  # noqa: PLC0415

    try:
        return Finding(True, f"TT_MODEL is {provider_for(name, base_dir=folder).name}")
    except ModelUnavailable as problem:
        return Finding(False, f"TT_MODEL: {problem.message}")


def _local_engine() -> Iterator[Finding]:
    """In a process of its own: the engine is big, and a library that it lacks is the usual trouble."""
    command = [sys.executable, "-c", "import xllamacpp"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=ENGINE_SECONDS, check=False)  # noqa: S603  own command
    if done.returncode == 0:
        yield Finding(True, f"local model's engine loads, xllamacpp {_installed('xllamacpp')}")
        return
    reason = done.stderr.strip().rpartition("\n")[2]
    advice = (
        "Install the system package libgomp1." if "libgomp" in reason else "Install it: pip install 'tt_kernel[local]'"
    )
    yield Finding(False, f"the local model's engine does not load: {reason}. {advice}")


def _kernel() -> Iterator[Finding]:
    folder = registered_kernel()
    if folder:
        yield Finding(True, f"kernel {KERNEL_NAME} is registered in {folder}")
    else:
        advice = "Register it: tt install --sys-prefix. Until then: %load_ext tt_kernel in any Python kernel."
        yield Finding(False, f"kernel {KERNEL_NAME} is not registered. {advice}", essential=False)


def _front_ends() -> Iterator[Finding]:
    found = [f"{name} {_installed(name)}" for name in ("jupyterlab", "notebook") if _installed(name)]
    if found:
        yield Finding(True, ", ".join(found))
    else:
        yield Finding(False, "JupyterLab is not here. To open notebooks: pip install jupyterlab", essential=False)

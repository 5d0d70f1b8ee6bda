"""Which shell runs a command (spec liveagent §6.4).

A login shell reads the user's profile, which may set PATH anew; so PATH is put in front again before the command starts:
`python` and `pytest` are then the ones of the kernel's environment, as they are for `!` in a cell.
"""

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Family = Literal["posix", "powershell", "cmd"]

FIRST_PATH = "TT_FIRST_PATH"
"""Environment variable with the PATH that goes before the profile's; unset before the command starts."""

_GIT_BASH_SETTINGS = ("TT_GIT_BASH_PATH", "LIVEAGENT_GIT_BASH_PATH", "CLAUDE_CODE_GIT_BASH_PATH")
_LOGIN = f'PATH="${FIRST_PATH}${{PATH:+:$PATH}}"; export PATH; unset {FIRST_PATH}; exec "$0" -c "$1"'


@dataclass(frozen=True)
class Shell:
    """`profile`: whether the user's login profile is read (`login`) or not (`plain`)."""

    name: str
    path: str
    family: Family
    profile: Literal["login", "plain"]

    def argv(self, command: str) -> list[str]:
        """The arguments that run `command`."""
        if self.family == "powershell":
            return [self.path, "-NoLogo", "-NoProfile", "-NonInteractive", "-Command", command]
        if self.family == "cmd":
            return [self.path, "/d", "/s", "/c", command]
        if self.profile == "plain":
            return [self.path, "-c", command]
        return [self.path, "-lc", _LOGIN, self.path, command]

    @property
    def platform(self) -> str:
        return {"darwin": "macos", "win32": "windows"}.get(sys.platform, sys.platform)


def find_shell(environ: Mapping[str, str], platform: str = sys.platform) -> Shell | None:
    """The shell of this machine, or None when it has none of those known.

    Args:
        environ: Where PATH and the settings for Git Bash are read.
        platform: As `sys.platform` spells it.
    """
    if platform == "win32":
        return _windows_shell(environ)
    names = ("zsh", "bash", "sh") if platform == "darwin" else ("bash", "zsh", "sh")
    for search in (environ.get("PATH", ""), os.defpath):
        for name in names:
            path = shutil.which(name, path=search) if search else None
            if path:
                return Shell(name, path, "posix", "login")
    return None


def _windows_shell(environ: Mapping[str, str]) -> Shell | None:
    bash = _git_bash(environ)
    if bash is not None:
        return Shell("bash", bash, "posix", "plain")
    search = environ.get("PATH", "")
    for name, family in (("pwsh", "powershell"), ("powershell", "powershell"), ("cmd", "cmd")):
        path = shutil.which(f"{name}.exe", path=search)
        if path:
            return Shell(name, path, family, "plain")  # type: ignore[arg-type]
    return None


def _git_bash(environ: Mapping[str, str]) -> str | None:
    """A setting, then PATH without System32 (its bash.exe is WSL's), then where the installer puts it."""
    for setting in _GIT_BASH_SETTINGS:
        if environ.get(setting) and Path(environ[setting]).is_file():
            return environ[setting]
    folders = [f for f in environ.get("PATH", "").split(os.pathsep) if f and "system32" not in f.casefold()]
    found = shutil.which("bash.exe", path=os.pathsep.join(folders)) if folders else None
    if found:
        return found
    bases = [environ.get(name) for name in ("ProgramFiles", "ProgramFiles(x86)", "LOCALAPPDATA")]
    places = [Path(base, *more, "Git", "bin", "bash.exe") for base in bases if base for more in ((), ("Programs",))]
    return next((str(place) for place in places if place.is_file()), None)

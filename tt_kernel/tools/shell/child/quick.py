"""Which scripts can be run straight away, without the event loop: plain ones, that end soon and run nothing of ours.

The loop costs three changes of thread, more than a plain command itself. What is here cannot run another command that the
text does not show, cannot wait, and cannot loop for ever.
"""

import re
from typing import Any

from bashkit import BashError

_PLAIN_WORDS = """: [ b2sum base64 basename cat cd chmod cksum cmp column comm cp cut diff dirname du echo egrep exit expand export expr
    false fgrep file fmt fold grep head hexdump join let link ln local mkdir mv nl od paste pr printf pwd readlink realpath
    rev rg rm rmdir sed seq sha1sum sha256sum sha512sum shift sort split strings tac tail tee test touch tr tree true
    truncate tsort unexpand uniq unlink unset wc xxd"""
_PLAIN = frozenset(_PLAIN_WORDS.split())
_OPTIONS_THAT_RUN = re.compile(r"--pre\b|--compress-program")
# Words that hide a command from the analysis, or loops without a bound.
_HIDDEN = re.compile(r"`|\b(?:while|until|trap|set)\b|(?<![&>])&(?![&>\d])|\(\(\s*;|\$\{[^}]*[$`]|@P\}")


def is_quick(bash: Any, command: str, ours: re.Pattern[str]) -> bool:
    """Whether `command` is plain. `ours` finds the names of commands that need the event loop."""
    if ours.search(command) or _HIDDEN.search(command) or _OPTIONS_THAT_RUN.search(command):
        return False
    try:
        seen = bash.analyze(command)
    except BashError:
        return False
    if seen.is_opaque or seen.has_dynamic_commands or seen.has_interpreter_reentry or seen.truncated or seen.functions:
        return False
    return _PLAIN.issuperset(seen.command_names)

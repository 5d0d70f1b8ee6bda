"""What front ends ask of what is stored: runs held against each other, profiles as they are now."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tt_kernel.domain.canonical import JsonObject
from tt_kernel.domain.errors import TTError

if TYPE_CHECKING:
    from tt_kernel.session.core import Session

Lookup = Callable[[JsonObject], JsonObject]


def lookups_of(session: "Callable[[], Session]") -> Mapping[str, Lookup]:
    """Type of a message -> what is answered (tt_kernel/ipython/comms.py), from the session as it is then."""

    def compare(asked: JsonObject) -> JsonObject:
        from tt_kernel.experiments.diff import diff  # noqa: PLC0415  not before it is asked for
        from tt_kernel.experiments.diff_view import diff_document  # noqa: PLC0415

        before, after = str(asked.get("before")), str(asked.get("after"))
        same = {"before": before, "after": after}
        try:
            found = diff(session().load(before), session().load(after))
        except TTError as error:
            return {"type": "not_compared", **same, "message": error.message}
        return {"type": "compared", **same, "view": diff_document(found)}

    def profiles(asked: JsonObject) -> JsonObject:
        from tt_kernel.ipython.origins import profile_digest  # noqa: PLC0415

        wanted = asked.get("ids")
        stored = session()
        names = [str(name) for name in wanted] if isinstance(wanted, list) else []
        return {"type": "profiles_are", "digests": {name: profile_digest(stored, name) for name in names}}

    return {"compare": compare, "profiles": profiles}

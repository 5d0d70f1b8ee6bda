"""The activation as a run keeps it, `input/worldinfo.json` (spec tauritavern §16.1)."""

from pydantic import ValidationError

from tt_kernel.domain.canonical import Json
from tt_kernel.domain.errors import StorageFault
from tt_kernel.domain.worldinfo import Activation


def thaw_activation(document: Json) -> Activation:
    """The activation of a stored document.

    Raises:
        StorageFault: `agent.invalid_worldinfo_activation_snapshot`: it is no such thing; the run cannot go on.
    """
    try:
        return Activation.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the document"
        raise StorageFault(
            "agent.invalid_worldinfo_activation_snapshot",
            f"The run's stored world info is damaged: {where}: {first['msg']}.",
        ) from error

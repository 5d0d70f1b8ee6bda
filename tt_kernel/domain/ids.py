"""Names of things. Every id is opaque text; only ToolId has a grammar."""

from typing import Any, NewType

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from tt_kernel.domain.errors import InvalidToolId

RunId = NewType("RunId", str)
"""First 8 hex digits of the run key; `<8 hex>.2` for the second live run with the same key."""
InvocationId = NewType("InvocationId", str)
CallId = NewType("CallId", str)
"""Opaque, given by the provider; never part of a digest."""
Digest = NewType("Digest", str)
"""Hex SHA-256."""

ROOT_INVOCATION = InvocationId("inv_root")


class ToolId(str):
    """Stable tool id `<provider>:<native>` (spec tauritavern §2.1).

    The provider part may not contain `:`; the native part may.
    Parse with `ToolId.parse`; the errors are InvalidToolId with the codes of the specification.
    """

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> "ToolId":
        provider, colon, native = text.partition(":")
        if not colon:
            raise InvalidToolId("tool.id_invalid", f"Tool id {text!r} has no ':' between provider and name.")
        if not provider:
            raise InvalidToolId("tool.provider_id_empty", f"Tool id {text!r} has an empty provider part.")
        if provider != provider.strip() or any(part == "" for part in provider.split("/")):
            raise InvalidToolId("tool.provider_id_invalid", f"Tool id {text!r} has an invalid provider part.")
        if not native.strip():
            raise InvalidToolId("tool.native_name_empty", f"Tool id {text!r} has an empty name part.")
        return cls(text)

    @property
    def provider(self) -> str:
        return self.partition(":")[0]

    @property
    def native(self) -> str:
        return self.partition(":")[2]

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(
            cls.parse,
            core_schema.str_schema(),
            serialization=core_schema.plain_serializer_function_ser_schema(str, return_schema=core_schema.str_schema()),
        )


def builtin(name: str) -> ToolId:
    return ToolId.parse(f"builtin:{name}")

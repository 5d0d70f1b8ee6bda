from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Frozen(BaseModel):
    """What is stored or crosses a border: immutable, closed, camelCase in JSON, snake_case in Python."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=True,
        serialize_by_alias=True,
    )

"""spec tauritavern §2.1."""

import pytest

from tt_kernel.domain.errors import InvalidToolId
from tt_kernel.domain.ids import ToolId, builtin


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("workspace.read_file", "tool.id_invalid"),
        (":read", "tool.provider_id_empty"),
        (" builtin:read", "tool.provider_id_invalid"),
        ("mcp/:read", "tool.provider_id_invalid"),
        ("builtin:", "tool.native_name_empty"),
        ("builtin:  ", "tool.native_name_empty"),
    ],
)
def test_parse_errors_have_the_codes_of_the_specification(text, code):
    with pytest.raises(InvalidToolId) as caught:
        ToolId.parse(text)
    assert caught.value.code == code
    assert repr(text) in caught.value.message


def test_the_native_part_may_hold_colons():
    tool = ToolId.parse("mcp/0b1c:ns:read")
    assert (tool.provider, tool.native) == ("mcp/0b1c", "ns:read")


def test_builtin():
    assert builtin("dice.roll") == "builtin:dice.roll"

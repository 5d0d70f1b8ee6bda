"""Call names: spec tauritavern §2.3, liveagent §11.1, DESIGN §5.1."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tt_kernel.domain.ids import ToolId, builtin
from tt_kernel.toolkit.naming import MAX_NAME, call_names, mcp_name, plain_name

FORM = re.compile(r"^[A-Za-z0-9_-]{1,64}$")


def ext(name, provider="extension/notebook"):
    return ToolId.parse(f"{provider}:{name}")


def test_builtin_dots_become_underscores():
    assert call_names([builtin("workspace.read_file"), builtin("Read")]) == {
        "builtin:workspace.read_file": "workspace_read_file",
        "builtin:Read": "Read",
    }


def test_extension_characters():
    assert plain_name(ext("plot hist/größe")) == "plot_hist_gr__e"
    assert plain_name(ext("a-b_c9")) == "a-b_c9"
    assert plain_name(ext("x" * 100)) == "x" * 64


@pytest.mark.parametrize(
    ("server", "tool", "name"),
    [
        ("files", "read", "mcp_files_read"),
        (" my server! ", "read/all", "mcp_my_server_read_all"),
        ("__a__", "-b-", "mcp_a_-b-"),
        ("", "", "mcp_server_tool"),
        ("数据", "工具", "mcp_server_tool"),
        ("a__b", "c", "mcp_a__b_c"),
    ],
)
def test_mcp_names(server, tool, name):
    assert mcp_name(server, tool) == name


def test_long_mcp_names_are_cut_with_a_hash_of_the_raw_names():
    name = mcp_name("s" * 60, "t" * 60)
    assert re.fullmatch(r"mcp_s{16}_t{24}_[0-9a-f]{8}", name)
    assert name != mcp_name("s" * 60, "t" * 61)
    assert len(mcp_name("s" * 30, "t" * 29)) == MAX_NAME
    # FNV-1a over the UTF-16 code units of "serverId::toolName", computed by hand for one character beyond the BMP.
    value = 0x811C9DC5
    for unit in [*map(ord, "s" * 60 + "::" + "t" * 60), 0xD83D, 0xDE00]:
        value = ((value ^ unit) * 0x01000193) % 2**32
    assert mcp_name("s" * 60, "t" * 60 + "😀").endswith(f"_{value:08x}")


def test_collisions_get_numbers_in_the_given_order():
    """Spec tauritavern §23.3."""
    one, two, three = ext("t", "mcp/a b"), ext("t", "mcp/a!b"), ext("t", "mcp/a_b")
    assert call_names([two, one, three]) == {two: "mcp_a_b_t", one: "mcp_a_b_t__2", three: "mcp_a_b_t__3"}


def test_builtins_are_reserved_before_what_stands_earlier():
    names = call_names([ext("workspace_commit"), builtin("workspace.commit")])
    assert names == {
        "extension/notebook:workspace_commit": "workspace_commit__2",
        "builtin:workspace.commit": "workspace_commit",
    }
    assert list(names) == ["extension/notebook:workspace_commit", "builtin:workspace.commit"]


def test_task_return_is_always_reserved():
    assert call_names([ext("task_return")]) == {"extension/notebook:task_return": "task_return__2"}
    assert call_names([builtin("task.return")]) == {"builtin:task.return": "task_return"}


def test_a_number_fits_into_the_limit():
    one, two = ext("x" * 64), ext("x" * 70)
    assert list(call_names([one, two]).values()) == ["x" * 64, "x" * 61 + "__2"]


IDS = st.tuples(
    st.sampled_from(["extension/notebook", "mcp/a", "mcp/a b", "extension/z"]), st.text(min_size=1, max_size=90)
).filter(lambda pair: pair[1].strip())


@given(st.lists(IDS, max_size=12, unique=True))
def test_names_are_valid_unique_and_stable(pairs):
    ids = [ToolId.parse(f"{provider}:{name}") for provider, name in pairs]
    names = call_names(ids)
    assert all(FORM.match(name) for name in names.values())
    assert len(set(names.values())) == len(ids)
    assert names == call_names(ids)

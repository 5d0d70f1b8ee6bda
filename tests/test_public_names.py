"""The public names: a sorted list, and nothing else."""

from importlib.metadata import version

import pytest

import tt_kernel

PUBLIC = [
    "Judge",
    "ModelUnavailable",
    "OutcomeUnknown",
    "ProfileInvalid",
    "ReplayMiss",
    "Run",
    "RunFailed",
    "RunInterrupted",
    "Session",
    "TTError",
    "ToolContext",
    "ToolError",
    "UserError",
    "arun",
    "diff",
    "load_ipython_extension",
    "replay",
    "run",
    "sweep",
    "tool",
    "unload_ipython_extension",
]


def test_the_list_is_the_list() -> None:
    assert list(tt_kernel.__all__) == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_there(name: str) -> None:
    assert callable(getattr(tt_kernel, name))


@pytest.mark.parametrize("name", ["Run", "Session", "ToolContext", "arun", "diff", "replay", "run", "sweep", "tool"])
def test_what_people_call_is_explained(name: str) -> None:
    assert len(getattr(tt_kernel, name).__doc__ or "") > 40


def test_errors_are_one_tree() -> None:
    errors = [v for name in PUBLIC if isinstance(v := getattr(tt_kernel, name), type) and issubclass(v, Exception)]
    assert len(errors) == 9
    assert all(issubclass(error, tt_kernel.TTError) for error in errors)


def test_the_version_is_the_packages() -> None:
    assert tt_kernel.__version__ == version("tt_kernel")


def test_dir_shows_the_public_names_and_nothing_else() -> None:
    assert dir(tt_kernel) == sorted([*PUBLIC, "__version__"])


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        _ = tt_kernel.nonsense

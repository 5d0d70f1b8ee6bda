"""Which functions a notebook has, now: CONTRACT, spec tauritavern §15.2."""

import functools

import pytest

from tt_kernel.domain.errors import UsageProblem
from tt_kernel.tools.functions import find_functions, live_lookup, tool


def made(name, value=1, /, **how):
    space: dict = {}
    exec(f"def {name}() -> int:\n    return {value}", space)
    return tool(space[name], **how)


def names(namespace):
    return [f.name for f in find_functions(namespace)]


def test_marked_callables_only_by_name():
    def plain(): ...

    namespace = {
        "b": made("b"),
        "a": made("a"),
        "plain": plain,
        "x": 3,
        "T": int,
        "part": tool(
            functools.partial(
                made("c"),
            )
        ),
    }
    assert names(namespace) == ["a", "b", "c"]


def test_an_alias_is_the_same_tool():
    f = made("f")
    assert names({"g": f, "f": f}) == ["f"]
    assert names({"g": f}) == ["f"]


def test_earlier_definitions_in_the_output_cache_do_not_count():
    old, new = made("f", 1), made("f", 2)
    namespace = {"_": old, "__": old, "_12": old, "_i3": "def f()", "f": new, "In": [], "Out": {12: old}}
    (found,) = find_functions(namespace)
    assert found.function is new


def test_the_one_bound_to_its_name_is_meant():
    old, new = made("f", 1), made("f", 2)
    for namespace in ({"keep": old, "f": new}, {"f": new, "keep": old}):
        (found,) = find_functions(namespace)
        assert found.function is new


def test_two_for_one_name_are_refused_naming_both():
    one, two = made("one", name="plot"), made("two", name="plot")
    with pytest.raises(UsageProblem) as caught:
        find_functions({"one": one, "two": two})
    assert caught.value.code == "extension.tool_already_registered"
    assert "'one' and 'two' are both the tool 'plot'" in caught.value.message
    assert "del one" in caught.value.message


def test_lookup_sees_the_namespace_as_it_is():
    namespace = {"f": made("f", 1)}
    lookup = live_lookup(namespace)
    assert lookup("f")() == 1
    namespace["f"] = made("f", 2)
    assert lookup("f")() == 2
    del namespace["f"]
    assert lookup("f") is None


def test_lookup_by_another_name_than_the_variables():
    namespace = {"variable": made("variable", 3, name="plot")}
    assert live_lookup(namespace)("plot")() == 3
    assert live_lookup(namespace)("variable") is None


def test_functions_passed_by_hand_stay_what_they_are():
    def local() -> int:
        return 7

    namespace: dict = {}
    lookup = live_lookup(namespace, [local])
    assert lookup("local")() == 7
    namespace["local"] = made("local", 8)
    assert lookup("local")() == 7
    # An unmarked function of the notebook is passed by hand as well.
    assert live_lookup({"local": local}, [local])("local")() == 7


def test_functions_of_the_namespace_are_looked_up_anew_also_when_they_are_listed():
    namespace = {"f": made("f", 1)}
    lookup = live_lookup(namespace, [f.function for f in find_functions(namespace)])
    assert lookup("f")() == 1
    namespace["f"] = made("f", 2)
    assert lookup("f")() == 2
    del namespace["f"]
    assert lookup("f") is None


def test_lookup_does_not_call_an_object_of_the_notebook_that_is_no_tool():
    assert live_lookup({"f": made})("f") is None
    assert live_lookup({"f": 5})("f") is None

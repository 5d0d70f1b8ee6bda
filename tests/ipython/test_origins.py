"""What an output says that it was made from (issue 5: a stale output is marked)."""

import pytest

from tt_kernel.ipython.origins import profile_digest, source_crc
from tt_kernel.session.core import Session


def test_the_check_sum_is_that_of_the_front_end():
    assert source_crc("%%agent writer\nDéjà vu ✓ 🐧") == 1160146425  # labextension/test/runs.test.ts has the same
    assert source_crc("123456789") == 0xCBF43926  # the check value of CRC-32


@pytest.mark.parametrize("line", ["%%agent writer --live", "%%agent --replay writer", "%%agent writer  "])
def test_asking_for_a_mode_does_not_change_the_prompt(line):
    assert source_crc(f"{line}\nx --live") == source_crc("%%agent writer\nx --live")
    assert source_crc(f"{line}\ny") != source_crc("%%agent writer\nx --live")


def test_a_profile_that_is_changed_has_another_digest(tmp_path):
    session = Session(tmp_path / "nb.ipynb")
    before = profile_digest(session, "assistant")
    assert before == profile_digest(session, "assistant")
    assert profile_digest(session, "nobody") is None
    changed = session.profiles.load("assistant").model_copy(update={"description": "Another one."})
    session.profiles.save(changed)
    assert profile_digest(session, "assistant") not in (None, before)

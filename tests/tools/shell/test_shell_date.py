"""`date`, `shuf`, `mktemp` and the reading of dates, against what GNU date 9.1 prints."""

import contextlib
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tt_kernel.tools.shell.child.date_command import strftime
from tt_kernel.tools.shell.child.date_text import read_date
from tt_kernel.tools.shell.child.options import Options, Usage

NOW = datetime(2026, 3, 1, 12, 34, 56, 789000, tzinfo=UTC)  # a Sunday


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now", "2026-03-01 12:34:56"),
        ("today", "2026-03-01 12:34:56"),
        ("yesterday", "2026-02-28 12:34:56"),
        ("tomorrow", "2026-03-02 12:34:56"),
        ("tomorrow 08:00", "2026-03-02 08:00:00"),
        ("noon", "2026-03-01 12:00:00"),
        ("midnight", "2026-03-01 00:00:00"),
        ("", "2026-03-01 00:00:00"),
        ("@0", "1970-01-01 00:00:00"),
        ("@1700000000.5", "2023-11-14 22:13:20"),
        ("2026-01-01", "2026-01-01 00:00:00"),
        ("2026-01-01 +1 day", "2026-01-02 00:00:00"),
        ("2026-01-01 + 1 day", "2026-01-02 00:00:00"),
        ("2026-01-31 +1 month", "2026-03-03 00:00:00"),
        ("2026/2/3", "2026-02-03 00:00:00"),
        ("20260203", "2026-02-03 00:00:00"),
        ("2/3/2026", "2026-02-03 00:00:00"),
        ("2026-01-01 10:20", "2026-01-01 10:20:00"),
        ("2026-01-01T10:20:30Z", "2026-01-01 10:20:30"),
        ("2026-01-01T10:20:30.25+02:00", "2026-01-01 08:20:30"),
        ("2026-01-01 10:20:30 UTC", "2026-01-01 10:20:30"),
        ("10:20 pm", "2026-03-01 22:20:00"),
        ("12 am", "2026-03-01 00:00:00"),
        ("5 Jan 2026", "2026-01-05 00:00:00"),
        ("Jan 5, 2026", "2026-01-05 00:00:00"),
        ("January 5 2026 10:00", "2026-01-05 10:00:00"),
        ("5 January", "2026-01-05 00:00:00"),
        ("Jan 2027", "2027-01-01 00:00:00"),
        ("1 hour ago", "2026-03-01 11:34:56"),
        ("2 days ago", "2026-02-27 12:34:56"),
        ("+3 weeks", "2026-03-22 12:34:56"),
        ("-90 minutes", "2026-03-01 11:04:56"),
        ("1 year 2 months ago", "2027-01-01 12:34:56"),
        ("next month", "2026-04-01 12:34:56"),
        ("last year", "2025-03-01 12:34:56"),
        ("next week", "2026-03-08 12:34:56"),
        ("friday", "2026-03-06 00:00:00"),
        ("sunday", "2026-03-01 00:00:00"),
        ("next friday", "2026-03-06 00:00:00"),
        ("next sunday", "2026-03-08 00:00:00"),
        ("last monday", "2026-02-23 00:00:00"),
    ],
)
def test_dates_in_words(text, expected):
    assert f"{read_date(text, NOW):%Y-%m-%d %H:%M:%S}" == expected


@pytest.mark.parametrize("text", ["foo", "2026-13-01", "2026-01-01 x", "25:00", "13 pm", "@", "1 fortnights of"])
def test_what_is_no_date(text):
    with pytest.raises(Usage, match="invalid date"):
        read_date(text, NOW)


def test_a_zone_other_than_utc():
    there = NOW.astimezone(ZoneInfo("America/New_York"))
    assert read_date("2026-07-01T12:00:00Z", there).isoformat() == "2026-07-01T08:00:00-04:00"


@given(st.text(max_size=40))
def test_any_text_is_a_date_or_invalid(text):
    with contextlib.suppress(Usage):
        assert read_date(text, NOW).tzinfo is not None


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("%Y-%m-%d %H:%M:%S", "2026-03-01 12:34:56"),
        ("%F %T %D %R %r", "2026-03-01 12:34:56 03/01/26 12:34 12:34:56 PM"),
        ("%a %A %b %B %h %p %P", "Sun Sunday Mar March Mar PM pm"),
        ("%e|%k|%l|%I|%j|%y|%C|%s", " 1|12|12|12|060|26|20|1772368496"),
        ("%N %3N %6N", "789000000 789 789000"),
        ("%u %w %U %V %W %G %g %q", "7 0 09 09 08 2026 26 1"),
        ("%z %:z %::z %:::z %Z", "+0000 +00:00 +00:00:00 +00 UTC"),
        ("%-d %_d %05d %-H %^a %^B %#p", "1  1 00001 12 SUN MARCH pm"),
        ("%%|%n|%t|", "%|\n|\t|"),
        ("%Q %", "%Q %"),
    ],
)
def test_formats(form, expected):
    assert strftime(NOW, form) == expected


async def test_the_command(bench):
    out = await bench.out(
        "date; date -u; date -I; date -Iseconds; date --iso-8601=minutes; date --rfc-3339=seconds; date -R; date '+%d %m';"
        "date -d '2026-01-01 +1 day' +%F; date --date=tomorrow +%F; date -ud @0 +%T; TZ=America/New_York date; TZ=Nowhere/Land date;"
        "touch /tmp/f; date -r /tmp/f +%s; date +%Y%n%m"
    )
    assert out.splitlines() == [
        "Sun Mar  1 12:34:56 UTC 2026",
        "Sun Mar  1 12:34:56 UTC 2026",
        "2026-03-01",
        "2026-03-01T12:34:56+00:00",
        "2026-03-01T12:34+00:00",
        "2026-03-01 12:34:56+00:00",
        "Sun, 01 Mar 2026 12:34:56 +0000",
        "01 03",
        "2026-01-02",
        "2026-03-02",
        "00:00:00",
        "Sun Mar  1 07:34:56 EST 2026",
        "Sun Mar  1 12:34:56 UTC 2026",
        "1772368496",
        "2026",
        "03",
    ]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("date foo", "date: invalid date 'foo'"),
        ("date -d 'not a day'", "date: invalid date 'not a day'"),
        ("date -r /nope", "date: /nope: No such file or directory"),
        ("date -s 2020-01-01", "cannot set date"),
        ("date --bogus", "date: unrecognized option '--bogus'"),
        ("date -x", "date: invalid option -- 'x'"),
        ("date -d", "requires an argument"),
        ("date +%F +%T", "extra operand"),
        ("date -Iyears", "invalid argument 'years'"),
        ("uuidgen -t", "only random ids"),
        ("shuf -n x", "invalid line count"),
        ("shuf -i 5", "invalid input range"),
        ("shuf -i 1-99999999", "more than"),
        ("shuf /nope", "No such file"),
        ("shuf a b", "extra operand"),
        ("mktemp abc", "too few X's"),
        ("mktemp /nope/aXXXXX", "mktemp:"),
        ("mktemp -p /skills", "Read-only file system"),
    ],
)
async def test_mistakes(bench, command, message):
    result = await bench.run(command)
    assert (result.error_code, result.structured["exitCode"]) == ("workspace.shell_exit", 1)
    assert message in result.content


async def test_shuf(bench):
    assert sorted((await bench.out("seq 5 | shuf")).split()) == list("12345")
    assert sorted((await bench.out("shuf -e x y z")).split()) == ["x", "y", "z"]
    assert len((await bench.out("shuf -i 1-100 -n 5")).split()) == 5
    assert set((await bench.out("shuf -r -n 50 -e a b")).split()) == {"a", "b"}
    assert await bench.out("printf 'a\\0b\\0' | shuf -z | tr '\\0' '.' | wc -c") == "4"
    assert await bench.out("seq 3 | shuf -o /output/s; sort /output/s | tr -d '\\n'") == "123"
    assert await bench.out("printf 'no newline' | shuf") == "no newline"


async def test_mktemp(bench):
    out = await bench.out(
        "f=$(mktemp); d=$(mktemp -d); [ -f $f ] && [ -d $d ] && echo both; stat -c %a $f $d; cd /output; mktemp x.XXXX; ls;"
        "mktemp -p /output --suffix=.txt | sed 's/[A-Za-z0-9]*\\.txt/N.txt/'; mktemp -t abcXXX | cut -c1-8; mktemp logXXX.txt | wc -c"
    )
    both, mode, folder_mode, made, listed, suffixed, prefixed, implied = out.splitlines()
    assert (both, mode, folder_mode) == ("both", "600", "700")
    assert made == listed
    assert (suffixed, prefixed, implied) == ("/output/tmp.N.txt", "/tmp/abc", "11")


def test_options():
    read = Options.read(
        ["-ab", "-nfive", "--long=x", "word", "--", "-z"],
        flags={"-a": "--all", "-b": "--bare"},
        values={"-n": "--number", "": "--long"},
    )
    assert (read.flags, read.values, read.words) == (
        {"--all", "--bare"},
        {"--number": "five", "--long": "x"},
        ["word", "-z"],
    )
    for bad in (["-x"], ["--nope"], ["-n"], ["--all=1"]):
        with pytest.raises(Usage):
            Options.read(bad, flags={"-a": "--all"}, values={"-n": "--number"})

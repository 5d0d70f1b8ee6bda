"""Dates in words, as `date -d` takes them: absolute dates and times, zones, and steps from there."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

from tt_kernel.tools.shell.child.options import Usage

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_STEPS = {
    "sec": timedelta(seconds=1),
    "second": timedelta(seconds=1),
    "min": timedelta(minutes=1),
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
    "fortnight": timedelta(weeks=2),
}
_UNIT = "(?:seconds?|secs?|minutes?|mins?|hours?|days?|weeks?|fortnights?|months?|years?)"
_MONTH = "(?P<month>" + "|".join(_MONTHS) + r")[a-z]*\.?"
_DAY = "(?P<weekday>" + "|".join(_DAYS) + r")[a-z]*\.?"


class _Reading:
    """The date so far. Steps are taken at the end, from whatever date and time were given."""

    def __init__(self, now: datetime) -> None:
        self.moment = now
        self.steps: list[tuple[int, str]] = []
        self.weekday: tuple[int, int] | None = None

    def midnight(self) -> None:
        self.moment = self.moment.replace(hour=0, minute=0, second=0, microsecond=0)

    def date(self, year: int, month: int, day: int) -> None:
        """A date without a time means its midnight."""
        self.moment = self.moment.replace(year=year, month=month, day=day)

    def result(self) -> datetime:
        moment = self.moment
        for count, unit in self.steps:
            moment = _step(moment, count, unit)
        if self.weekday is not None:
            day, weeks = self.weekday
            ahead = (day - moment.weekday()) % 7
            if weeks > 0 and ahead:
                weeks -= 1
            moment += timedelta(days=ahead + 7 * weeks)
        return moment


def read_date(text: str, now: datetime) -> datetime:
    """The moment that `text` names.

    Args:
        text: For example `2026-03-01 12:00 UTC`, `next friday`, `2 days ago`, `@1700000000`.
        now: Aware; its zone is the local one.

    Raises:
        Usage: It names none.
    """
    reading = _Reading(now)
    rest = text.strip().lower()
    if not rest:
        reading.midnight()
    has_time = bool(_TIME.search(rest)) or bool(re.search(r"\b(?:now|noon)\b|@", rest))
    try:
        while rest:
            rest = _take(rest, reading, has_time).lstrip(" \t,")
        return reading.result()
    except (ValueError, OverflowError):
        raise Usage(f"invalid date '{text}'") from None


def _take(rest: str, reading: _Reading, has_time: bool) -> str:
    for pattern, apply in _FORMS:
        found = pattern.match(rest)
        if found:
            apply(reading, found)
            if apply in _DATES and not has_time:
                reading.midnight()
            return rest[found.end() :]
    raise ValueError(rest)


def _epoch(reading: _Reading, found: re.Match[str]) -> None:
    reading.moment = datetime.fromtimestamp(float(found[1]), UTC).astimezone(reading.moment.tzinfo)


def _numeric(reading: _Reading, found: re.Match[str]) -> None:
    reading.date(int(found["year"]), int(found["month"]), int(found["day"]))


def _american(reading: _Reading, found: re.Match[str]) -> None:
    reading.date(int(found["year"] or reading.moment.year), int(found["month"]), int(found["day"]))


def _named(reading: _Reading, found: re.Match[str]) -> None:
    month = _MONTHS.index(found["month"]) + 1
    reading.date(int(found["year"] or reading.moment.year), month, int(found["day"] or 1))


def _clock(reading: _Reading, found: re.Match[str]) -> None:
    hour = int(found["hour"])
    half = found["half"]
    if half:
        if not 1 <= hour <= 12:  # noqa: PLR2004  a twelve-hour clock
            raise ValueError
        hour = hour % 12 + (12 if half.startswith("p") else 0)
    fraction = (found["fraction"] or "0").ljust(6, "0")[:6]
    reading.moment = reading.moment.replace(
        hour=hour, minute=int(found["minute"] or 0), second=int(found["second"] or 0), microsecond=int(fraction)
    )


def _offset(reading: _Reading, found: re.Match[str]) -> None:
    """The time given is of another zone; the answer stays in the local one."""
    shift = timedelta(hours=int(found["hours"]), minutes=int(found["minutes"] or 0))
    zone = timezone(-shift if found["sign"] == "-" else shift)
    reading.moment = reading.moment.replace(tzinfo=zone).astimezone(reading.moment.tzinfo)


def _utc(reading: _Reading, _found: re.Match[str]) -> None:
    reading.moment = reading.moment.replace(tzinfo=UTC).astimezone(reading.moment.tzinfo)


def _word(reading: _Reading, found: re.Match[str]) -> None:
    word = found[1]
    if word in ("yesterday", "tomorrow"):
        reading.steps.append((-1 if word == "yesterday" else 1, "day"))
    elif word == "midnight":
        reading.midnight()
    elif word == "noon":
        reading.midnight()
        reading.moment = reading.moment.replace(hour=12)


def _counted(reading: _Reading, found: re.Match[str]) -> None:
    count = int((found["count"] or "1").replace(" ", ""))
    reading.steps.append((-count if found["ago"] else count, found["unit"]))


def _neighbour(reading: _Reading, found: re.Match[str]) -> None:
    reading.steps.append(({"next": 1, "last": -1, "this": 0}[found["which"]], found["unit"]))


def _weekday(reading: _Reading, found: re.Match[str]) -> None:
    weeks = {"next": 1, "last": -1, "this": 0, None: 0}[found["which"]]
    reading.weekday = (_DAYS.index(found["weekday"]), weeks)


def _step(moment: datetime, count: int, unit: str) -> datetime:
    unit = unit.rstrip("s") if unit != "s" else "sec"
    if unit in ("month", "year"):
        months = moment.year * 12 + moment.month - 1 + count * (12 if unit == "year" else 1)
        # As the C library: the 31st of a short month runs over into the next one.
        return moment.replace(year=months // 12, month=months % 12 + 1, day=1) + timedelta(days=moment.day - 1)
    return moment + count * _STEPS[unit]


_TIME = re.compile(r"\d:\d\d|\d\s*[ap]\.?m\b|\dt\d")
_WHICH = r"(?:(?P<which>next|last|this)\s+)"
_FORMS: tuple[tuple[re.Pattern[str], Callable[[_Reading, re.Match[str]], None]], ...] = (
    (re.compile(r"@(-?\d+(?:\.\d+)?)"), _epoch),
    (re.compile(r"(?P<year>\d{4})[-/](?P<month>\d{1,2})[-/](?P<day>\d{1,2})(?!\d)t?"), _numeric),
    (re.compile(r"(?P<year>\d{4})(?P<month>\d\d)(?P<day>\d\d)(?![\d:])t?"), _numeric),
    (re.compile(r"(?P<month>\d{1,2})/(?P<day>\d{1,2})(?:/(?P<year>\d{4}))?"), _american),
    (
        re.compile(
            r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d+))?)?\s*(?P<half>[ap]\.?m\.?)?"
        ),
        _clock,
    ),
    (re.compile(r"(?P<hour>\d{1,2})(?P<minute>)(?P<second>)(?P<fraction>)\s*(?P<half>[ap]\.?m\.?)(?![a-z])"), _clock),
    (re.compile(r"(?P<count>[-+]?\s*\d+)?\s*(?P<unit>" + _UNIT + r")\b(?P<ago>\s+ago\b)?"), _counted),
    (re.compile(_WHICH + r"(?P<unit>" + _UNIT + r")\b"), _neighbour),
    (re.compile(r"(?P<day>\d{1,2})(?:st|nd|rd|th)?[\s-]*" + _MONTH + r"(?:[\s,-]+(?P<year>\d{4}))?"), _named),
    (re.compile(_MONTH + r"\s*(?P<day>\d{1,2})(?:st|nd|rd|th)?(?!\d|:)(?:[\s,]+(?P<year>\d{4})(?!:))?"), _named),
    (re.compile(_MONTH + r"(?P<day>)[\s,]+(?P<year>\d{4})"), _named),
    (re.compile(_WHICH + "?" + _DAY + r"(?![a-z])"), _weekday),
    (re.compile(r"(now|today|yesterday|tomorrow|midnight|noon)\b"), _word),
    (re.compile(r"(?:utc|gmt|z)(?![a-z])"), _utc),
    (re.compile(r"(?P<sign>[-+])(?P<hours>\d\d):?(?P<minutes>\d\d)?(?!\d)"), _offset),
)
_DATES = (_numeric, _american, _named, _weekday)

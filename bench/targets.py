"""The targets of Beeline, next to the measured figures. Only this file lists them.

A figure is a function from a row to a number, or to None if the row does not have it."""

import dataclasses
import math
import operator
from collections.abc import Callable

from rows import Column, number_at, value_at


# ---- Figures of a row ---------------------------------------------------------------------------


def at(pointer, scale=1.0):
    def figure(row):
        number = number_at(row, pointer)
        return None if number is None else number * scale

    return figure


def over(one, other):
    def figure(row):
        left, right = one(row), other(row)
        return None if left is None or not right else left / right

    return figure


def minus(one, other):
    def figure(row):
        left, right = one(row), other(row)
        return None if left is None or right is None else left - right

    return figure


def no_figure(_):
    return None


LIMIT = at("/limit_rtt_ns/p50")
# How many times a neighbour's figure Beeline's is; nothing if the machine changed between them.
TIMES = over(lambda _: 1.0, at("/ratio_to_beeline"))


# ---- Targets ------------------------------------------------------------------------------------

AT_MOST, UNDER, AT_LEAST = "at most", "under", "at least"
IS_REACHED = {AT_MOST: operator.le, UNDER: operator.lt, AT_LEAST: operator.ge}
MIB = 1 << 20


@dataclasses.dataclass
class Target:
    name: str
    bound: str
    wanted: float | None  # None: the figure is reported, not judged
    unit: str
    test: str
    values: dict  # of the rows that count; None: without a value there
    figure: Callable
    digits: int = 2
    low: Callable = no_figure  # the spread; without: the figure
    high: Callable = no_figure
    limit: Callable = LIMIT
    limit_unit: str = " ns"
    limit_digits: int = 0
    where_limit: float = math.inf  # the target applies if the limit is this or less
    # Other rows of the test, as the base of a ratio where their limits agree.
    base: dict | None = None

    def applies_to(self, row):
        return (self.limit(row) or 0.0) <= self.where_limit


def round_trip(name, wanted, test, values):
    ratio, p99 = over(at("/rtt_ns/p50"), LIMIT), over(at("/rtt_ns/p99"), LIMIT)
    return Target(name, AT_MOST, wanted, "", test, values, ratio, high=p99)


def awake(size, payload):
    return {"size": size, "mode": "spin", "payload": payload, "rate": None}


def streamed(name, wanted, test, values, where_limit=math.inf):
    low, high = (at(f"/window_messages_per_s/{end}", 1e-6) for end in ("min", "max"))
    return Target(
        name,
        AT_LEAST,
        wanted,
        " million/s",
        test,
        values | {"size": 64, "mode": "spin"},
        at("/messages_per_s", 1e-6),
        low=low,
        high=high,
        where_limit=where_limit,
    )


def beside_iceoryx(name, wanted, kind, size):
    values = {"kind": kind, "size": size, "peer": "iceoryx", "mode": "spin"}
    return Target(name, AT_LEAST, wanted, "", "peers", values, TIMES)


def at_1000(name, bound, wanted, unit, figure, high=no_figure):
    name, values = "1,000 agents: " + name, {"agents": 1000, "mode": "adaptive"}
    return Target(name, bound, wanted, unit, "scale", values, figure, high=high, limit=no_figure)


def growth(to, depth, wanted):
    """The time of a take may grow by the logarithm of the one depth over that of the other."""
    name = f"growth of that from 100 to {to}, log n at worst"
    return Target(name, AT_MOST, wanted, "", "inbox", deep(depth), TAKE, base=deep(100))


def deep(depth):
    return {"depth": depth, "size": 64}


# Without the time that reading the clock adds.
TAKE = minus(at("/take_ns/p50"), at("/clock_ns/p50"))
SLOW_TAKE = minus(at("/take_ns/p99"), at("/clock_ns/p50"))


def of_round_trips():
    over_limit = "awake, over the limit"
    yield round_trip(f"round trip, 16 B, {over_limit}", 1.35, "latency", awake(16, "lane"))
    yield round_trip(f"round trip, 64 B, {over_limit}", 1.5, "latency", awake(64, "lane"))
    yield round_trip(f"round trip, 1 KiB whole, {over_limit}", 3.0, "latency", awake(1024, "loan"))
    name = "round trip, 1 MiB untouched, over 64 B in a slab"
    large, small = awake(MIB, "untouched"), awake(64, "untouched")
    yield Target(name, AT_MOST, 1.1, "", "latency", large, at("/rtt_ns/p50"), base=small)


def of_streams():
    """Streams that are received up to 32 at a time are judged; those received one by one stand
    beside them."""
    name, lane = "one way, 64 B, ", {"payload": "lane"}
    many = name + "up to 32 a call (40 next, 60 the aim)"
    yield streamed(many, 25.0, "throughput", lane | {"batch": 32}, where_limit=120.0)
    yield streamed(name + "one a call", None, "throughput", lane | {"batch": 1})
    yield beside_iceoryx(name + "one a call, times iceoryx", 10.0, "throughput", 64)
    name, three = "three senders to one, 64 B, ", {"senders": 3}
    yield streamed(name + "up to 32 a call", 20.0, "fanin", three | {"batch": 32})
    yield streamed(name + "one a call", None, "fanin", three | {"batch": 1})
    yield beside_iceoryx(name + "one a call, times iceoryx", 8.0, "fanin", 64)


def of_large_payloads():
    yield Target(
        "1 MiB filled and read; limit: warm memcpy of one core",
        AT_LEAST,
        None,
        " GB/s",
        "peers",
        {"kind": "fill", "size": MIB, "peer": "beeline"},
        at("/gb_per_s"),
        low=at("/window_messages_per_s/min", MIB * 1e-9),
        high=at("/window_messages_per_s/max", MIB * 1e-9),
        limit=at("/limit_gb_per_s"),
        limit_unit=" GB/s",
        limit_digits=2,
    )
    yield beside_iceoryx("1 MiB filled and read, times iceoryx", 1.0, "fill", MIB)


def of_hives():
    for by in ("futex", "eventfd"):
        values = {"size": 64, "by": by, "payload": "lane"}
        yield round_trip(f"wake-up round trip, {by}, over the raw one", 1.1, "wake", values)
    idle, cpu = {"agents": 50, "mode": "adaptive"}, at("/cpu_ms_per_10s")
    name = "CPU of 50 idle agents and coordinator in 10 s"
    yield Target(name, UNDER, 10.0, " ms", "idle", idle, cpu, limit=no_figure)
    attach, p99 = at("/attach_us/p50", 1e-3), at("/attach_us/p99", 1e-3)
    yield at_1000("attach", UNDER, 2.0, " ms", attach, p99)
    segments = at("/resident_kib_per_agent")
    yield at_1000("segments of each, a pair of links", UNDER, 128.0, " KiB", segments)
    # "As fast as to the first" has no number: this one is ours.
    ratio = over(at("/last_rtt_ns"), at("/first_rtt_ns"))
    yield at_1000("round trip, last over first (1.1: ours)", AT_MOST, 1.1, "", ratio)
    first = at("/first_rtt_ns", 1e-3)
    yield at_1000("round trip of parent and first child", AT_MOST, None, " us", first)
    name, deepest = "taking from 100,000", deep(100_000)
    yield Target(name, UNDER, 1000.0, " ns", "inbox", deepest, TAKE, digits=0, high=SLOW_TAKE)
    yield growth("10,000", 10_000, 2.0)
    yield growth("100,000", 100_000, 2.5)


def of_task_folders():
    step = {"figure": at("/ratio"), "high": over(at("/us/p99"), at("/raw_us/p50"))}
    step |= {"limit": at("/raw_us/p50"), "limit_unit": " us"}
    for place in ("memory", "disk"):
        for what in ("put", "claim", "complete"):
            name = f"task folder in {place}: {what}, over its raw calls"
            values = {"place": place, "what": what, "waiting": 10_000}
            yield Target(name, AT_MOST, 1.5, "", "spool", values, **step)
    name = "task folder in memory: first claim, over reading all"
    values = {"place": "memory", "what": "first claim", "waiting": 10_000}
    yield Target(name, AT_MOST, 1.5, "", "spool", values, **step)
    name, rate = "task folder in memory: raw rate over that of 8 workers", at("/raw_tasks_per_s")
    values = {"place": "memory", "what": "workers", "workers": 8}
    ratio = at("/ratio")
    yield Target(name, AT_MOST, 1.5, "", "spool", values, ratio, limit=rate, limit_unit="/s")


def of_spawns():
    more, raw = at("/more_ms"), {"limit": at("/raw_ms/p50"), "limit_unit": " ms"}
    name, one = "spawn of a child, over posix_spawn and attach", {"children": 1}
    yield Target(name, AT_MOST, 3.0, " ms", "spawn", one, more, limit_digits=1, **raw)
    name, many = "spawn of 200 at once, over as many posix_spawns", {"children": 200}
    yield Target(name, AT_MOST, None, "", "spawn", many, at("/ratio"), **raw)


def of_buffers():
    disk = {"limit": at("/raw_us/p50"), "limit_unit": " us"}
    p99 = over(at("/us/p99"), at("/raw_us/p50"))
    name, values = "buffer: commit, over a bare sync", {"what": "commit", "store": "beeline"}
    yield Target(name, AT_MOST, 1.3, "", "buffer", values, at("/ratio"), high=p99, **disk)
    sqlite = at("/sqlite_per_s")
    ends = (over(at(f"/round_per_s/{end}"), sqlite) for end in ("min", "max"))
    spread = dict(zip(("low", "high"), ends, strict=True))
    spread |= {"limit": sqlite, "limit_unit": "/s"}
    name, values = "buffer: 16 senders, times SQLite", {"what": "rate", "store": "beeline"}
    values |= {"senders": 16}
    yield Target(name, AT_LEAST, 10.0, "", "buffer", values, at("/ratio"), **spread)
    first = {"limit": at("/first_us/p50"), "limit_unit": " us"}
    # "Costs the same as out of 1,000" has no number: this one is ours.
    name, values = "buffer: a batch out of 1,000,000 over 1,000 (1.3: ours)", {"what": "take"}
    values |= {"rows": 1_000_000}
    yield Target(name, AT_MOST, 1.3, "", "buffer", values, at("/ratio"), **first)


TARGETS = [
    *of_round_trips(),
    *of_streams(),
    *of_large_payloads(),
    *of_hives(),
    *of_task_folders(),
    *of_spawns(),
    *of_buffers(),
]


# ---- Rows ---------------------------------------------------------------------------------------


def rows_of(rows, test, values):
    return [
        row
        for row in rows.get(test, [])
        if all(value_at(row, "/" + key) == value for key, value in values.items())
    ]


def that_count(rows, figure):
    """The rows with a figure, only stable ones if there are any, the lowest first."""
    found = [row for row in rows if figure(row) is not None]
    stable = [row for row in found if row.get("stable", True)]
    return sorted(stable or found, key=figure)


def middle_of(rows, is_higher):
    """The row in the middle; of two the higher or the lower one."""
    return rows[(len(rows) - (0 if is_higher else 1)) // 2]


def limits_agree(one, other):
    """The same as in bench/case.h."""
    low, high = sorted((LIMIT(one) or 0.0, LIMIT(other) or 0.0))
    return high <= 1.3 * low


def over_base(rows, target):
    """The figure, divided by that of the middle row of the base."""
    bases = that_count(rows_of(rows, target.test, target.base), target.figure)
    if not bases:
        return no_figure
    # The less favourable base is the higher one if the ratio has to be high.
    base = middle_of(bases, target.bound == AT_LEAST)
    divisor = target.figure(base)
    if divisor <= 0.0:
        return no_figure

    def figure(row):
        return target.figure(row) / divisor if limits_agree(row, base) else None

    return figure


def reached_text(target, row, value):
    if target.wanted is None:
        return "-"
    if not target.applies_to(row):
        return f"not asked for here: limit over {target.where_limit:g}"
    return "yes" if IS_REACHED[target.bound](value, target.wanted) else "no"


def row_of(rows, target):
    figure = over_base(rows, target) if target.base else target.figure
    every = rows_of(rows, target.test, target.values)
    found = that_count(filter(target.applies_to, every), figure) or that_count(every, figure)
    wanted = f"{target.bound} {target.wanted or 0:g}{target.unit}"
    row = {"what": target.name, "target": "reported" if target.wanted is None else wanted}
    if not found:
        row["result"] = "no figure" if every else "not measured"
        if every:
            row["reached"] = "not known: nothing at the same limit to compare with"
        return row
    middle = middle_of(found, target.bound != AT_LEAST)
    result, limit, digits = figure(middle), target.limit(middle), target.digits
    row["result"] = f"{result:.{digits}f}{target.unit}"
    if limit is not None:
        row["limit"] = f"{limit:.{target.limit_digits}f}{target.limit_unit}"
    figures = [end(each) for each in found for end in (figure, target.low, target.high)]
    figures = [each for each in figures if each is not None]
    if min(figures) < max(figures):
        row["spread"] = f"{min(figures):.{digits}f} to {max(figures):.{digits}f}"
    row["reached"] = reached_text(target, middle, result)
    return row | ({"note": middle["note"]} if "note" in middle else {})


def targets_text(machines):
    """The text above the table of target_rows(), for rows of this many machines."""
    text = (
        "What Beeline is to reach and what these rows say; spread: p50 to p99 of times, the "
        "slowest to the fastest window of streams, over all rows of a measurement"
    )
    mixed = f"; THESE ROWS ARE OF {machines} MACHINES OR BUILDS, mixed"
    return text + mixed if machines > 1 else text


COLUMNS = [
    Column("what", "/what", 53, is_left=True),
    Column("target", "/target", 22),
    Column("result", "/result", 16),
    Column("limit", "/limit", 11),
    Column("spread", "/spread", 16),
    Column("reached", "/reached", 8),
]


def target_rows(rows):
    """A row for each target: the target, the figure, the limit beside it, the spread, and whether
    the target is reached.

    If one measurement has several rows, only those count that were measured at a limit for which
    the target applies, and of these only the stable ones. The one in the middle decides; of two in
    the middle the less favourable one. Without a row at such a limit the target is neither reached
    nor missed. A measurement without a row is "not measured". There is "no figure" if a row has
    none, or none that may be compared; the result is unknown then."""
    return [row_of(rows, target) for target in TARGETS]


def better_rows(rows):
    """The rows of neighbours that are better than Beeline's."""
    return [row for row in rows.get("peers", []) if row.get("better")]


def comparison_text(rows):
    """A remark on better_rows(): that no neighbour is better, and for how many rows that is
    unknown. Mostly empty."""
    peers = rows.get("peers", [])
    moved = sum("ratio_to_beeline" in row and row["ratio_to_beeline"] is None for row in peers)
    alone = sum(not row.keys() & {"ratio_to_beeline", "skipped", "failed"} for row in peers)
    text = "" if better_rows(rows) else ": nobody"
    if moved:
        text += f"; {moved} rows could not be compared: the limit moved"
    if alone:
        text += f"; {alone} rows have none of Beeline beside them"
    return text

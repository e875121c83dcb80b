#!/usr/bin/env python3
"""The table of targets that begins the report of the bench, from given rows."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "bench"))

from targets import better_rows, comparison_text, target_rows  # noqa: E402

MIB = 1 << 20
ONE_WAY = "one way, 64 B, up to 32 a call ("


def latency(size, payload, p50, limit, **more):
    return {
        "size": size,
        "mode": "spin",
        "payload": payload,
        "rtt_ns": {"p50": p50, "p99": 2 * p50},
        "limit_rtt_ns": {"p50": limit},
    } | more


def stream(per_s, limit, **more):
    return {
        "size": 64,
        "mode": "spin",
        "payload": "lane",
        "batch": 32,
        "messages_per_s": per_s,
        "window_messages_per_s": {"min": per_s / 2, "p50": per_s, "max": per_s * 2},
        "limit_rtt_ns": {"p50": limit},
    } | more


def inbox(depth, p50):
    return {
        "depth": depth,
        "size": 64,
        "take_ns": {"p50": p50, "p99": p50},
        "clock_ns": {"p50": 50},
        "limit_rtt_ns": {"p50": 100},
    }


def beside(peer, kind, size, **more):
    return {"peer": peer, "kind": kind, "size": size, "mode": "spin"} | more


def folder(place, what, **more):
    return {
        "place": place,
        "what": what,
        "waiting": 10_000,
        "us": {"p50": 1.2, "p99": 2.0},
        "raw_us": {"p50": 1.0},
        "ratio": 1.2,
    } | more


def spawned(children):
    times = {"ms": {"p50": 7.0}, "raw_ms": {"p50": 4.0}, "more_ms": 3.0, "ratio": 1.75}
    return {"children": children} | times


def buffered(what, ratio, **more):
    return {"what": what, "store": "beeline", "ratio": ratio, "us": {"p50": 1.0, "p99": 2.0}} | more


# The figures that a hive of 1,000 and its idle agents have.
SCALE = {
    "agents": 1000,
    "mode": "adaptive",
    "attach_us": {"p50": 1},
    "resident_kib_per_agent": 1,
    "first_rtt_ns": 1,
    "last_rtt_ns": 1,
}
STEPS = ("put", "claim", "complete")
IDLE = {"agents": 50, "mode": "adaptive", "cpu_ms_per_10s": 1}


class Targets(unittest.TestCase):
    def target(self, rows, name):
        """The row of the target with a name that begins like this."""
        found = [row for row in target_rows(rows) if row["what"].startswith(name)]
        self.assertEqual(len(found), 1, f"targets that begin with {name}")
        return found[0]

    def expect(self, rows, name, **cells):
        found = self.target(rows, name)
        self.assertEqual({key: found.get(key) for key in cells}, cells)

    def test_without_rows_nothing_is_measured_and_nothing_reached(self):
        rows = target_rows({})
        self.assertEqual(len(rows), 35)
        for row in rows:
            self.assertEqual(row["result"], "not measured")
            self.assertNotIn("reached", row)

    def test_a_round_trip_is_taken_over_its_limit(self):
        name = "round trip, 64 B"
        cells = {"target": "at most 1.5", "result": "1.50", "limit": "100 ns"}
        cells |= {"spread": "1.50 to 3.00", "reached": "yes"}
        self.expect({"latency": [latency(64, "lane", 150, 100)]}, name, **cells)
        self.expect({"latency": [latency(64, "lane", 151, 100)]}, name, reached="no")
        # A clock that ticks too slowly for the limit.
        self.expect({"latency": [latency(64, "lane", 151, 0)]}, name, result="no figure")

    def test_rows_of_another_kind_do_not_count(self):
        asleep = latency(64, "lane", 100, 100, mode="sleep")
        at_a_rate = latency(64, "lane", 100, 100, rate=1000)
        rows = {"latency": [asleep, at_a_rate, latency(64, "untouched", 100, 100)]}
        self.expect(rows, "round trip, 64 B", result="not measured")
        wake = latency(64, "untouched", 100, 100, by="futex")
        awake = IDLE | {"mode": "spin"}
        rows = {"wake": [wake], "idle": [awake]}
        self.expect(rows, "wake-up round trip, futex", result="not measured")
        self.expect(rows, "CPU of 50", result="not measured")

    def test_the_middle_one_of_several_rows_counts_and_all_are_in_the_spread(self):
        unstable = latency(64, "lane", 900, 100, stable=False, note="UNSTABLE: the machine")
        stable = [latency(64, "lane", p50, 100) for p50 in (300, 120, 140)]
        rows = {"latency": [*stable, unstable]}
        cells = {"result": "1.40", "spread": "1.20 to 6.00", "note": None}
        self.expect(rows, "round trip, 64 B", **cells)
        # An unstable row counts if there is no other, and is marked.
        cells = {"result": "9.00", "note": "UNSTABLE: the machine"}
        self.expect({"latency": [unstable]}, "round trip, 64 B", **cells)

    def test_the_less_favourable_of_two_rows_counts(self):
        rows = {
            "latency": [latency(64, "lane", 120, 100), latency(64, "lane", 180, 100)],
            "throughput": [stream(30e6, 100), stream(20e6, 100)],
            "idle": [IDLE | {"cpu_ms_per_10s": ms} for ms in (11, 9)],
        }
        self.expect(rows, "round trip, 64 B", result="1.80")  # at most
        self.expect(rows, ONE_WAY, result="20.00 million/s")  # at least
        self.expect(rows, "CPU of 50", result="11.00 ms")  # under
        # Given two bases for a ratio, the one that makes the ratio worse.
        rows = {"latency": [latency(64, "untouched", p50, 100) for p50 in (200, 100)]}
        rows["latency"].append(latency(MIB, "untouched", 200, 100))
        self.expect(rows, "round trip, 1 MiB", result="2.00")

    def test_a_loan_of_1_mib_stands_over_a_small_one_on_the_same_machine(self):
        small, large = latency(64, "untouched", 200, 100), latency(MIB, "untouched", 220, 120)
        self.expect({"latency": [small, large]}, "round trip, 1 MiB", result="1.10", reached="yes")
        large["limit_rtt_ns"]["p50"] = 131
        self.expect({"latency": [small, large]}, "round trip, 1 MiB", result="no figure")

    def test_a_stream_has_its_windows_and_is_asked_for_where_the_limit_is_low(self):
        cells = {"target": "at least 25 million/s", "result": "25.00 million/s"}
        cells |= {"spread": "12.50 to 50.00", "reached": "yes"}
        self.expect({"throughput": [stream(25e6, 120)]}, ONE_WAY, **cells)
        self.expect({"throughput": [stream(24e6, 120)]}, ONE_WAY, reached="no")
        for millions in (24, 26):
            cells = {"result": f"{millions}.00 million/s"}
            cells |= {"reached": "not asked for here: limit over 120"}
            self.expect({"throughput": [stream(millions * 1e6, 121)]}, ONE_WAY, **cells)

    def test_a_stream_is_judged_by_the_rows_at_a_limit_that_it_is_asked_for_at(self):
        rows = [stream(5e6, 500), stream(26e6, 110, stable=False), stream(6e6, 400)]
        cells = {"result": "26.00 million/s", "reached": "yes"}
        self.expect({"throughput": rows}, ONE_WAY, **cells)
        rows.append(stream(24e6, 120))
        cells = {"result": "24.00 million/s", "reached": "no"}
        self.expect({"throughput": rows}, ONE_WAY, **cells)

    def test_iceoryx_is_compared_where_there_is_a_ratio(self):
        for ratio, result, reached in (
            (0.1, "10.00", "yes"),
            (0.11, "9.09", "no"),
            (None, "no figure", "not known: nothing at the same limit to compare with"),
        ):
            row = beside("iceoryx", "throughput", 64, ratio_to_beeline=ratio, better=False)
            name = "one way, 64 B, one a call, times"
            self.expect({"peers": [row]}, name, result=result, reached=reached)

    def test_a_filled_payload_stands_beside_a_copy(self):
        row = beside("beeline", "fill", MIB, gb_per_s=5.5, limit_gb_per_s=11.0)
        cells = {"result": "5.50 GB/s", "limit": "11.00 GB/s"}
        self.expect({"peers": [row]}, "1 MiB filled and read; limit", **cells)

    def test_a_deep_inbox_is_judged_without_the_clock(self):
        rows = {"inbox": [inbox(100, 350), inbox(10_000, 650), inbox(100_000, 1049)]}
        self.expect(rows, "taking from 100,000", result="999 ns", reached="yes")
        some, most = (f"growth of that from 100 to {to}" for to in ("10,000", "100,000"))
        self.expect(rows, some, result="2.00", reached="yes")
        self.expect(rows, most, result="3.33", reached="no")
        # A figure that is no longer than reading the clock is no base for a ratio.
        rows["inbox"][0] = inbox(100, 40)
        self.expect(rows, some, result="no figure")

    def test_a_hive_of_1000_is_judged_by_its_own_rows_alone(self):
        def scale(agents, attach_us, **more):
            attach = {"agents": agents, "attach_us": {"p50": attach_us, "p99": 4000.0}}
            row = SCALE | attach | {"first_rtt_ns": 1000, "last_rtt_ns": 1101} | more
            del row["resident_kib_per_agent"]
            return row

        rows = {"scale": [scale(100, 1.0), scale(1000, 1999.0), scale(1000, 2999.0, mode="spin")]}
        self.expect(rows, "1,000 agents: attach", result="2.00 ms", reached="yes")
        self.expect(rows, "1,000 agents: round trip, last", reached="no")
        self.expect(rows, "1,000 agents: round trip of parent", reached="-")
        self.expect(rows, "1,000 agents: segments", result="no figure")

    def test_each_has_a_row_that_it_is_read_from(self):
        three = stream(20e6, 100, senders=3)
        compared = {"gb_per_s": 2.0, "limit_gb_per_s": 4.0, "ratio_to_beeline": 0.5}
        kinds = (("beeline", "fill", MIB), ("iceoryx", "fill", MIB))
        kinds += (("iceoryx", "throughput", 64), ("iceoryx", "fanin", 64))
        sizes = ((16, "lane"), (64, "lane"), (1024, "loan"), (64, "untouched"), (MIB, "untouched"))
        rows = {
            "latency": [latency(*size, 1, 1) for size in sizes],
            "throughput": [stream(25e6, 100), stream(20e6, 100, batch=1)],
            "fanin": [three, three | {"batch": 1}],
            "wake": [latency(64, "lane", 110, 100, by=by) for by in ("futex", "eventfd")],
            "inbox": [inbox(depth, 90) for depth in (100, 10_000, 100_000)],
            "scale": [SCALE],
            "idle": [IDLE],
            "spool": [
                *(folder(place, what) for place in ("memory", "disk") for what in STEPS),
                folder("memory", "first claim"),
                folder("memory", "workers", workers=8, raw_tasks_per_s=1000),
            ],
            "spawn": [spawned(children) for children in (1, 200)],
            "buffer": [
                buffered("commit", 1.3, raw_us={"p50": 1.0}),
                buffered("rate", 10.0, senders=16, sqlite_per_s=100.0),
                buffered("take", 1.3, rows=1_000_000, first_us={"p50": 1.0}),
            ],
            "peers": [beside(*kind, better=False, **compared) for kind in kinds],
        }
        for row in target_rows(rows):
            with self.subTest(row["what"]):
                # The target for small messages is more than twice iceoryx.
                is_missed = "64 B, one a call, times iceoryx" in row["what"]
                judged = "no" if is_missed else "yes"
                self.assertEqual(row["reached"], "-" if row["target"] == "reported" else judged)


class Neighbours(unittest.TestCase):
    def test_better_ones_are_listed(self):
        pipe, queue = {"peer": "pipe", "better": True}, {"peer": "posix-queue", "better": False}
        skipped = {"peer": "nng", "skipped": "it"}
        self.assertEqual(better_rows({"peers": [queue, pipe, skipped]}), [pipe])
        self.assertEqual(better_rows({}), [])

    def test_that_nobody_is_better_is_said_and_how_many_were_not_compared(self):
        better = {"peer": "pipe", "ratio_to_beeline": 2.0, "better": True}
        worse = {"peer": "pipe", "ratio_to_beeline": 0.5, "better": False}
        moved = {"peer": "pipe", "ratio_to_beeline": None}
        skipped = {"peer": "nng", "skipped": "it"}
        for rows, text in (
            ([better, skipped], ""),
            ([worse, skipped], ": nobody"),
            ([better, moved, moved], "; 2 rows could not be compared: the limit moved"),
            ([{"peer": "pipe"}], ": nobody; 1 rows have none of Beeline beside them"),
        ):
            self.assertEqual(comparison_text({"peers": rows}), text)


if __name__ == "__main__":
    unittest.main()

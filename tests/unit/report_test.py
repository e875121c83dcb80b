#!/usr/bin/env python3
"""The report of the bench: its tables, page, pictures and Markdown, from given rows. With
BEELINE_SOAK=1 a machine without gnuplot skips a test."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

BENCH = pathlib.Path(__file__).parents[2] / "bench"
sys.path.insert(0, str(BENCH))

from pictures import percentile_points  # noqa: E402

HAS_GNUPLOT = shutil.which("gnuplot") is not None
needs_gnuplot = unittest.skipUnless(
    HAS_GNUPLOT, "gnuplot is not there; scripts/setup installs it"
)


def column(title, value, **more):
    return {"title": title, "value": value} | more


SIZE, MODE = column("size", "/size", is_size=True), column("mode", "/mode", width=8)
TABLES = {
    "limit": [MODE, column("p50", "/limit_rtt_ns/p50")],
    "latency": [SIZE, MODE, column("p50", "/rtt_ns/p50")],
    "inbox": [column("p50", "/take_ns/p50")],
    "peers": [column("who", "/peer", width=14, is_left=True), SIZE],
}


def limit(cpu, **more):
    return {"test": "limit", "machine": {"cpu": cpu} | more}


def latency(size, p50, **more):
    return {"test": "latency", "size": size, "rtt_ns": {"p50": p50}} | more


def peer(name, p50, ratio, **more):
    figures = {"rtt_ns": {"p50": p50}, "ratio_to_beeline": ratio}
    return {"test": "peers", "peer": name, "kind": "wake", "size": 64, "mode": "sleep"} | (
        figures | more
    )


GOOD = latency(64, 150, mode="spin", payload="lane", limit_rtt_ns={"p50": 100})
GOOD["rtt_ns"]["p99"] = 300
PIPE = peer("pipe", 77, 0.7, beeline_rtt_ns=110, better=True, note="better than Beeline")


class Report(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="report-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.write("0.jsonl", *[
            {"table": name, "about": f"about {name}", "columns": columns}
            for name, columns in TABLES.items()
        ])

    def write(self, name, *rows):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (self.folder / name).write_text(text, encoding="utf-8")

    def text_of(self, name):
        return (self.folder / name).read_text(encoding="utf-8")

    def run_report(self, *arguments, code=0):
        command = [BENCH / "report.py", *(arguments or [self.folder])]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def report(self, *rows):
        self.write("1.jsonl", *rows)
        return self.run_report()

    def expect(self, text, *parts):
        for part in parts:
            self.assertIn(part, text)

    def test_makes_a_page_of_rows(self):
        curve = "  20.0 0.0 1 1.00\n  30.0 0.99 99 100.00\n  40.0 1.0 100\n#[Max = 40.0]\n"
        (self.folder / "curve.hgrm").write_text(curve, encoding="utf-8")
        done = self.report(
            limit("a <fast> one"),
            latency(65536, 123, mode="spin", note="UNSTABLE: limit 100 before, 300 after"),
            latency(64, 23, mode="spin", hist="curve.hgrm", limit_hist="missing.hgrm"),
        )
        self.expect(done.stdout, "latency: about latency\n\n      size     mode       p50\n")
        self.expect(done.stdout, "    64 KiB     spin       123  UNSTABLE: limit 100 before, 300")
        page = self.text_of("report.html")
        self.expect(page, "a &lt;fast&gt; one", "<td>123<td class=note>UNSTABLE", "light dark")
        # The plot of the sizes, and a curve of percentiles for the row that has a histogram.
        for text in ("<svg", "Percentiles: 64 B, spin", ">99<", "currentColor"):
            self.assertEqual(text in page, HAS_GNUPLOT, text)
        for text in ("https:", "src=", "<link", "<script"):
            self.assertNotIn(text, page, "the page needs something else")
        if os.environ.get("BEELINE_SOAK") == "1" and not HAS_GNUPLOT:
            self.skipTest("gnuplot is not there; scripts/setup installs it")

    # Lines of the picture of round trips, as many as scripts/bench has with a rate, and more.
    @needs_gnuplot
    def test_draws_many_lines_without_a_complaint(self):
        modes = ("spin", "sleep", "adaptive", "other")
        ways = [way for mode in modes for way in (f"{mode}, 10000/s", f"{mode}, untouched")]
        rows = [
            latency(size, 100 * size, how=how, limit_rtt_ns={"p50": 101})
            for how in ways
            for size in (16, 64, 1024)
        ]
        # A line needs more than one point.
        done = self.report(*rows, latency(64, 100, how="alone"))
        self.assertEqual(done.stderr, "")
        page = self.text_of("report.html")
        self.expect(page, "<svg", ">adaptive, untouched: message<")
        self.assertNotIn(">alone: message<", page, "a single point is drawn")
        self.assertIn("stroke-dasharray", page, "lines with one colour look alike")

    @needs_gnuplot
    def test_says_which_picture_it_could_not_draw(self):
        # A row of zeros has no range.
        done = self.report(latency(16, 0), latency(64, 0))
        self.expect(done.stderr, "latency: a picture is missing: gnuplot ended with 0 and said: ")
        page = self.text_of("report.html")
        self.expect(page, "A picture is missing: gnuplot ended", "<td>64 B")

    def test_begins_with_the_targets_and_the_better_neighbours(self):
        out = self.report(GOOD, PIPE, peer("posix-queue", 99, 1.7, better=False)).stdout
        parts = ["targets: ", "\nbetter: ", "\nlatency: ", "\npeers: "]
        places = [out.index(part) for part in parts]
        self.assertEqual((places[0], places), (0, sorted(places)), out)
        reached, better = out[: places[1]], out[places[1] : places[2]]
        self.expect(reached, "1.50 to 3.00      yes", "not measured")
        self.assertNotIn("MACHINES", reached, "they name none")
        self.assertIn("pipe", better)
        self.assertNotIn("posix-queue", better, "it is not better")
        page = self.text_of("report.html")
        self.assertLess(page.index("<h2>targets"), page.index("<h2>better"))
        self.expect(page, "<td>1.50 to 3.00<td>yes")

    def test_has_targets_and_better_neighbours_as_markdown(self):
        inbox = {"test": "inbox", "depth": 10000, "size": 64, "take_ns": {"p50": 90}}
        inbox |= {"clock_ns": {"p50": 10}, "limit_rtt_ns": {"p50": 100}}
        self.report(limit("one|two"), GOOD | {"note": "UNSTABLE: a|b"}, inbox, PIPE)
        self.expect(
            self.text_of("targets.md"),
            "Measured on: cpu: one|two.\n\n",
            "spread: p50 to p99 of times",
            "| what | target | result | limit | spread | reached | note |\n",
            "| --- | ---: | ---: | ---: | ---: | ---: | --- |\n",
            "| at most 1.5 | 1.50 | 100 ns | 1.50 to 3.00 | yes | UNSTABLE: a\\|b |\n",
            "| growth of that from 100 to 10,000, log n at worst | at most 2 | no figure | - | - | "
            "not known: nothing at the same limit",
            "| wake | 64 B | sleep | pipe | 77 | - | - | - | 110 | - | - | 0.70 | better than "
            "Beeline |\n",
        )
        self.report(GOOD)
        self.expect(self.text_of("targets.md"), " |\n\nThe neighbours were not measured.\n")

    def test_says_that_nobody_is_better_and_that_machines_are_mixed(self):
        out = self.report(limit("one", load="1"), limit("one", load="2"), peer("pipe", 1, None))
        self.assertNotIn("MACHINES", out.stdout)
        nobody = "better than Beeline: nobody; 1 rows could not be compared: the limit"
        self.expect(out.stdout, nobody)
        self.write("2.jsonl", limit("another"))
        self.expect(self.run_report().stdout, "THESE ROWS ARE OF 2 MACHINES")
        self.expect(self.text_of("report.html"), nobody, "<td>one", "<td>another")

    def test_writes_the_page_to_the_named_place(self):
        self.report(GOOD)
        (self.folder / "deep").mkdir()
        page = self.folder / "deep" / "page.html"
        files = [self.folder / "0.jsonl", self.folder / "1.jsonl"]
        self.expect(self.run_report(*files, "--out", page).stdout, f"page: {page}\ntargets: ")
        self.assertTrue(page.exists() and page.with_name("targets.md").exists())
        self.run_report(*files, "--out", self.folder / "none" / "x", code=1)

    def test_names_the_rows_that_it_cannot_read(self):
        bad = self.folder / "bad"
        bad.write_text("\nno row\n", encoding="utf-8")
        self.expect(self.run_report(bad, code=2).stderr, "bad:2: not a row of beeline-bench --json")
        only_tables = self.run_report(self.folder, code=2).stderr
        self.expect(only_tables, f"there are no rows in {self.folder}")
        self.report(GOOD)
        alone = self.run_report(self.folder / "1.jsonl", code=2).stderr
        self.expect(alone, "the columns of latency are missing: ", "beeline-bench --tables")
        self.run_report(self.folder / "none", code=1)


class Percentiles(unittest.TestCase):
    def test_the_points_of_a_histogram_are_read_up_to_the_last_one(self):
        text = (
            "       Value     Percentile TotalCount 1/(1-Percentile)\n\n"
            "       5.000 0.500000000000          5           2.00\n"
            "      10.000 0.912500000000         10          11.43\n"
            "      10.000 1.000000000000         10\n"
            "#[Mean    =        5.500, StdDeviation   =        2.872]\n"
        )
        points = percentile_points(text)
        self.assertEqual([value for _, value in points], [5.0, 10.0, 10.0])
        self.assertEqual(points[0][0], 2.0, "the median")
        self.assertEqual(points[2][0], points[1][0], "no line goes back")
        # The highest is one of a hundred.
        self.assertEqual(percentile_points(" 9.0 1.0 100\n"), [(100.0, 9.0)])
        self.assertEqual(percentile_points("no histogram\n"), [])


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    sys.exit(1 if not result.wasSuccessful() else 77 if result.skipped else 0)

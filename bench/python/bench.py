#!/usr/bin/env -S python3 -B
"""Measures Beeline in Python beside pyzmq, multiprocessing and Redis: round trips and streams.

Usage: bench.py RESULTS [--seconds S] [--attempts N] [--size BYTES,...] [--only WORD]

Takes turns: each attempt measures all transports, and a figure is the median of the attempts. Rows
go to RESULTS/bench.jsonl; prints tables. A library that is not installed is left out, and the end
says so."""

import argparse
import contextlib
import importlib.util
import json
import multiprocessing
import os
import pathlib
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import transports

sys.path.append(str(pathlib.Path(__file__).parent.parent))
from rows import size_text  # noqa: E402

NEEDS = {"beeline": "beeline", "pyzmq": "zmq", "Redis": "redis"}
# How often a transport is asked before its speed is known.
WARM_UP = 50


def missing(name):
    """The library or program that a transport lacks, or nothing."""
    module = NEEDS.get(name.split(",")[0])
    if module and importlib.util.find_spec(module) is None:
        return f"the Python module {module}"
    if name == "Redis" and shutil.which("redis-server") is None:
        return "redis-server"
    return None


def serve(name, place, mode, size, ends, orders):
    """The other process: does what the client says, until it says nothing."""
    transports.pin("server")
    transport = make(name, place, "server", mode, size, ends)
    for work, count in iter(orders.recv, None):
        transport.run(work, count)
    transport.close()


def make(name, place, side, mode, size, ends):
    kind = transports.TRANSPORTS[name]
    more = {} if ends is None else {"ends": ends}
    transport = kind(place, side, mode, size, **more)
    transport.open()
    return transport


class Pair:
    """Both ends of one transport, in this process and in another."""

    def __init__(self, name, place, mode, size):
        kind = transports.TRANSPORTS[name]
        ends = kind.before_fork() if hasattr(kind, "before_fork") else None
        self.orders, theirs = multiprocessing.Pipe()
        arguments = (name, place, mode, size, ends, theirs)
        self.server = multiprocessing.Process(target=serve, args=arguments)
        self.server.start()
        signal.signal(signal.SIGCHLD, self.hear_end)
        self.transport = make(name, place, "client", mode, size, ends)

    def hear_end(self, *_):
        if self.server.exitcode:
            raise SystemExit(f"the other process has ended with {self.server.exitcode}")

    def close(self):
        self.orders.send(None)
        self.transport.close()
        self.server.join()

    def round_trips(self, seconds):
        """Nanoseconds of each."""
        first = self.ask(WARM_UP)
        count = int(seconds * 1e9 / statistics.median(first))
        return self.ask(max(WARM_UP, min(count, 200_000)))

    def ask(self, count):
        self.orders.send(("echo", count))
        return self.transport.run("ask", count)

    def stream(self, seconds):
        """Messages per second."""
        count, spent = 64, 0.0
        while True:
            self.orders.send(("drain", count))
            begin = time.perf_counter()
            self.transport.run("pour", count)
            spent = time.perf_counter() - begin
            if spent > seconds / 4:
                return count / spent
            count *= 4


@contextlib.contextmanager
def redis_server(path):
    """A server of our own, behind a Unix socket; it saves nothing."""
    quiet = ["--save", "", "--port", "0", "--unixsocket", path]
    server = subprocess.Popen(["redis-server", *quiet], stdout=subprocess.DEVNULL)
    with socket.socket(socket.AF_UNIX) as probe:
        while probe.connect_ex(path) != 0:
            time.sleep(0.01)
    yield
    server.terminate()
    server.wait()


def measure(name, place, mode, size, seconds):
    pair = Pair(name, place, mode, size)
    row = {"who": name, "mode": mode, "size": size}
    if not transports.TRANSPORTS[name].is_batched:
        times = sorted(pair.round_trips(seconds))
        row["rtt_ns"] = {"p50": times[len(times) // 2], "p99": times[len(times) * 99 // 100]}
    row["messages_per_s"] = pair.stream(seconds)
    pair.close()
    return row


def take_turns(names, place, options):
    """Yields the rows of all attempts. Each pair has a folder of its own."""
    for size in options.size:
        for mode in ("awake", "asleep"):
            able = [n for n in names if mode in transports.TRANSPORTS[n].modes]
            for attempt in range(options.attempts):
                for number, name in enumerate(able):
                    own = pathlib.Path(place) / f"{size}-{mode}-{attempt}-{number}"
                    own.mkdir()
                    if name == "Redis":
                        (own / "redis").symlink_to(pathlib.Path(place) / "redis")
                    yield measure(name, own, mode, size, options.seconds)


def middle(rows, *keys):
    values = []
    for value in rows:
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        if value is not None:
            values.append(value)
    return statistics.median(values) if values else None


def tables(rows):
    """Markdown: a line for each transport and mode, its medians of each size."""
    sizes = sorted({row["size"] for row in rows})
    for title, keys, scale, digits in (
        ("Round trip, median, us", ("rtt_ns", "p50"), 1e-3, 1),
        ("Round trip, 99th percentile, us", ("rtt_ns", "p99"), 1e-3, 1),
        ("Stream, thousand messages a second", ("messages_per_s",), 1e-3, 1),
    ):
        yield f"| {title} | mode | " + " | ".join(size_text(s) for s in sizes) + " |\n"
        yield "|---|---|" + "---|" * len(sizes) + "\n"
        for mode in ("awake", "asleep"):
            for name in transports.TRANSPORTS:
                mine = [r for r in rows if r["who"] == name and r["mode"] == mode]
                figures = [middle([r for r in mine if r["size"] == s], *keys) for s in sizes]
                if any(figure is not None for figure in figures):
                    texts = ["-" if f is None else f"{f * scale:.{digits}f}" for f in figures]
                    yield f"| {name} | {mode} | " + " | ".join(texts) + " |\n"
        yield "\n"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--attempts", type=int, default=3)
    sizes = [64, 1024, 1 << 20]
    parser.add_argument("--size", type=lambda t: [int(s) for s in t.split(",")], default=sizes)
    parser.add_argument("--only", default="", help="transports with this word in their name")
    return parser.parse_args()


def main():
    options = arguments()
    # Each end attaches after the fork.
    multiprocessing.set_start_method("fork")
    transports.pin("client")
    names, absent = [], []
    for name in transports.TRANSPORTS:
        if options.only not in name:
            continue
        lacks = missing(name)
        absent.append(f"not measured: {name}, because {lacks} is missing") if lacks else None
        names += [] if lacks else [name]
    options.results.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        os.environ["BEELINE_DIR"] = str(pathlib.Path(place) / "hives")
        with contextlib.ExitStack() as services:
            if "Redis" in names:
                services.enter_context(redis_server(f"{place}/redis"))
            if any(name.startswith("beeline") for name in names):
                services.callback(subprocess.run, ["beeline", "down"], stdout=subprocess.DEVNULL)
            rows = list(take_turns(names, place, options))
    (options.results / "bench.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    print("".join(tables(rows)) + "\n".join(absent))


if __name__ == "__main__":
    main()

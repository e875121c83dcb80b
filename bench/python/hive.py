#!/usr/bin/env -S python3 -B
"""Measures beeline.hive beside plain asyncio: requests between two processes, and tasks.

Usage: hive.py [--count N] [--attempts N] [--workers N]

Both faces ask the same way in turns, and a figure is the median of the attempts' medians. The plain
agent gets the same payload and answers with reply(). Ten workers, a process each, get tasks that do
nothing; a figure is the time of one round of all, for each task."""

import argparse
import asyncio
import multiprocessing
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import transports
from beeline import aio, hive

PAYLOAD = bytes(64)


class Echo(hive.HiveAgent):
    """Answers with the payload, and does nothing for a task."""

    async def handle_message(self, message):
        await self.reply_to(message, message.payload)
        return hive.MessageAck()

    async def handle_task(self, task, ctx):
        return hive.TaskResult(output=task.description)


async def answer(message):
    await message.reply(message.copy(), type="task_response")


async def be_plain():
    async with aio.attach("plain", parent="asker") as agent:
        await agent.serve(answer, concurrency=64, tasks=lambda run: run.description)


async def be_echo(name, parent):
    agent = Echo()
    agent.config.name = name
    agent.config.metadata["parent"] = parent
    await agent.run()


def process(side, be, *words):
    """A process that is an agent until it is killed."""

    def work():
        transports.pin(side)
        asyncio.run(be(*words))

    started = multiprocessing.Process(target=work, daemon=True)
    started.start()
    return started


async def times_of(ask, count):
    times = []
    for _ in range(count):
        begin = time.perf_counter_ns()
        await ask()
        times.append(time.perf_counter_ns() - begin)
    return statistics.median(times) / 1000


async def measure(options):
    asker = hive.HiveAgent()
    asker.config.name = "asker"
    ready = asyncio.Event()
    run = asyncio.create_task(asker.run_with(ready.set))
    await ready.wait()
    process("server", be_plain)
    process("server", be_echo, "echo", "asker")
    workers = [f"w-{i}" for i in range(options.workers)]
    for name in workers:
        process("server", be_echo, name, "asker")
    async with aio.attach("client", parent="asker") as client:
        pids = {}
        for name in ("plain", "echo", *workers):
            pids[name] = (await client.wait_for(name, 60)).pid
        asks = {
            "aio request": lambda: client.request("plain", PAYLOAD),
            "send_and_wait": lambda: asker.send_and_wait_core(pids["echo"], "t", PAYLOAD),
            "aio execute_all": lambda: asker._agent.execute_all([(w, "t") for w in workers]),
            "gather(execute_task)": lambda: asyncio.gather(
                *(asker.core.execute_task(pids[w], "t") for w in workers)
            ),
        }
        found = {name: [] for name in asks}
        for attempt in range(options.attempts + 1):
            for name, ask in asks.items():
                is_task = "execute" in name
                spent = await times_of(ask, options.count // (10 if is_task else 1))
                if attempt:
                    found[name].append(spent / (len(workers) if is_task else 1))
    asker.stop()
    await run
    return {name: statistics.median(each) for name, each in found.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--attempts", type=int, default=5)
    parser.add_argument("--workers", type=int, default=10)
    options = parser.parse_args()
    multiprocessing.set_start_method("fork")
    with tempfile.TemporaryDirectory() as place:
        os.environ["BEELINE_DIR"] = str(pathlib.Path(place) / "hives")
        transports.pin("client")
        try:
            found = asyncio.run(measure(options))
        finally:
            for child in multiprocessing.active_children():
                child.kill()
                child.join()
            subprocess.run(["beeline", "down"], stdout=subprocess.DEVNULL, check=False)
    plain, face = found["aio request"], found["send_and_wait"]
    print(f"request, 64 B, two processes: aio {plain:.1f} us, beeline.hive {face:.1f} us")
    print(f"  {face / plain:.2f} times the plain request")
    plain, face = found["aio execute_all"], found["gather(execute_task)"]
    print(f"task, {options.workers} workers: aio {plain:.1f} us, beeline.hive {face:.1f} us")
    return 0


if __name__ == "__main__":
    sys.exit(main())

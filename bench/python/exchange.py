#!/usr/bin/env -S python3 -B
"""Measures the exchange: 10,000 mails between 100 entities, in one process and in four of a hive.

Usage: exchange.py [--mails N] [--entities N] [--peers N] [--attempts N]

In four processes each entity writes to `--peers` entities of the other processes. The first
delivery opens their links and is measured by itself. Prints JSON, one row for each figure: the
median of the attempts. $PYTHONPATH and $BEELINE_BIN say which build is measured."""

import argparse
import asyncio
import json
import multiprocessing
import os
import shutil
import statistics
import subprocess
import tempfile
import time
import uuid

from beeline.exchange import Exchange

PROCESSES = 4


def row(name, seconds, mails):
    each = statistics.median(seconds) / mails * 1e6
    print(json.dumps({"row": name, "us_per_mail": round(each, 2)}))


async def in_one_process(options, attach):
    """The seconds of send() and of sync()."""
    async with Exchange() as exchange:
        if attach:
            await exchange.attach()
        ids = [uuid.uuid4() for _ in range(options.entities)]
        for owner in ids:
            exchange.register(owner)
        begin = time.perf_counter()
        for number in range(options.mails):
            to = ids[(number * 7 + 1) % len(ids)]
            exchange.send(ids[number % len(ids)], to, {"task": "review", "number": number})
        sent = time.perf_counter()
        count = await exchange.sync()
        synced = time.perf_counter()
        assert count == options.mails
        for owner in ids if attach else ():
            exchange.unregister(owner)
        return sent - begin, synced - sent


def one_process(options, attach):
    times = [asyncio.run(in_one_process(options, attach)) for _ in range(options.attempts)]
    where = "one process, attached to a hive" if attach else "one process"
    row(f"send, {where}", [sending for sending, _ in times], options.mails)
    row(f"sync, {where}", [syncing for _, syncing in times], options.mails)


async def talk(exchange, own, others, count, barrier):
    """The seconds until this process has sent and popped its share of the mails."""
    for number in range(count):
        to = others[number % len(own)][number // len(own) % len(others[0])]
        exchange.send(own[number % len(own)], to, {"task": "review", "number": number})
    await asyncio.to_thread(barrier.wait)
    begin = time.perf_counter()
    popped = 0
    while popped < count or "pending_out=0)" not in repr(exchange):
        await exchange.sync()
        for owner in own:
            for mail in exchange.receive(owner):
                exchange.pop_mail(owner, mail.sender)
                popped += 1
    seconds = time.perf_counter() - begin
    await asyncio.to_thread(barrier.wait)
    return seconds


async def entities(options, ids, place, barrier, results):
    own = ids[place]
    far = [owner for step in range(1, PROCESSES) for owner in ids[(place + step) % PROCESSES]]
    # Everybody gets as many mails as it sends: the peers go round through all others.
    others = [
        [ids[(place + 1 + p % (PROCESSES - 1)) % PROCESSES][(i + p) % len(own)]
         for p in range(min(options.peers, len(far)))]
        for i in range(len(own))
    ]
    async with Exchange() as exchange:
        await exchange.attach()
        for owner in own:
            exchange.register(owner)
        await asyncio.to_thread(barrier.wait)
        count = options.mails // PROCESSES
        first = await talk(exchange, own, others, len(own) * len(others[0]), barrier)
        times = [await talk(exchange, own, others, count, barrier) for _ in range(options.attempts)]
        results.put((first, times))


def run_entities(*arguments):
    asyncio.run(entities(*arguments))


def four_processes(options):
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(PROCESSES), context.Queue()
    share = options.entities // PROCESSES
    ids = [[uuid.uuid4() for _ in range(share)] for _ in range(PROCESSES)]
    processes = [
        context.Process(target=run_entities, args=(options, ids, place, barrier, results))
        for place in range(PROCESSES)
    ]
    for process in processes:
        process.start()
    found = [results.get() for _ in processes]
    for process in processes:
        process.join()
    peers = min(options.peers, share * (PROCESSES - 1))
    links = share * PROCESSES * peers
    row(f"first mail of each pair, {PROCESSES} processes, {links} links",
        [max(first for first, _ in found)], links)
    slowest = [max(times) for times in zip(*(times for _, times in found))]
    row(f"send until popped, {PROCESSES} processes", slowest, options.mails)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mails", type=int, default=10_000)
    parser.add_argument("--entities", type=int, default=100)
    parser.add_argument("--peers", type=int, default=6)
    parser.add_argument("--attempts", type=int, default=5)
    options = parser.parse_args()
    one_process(options, attach=False)
    folder = tempfile.mkdtemp(prefix="beeline-exchange-")
    os.environ["BEELINE_DIR"] = folder
    try:
        one_process(options, attach=True)
        four_processes(options)
    finally:
        program = shutil.which("beeline", path=os.environ.get("BEELINE_BIN"))
        subprocess.run([program or "beeline", "down"], check=False, stdout=subprocess.DEVNULL)
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()

"""A worker for a task folder, beside other coroutines: `python spool_worker.py tasks`.

Prints a line for each task, and ends when none has come for a second.
"""

import asyncio
import sys

from beeline import spool


async def count(claim: spool.Claim) -> None:
    with claim:  # an exception puts the task back, until its attempts are used up
        words = len(claim.description.split())
        await asyncio.sleep(0)  # the work
        claim.done(f"{words} words", verdict="pass")
        print(claim.id, words, "words", flush=True)


async def main(dir: str) -> None:
    with spool.Spool(dir, worker="counter") as tasks:
        try:
            while True:
                await count(await tasks.aclaim(timeout=1))
        except spool.NoTasks:
            print("no tasks")


asyncio.run(main(sys.argv[1]))

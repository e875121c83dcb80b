"""A boss and three workers, one process each. One worker is killed in the middle of a job: the boss
starts it again under its name, and it goes on with the messages of its inbox.

Prints:
w1 has died, and is started again
30 squares, their sum is 8555
"""

import asyncio
import os
import signal
import sys

import beeline

WORKERS = ["w0", "w1", "w2"]


def square(message: beeline.Message) -> str:
    if message.text == "7" and not message.redelivered:
        os.kill(os.getpid(), signal.SIGKILL)
    return str(int(message.text) ** 2)


async def work(name: str) -> None:
    async with beeline.attach(name, parent="boss") as agent:
        await agent.serve(square)


async def start(agent: beeline.Agent, name: str) -> asyncio.subprocess.Process:
    process = await asyncio.create_subprocess_exec(sys.executable, __file__, name)
    await agent.wait_for(name, timeout=60)
    return process


async def look_after(
    agent: beeline.Agent, processes: dict[str, asyncio.subprocess.Process]
) -> None:
    async for notice in agent.notices():
        if notice.kind is beeline.NoticeKind.CHILD_AWAY:
            print(notice.name, "has died, and is started again", flush=True)
            await processes[notice.name].wait()
            processes[notice.name] = await start(agent, notice.name)


async def main() -> None:
    async with beeline.attach("boss") as agent:
        processes = {name: await start(agent, name) for name in WORKERS}
        watch = asyncio.create_task(look_after(agent, processes))
        jobs = (agent.request(WORKERS[i % 3], str(i)) for i in range(30))
        answers = await asyncio.gather(*jobs)
        total = sum(int(answer.text) for answer in answers)
        print(len(answers), "squares, their sum is", total, flush=True)
        agent.done_all(answers)
        watch.cancel()
        for name, process in processes.items():
            await agent.control(name, beeline.SHUTDOWN)
            await process.wait()


asyncio.run(work(sys.argv[1]) if len(sys.argv) > 1 else main())

"""A boss that starts a child, lets it sleep for a while and ends it.

Prints:
echo is sleeping
the child answers hello
echo was killed
"""

import asyncio
import sys

import beeline


async def work() -> None:
    async with beeline.attach() as agent:  # as the child that it was spawned as
        await agent.serve(lambda message: message.text)


async def main() -> None:
    async with beeline.attach("boss", role="lead") as agent:
        child = await agent.spawn("echo", [sys.executable, __file__, "child"], restart="never")
        await agent.sleep(child.pid)  # its process is stopped; its messages wait
        for each in await agent.processes():
            print(each.name, "is", each.state)
        await agent.wake(child.pid)
        async with await agent.request(child.pid, "hello") as answer:
            print("the child answers", answer.text)
        await agent.kill(child.pid)
        end = await agent.wait(child.pid)
        print(child.name, "was", end.reason)


asyncio.run(work() if len(sys.argv) > 1 else main())

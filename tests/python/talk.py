"""A program that a user of the installed package could have written: two agents talk, in threads
and in an event loop. The first one starts the hive."""

import asyncio

import beeline
import beeline.sync


def talk() -> None:
    with beeline.sync.attach("answerer") as answerer, beeline.sync.attach("asker") as asker:
        asker.send("answerer", b"plain")
        message = answerer.receive(timeout=10)
        assert message is not None and message.text == "plain"
        message.done()


async def talk_in_a_loop() -> None:
    async with beeline.attach("waiter") as waiter, beeline.attach("caller") as caller:
        request = asyncio.create_task(caller.request("waiter", "6 * 7", timeout=10))
        async with await waiter.receive(timeout=10) as question:
            await question.reply(f"{question.text} = 42")
        answer = await request
        print(answer.text)
        answer.done()


talk()
asyncio.run(talk_in_a_loop())

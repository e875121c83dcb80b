"""A process with one entity, for the tests of the exchange.
Usage: exchange_process.py ROLE UUID ...

keep UUID COUNT POPS: prints a line for each mail once it has COUNT, pops POPS of them, waits.
echo UUID: answers each mail with its content.
seen UUID FILE: writes each mail into FILE, then pops it.
talk UUID COUNT OTHER...: exchanges COUNT mails with each of the others, prints what came."""

from __future__ import annotations

import asyncio
import json
import sys
from uuid import UUID

from beeline.exchange import Exchange, Mail


def say(*words: object) -> None:
    print(*words, flush=True)


def line(mail: Mail) -> str:
    again = mail.metadata.get("redelivered", False)
    return json.dumps([str(mail.sender), mail.content, again])


async def keep(exchange: Exchange, me: UUID, count: str, pops: str) -> None:
    while len(exchange.receive(me)) < int(count):
        await asyncio.sleep(0.01)
    for mail in exchange.receive(me):
        say(line(mail))
    for mail in exchange.receive(me)[: int(pops)]:
        exchange.pop_mail(me, mail.sender)
    say("popped")
    await asyncio.sleep(600)


async def echo(exchange: Exchange, me: UUID) -> None:
    running = asyncio.create_task(exchange.run(interval=0.01))
    while not running.done():
        for mail in exchange.receive(me):
            exchange.send(me, mail.sender, mail.content, mail.channel)
            exchange.pop_mail(me, mail.sender)
        await asyncio.sleep(0.01)


async def seen(exchange: Exchange, me: UUID, path: str) -> None:
    with open(path, "a", encoding="utf-8") as file:
        while True:
            for mail in exchange.receive(me):
                print(line(mail), file=file, flush=True)
                exchange.pop_mail(me, mail.sender)
            await asyncio.sleep(0.001)


async def talk(exchange: Exchange, me: UUID, count: str, *others: str) -> None:
    await asyncio.to_thread(sys.stdin.readline)  # All are there.
    sent = 0
    came: list[str] = []
    while sent < int(count) or len(came) < int(count) * len(others):
        for other in others if sent < int(count) else ():
            exchange.send(me, UUID(other), sent)
        sent += 1
        await exchange.sync()
        for mail in exchange.receive(me):
            came.append(line(mail))
            exchange.pop_mail(me, mail.sender)
        await asyncio.sleep(0)
    while "pending_out=0" not in repr(exchange):
        await exchange.sync()
    for text in came:
        say(text)
    say("done")
    await asyncio.to_thread(sys.stdin.readline)


async def main(role: str, me: str, *arguments: str) -> None:
    async with Exchange() as exchange:
        await exchange.attach()
        exchange.register(UUID(me))
        say("ready")
        await globals()[role](exchange, UUID(me), *arguments)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

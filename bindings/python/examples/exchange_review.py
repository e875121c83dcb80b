"""Entities of two processes: `exchange_review.py reviewer &`, then `exchange_review.py author`."""

import asyncio
import sys
from uuid import NAMESPACE_DNS, uuid5

from beeline.exchange import Exchange

AUTHOR, REVIEWER = (uuid5(NAMESPACE_DNS, name) for name in ("author", "reviewer"))


async def review(exchange: Exchange) -> None:
    exchange.register(REVIEWER)
    while True:
        for mail in exchange.receive(REVIEWER):
            exchange.send(REVIEWER, mail.sender, f"{mail.content}: well done")
            await exchange.sync()
            # Killed before this line, the next reviewer gets the mail again.
            exchange.pop_mail(REVIEWER, mail.sender)
        await asyncio.sleep(0.05)


async def write(exchange: Exchange) -> None:
    exchange.register(AUTHOR)
    exchange.send(AUTHOR, REVIEWER, "chapter 1")
    while await exchange.sync() == 0:  # No reviewer is there yet.
        await asyncio.sleep(0.05)
        exchange.send(AUTHOR, REVIEWER, "chapter 1")
    while not (mail := exchange.pop_mail(AUTHOR, REVIEWER)):
        await asyncio.sleep(0.01)
    print(mail.content)
    exchange.unregister(AUTHOR)


async def main() -> None:
    async with Exchange() as exchange:
        await exchange.attach()
        await (review if sys.argv[1:] == ["reviewer"] else write)(exchange)


asyncio.run(main())

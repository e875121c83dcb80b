"""Three entities of one process talk to each other."""

import asyncio
from uuid import uuid4

from beeline.exchange import Exchange


async def main() -> None:
    alice, bob, carol = uuid4(), uuid4(), uuid4()
    exchange = Exchange()
    for entity in (alice, bob, carol):
        exchange.register(entity)

    exchange.send(alice, recipient=None, content="a plan")  # to all
    exchange.send(bob, alice, content={"task": "review"}, channel="tasks")
    print(await exchange.sync())  # Until now the mails are in the outboxes.

    print(exchange.receive(carol, sender=alice)[0].content)  # receive() takes nothing,
    while mail := exchange.pop_mail(alice, sender=bob):  # pop_mail() does.
        print(mail.channel, mail.content["task"])


asyncio.run(main())

"""Arrays of numpy, without a copy on either side.

Prints:
sum 499999500000.0
doubled 999999000000.0
"""

import asyncio

import numpy as np

import beeline


async def main() -> None:
    async with beeline.attach("left") as left, beeline.attach("right") as right:
        # Write into the memory of the link, and send it.
        async with await left.loan("right", 8_000_000) as loan:
            array = np.frombuffer(loan.payload, dtype=np.float64)
            array[:] = np.arange(1_000_000)
            del array  # a loan without views can be sent
            await loan.send(type="float64")

        # Read it where the sender wrote it.
        async with await right.receive() as message:
            values = np.frombuffer(message.payload, dtype=message.type)
            print("sum", values.sum())
            await message.reply(values * 2)  # any array is a payload; this one is copied, once
            del values  # a message without views can end

        async with await left.receive() as answer:
            print("doubled", np.frombuffer(answer.copy()).sum())


asyncio.run(main())

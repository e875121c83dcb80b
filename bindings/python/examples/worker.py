"""A worker: `python worker.py &`, then `beeline request worker hello` prints HELLO."""

import asyncio

import beeline


async def main() -> None:
    async with beeline.attach("worker") as agent:
        async for message in agent:
            async with message:
                await message.reply(message.text.upper())


asyncio.run(main())

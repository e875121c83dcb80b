"""The main agent of a durable buffer: `beeline buffer run & python buffer_agent.py`.

Prints a line for each batch, and ends after a batch with the text "stop".
"""

import asyncio

import beeline
from beeline.buffer import Buffer


async def main() -> None:
    async with beeline.attach("main") as agent:
        await agent.wait_for("buffer", timeout=60)
        async for batch in Buffer(agent).batches():
            with batch:  # killed here, the next "main" gets it again
                texts = [message.payload for message in batch.messages]
                print(batch.channel, batch.conversation, *texts, flush=True)
            if "stop" in texts:
                break


asyncio.run(main())

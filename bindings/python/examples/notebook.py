# Cells of a notebook, where a loop runs already and `await` needs no function.
import asyncio

import beeline

agent = await beeline.attach("notebook")

# A cell can leave a service in the background ...
service = asyncio.create_task(agent.serve(lambda message: message.text.upper()))

# ... and others go on. Here another agent asks it.
async with beeline.attach("other") as other:
    async with await other.request("notebook", "hello") as answer:
        print(answer.text)

# The last cell. If the kernel is killed instead, the messages wait for the next "notebook".
agent.stop_serving()
await service
await agent.aclose()

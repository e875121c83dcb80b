"""The durable buffer: messages on the disk, sorted into batches, kept by `beeline buffer run`.

    buffer = Buffer(agent)
    await buffer.put("telegram", "hello", conversation="ann")
    async for batch in buffer.batches():
        for message in batch.messages:
            ...
        batch.done()

This module has the calls for asyncio; `beeline.buffer.sync` has the same names without `async`. The
page is docs/buffer.md.
"""

from beeline.buffer._buffer import Batch, Buffer
from beeline.buffer._forms import (
    BATCH,
    BufferedMessage,
    Depth,
    PutOptions,
    Receipt,
    Status,
    Task,
)

__all__ = [
    "BATCH",
    "Batch",
    "Buffer",
    "BufferedMessage",
    "Depth",
    "PutOptions",
    "Receipt",
    "Status",
    "Task",
]

"""Threads that send through one agent, without asyncio.

Prints:
400 messages from 4 threads
"""

import threading

import beeline.sync


def produce(agent: beeline.sync.Agent, number: int) -> None:
    for i in range(100):
        agent.send_threadsafe("sink", f"{number} {i}", timeout=60)


def consume() -> None:
    with beeline.sync.attach("sink") as sink:
        texts = set()
        for message in sink:
            with message:
                texts.add(message.text)
            if len(texts) == 400:
                break
        print(len(texts), "messages from", len({t.split()[0] for t in texts}), "threads")


consumer = threading.Thread(target=consume)
consumer.start()
with beeline.sync.attach("source") as agent:
    agent.wait_for("sink", timeout=60)
    producers = [threading.Thread(target=produce, args=(agent, n)) for n in range(4)]
    for thread in producers:
        thread.start()
    for thread in (*producers, consumer):
        thread.join()

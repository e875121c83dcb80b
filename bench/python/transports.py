"""The ways to bring bytes from one Python process to another, each as its documents show it.

A transport is made in both processes, with the name of its side. `echo` answers `count` messages,
`ask` sends one and waits for its answer, `count` times, and returns the nanoseconds of each;
`drain` takes `count` messages, `pour` sends them. The time of a stream ends with a last answer."""

import asyncio
import multiprocessing
import os
import pathlib
import time

BATCH = 32
CPUS = sorted(os.sched_getaffinity(0))  # before one process is bound to one of them
OTHER = {"client": "server", "server": "client"}


class Transport:
    """One that does not wait by asyncio."""

    modes = ("awake", "asleep")
    is_batched = False

    def __init__(self, place, side, mode, size):
        self.place = pathlib.Path(place)
        self.side = side
        self.is_awake = mode == "awake"
        self.payload = bytes(size)

    def open(self):
        raise NotImplementedError

    def close(self):
        pass

    def put(self):
        raise NotImplementedError

    def take(self):
        raise NotImplementedError

    def pour(self, count):
        for _ in range(count):
            self.put()
        self.take()

    def drain(self, count):
        for _ in range(count):
            self.take()
        self.put()

    def echo(self, count):
        for _ in range(count):
            self.take()
            self.put()

    def ask(self, count):
        clock, put, take = time.perf_counter_ns, self.put, self.take
        times = [0] * count
        for i in range(count):
            begin = clock()
            put()
            take()
            times[i] = clock() - begin
        return times

    def run(self, work, count):
        return getattr(self, work)(count)


class Beeline(Transport):
    """beeline.sync: copies the payload in, reads it in place."""

    def open(self):
        import beeline.sync

        self.agent = beeline.sync.attach(
            self.side, temporary=True, wait="spin" if self.is_awake else "sleep", normal_slots=4096
        )
        self.peer = self.agent.wait_for(OTHER[self.side], timeout=60)

    def close(self):
        self.agent.detach(drain=60)
        self.agent.close()

    def put(self):
        self.agent.send(self.peer, self.payload, timeout=60)

    def take(self):
        self.agent.receive().done()


class BeelineLoans(Beeline):
    """Payloads that are lent and not touched, as a program that computes in place has them."""

    def put(self):
        with self.agent.loan(self.peer, len(self.payload), timeout=60) as loan:
            loan.send()


class BeelineBatches(Beeline):
    """Up to 32 messages a call, on both sides."""

    is_batched = True

    def pour(self, count):
        agent, peer, left = self.agent, self.peer, count
        payloads = [self.payload] * BATCH
        while left:
            left -= agent.send_many(peer, payloads[:left], timeout=60)
        self.take()

    def drain(self, count):
        agent, left = self.agent, count
        while left:
            messages = agent.try_receive_batch(min(BATCH, left)) or [agent.receive()]
            left -= len(messages)
            agent.done_all(messages)
        self.put()


class ZeroMq(Transport):
    """pyzmq, a PAIR of sockets over ipc; copies, as its default is."""

    def open(self):
        import zmq

        self.again, self.noblock = zmq.Again, zmq.NOBLOCK
        self.socket = self.connect(zmq, zmq.Context())

    def connect(self, zmq, context):
        socket = context.socket(zmq.PAIR)
        address = f"ipc://{self.place}/zmq"
        socket.bind(address) if self.side == "server" else socket.connect(address)
        return socket

    def close(self):
        self.socket.close()

    def put(self):
        self.socket.send(self.payload)

    def take(self):
        if not self.is_awake:
            self.socket.recv()
            return
        while True:
            try:
                self.socket.recv(self.noblock)
                return
            except self.again:
                pass


class Pipe(Transport):
    """multiprocessing.Pipe; both ends are made before the fork."""

    def __init__(self, place, side, mode, size, ends=None):
        super().__init__(place, side, mode, size)
        self.ends = ends

    @staticmethod
    def before_fork():
        return multiprocessing.Pipe()

    def open(self):
        self.end = self.ends[self.side == "server"]

    def put(self):
        self.end.send_bytes(self.payload)

    def take(self):
        while self.is_awake and not self.end.poll(0):
            pass
        self.end.recv_bytes()


class Queue(Transport):
    """multiprocessing.Queue, one for each direction."""

    def __init__(self, place, side, mode, size, ends=None):
        super().__init__(place, side, mode, size)
        self.ends = ends

    @staticmethod
    def before_fork():
        return multiprocessing.Queue(), multiprocessing.Queue()

    def open(self):
        here = self.side == "server"
        self.incoming, self.outgoing = self.ends[here], self.ends[not here]

    def put(self):
        self.outgoing.put(self.payload)

    def take(self):
        while self.is_awake and self.incoming.empty():
            pass
        self.incoming.get()


class Redis(Transport):
    """redis-py, LPUSH and BRPOP over a Unix socket; the server runs beside both ends."""

    def open(self):
        import redis

        self.redis = redis.Redis(unix_socket_path=str(self.place / "redis"))

    def put(self):
        self.redis.lpush(OTHER[self.side], self.payload)

    def take(self):
        if not self.is_awake:
            self.redis.brpop(self.side)
            return
        while self.redis.rpop(self.side) is None:
            pass


class AsyncTransport(Transport):
    """One that waits by asyncio."""

    modes: tuple[str, ...] = ("asleep",)

    async def pour(self, count):
        for _ in range(count):
            await self.put()
        await self.take()

    async def drain(self, count):
        for _ in range(count):
            await self.take()
        await self.put()

    async def echo(self, count):
        for _ in range(count):
            await self.take()
            await self.put()

    async def ask(self, count):
        clock, times = time.perf_counter_ns, [0] * count
        for i in range(count):
            begin = clock()
            await self.put()
            await self.take()
            times[i] = clock() - begin
        return times

    def run(self, work, count):
        return self.loop.run_until_complete(getattr(self, work)(count))

    def open(self):
        self.loop = asyncio.new_event_loop()
        self.loop.run_until_complete(self.start())

    def close(self):
        self.loop.run_until_complete(self.stop())
        self.loop.close()

    async def start(self):
        raise NotImplementedError

    async def stop(self):
        pass


class AsyncBeeline(AsyncTransport):
    """import beeline: copies the payload in, reads it in place."""

    modes = ("awake", "asleep")

    async def start(self):
        import beeline

        self.agent = await beeline.attach(
            self.side, temporary=True, wait="spin" if self.is_awake else "sleep", normal_slots=4096
        )
        self.peer = await self.agent.wait_for(OTHER[self.side], timeout=60)

    async def stop(self):
        await self.agent.detach(drain=60)
        await self.agent.aclose()

    async def put(self):
        await self.agent.send(self.peer, self.payload, timeout=60)

    async def take(self):
        (await self.agent.receive()).done()


class AsyncZeroMq(AsyncTransport):
    """zmq.asyncio, a PAIR of sockets over ipc."""

    async def start(self):
        import zmq
        import zmq.asyncio

        self.socket = ZeroMq.connect(self, zmq, zmq.asyncio.Context())

    async def stop(self):
        self.socket.close()

    async def put(self):
        await self.socket.send(self.payload)

    async def take(self):
        await self.socket.recv()


TRANSPORTS = {
    "beeline": Beeline,
    "beeline, loans": BeelineLoans,
    "beeline, batches": BeelineBatches,
    "beeline, asyncio": AsyncBeeline,
    "pyzmq": ZeroMq,
    "pyzmq, asyncio": AsyncZeroMq,
    "Pipe": Pipe,
    "Queue": Queue,
    "Redis": Redis,
}


def pin(side):
    """Each process on a CPU of its own, where there are two."""
    os.sched_setaffinity(0, {CPUS[(side == "server") % len(CPUS)]})

"""An agent in an asyncio loop: one descriptor, one poll() before each sleep, lines of waiters."""

from __future__ import annotations

import asyncio
import os
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from beeline import _core
from beeline._errors import ClosedError, WrongLoop

_T = TypeVar("_T")
AnyAgent = _core.Agent[Any, Any, Any]
_SECOND = 1e9
_LONGEST_TIMER = 3600.0


def _expire(waiter: asyncio.Future[bool]) -> None:
    if not waiter.done():
        waiter.set_result(False)


def _refuse(waiters: Iterable[asyncio.Future[Any]], reason: str) -> None:
    for waiter in waiters:
        if not waiter.done():
            waiter.set_exception(ClosedError(reason))


class Line:
    """Coroutines that wait for one kind of event, first come, first served.

    A waiter is only told to look. It takes the thing itself after it has resumed, so a cancelled
    waiter loses nothing. `missed` is called when a waiter was told and cannot look any more.
    """

    def __init__(self, missed: Callable[[], None]) -> None:
        self._missed = missed
        self._waiting: OrderedDict[asyncio.Future[bool], None] = OrderedDict()
        self._told = 0

    def __len__(self) -> int:
        return len(self._waiting)

    async def wait(self, until: float | None, again: bool = False) -> bool:
        """Waits until it is told to look; False: the time is over.

        `again`: it has looked in vain, and keeps its place at the front.
        """
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[bool] = loop.create_future()
        self._waiting[waiter] = None
        if again:
            self._waiting.move_to_end(waiter, last=False)
        timer = None if until is None else loop.call_at(until, _expire, waiter)
        try:
            told = await waiter
        except BaseException:
            self._waiting.pop(waiter, None)
            ended = not waiter.done() or waiter.cancelled() or waiter.exception() is not None
            if not ended and waiter.result():
                self._told -= 1
                self._missed()
            raise
        finally:
            if timer is not None:
                timer.cancel()
        if told:
            self._told -= 1
        else:
            self._waiting.pop(waiter, None)
        return told

    def tell(self, most: int) -> None:
        """Tells as many waiters to look as there are things, `most`."""
        most -= self._told
        while most > 0 and self._waiting:
            waiter, _ = self._waiting.popitem(last=False)
            if not waiter.done():
                waiter.set_result(True)
                self._told += 1
                most -= 1

    def tell_all(self) -> None:
        self.tell(self._told + len(self._waiting))

    def end(self, reason: str) -> None:
        _refuse(self._waiting, reason)
        self._waiting.clear()


class Driver:
    """Connects an agent with the event loop that uses it first."""

    def __init__(self, agent: AnyAgent, spins: bool) -> None:
        self._spins = spins  # the loop never sleeps
        self._agent = weakref.ref(agent, self._lost)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._fd = -1
        self._reset()
        _drivers.add(self)

    def _reset(self) -> None:
        self._scheduled = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self.ended = ""  # why nothing more will come
        self.messages = Line(self.touch)
        # They seek something that no count of poll() tells, a message of one type for example.
        self.seekers = Line(self.touch)
        self.tasks = Line(self.touch)
        self.notices = Line(self.touch)
        self.farewell = Line(self.touch)
        self._spaces: dict[int, Line] = {}  # by pid
        # Results by the number of the call that was started.
        self.answers: dict[int, asyncio.Future[Any]] = {}
        self.acknowledged: dict[int, asyncio.Future[Any]] = {}
        self.peers: dict[int, asyncio.Future[Any]] = {}
        self.lists: dict[int, asyncio.Future[Any]] = {}
        self.executions: dict[int, asyncio.Future[Any]] = {}
        self.progress: dict[int, Callable[[int, int, str], None]] = {}
        self.listeners: set[Callable[[_core.Readiness], None]] = set()
        # The messages that the seekers have had a look at: taken in so far, and waiting.
        self.changed = False
        self._seen = (0, 0)

    def enter(self) -> asyncio.AbstractEventLoop:
        """The running loop, which is the one of this agent from now on."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._bind(loop)
        return loop

    def _bind(self, loop: asyncio.AbstractEventLoop) -> None:
        agent = self._agent()
        assert agent is not None
        agent.poll()  # raises WrongThread, ForkedError or ClosedError first
        if self._loop is not None:
            if not self._loop.is_closed():
                raise WrongLoop(
                    f"agent {agent.name} is used in a second event loop. An agent belongs to the "
                    "loop that uses it first; attach another one, or use this one in its loop by "
                    "asyncio.run_coroutine_threadsafe() or send_threadsafe()"
                )
            self.unbind()
        # The loop gets a descriptor of its own, so that it never holds one that the agent closed.
        self._fd = os.dup(agent.fileno())
        loop.add_reader(self._fd, self._poll)
        self._loop = loop

    def unbind(self) -> None:
        """Leaves the loop. All waiters get a ClosedError."""
        loop, self._loop = self._loop, None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._fd >= 0:
            if loop is not None and not loop.is_closed():
                loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1
        if loop is not None and loop.is_closed():
            self._reset()  # Nobody can be told any more.
        else:
            self.farewell.tell_all()
            self._end("the agent was closed")

    def forget(self) -> None:
        """In a forked child: drops everything. The epoll of the loop is the parent's, too."""
        if self._fd >= 0:
            os.close(self._fd)
        self._fd, self._loop = -1, None
        self._reset()

    def _lost(self, _: object) -> None:
        # The agent was dropped, perhaps in another thread.
        loop = self._loop
        if loop is not None:
            try:
                loop.call_soon_threadsafe(self.unbind)
            except RuntimeError:
                self.unbind()

    def touch(self) -> None:
        """To be called after each call of the agent: poll() has to be the last call of a turn."""
        if self._scheduled or self._loop is None:
            return
        try:
            self._loop.call_soon(self._look)
            self._scheduled = True
        except RuntimeError:
            self.unbind()  # The loop is closed.

    def _look(self) -> None:
        self._scheduled = False
        self._poll()

    def _timed(self) -> None:
        self._timer = None
        self._poll()

    def _poll(self) -> None:
        agent = self._agent()
        if agent is None or self._loop is None:
            return
        try:
            found = agent.poll()
        except ClosedError as error:
            self.farewell.tell_all()
            self._end(str(error))
            return
        fetched = False
        if found.answers:
            fetched = self._fetch(agent.next_answer, self.answers)
        if found.acks:
            fetched = self._fetch(agent.next_ack, self.acknowledged)
        if found.peers:
            fetched = self._fetch(agent.next_peer, self.peers)
        if found.lists:
            fetched = self._fetch(agent.next_list, self.lists)
        if found.events:
            fetched = self._hear_tasks(agent)
        if found.spaces:
            fetched = self._give_room(agent)
        self._tell(agent, found)
        if fetched or (self._spins and not self.ended):
            self.touch()
        elif not self._scheduled:
            self._set_timer(found.next_ns)

    def _tell(self, agent: AnyAgent, found: _core.Readiness) -> None:
        if found.messages and len(self.messages):
            self.messages.tell(found.messages)
        if len(self.seekers):
            seen = (agent._arrivals()[0], found.messages)
            if self.changed or seen[0] != self._seen[0] or seen[1] > self._seen[1]:
                self.seekers.tell_all()
            self.changed, self._seen = False, seen
        if found.tasks and len(self.tasks):
            self.tasks.tell(found.tasks)
        if found.notices and len(self.notices):
            self.notices.tell(1)
        for listener in tuple(self.listeners):
            listener(found)
        if found.ended:
            self.farewell.tell_all()
            self._end("the hive went down, or this life of the agent has ended")

    def _fetch(
        self,
        next_result: Callable[[], tuple[Any, ...] | None],
        waiting: dict[int, asyncio.Future[Any]],
    ) -> bool:
        while (found := next_result()) is not None:
            waiter = waiting.pop(found[0], None)
            if waiter is None or waiter.done():
                continue
            if isinstance(found[1], BaseException):
                waiter.set_exception(found[1])
            else:
                waiter.set_result(found[1] if len(found) == 2 else found)
        return True

    def _hear_tasks(self, agent: AnyAgent) -> bool:
        while (event := agent.next_task_event()) is not None:
            task, kind, said = event
            if isinstance(said, str):
                if task in self.progress:
                    self.progress[task](task, kind, said)
                continue
            waiter = self.executions.pop(task, None)
            if waiter is None or waiter.done():
                continue
            if isinstance(said, BaseException):
                waiter.set_exception(said)
            else:
                waiter.set_result(said)
        return True

    def _give_room(self, agent: AnyAgent) -> bool:
        while (peer := agent.next_space()) is not None:
            self.pass_on(peer)
        return True

    def pass_on(self, peer: _core.Peer) -> None:
        """Lets the next one try that waits for room at this peer."""
        line = self._spaces.get(peer.pid)
        if line is not None:
            line.tell(1)

    async def room(self, peer: _core.Peer, until: float | None, again: bool) -> bool:
        """Waits for room at a peer; False: the time is over."""
        agent = self._agent()
        assert agent is not None
        line = self._spaces.get(peer.pid)
        if line is None:
            line = self._spaces[peer.pid] = Line(lambda: self.pass_on(peer))
        agent.want_space(peer, True)
        self.touch()
        told = await line.wait(until, again)
        if not told and not len(line) and not agent.closed:
            agent.want_space(peer, False)
        return told

    async def result(self, waiting: dict[int, asyncio.Future[Any]], id: int) -> Any:
        """Waits for the result of a call that was started."""
        assert self._loop is not None
        self.touch()
        waiter = waiting[id] = self._loop.create_future()
        try:
            return await waiter
        finally:
            waiting.pop(id, None)

    async def until(
        self, line: Line, take: Callable[[], _T | None], timeout: float | None, name: str
    ) -> _T:
        """Waits until `take` gives something."""
        assert self._loop is not None
        until = None if timeout is None else self._loop.time() + timeout
        again = False
        while True:
            if self.ended:
                raise ClosedError(self.ended)
            self.touch()
            told = await line.wait(until, again)
            found = take()
            if found is not None:
                self.touch()
                return found
            if not told:
                raise TimeoutError(f"no {name} has come in {timeout} s")
            again = True

    def _set_timer(self, next_ns: int) -> None:
        assert self._loop is not None
        seconds = next_ns / _SECOND
        if seconds > _LONGEST_TIMER:
            return
        when = self._loop.time() + seconds
        if self._timer is not None:
            if self._timer_at <= when:
                return
            self._timer.cancel()
        self._timer, self._timer_at = self._loop.call_at(when, self._timed), when

    def _end(self, reason: str) -> None:
        if self.ended:
            return
        self.ended = reason
        lines = [self.messages, self.seekers, self.tasks, self.notices]
        for line in (*lines, *self._spaces.values()):
            line.end(reason)
        for waiting in (self.answers, self.acknowledged, self.peers, self.lists, self.executions):
            _refuse(waiting.values(), reason)
            waiting.clear()


_drivers: weakref.WeakSet[Driver] = weakref.WeakSet()


def _forget_all() -> None:
    for driver in _drivers:
        driver.forget()


os.register_at_fork(after_in_child=_forget_all)

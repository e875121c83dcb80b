"""Courier: carries the mail of an exchange through a hive."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import threading
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar
from uuid import UUID

from beeline._errors import WrongLoop
from beeline._types import AttachOptions, State
from beeline.exchange.element import as_uuid
from beeline.exchange.entity import Entity
from beeline.exchange.errors import ValidationError
from beeline.exchange.letter import body_for_agent, body_for_entity, id_of_name, is_entity
from beeline.exchange.mail import Mail
from beeline.exchange.mailbox import Mailbox
from beeline.exchange.parcel import Parcel
from beeline.exchange.round import Round

T = TypeVar("T")

# The smallest limit that a hive can have.
_ALWAYS_FITS = 64 * 1024
_OTHER_THREAD_PATIENCE = 10.0
_LOOP_CLOSED = (
    "the event loop in which the exchange was attached is closed. Use the exchange in a new loop "
    "of the same thread"
)


class Courier:
    """The agents live in the loop and the thread in which the courier was made. Other threads and
    loops hand their calls over to it."""

    def __init__(
        self, on_shutdown: Callable[[], None], patience: float, options: AttachOptions
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._turn = asyncio.Lock()
        self.on_shutdown = on_shutdown
        self._patience = patience
        self._options = options.copy()
        self._options.setdefault("order", "fifo")
        self._options.setdefault("max_attempts", 255)
        self._entities: dict[Any, Entity] = {}
        self._by_id: dict[UUID, Entity] = {}
        self._names: dict[UUID, str] = {}
        self._limit: int | None = None

    # Threads and loops

    @property
    def _is_at_home(self) -> bool:
        return threading.get_ident() == self._thread

    def _call(self, function: Callable[[], T]) -> T:
        """The result of a function that runs in the thread of the agents."""
        if self._is_at_home:
            return function()
        result: concurrent.futures.Future[T] = concurrent.futures.Future()

        def run() -> None:
            if not result.set_running_or_notify_cancel():
                return  # The caller has given up.
            try:
                result.set_result(function())
            except BaseException as error:
                result.set_exception(error)

        try:
            self._loop.call_soon_threadsafe(run)
        except RuntimeError as error:
            raise WrongLoop(_LOOP_CLOSED) from error
        try:
            return result.result(_OTHER_THREAD_PATIENCE)
        except TimeoutError:
            if result.cancel():
                raise
            return result.result()

    async def _run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine that runs in the loop of the agents."""
        loop = asyncio.get_running_loop()
        if loop is self._loop:
            return await work
        if self._is_at_home:
            if self._loop.is_closed():
                self._move(loop)
                return await work
            work.close()
            raise WrongLoop(
                "the exchange is used in a second event loop of the thread in which it was "
                "attached. Use it in its first loop, or close that one before"
            )
        try:
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        except RuntimeError as error:
            work.close()
            raise WrongLoop(_LOOP_CLOSED) from error
        return await asyncio.wrap_future(future)

    def _move(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._turn = asyncio.Lock()
        for entity in self._entities.values():
            entity.listen(loop)

    # Entities

    def add(self, owner: Any, box: Mailbox) -> None:
        """Waits for the coordinator."""
        try:
            id = as_uuid(owner)
        except ValidationError as error:
            raise ValidationError(f"a UUID names an entity of a hive: {error}") from None
        if id in self._by_id:
            raise ValueError(f"Owner {owner} already registered")

        def make() -> None:
            entity = Entity(id, box, self._options, self)
            if self._limit is None:
                self._limit = entity.largest_payload()
            self._entities[owner] = self._by_id[id] = entity
            if not self._loop.is_closed():  # Otherwise _move() does it.
                entity.listen(self._loop)

        self._call(make)

    def remove(self, owner: Any) -> None:
        """Waits for the coordinator. TimeoutError, WrongLoop: nothing was done."""

        def forget() -> None:
            entity = self._entities.pop(owner)
            self._by_id.pop(entity.id, None)
            entity.forget(self._options)

        self._call(forget)

    def fetch(self, owner: Any) -> None:
        """Puts the mail that has come into the mailbox; in another thread, soon."""
        entity = self._entities.get(owner)
        if entity is not None and self._is_at_home:
            entity.fetch()

    def finish(self, owner: Any, mail: Mail) -> None:
        """The mail was popped."""
        entity = self._entities.get(owner)
        if entity is None:
            return
        if self._is_at_home:
            entity.finish(mail.id)
        else:
            with contextlib.suppress(RuntimeError):  # The loop is closed: leave() does it.
                self._loop.call_soon_threadsafe(entity.finish, mail.id)

    def entity_of(self, id: UUID) -> Entity | None:
        return self._by_id.get(id)

    # Other agents

    def contact(self, name: str) -> UUID:
        id = id_of_name(name)
        if not is_entity(name):
            self._names[id] = name
        return id

    def name_of(self, id: UUID) -> str:
        return self._names.get(id) or str(id)

    async def everyone(self, entity: Entity) -> list[UUID]:
        """All entities of the hive."""
        agents = await entity.agent._agents()
        return [UUID(a.name) for a in agents if a.state != State.DEAD and is_entity(a.name)]

    # Delivery

    def seal(self, owner: Any, mail: Mail) -> None:
        """Writes the payload of a mail that may go to another process. ValidationError if there can
        be none."""
        entity = self._entities.get(owner)
        if entity is not None and mail.recipient not in self._by_id:
            entity.parcels[mail.id] = Parcel(mail, self.body_of(mail))

    def body_of(self, mail: Mail) -> bytes:
        to_agent = mail.recipient is not None and mail.recipient in self._names
        body = body_for_agent(mail) if to_agent else body_for_entity(mail)
        if len(body) > _ALWAYS_FITS:
            self._check_size(len(body))
        return body

    def _check_size(self, length: int) -> None:
        if self._limit is not None and length > self._limit:
            raise ValidationError(
                f"the content takes {length} bytes, and the limit of the hive is {self._limit}"
            )

    async def collect(self, owners: Iterable[Any]) -> int:
        return await self._run(self._collect(list(owners)))

    async def _collect(self, owners: list[Any]) -> int:
        async with self._turn:
            found = [self._entities[owner] for owner in owners if owner in self._entities]
            count = await Round(self, self._loop.time() + self._patience).run(found)
        for entity in tuple(self._entities.values()):
            entity.fetch()
        return count

    async def close(self) -> None:
        await self._run(self._close())

    async def _close(self) -> None:
        async with self._turn:
            while self._entities:
                _, entity = self._entities.popitem()
                await entity.leave()
            self._by_id.clear()

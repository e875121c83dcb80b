"""Round: one collection of some outboxes, in a hive."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING
from uuid import UUID

from beeline._errors import (
    BeelineError,
    ClosedError,
    Denied,
    Full,
    Loop,
    NoAgent,
    PeerDead,
    RateLimited,
    TooBig,
)
from beeline.exchange.entity import Entity
from beeline.exchange.errors import ValidationError
from beeline.exchange.parcel import Parcel

if TYPE_CHECKING:
    from beeline.exchange.courier import Courier

log = logging.getLogger("beeline.exchange")

# The round lets other tasks of the loop run each time after so many parcels.
_BREATH = 256
# Another attempt would fail as well.
_FINAL = (NoAgent, PeerDead, Denied, TooBig, Loop, ValidationError)


class Round:
    """Offers each mail to each of its recipients. Then it waits, until its deadline, for those that
    could not take it, for all of them at once. A recipient gets the mail of one sender in order:
    behind a mail that waits, the later ones wait, too."""

    def __init__(self, courier: Courier, deadline: float) -> None:
        self._courier = courier
        self._deadline = deadline
        self._everyone: list[UUID] | None = None
        self._waiting: dict[tuple[Entity, UUID], list[Parcel]] = {}
        self._delivered = 0

    async def run(self, entities: list[Entity]) -> int:
        """How many mails reached their first recipient. Those that wait are in the outboxes."""
        ends = [entity.ended for entity in entities]
        if ends and ends[0] is not None and all(ends):
            raise ends[0]
        taken: list[tuple[Entity, list[Parcel]]] = []
        number = 0
        try:
            for entity in entities:
                if entity.ended is not None or self._has_left(entity):
                    continue
                parcels = entity.take()
                taken.append((entity, parcels))
                for parcel in parcels:
                    if parcel.targets is None:
                        parcel.targets = await self._recipients(entity, parcel)
                    for to in tuple(parcel.targets or ()):
                        self._offer(entity, parcel, to)
                    number += 1
                    if number % _BREATH == 0:
                        await asyncio.sleep(0)
            waits = [self._wait(entity, to, p) for (entity, to), p in self._waiting.items()]
            for error in await asyncio.gather(*waits, return_exceptions=True):
                if error is not None:
                    raise error
        finally:
            for entity, parcels in taken:
                entity.settle(parcels)
        return self._delivered

    async def _recipients(self, entity: Entity, parcel: Parcel) -> list[UUID] | None:
        recipient = parcel.mail.recipient
        if recipient is not None:
            return [recipient]
        if self._everyone is None:
            try:
                self._everyone = await self._courier.everyone(entity)
            except ClosedError:
                if self._has_left(entity):
                    return None
                raise
        return [id for id in self._everyone if id != entity.id]

    def _offer(self, entity: Entity, parcel: Parcel, to: UUID) -> None:
        waiting = self._waiting.get((entity, to))
        if waiting is not None:
            waiting.append(parcel)
            return
        here = self._courier.entity_of(to)
        try:
            if here is not None:
                mail = parcel.mail
                if here.box.file(mail if mail.is_direct else mail.duplicate()):
                    self._count(parcel, to)
                else:
                    self._drop(parcel, to, "the recipient has it, or leaves")
            else:
                entity.offer(parcel, self._courier.name_of(to))
                entity.stuck.discard(to)
                self._count(parcel, to)
        except ClosedError:
            if not self._has_left(entity):
                raise
        except ValidationError as error:
            self._drop(parcel, to, error)
        except (LookupError, BeelineError):
            self._waiting[entity, to] = [parcel]

    async def _wait(self, entity: Entity, to: UUID, parcels: list[Parcel]) -> None:
        if to in entity.stuck:
            return
        loop = asyncio.get_running_loop()
        name = self._courier.name_of(to)
        progress = False
        for parcel in parcels:
            try:
                await entity.send(parcel, name, max(0.0, self._deadline - loop.time()))
            except _FINAL as error:
                self._drop(parcel, to, error)
            except ClosedError:
                if self._has_left(entity):
                    return
                raise
            except (BeelineError, TimeoutError) as error:
                log.info("%r waits for the next round: %s", parcel.mail, error)
                if isinstance(error, (Full, RateLimited)) and not progress:
                    entity.stuck.add(to)
                return
            else:
                self._count(parcel, to)
            progress = True

    def _has_left(self, entity: Entity) -> bool:
        """True if it was unregistered meanwhile. Its mail stays in its outbox then."""
        return self._courier.entity_of(entity.id) is not entity

    def _count(self, parcel: Parcel, to: UUID) -> None:
        assert parcel.targets is not None
        parcel.targets.remove(to)
        self._delivered += not parcel.counted
        parcel.counted = True

    def _drop(self, parcel: Parcel, to: UUID, reason: object) -> None:
        assert parcel.targets is not None
        parcel.targets.remove(to)
        log.warning("%r is dropped: %s", parcel.mail, reason)

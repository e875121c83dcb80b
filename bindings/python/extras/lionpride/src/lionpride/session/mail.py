"""The import path of lionpride's Mail and Exchange, for beeline.exchange.

The folders above have no `__init__.py`, so that lionpride itself, where it is installed in the same
place, is imported instead: a package goes before a folder without one."""

from beeline.exchange import OUTBOX, Exchange, Mail

__all__ = ["OUTBOX", "Exchange", "Mail"]

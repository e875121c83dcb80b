"""Mail between entities: Mail, Exchange, and the collections in which they keep it."""

from .element import Element
from .errors import ExchangeError, ExistsError, NotFoundError, ValidationError
from .exchange import Exchange
from .flow import Flow
from .mail import Mail
from .mailbox import OUTBOX, Mailbox
from .pile import Pile
from .progression import Progression

__all__ = [
    "OUTBOX",
    "Element",
    "Exchange",
    "ExchangeError",
    "ExistsError",
    "Flow",
    "Mail",
    "Mailbox",
    "NotFoundError",
    "Pile",
    "Progression",
    "ValidationError",
]

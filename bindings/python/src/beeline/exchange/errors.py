"""The errors of the exchange. They are no KeyError, so that a mistake in a handler is not taken for
a mailbox without mail."""


class ExchangeError(Exception):
    """The base of the errors of this package."""


class ExistsError(ExchangeError):
    """An item, or a progression of that name, is there already."""


class NotFoundError(ExchangeError):
    """The item is not there, or the progression is empty."""


class ValidationError(ExchangeError, ValueError):
    """A value that the field cannot have."""

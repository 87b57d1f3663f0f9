"""The exceptions of sessions. Each is a ValueError, so existing handlers catch it.

    ValueError
      SessionFileError        the file is no session, is damaged or too new, or has another policy
      UnknownDecisionError    the session never issued this id, or no longer remembers it
      ExpiredDecisionError    the feedback came after its decision expired
      ConflictError           the feedback contradicts an outcome that is already known

They are classes of their own so that a program, such as the service, can answer each differently.
"""

__all__ = ["ConflictError", "ExpiredDecisionError", "SessionFileError", "UnknownDecisionError"]


class SessionFileError(ValueError):
    """A session file cannot be loaded. Nothing has changed."""


class UnknownDecisionError(ValueError):
    """The session never issued this id, or no longer remembers it."""


class ExpiredDecisionError(ValueError):
    """The feedback came after its decision expired. Nothing was learned from it."""


class ConflictError(ValueError):
    """The feedback contradicts an outcome that is already known. Nothing was learned from it."""

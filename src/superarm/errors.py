"""What a session refuses, each as a ValueError of its own.

    ValueError
      SessionFileError        a file that is not a session, cut short, altered, too new, or of another policy
      UnknownDecisionError    an id that the session never gave out, or no longer remembers
      ExpiredDecisionError    feedback for a decision that has expired
      ConflictError           another outcome than the one that was told before

A service can answer each in its own way.
"""


class SessionFileError(ValueError):
    """A file that cannot be loaded; nothing has changed."""


class UnknownDecisionError(ValueError):
    """An id that this session never gave out, or has forgotten since."""


class ExpiredDecisionError(ValueError):
    """Feedback that comes after its decision has expired."""


class ConflictError(ValueError):
    """Feedback that contradicts what was told before."""

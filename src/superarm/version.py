"""The version, where everything can read it."""

__version__ = "0.1.0"


def how_to_install(extra: str) -> str:
    """The command that installs an extra. superarm is on no index, so it takes a clone or a wheel.

    Examples
    --------
    >>> how_to_install("plots")
    "pip install '.[plots]' in a clone of superarm, or pip install 'WHEEL[plots]'"
    """
    return f"pip install '.[{extra}]' in a clone of superarm, or pip install 'WHEEL[{extra}]'"

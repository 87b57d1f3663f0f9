"""Worker processes that are forked from the process of `forked_server`.

A spawned worker spends a second on imports. A forked one is a process of its own, too: it gets its
jobs as bytes, and it can be killed.
"""

from concurrent.futures import ProcessPoolExecutor

from forked_server import FORKS, start_forking


def forked(workers):
    """As `superarm.reporting.jobs.processes`: local worker processes."""
    start_forking()
    return ProcessPoolExecutor(workers, mp_context=FORKS)

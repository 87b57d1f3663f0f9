"""Worker processes for tests of executors."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context


def worker_processes(n_workers):
    """Processes that get everything by pickle, as spawned ones do.

    They are forked from a server that has imported the package once, which takes longer than any
    of the tests.
    """
    context = get_context("forkserver")
    context.set_forkserver_preload(["superarm"])
    return ProcessPoolExecutor(n_workers, mp_context=context)

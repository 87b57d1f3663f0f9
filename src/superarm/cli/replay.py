"""The command ``superarm replay``: rebuild the beliefs of a service from its log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from superarm.cli import common

if TYPE_CHECKING:
    from superarm.service.bandits.replay import Replayed
    from superarm.service.log.events import Bandit
    from superarm.service.log.store import Store

# By whether the rebuilt belief equals the belief of the last checkpoint. None: no checkpoint.
_VERDICTS = {
    None: "each as it was logged; no checkpoint to compare with",
    True: "the same bit for bit",
    False: "DIFFERENT",
}


@click.command("replay")
@click.argument("database")
@click.argument("bandit", required=False)
@common.rewards_option
@click.option(
    "--decide",
    is_flag=True,
    help="Also make every decision again, and check that it is the same. Not for noisy rewards.",
)
def command(database: str, bandit: str | None, rewards: str | None, decide: bool) -> None:
    """Rebuild and verify beliefs from the log of a service.

    Every rebuilt belief is compared, bit for bit, with the last checkpoint of the server. Numbers
    that differ by rounding, as on another processor, are the same with a note.

    DATABASE is an SQLite file, or postgresql://...

    BANDIT is the id or the name of one bandit. Without BANDIT, all bandits are rebuilt.

    Changes nothing, and can run while a server is running. Ends with exit code 1 if a log is
    damaged, if a belief differs, or if the reward of a bandit is not available.
    """
    common.need_service()
    from superarm.service import server

    try:
        own = server.own_rewards(rewards)
        with server.opened(database, "read") as store:
            # All bandits are replayed, also after a damaged one: the operator wants to know all.
            verdicts = [
                _replay(store, one, own, decide) for one in common.chosen_bandits(store, bandit)
            ]
    except server.StartError as error:
        common.stop(str(error))
    if not all(verdicts):
        raise click.exceptions.Exit(1)


def _replay(store: Store, bandit: Bandit, own: Mapping[str, Any], decide: bool) -> bool:
    """Rebuild one bandit, print the verdict, and return whether all is well."""
    from superarm.service.bandits.replay import replay
    from superarm.service.log.events import DamagedLogError
    from superarm.service.problems import Problem

    try:
        found = replay(store, bandit, own, decide=decide)
    except DamagedLogError as error:
        good, verdict = False, f"{error.verdict}: {error}"
    except Problem as problem:
        good, verdict = False, f"not rebuilt: {problem.detail}; say --rewards MODULE"
    else:
        good, verdict = found.same is not False, _verdict(found, decide)
    click.echo(f"{bandit.id} {bandit.name}: {verdict}")
    return good


def _verdict(found: Replayed, decide: bool) -> str:
    again = ", decided again" if found.decided else ""
    if decide and not found.decided:
        again = ", not decided again (its reward is noisy)"
    since = "" if found.checkpoint is None else f"checkpoint at event {found.checkpoint:,}: "
    verdict = _VERDICTS[found.same]
    if found.same is not False and found.difference:
        verdict = (
            f"the same up to rounding, {found.difference:.0e} of the numbers: the log was written "
            f"with another processor or version of numpy"
        )
    return f"{found.live.seq:,} events{again}, {since}{verdict}"

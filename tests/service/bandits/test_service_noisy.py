"""Logs of bandits with a noisy reward of the operator: replays evaluate nothing."""

import pytest
from click.testing import CliRunner

import superarm as sa
from serving import client_of, create, play
from superarm.cli import app
from superarm.service.bandits import parts


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "bandits.db"
    with client_of(path, own=parts.own_rewards("gated_rewards")) as client:
        oracle = {"kind": "noisy_singletons", "noise_std": 0.01, "tolerance": 0.05}
        play(client, create(client, seed=1, reward="averaged", oracle=oracle), 5)
    return path


@pytest.mark.parametrize(
    ("options", "said"), [([], " events, "), (["--decide"], "not decided again (its reward is")]
)
def test_a_replay_does_not_evaluate_a_noisy_reward(path, options, said, monkeypatch):
    """Another answer could lead to another set, which is no mistake in the log."""

    def evaluated(*_):
        raise AssertionError("the reward was evaluated")

    monkeypatch.setattr(sa.BlackBox, "batch", evaluated)
    monkeypatch.setattr(sa.BlackBox, "__call__", evaluated)
    command = ["replay", str(path), "--rewards", "gated_rewards", *options]
    found = CliRunner().invoke(app, command)
    assert found.exit_code == 0, found.output
    assert said in found.output
    assert "the same bit for bit" in found.output

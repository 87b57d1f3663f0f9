"""The torch engine on a GPU: is it right, and how fast? Prints one JSON object per line.

About two minutes on an H200. ``--tune`` times the kernels only, ``--beliefs`` compares the time per
round of some beliefs with that of the numpy engine and of `simulate`, and ``--device cpu --small``
tries the rest without a GPU.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
import time
from pathlib import Path

import numpy as np
import torch
from scipy import stats

import superarm as sa
from superarm.beliefs import GaussianBelief, LearnedBetaBelief, SharedSeedBelief
from superarm.oracles import RandomSets
from superarm.simulation.batch import simulate_batch

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import naive


def show(what, **found):
    print(json.dumps({"what": what, **found}), flush=True)


def clocked(function, repeats=20):
    """Median milliseconds of a call, by events on the device."""
    times = []
    for _ in range(3):
        function()
    for _ in range(repeats):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        function()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    return round(float(np.median(times)), 4)


def linear(n_arms, k=5, gap=0.25):
    return lambda rng: sa.linear_instance(n_arms, k, gap, rng=rng)


def network(n_arms, k=5, gap=0.2):
    """One of 20 networks at random: drawing one per run would take longer than playing."""
    found = [
        sa.network_instance(n_arms, k, gap, n_hidden=20, rng=np.random.default_rng(seed))
        for seed in range(20)
    ]
    return lambda rng: found[rng.integers(20)]


def check_kernels():
    """The kernels against tests drawn cell by cell on the host."""
    from superarm.simulation.batch import kernels

    rng = np.random.default_rng(0)
    for n_tests, n_arms, p in ((40, 150, 0.5), (33, 601, 0.25), (64, 90, 2 / 3)):
        tests = kernels.Tests(
            n_tests, n_arms, p, 0x1234567890ABCDEF, torch.tensor([7], device="cuda"), 3
        )
        columns, weights = rng.random((2, 3, n_arms)), rng.integers(-(10**6), 10**6, (2, n_tests))
        given = torch.tensor(columns, dtype=torch.float32, device="cuda")
        sums = kernels.sums(tests, given).cpu().numpy()
        for dtype in (torch.int32, torch.int64):
            grades = (
                kernels.sums_by_arm(tests, torch.tensor(weights, device="cuda").to(dtype))
                .cpu()
                .numpy()
            )
            worst, wrong = 0.0, 0
            for run in range(2):
                A = naive.philox_tests(n_tests, n_arms, p, key=tests.key, clock=7, run=3 + run)
                worst = max(worst, float(np.abs(sums[run] - columns[run] @ A.T).max()))
                wrong += int((grades[run] != weights[run] @ A).sum())
            show(
                "kernels", n_tests=n_tests, n_arms=n_arms, p=p, worst_sum=worst, wrong_grades=wrong
            )
            assert worst < 1e-4 * n_arms**0.5, "sums differ from those on the host"
            assert wrong == 0, "grades differ from those on the host"


def check_law(device, n_runs):
    """Beta draws by a KS test; regret of small problems against that of the numpy engine.

    Each test is wrong once in 1,000 times.
    """
    from superarm.simulation.batch.on_torch import TorchEngine

    engine = TorchEngine(np.random.SeedSequence(1), device)
    for a, b in ((1, 1), (2, 1), (1, 7), (30, 12), (4000, 9)):
        drawn = (
            engine.beta(*(torch.full((20_000,), float(x), device=device) for x in (a, b)))
            .cpu()
            .double()
            .numpy()
        )
        p_value = float(stats.kstest(drawn, stats.beta(a, b).cdf).pvalue)
        show("beta", a=a, b=b, p_value=p_value)
        assert p_value > 1e-3
    oracles = {
        "cts": sa.Singletons(),
        "chance": RandomSets(),
        "p=1/2": sa.GroupTesting(delta=0.2, n_tests=40),
        "p=2/3, naive": sa.GroupTesting(delta=0.2, n_tests=40, p=2 / 3, quantize=False),
        "p=0.01": sa.GroupTesting(delta=0.2, n_tests=40, p=0.01),
        "p=1/2, centred": sa.GroupTesting(delta=0.2, n_tests=40, decoder="centred"),
        "p=0.01, centred": sa.GroupTesting(delta=0.2, n_tests=40, p=0.01, decoder="centred"),
    }
    for family, draw in {"linear": linear(50, 3, 0.2), "network": network(30, 3, 0.1)}.items():
        for name, oracle in oracles.items():
            options = {"n_runs": n_runs, "horizon": 150, "rounds": [40, 150]}
            ours = simulate_batch(draw, oracle, seed=1, engine="torch", device=device, **options)
            again = simulate_batch(draw, oracle, seed=1, engine="torch", device=device, **options)
            theirs = simulate_batch(draw, oracle, seed=2, **options)
            p_values = [
                float(stats.ks_2samp(ours.regret[:, i], theirs.regret[:, i]).pvalue) for i in (0, 1)
            ]
            same = bool((ours.regret == again.regret).all())
            means = [round(float(trace.regret[:, 1].mean()), 2) for trace in (ours, theirs)]
            show("law", family=family, policy=name, p_values=p_values, means=means, same_again=same)
            assert min(p_values) > 5e-4
            assert same


def check_beliefs(device, n_runs):
    """Quantiles against scipy's distribution function, and regret against the numpy engine's.

    Each test is wrong once in 1,000 times.
    """
    from superarm.simulation.batch.on_torch import TorchEngine

    engine, rng = TorchEngine(np.random.SeedSequence(1), device), np.random.default_rng(1)
    a, b = (np.exp(rng.uniform(0, np.log(1e5), (20, 500))).astype(np.float32) for _ in range(2))
    # Close to 1, float32 has fewer digits than close to 0.
    a, b, scores = np.minimum(a, b), np.maximum(a, b), rng.standard_normal(a.shape)
    found = engine.get(engine.quantiles(engine.put(a), engine.put(b), 9.0).at(engine.put(scores)))
    again = stats.norm.ppf(stats.beta.cdf(found.astype(float), a.astype(float), b.astype(float)))
    inside = np.abs(scores) < 3
    worst = float(np.abs(again - scores)[inside].max())
    show("quantiles", worst=worst)
    # float32 has seven digits, and the posteriors of 10^5 outcomes a deviation of 1e-3.
    assert worst < 1e-3
    for name, kind in BELIEFS.items():
        options = {"belief": kind(50), "n_runs": n_runs, "horizon": 150, "rounds": [40, 150]}
        draw, oracle = linear(50, 3, 0.2), sa.Singletons()
        ours, again = (
            simulate_batch(draw, oracle, seed=1, engine="torch", device=device, **options)
            for _ in range(2)
        )
        theirs = simulate_batch(draw, oracle, seed=2, **options)
        p_values = [
            float(stats.ks_2samp(ours.regret[:, i], theirs.regret[:, i]).pvalue) for i in (0, 1)
        ]
        same = bool((ours.regret == again.regret).all())
        show("law of a belief", name=name, p_values=p_values, same_again=same)
        assert min(p_values) > 5e-4
        assert same


def tune():
    """Milliseconds of both kernels for several block sizes: 1,000 runs, 302 tests, 5,000 arms."""
    from superarm.simulation.batch import kernels

    columns = torch.rand(1000, 1, 5000, device="cuda")
    weights = torch.randint(0, 40_000, (1000, 302), dtype=torch.int32, device="cuda")
    clock, chosen = torch.tensor([7], device="cuda"), (kernels.BLOCK, kernels.WARPS)
    for p in (0.5, 2 / 3):
        for block, warps in ((32, 1), (64, 2), (128, 4)):
            kernels.BLOCK, kernels.WARPS = block, warps
            tests = kernels.Tests(302, 5000, p, 12345, clock, 0)
            score = clocked(lambda tests=tests: kernels.sums(tests, columns))
            decode = clocked(lambda tests=tests: kernels.sums_by_arm(tests, weights))
            wide = clocked(lambda tests=tests: kernels.sums_by_arm(tests, weights.long()))
            kernels.BLOCK, kernels.WARPS = chosen
            show(
                "tune",
                p=round(p, 3),
                block=block,
                warps=warps,
                score_ms=score,
                decode_ms=decode,
                wide_ms=wide,
            )


def parts():
    """Milliseconds of the parts of a round of 1,000 runs that are torch's own."""
    from superarm.simulation.batch.on_torch import TorchEngine

    engine = TorchEngine(np.random.SeedSequence(1), "cuda")
    a, b = (torch.randint(1, 9, (1000, 5000), device="cuda").float() for _ in range(2))
    grades = torch.randint(0, 1 << 24, (1000, 5000), device="cuda")
    show(
        "parts",
        beta_ms=clocked(lambda: engine.beta(a, b)),
        top_k_ms=clocked(lambda: engine.top_k(a, 5)),
        top_k_whole_ms=clocked(lambda: engine.top_k_whole(grades, 5)),
    )


def whole(small):
    """Whole studies."""
    n_runs, horizon = (20, 20) if small else (1000, 10_000)
    gt, networks = {"delta": 0.25, "n_tests": 302}, network(1000)
    studies = [
        ("CTS", linear(5000), sa.Singletons(), n_runs, horizon),
        ("GT+QTS, p=1/2", linear(5000), sa.GroupTesting(**gt), n_runs, horizon),
        ("CTS, 500 arms", linear(500), sa.Singletons(), n_runs, horizon // 5),
        ("chance", linear(5000), RandomSets(), n_runs, horizon // 10),
        ("GT+QTS, p=2/3", linear(5000), sa.GroupTesting(**gt, p=2 / 3), n_runs, horizon // 10),
        (
            "naive, p=1/2",
            linear(5000),
            sa.GroupTesting(**gt, quantize=False),
            n_runs,
            horizon // 10,
        ),
        (
            "centred, p=1/2",
            linear(5000),
            sa.GroupTesting(**gt, decoder="centred"),
            n_runs,
            horizon // 10,
        ),
        ("GT+QTS, p=K/m", linear(5000), sa.GroupTesting(**gt, p=1e-3), n_runs, horizon // 10),
        ("network, CTS", networks, sa.Singletons(), n_runs, horizon // 10),
        (
            "network, p=1/2",
            networks,
            sa.GroupTesting(delta=0.2, n_tests=302),
            n_runs,
            horizon // 10,
        ),
        (
            "network, p=K/m",
            networks,
            sa.GroupTesting(delta=0.2, n_tests=302, p=5e-3),
            n_runs,
            horizon // 10,
        ),
    ]
    if not small:
        studies += [
            ("a million arms, CTS", linear(1_000_000), sa.Singletons(), 20, 500),
            ("a million arms, GT+QTS, p=1/2", linear(1_000_000), sa.GroupTesting(**gt), 20, 100),
        ]
    for name, draw, oracle, runs, rounds in studies:
        start = time.perf_counter()
        options = {"n_runs": runs, "horizon": rounds, "seed": 0, "rounds": [rounds]}
        trace = simulate_batch(
            draw, oracle, engine="torch", device="cpu" if small else "cuda", **options
        )
        show(
            "study",
            name=name,
            n_runs=runs,
            horizon=rounds,
            play_s=round(trace.play_s, 3),
            ms_per_round=round(1e3 * trace.play_s / rounds, 4),
            all_s=round(time.perf_counter() - start, 2),
            regret=round(float(trace.regret[:, -1].mean()), 1),
            std=round(float(trace.regret[:, -1].std()), 1),
            percentiles=np.percentile(trace.regret[:, -1], [5, 25, 50, 75, 95, 99])
            .round()
            .tolist(),
            peak_gib=None if small else round(torch.cuda.max_memory_allocated() / 2**30, 2),
        )
        if not small:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()


BELIEFS = {
    "plain": sa.BetaBelief,
    "shared": SharedSeedBelief,
    "learned": LearnedBetaBelief,
    "Gaussian": GaussianBelief,
}


def beliefs(device, small):
    """Processor microseconds per round of one run: torch, numpy, and `simulate` run by run.

    The time that arrays take at first is left out: a short game is subtracted from a long one. On a
    GPU it is the time that passes.
    """
    sizes = [(100, 100, 500)] if small else [(100, 1000, 1000), (5000, 1000, 1000)]
    clock = time.perf_counter if device == "cuda" else time.process_time
    for n_arms, n_runs, horizon in sizes:
        draw = linear(n_arms)
        for name, kind in BELIEFS.items():
            belief, found = kind(n_arms), {}
            for engine in ("torch", "numpy", "simulate"):
                # numpy takes as long per run for any number of them.
                some = n_runs if engine == "torch" else min(n_runs, 50_000 // n_arms)
                most = horizon if engine == "torch" else horizon // 2
                long, short = (
                    played(engine, draw, belief, some, rounds, device, clock)
                    for rounds in (most, most // 10)
                )
                found[engine] = 1e6 * (long - short) / (some * (most - most // 10))
            ratios = {
                f"to {other}": round(found["torch"] / found[other], 4)
                for other in ("numpy", "simulate")
            }
            times = {engine: round(each, 3) for engine, each in found.items()}
            show("belief", name=name, n_arms=n_arms, n_runs=n_runs, **times, **ratios)


def played(engine, draw, belief, n_runs, horizon, device, clock):
    """Seconds for some runs."""
    options = {"n_runs": n_runs, "horizon": horizon, "seed": 0}
    start = clock()
    if engine == "simulate":

        def make(rng):
            it = draw(rng)
            return sa.Policy(copy.deepcopy(belief), sa.TopK(), it.reward, it.k), it

        # A few runs are enough: each takes as long as any other.
        options["n_runs"] = 2
        sa.replicate(make, **options)
        return (clock() - start) * n_runs / 2
    chosen = {"engine": "torch", "device": device} if engine == "torch" else {}
    simulate_batch(draw, sa.Singletons(), belief=belief, rounds=[horizon], **chosen, **options)
    return clock() - start


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--beliefs", action="store_true")
    options = parser.parse_args()
    show("versions", torch=torch.__version__, device=options.device)
    if options.beliefs:
        beliefs(options.device, options.small)
        return
    if options.device == "cuda":
        show("device", name=torch.cuda.get_device_name())
        check_kernels()
        tune()
        parts()
    if options.tune:
        return
    check_law(options.device, 200 if options.small else 800)
    check_beliefs(options.device, 200 if options.small else 800)
    whole(options.small)
    beliefs(options.device, options.small)


if __name__ == "__main__":
    main()

"""The verdict of a comparison, on made-up measurements whose truth is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from workbook.common import stats
from workbook.common.stats import INCONCLUSIVE, NOT_YET, PASS, Round


def rounds(true_ratio: float, *, count: int = 10, noise: float = 0.02, bias: float = 1.0,
           drift: float = 0.0, seed: int = 1) -> list[Round]:
    """B is `true_ratio` times as fast as A; `bias` favours the control; `drift` is per run."""
    random = np.random.default_rng(seed)

    def rate(factor: float, at: int) -> float:
        return float(1000 * factor * math.exp(random.normal(0, noise) + drift * at))

    found = []
    for number in range(count):
        # The order of compare._rounds: A B A', then A' B A.
        first, last = (0, 2) if number % 2 == 0 else (2, 0)
        at = 3 * number
        found.append(Round(rate(1, at + first), rate(true_ratio, at + 1), rate(bias, at + last)))
    return found


@pytest.mark.parametrize(("count", "quantile"), [  # Abramowitz and Stegun, table 26.10
    (2, 12.706), (3, 4.303), (4, 3.182), (6, 2.571), (11, 2.228), (31, 2.042), (121, 1.980)])
def test_interval_uses_students_t(count: int, quantile: float) -> None:
    values = [math.log(2) + 0.01 * (number % 3) for number in range(count)]
    found = stats.interval(values)
    error = float(np.std(values, ddof=1)) / math.sqrt(count)
    assert math.log(found.ratio) == pytest.approx(float(np.mean(values)))
    assert math.log(found.high / found.ratio) == pytest.approx(quantile * error, rel=3e-4)
    assert math.log(found.ratio / found.low) == pytest.approx(quantile * error, rel=3e-4)


@pytest.mark.parametrize("true_ratio, goal, verdict", [
    (4.0, 1.5, PASS),
    (4.0, 3.0, PASS),
    (1.2, 1.0, PASS),
    (1.0, 1.5, NOT_YET),
    (1.2, 1.5, NOT_YET),
    (0.5, 1.0, NOT_YET),
    (1.5, 1.5, INCONCLUSIVE),
    (1.0, 1.0, INCONCLUSIVE),
])
def test_clear_difference_has_a_verdict(true_ratio: float, goal: float, verdict: str) -> None:
    assert stats.judge(rounds(true_ratio), goal).verdict == verdict


def test_the_interval_covers_the_truth() -> None:
    hits = 0
    for seed in range(400):
        found = stats.ratio(rounds(1.3, count=6, noise=0.1, seed=seed))
        hits += found.low <= 1.3 <= found.high
    assert hits / 400 == pytest.approx(0.95, abs=0.035)


def test_identical_servers_seldom_differ() -> None:
    verdicts = [stats.judge(rounds(1.0, count=8, noise=0.1, seed=seed), 1.0).verdict
                for seed in range(300)]
    assert verdicts.count(INCONCLUSIVE) / 300 > 0.93


def test_steady_drift_cancels_out() -> None:
    """A machine that gets slower by 2 % a run, 45 % in all."""
    drifting = rounds(1.25, drift=-0.02, noise=0.005)
    found = stats.ratio(drifting)
    assert found.low < 1.25 < found.high
    assert found.high / found.low < 1.02
    assert not stats.control(drifting).excludes_one()


def test_a_planted_bias_is_found() -> None:
    """The set-up makes one of two equal servers 10 % faster: what it says of B is worth little."""
    biased = rounds(1.06, bias=1.1, noise=0.005)
    judgement = stats.judge(biased, 1.0)
    assert judgement.verdict == INCONCLUSIVE
    assert "A measured against itself is 1.10 times as fast" in judgement.why
    assert stats.judge(rounds(1.06, noise=0.005), 1.0).verdict == PASS


def test_a_bias_does_not_hide_a_large_effect() -> None:
    judgement = stats.judge(rounds(4.0, bias=1.1), 1.5)
    assert judgement.verdict == PASS
    assert judgement.interval.high / judgement.interval.low > 1.2


def test_a_bias_that_noise_hides_does_not_pass() -> None:
    judged = [stats.judge(rounds(1.0, bias=1.1, noise=0.03, seed=seed), 1.0).verdict
              for seed in range(200)]
    assert judged.count(PASS) / 200 < 0.05


def test_noisy_control_is_inconclusive() -> None:
    """B is luckily quiet, but A varies by more than what is to be told."""
    swings = [1.3, 0.75, 1.25, 0.8, 1.3, 0.78]
    noisy = [Round(1000 * swing, 1040 * math.sqrt(1.0), 1000 / swing) for swing in swings]
    judgement = stats.judge(noisy, 1.0)
    assert judgement.verdict == INCONCLUSIVE
    assert "varies by more" in judgement.why

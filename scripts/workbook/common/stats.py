"""Estimates a ratio from paired measurements, with its uncertainty.

Each round measures B between two runs of A, which are two processes of the same program:

    ratio    log B - (log A + log A') / 2     what we want to know
    control  log A' - log A                   the same for a ratio that is known to be 1

A drift that is steady over a round cancels out of the ratio. The interval is Student's t on the
logarithms, one value a round: A. Georges, D. Buytaert, L. Eeckhout, "Statistically Rigorous Java
Performance Evaluation", OOPSLA 2007, section 3.2, and for ratios T. Kalibera, R. Jones, "Rigorous
Benchmarking in Reasonable Time", ISMM 2013. Rounds are few, which is what t is for; a bootstrap of
so few values would claim too much.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

PASS, NOT_YET, INCONCLUSIVE = "PASS", "NOT YET", "INCONCLUSIVE"
CONFIDENCE = 0.95
MIN_ROUNDS = 3


@dataclass(frozen=True)
class Interval:
    """A ratio with its confidence interval, at this module's confidence level."""

    ratio: float
    low: float
    high: float

    def excludes_one(self) -> bool:
        return self.low > 1 or self.high < 1

    def reach(self) -> float:
        """The logarithm of the bound that is further from 1."""
        return max(abs(math.log(self.low)), abs(math.log(self.high)))

    def widened(self, by: float) -> Interval:
        """Returns the interval with both bounds moved out by a factor, given as its logarithm."""
        return Interval(self.ratio, self.low * math.exp(-by), self.high * math.exp(by))


@dataclass(frozen=True)
class Round:
    """Requests per second of A, of B, and of A again, measured one after the other."""

    a: float
    b: float
    control: float


@dataclass(frozen=True)
class Judgement:
    """The verdict on a goal, the interval that it's based on, and the reason in a sentence."""

    verdict: str
    interval: Interval
    why: str


def interval(logarithms: Sequence[float]) -> Interval:
    """Returns the ratio and its interval from measured logarithms; needs at least two."""
    mean = fmean(logarithms)
    error = stdev(logarithms) / math.sqrt(len(logarithms))
    half = _t(CONFIDENCE, len(logarithms) - 1) * error
    return Interval(math.exp(mean), math.exp(mean - half), math.exp(mean + half))


def _t(confidence: float, freedom: int) -> float:
    """Returns the quantile of Student's t: |t| is smaller than that with this probability. Found by
    bisection, because some systems would have to compile a package that has it.
    """
    low, high = 0.0, 1.0
    while _within(high, freedom) < confidence:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, freedom) < confidence else (low, middle)
    return high


def _within(t: float, freedom: int) -> float:
    """Returns the probability that |Student's t| is at most `t`: M. Abramowitz, I. Stegun,
    "Handbook of Mathematical Functions", 26.7.3 and 26.7.4.
    """
    angle = math.atan(t / math.sqrt(freedom))
    odd = freedom % 2
    term = math.cos(angle) if odd else 1.0
    total = term if freedom > 1 else 0.0
    for number in range(2 + odd, freedom - 1, 2):
        term *= math.cos(angle) ** 2 * (number - 1) / number
        total += term
    return 2 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total


def ratio(rounds: Sequence[Round]) -> Interval:
    """Returns how many times as fast as A program B is."""
    return interval([math.log(r.b) - (math.log(r.a) + math.log(r.control)) / 2 for r in rounds])


def control(rounds: Sequence[Round]) -> Interval:
    """Returns how many times as fast as itself A is: 1, apart from noise and bias."""
    return interval([math.log(r.control) - math.log(r.a) for r in rounds])


def judge(rounds: Sequence[Round], goal: float) -> Judgement:
    """Returns whether B is at least `goal` times as fast as A.

    A control that differs from 1 indicates a bias, so its full reach is added to both ends of the
    ratio's interval. A control that varies by more than the distance from the ratio to the goal
    indicates too much noise: the result is inconclusive.
    """
    measured, same = ratio(rounds), control(rounds)
    biased = same.excludes_one()
    wide = measured.widened(same.reach()) if biased else measured
    span = f"{wide.low:.2f} to {wide.high:.2f}"
    if biased and wide.low < goal <= wide.high:
        return Judgement(INCONCLUSIVE, wide, f"A measured against itself is {same.ratio:.2f} times "
                         "as fast: something here favours one run over another")
    if wide.low < goal <= wide.high:
        return Judgement(INCONCLUSIVE, wide, f"the goal {goal:.2f} lies within {span}")
    noise = (math.log(same.high) - math.log(same.low)) / 2
    if noise > abs(math.log(measured.ratio) - math.log(goal)):
        return Judgement(INCONCLUSIVE, wide, "A measured against itself varies by more "
                         f"({same.low:.2f} to {same.high:.2f}) than B is from the goal {goal:.2f}")
    if wide.low >= goal:
        return Judgement(PASS, wide, f"{span} is at or above the goal {goal:.2f}")
    return Judgement(NOT_YET, wide, f"{span} is below the goal {goal:.2f}")

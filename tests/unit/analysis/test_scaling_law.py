"""Scaling laws: known parameters come back, intervals cover them, and the model that the points bear is chosen."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.support.scaling_runs import grow
from wirebench.analysis.scaling_law import Model, fit_scaling_law

LEVELS = (1, 2, 4, 8, 16)


def simulate(  # noqa: PLR0913 - a law and its noise
    seed: int, sigma: float, kappa: float, *, levels: tuple[int, ...] = LEVELS, blocks: int = 4, noise: float = 0.02
) -> NDArray[np.float64]:
    """Return throughput of shape (blocks, levels): blocks differ as a whole, and each window a little."""
    random = np.random.default_rng(seed)
    law = np.array([grow(level, 1000, sigma, kappa) for level in levels])
    return np.asarray(
        law * random.lognormal(0, noise, (blocks, len(levels))) * random.lognormal(0, 2 * noise, (blocks, 1))
    )


@pytest.mark.parametrize(
    ("model", "sigma", "kappa"),
    [("linear", 0.0, 0.0), ("amdahl", 0.1, 0.0), ("usl", 0.05, 0.004), ("usl", 0.0, 0.01), ("amdahl", 1.0, 0.0)],
)
def test_known_parameters_come_back(model: Model, sigma: float, kappa: float) -> None:
    """The model, its parameters, and the level of the greatest throughput are those that the points were made with."""
    law = fit_scaling_law(LEVELS, simulate(3, sigma, kappa, noise=0.005).tolist())
    assert model == law.model
    assert sigma == pytest.approx(law.sigma.estimate, abs=0.02)
    assert kappa == pytest.approx(law.kappa.estimate, abs=0.001)
    assert 1000 == pytest.approx(law.one.estimate, rel=0.03)
    if model == "usl":
        assert math.sqrt((1 - sigma) / kappa) == pytest.approx(law.best.estimate, rel=0.05)
    elif sigma < 1:
        assert math.inf == law.best.estimate == law.best.high
        assert law.best.low > LEVELS[-1]
    assert not law.is_misfit


@pytest.mark.parametrize(("sigma", "kappa"), [(0.0, 0.0), (0.1, 0.0), (0.05, 0.004), (0.3, 0.02)])
def test_intervals_cover_the_truth(sigma: float, kappa: float) -> None:
    """Of 60 simulated runs, at least 53 intervals hold the truth: fewer have a chance of 2 % where 95 % do."""
    runs, held = 60, dict.fromkeys(("sigma", "kappa", "one", "best", "beyond"), 0)
    levels, best = (1, 2, 4, 8), math.sqrt((1 - sigma) / kappa) if kappa else math.inf
    for seed in range(runs):
        law = fit_scaling_law(levels, simulate(seed, sigma, kappa, levels=levels, blocks=3).tolist())
        truths = {"sigma": (law.sigma, sigma), "kappa": (law.kappa, kappa), "one": (law.one, 1000.0)}
        truths |= {"best": (law.best, best), "beyond": (law.predict([16])[0], grow(16, 1000, sigma, kappa))}
        for name, (interval, truth) in truths.items():
            held[name] += interval.low - 1e-9 <= truth <= interval.high + 1e-9
    assert [] == [(name, count) for name, count in held.items() if count < 53]


def test_a_level_that_is_left_out_is_predicted() -> None:
    """The law of 1 to 16 predicts 32: within its interval, and within 10 %."""
    truth = grow(32, 1000, 0.05, 0.001)
    (predicted,) = fit_scaling_law(LEVELS, simulate(5, 0.05, 0.001).tolist()).predict([32])
    assert predicted.low <= truth <= predicted.high
    assert truth == pytest.approx(predicted.estimate, rel=0.1)


def test_a_simpler_model_leaves_room_for_what_it_lacks() -> None:
    """Where a linear law is chosen, intervals still hold all contention that the data can't rule out."""
    law = fit_scaling_law(LEVELS, simulate(1, 0, 0).tolist())
    (far,) = law.predict([1000])
    assert "linear" == law.model
    assert 0 < law.sigma.high < 0.05
    assert far.low < 0.5 * far.estimate


def test_points_that_follow_no_law_are_said_to() -> None:
    """Steps that noise doesn't explain are a misfit, and widen the intervals."""
    smooth = simulate(2, 0.1, 0, noise=0.003)
    stepped = fit_scaling_law(LEVELS, (smooth * [1, 1, 1.4, 1, 1.4]).tolist())
    assert stepped.is_misfit
    law = fit_scaling_law(LEVELS, smooth.tolist())
    assert not law.is_misfit
    assert law.sigma.high - law.sigma.low < 0.2 * (stepped.sigma.high - stepped.sigma.low)


def test_figures_without_any_noise_have_a_law() -> None:
    """Blocks that agree to the last digit don't divide by zero."""
    law = fit_scaling_law(LEVELS, [[grow(level) for level in LEVELS]] * 3)
    assert "linear" == law.model
    assert [1000, 0] == pytest.approx([law.one.estimate, law.sigma.estimate])


@pytest.mark.parametrize(
    ("levels", "figures"),
    [
        ((1, 2, 4), [[1.0, 2.0, 4.0]] * 3),
        ((1, 2, 4, 8), [[1.0, 2.0, 4.0, 8.0]]),
        ((1, 2, 4, 8), [[1.0, 2.0, 4.0]] * 3),
        ((1, 2, 4, 8), [[1.0, 2.0, 4.0, 0.0]] * 3),
        ((0, 2, 4, 8), [[1.0, 2.0, 4.0, 8.0]] * 3),
    ],
)
def test_too_little_is_no_law(levels: tuple[int, ...], figures: list[list[float]]) -> None:
    """Three levels, one block, a figure too few, of 0 or at a level of 0 are errors."""
    with pytest.raises(ValueError, match="law"):
        fit_scaling_law(levels, figures)

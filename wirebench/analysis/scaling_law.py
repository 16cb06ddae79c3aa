"""How throughput grows with the number of workers, replicas or connections: a law, with its uncertainty.

The universal scalability law (N. J. Gunther: Guerrilla Capacity Planning, Springer 2007, chapter 6):

    X(N) = λ N / (1 + σ (N - 1) + κ N (N - 1))

λ is the throughput of one, σ the share of the work that has to queue (contention), κ the cost of keeping each two
consistent (coherency). With κ = 0 it is Amdahl's law, with σ = 0 as well it is linear. X is greatest at
N = √((1 - σ) / κ).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from wirebench.analysis.ratio import BLOCKS_MIN, LEVEL, Ratio, compute_t_quantile, mean

Model = Literal["linear", "amdahl", "usl"]
_Floats = NDArray[np.float64]
_Free = tuple[int, ...]

#: With fewer levels nothing is left to see that the law is wrong; with fewer blocks there is no noise to see it by.
LEVELS_MIN = 4
#: A law is followed up to so many; more is as good as without end.
COUNT_MAX = 10_000
_SIGMA, _KAPPA = 0, 1
#: The parameters of the shape that may be other than 0, by model and the fewest first.
_FREE: dict[Model, tuple[_Free, ...]] = {
    "linear": ((),),
    "amdahl": ((), (_SIGMA,)),
    "usl": ((), (_SIGMA,), (_KAPPA,), (_SIGMA, _KAPPA)),
}
_STARTS = np.array([[0.02, 1e-3], [0.5, 1e-2]])
#: Sums of squares that are equal but for this share of them are equal: those of the fewest parameters are taken.
_TOLERANCE = 1e-6
#: The parameters that data allows are searched in so many directions from the best ones, up to these distances, where
#: the linear approximation ends at 1.
_DIRECTIONS = 180
_DISTANCES = np.concatenate([np.linspace(0, 3, 151), np.geomspace(3.1, 1e6, 80)])


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its 95 % interval; infinite ends are without limit."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class ScalingLaw:
    """A law that was fitted to the throughput at several levels.

    `throughput` is that of each level, of shape (levels,). A parameter that `model` doesn't have is 0, but its interval
    is that of the whole law: what the data can't see may still be there. `best` is the level of the greatest
    throughput, never below 1, and infinite where adding always helps. `aicc` is by model, the least is chosen.
    `is_misfit` is whether the points lie farther from the law than their noise explains.
    """

    model: Model
    levels: tuple[float, ...]
    throughput: tuple[Ratio, ...]
    sigma: Estimate
    kappa: Estimate
    best: Estimate
    aicc: Mapping[Model, float]
    is_misfit: bool
    #: σ and κ of the model, and all of the whole law that the data allows, of shape (points, 2).
    _shape: _Floats = field(repr=False)
    _allowed: _Floats = field(repr=False)
    _log_mean: float
    _half_width: float

    @property
    def one(self) -> Estimate:
        """The throughput of one: λ."""
        return self.predict((1,))[0]

    @property
    def residuals(self) -> tuple[float, ...]:
        """Measured throughput as a ratio to the law's, of shape (levels,)."""
        laws = self.predict(self.levels)
        return tuple(each.estimate / law.estimate for each, law in zip(self.throughput, laws, strict=True))

    def predict(self, levels: Sequence[float]) -> tuple[Estimate, ...]:
        """Return the throughput of a typical block at these levels, of shape (levels,).

        The height of the curve and its shape are independent; their intervals are added by squares on either side
        (G. Y. Zou, A. Donner: Construction of confidence limits about effect measures, Statistics in Medicine
        27, 2008).
        """
        at, measured = np.asarray(levels, dtype=np.float64), np.asarray(self.levels)
        shape = _grow(self._shape, at) - _grow(self._shape, measured).mean()
        allowed = _grow(self._allowed, at) - _grow(self._allowed, measured).mean(axis=-1, keepdims=True)
        below = np.hypot(np.maximum(shape - allowed.min(axis=0), 0), self._half_width)
        above = np.hypot(np.maximum(allowed.max(axis=0) - shape, 0), self._half_width)
        ends = (np.exp(self._log_mean + shape + each) for each in (0, -below, above))
        return tuple(Estimate(*map(float, each)) for each in zip(*ends, strict=True))


def find_common_blocks(by_level: Mapping[float, Mapping[int, float]]) -> list[int]:
    """Return the blocks that have a figure of every level."""
    return sorted(set.intersection(*map(set, by_level.values()))) if by_level else []


def fit_common_blocks(by_level: Mapping[float, Mapping[int, float]]) -> ScalingLaw | None:
    """Fit a law to figures by ascending level and by block; None for too few levels or common blocks."""
    blocks = find_common_blocks(by_level)
    if len(by_level) < LEVELS_MIN or len(blocks) < BLOCKS_MIN:
        return None
    return _fit_once(tuple(by_level), tuple(tuple(of[block] for of in by_level.values()) for block in blocks))


def fit_scaling_law(levels: Sequence[float], throughput: Sequence[Sequence[float]]) -> ScalingLaw:
    """Fit linear growth, Amdahl's law and the universal law to figures of shape (blocks, levels), and choose one.

    Least squares of the logarithms, less the mean of each block: noise multiplies, and what disturbs a block disturbs
    all of it. σ is within 0 and 1, κ at least 0. The model with the least AICc is chosen (C. M. Hurvich, C.-L. Tsai:
    Regression and time series model selection in small samples, Biometrika 76, 1989).

    Intervals are profile likelihood intervals: the range of a figure over all parameters of the universal law whose sum
    of squares is at most the least one plus s² t² (D. M. Bates, D. G. Watts: Nonlinear Regression Analysis and Its
    Applications, Wiley 1988, chapter 6). Raises ValueError for too few levels or blocks, levels below 1, and figures
    that aren't positive.
    """
    figures, at = np.asarray(throughput, dtype=np.float64), np.asarray(levels, dtype=np.float64)
    if len(at) < LEVELS_MIN or len(figures) < BLOCKS_MIN or figures.shape != (len(figures), len(at)):
        raise ValueError(f"figures of shape {figures.shape} make no law over {len(at)} levels")
    if figures.min() <= 0 or at.min() < 1:
        raise ValueError("a law needs positive figures, and levels of 1 or more")
    logs = np.log(figures)
    blocks, points = logs.shape
    means, heights = logs.mean(axis=0), logs.mean(axis=1)
    noise = float(((logs - means - heights[:, None] + logs.mean()) ** 2).sum())
    shapes = {free: _minimise(at, means, free) for free in _FREE["usl"]}
    sums = {free: blocks * float(_sum_squares(shape, at, means)) for free, shape in shapes.items()}
    chosen = {model: _choose_fewest(among, sums) for model, among in _FREE.items()}
    aicc = {
        model: _compute_aicc(noise + sums[free], blocks * (points - 1), parameters)
        for parameters, (model, free) in enumerate(chosen.items(), 1)
    }
    model = min(aicc, key=lambda each: aicc[each])
    shape, whole = shapes[chosen[model]], chosen["usl"]
    degrees = ((blocks - 1) * (points - 1), points - 1 - len(whole))
    is_misfit, reach = _compute_reach((noise, sums[whole]), degrees)
    allowed = _find_allowed(at, means, shapes[whole], (sums[whole] + reach) / blocks)
    half_width = compute_t_quantile(blocks - 1, 1 - LEVEL / 2) * float(heights.std(ddof=1)) / math.sqrt(blocks)
    return ScalingLaw(
        model=model,
        levels=tuple(map(float, levels)),
        throughput=tuple(mean([float(each) for each in figures[:, place]]) for place in range(points)),
        sigma=_enclose(shape[_SIGMA], allowed[:, _SIGMA]),
        kappa=_enclose(shape[_KAPPA], allowed[:, _KAPPA]),
        best=_enclose(_find_best(shape), _find_best(allowed)),
        aicc=aicc,
        is_misfit=is_misfit,
        _shape=shape,
        _allowed=allowed,
        _log_mean=float(logs.mean()),
        _half_width=half_width,
    )


#: The sentences and the pictures of a run are of the same laws, and a fit takes tens of milliseconds.
_fit_once = functools.lru_cache(256)(fit_scaling_law)


def _grow(shapes: _Floats, at: _Floats) -> _Floats:
    """Return log(X / λ) of parameters of shape (…, 2) at levels, of shape (…, levels)."""
    sigma, kappa = shapes[..., _SIGMA, None], shapes[..., _KAPPA, None]
    return np.asarray(np.log(at) - np.log1p((at - 1) * (sigma + kappa * at)))


def _center(logs: _Floats) -> _Floats:
    return np.asarray(logs - logs.mean(axis=-1, keepdims=True))


def _sum_squares(shapes: _Floats, at: _Floats, means: _Floats) -> _Floats:
    """Return the sum of the squared distances of the levels' means from laws of shape (…, 2), at their best height."""
    return np.asarray((_center(means - _grow(shapes, at)) ** 2).sum(axis=-1))


def _minimise(at: _Floats, means: _Floats, free: _Free) -> _Floats:
    """Return σ and κ of the least sum of squares; those that aren't free are 0."""
    from scipy.optimize import least_squares

    places = list(free)

    def make_shape(values: _Floats) -> _Floats:
        shape = np.zeros(2)
        shape[places] = values
        return shape

    def measure(values: _Floats) -> _Floats:
        return _center(means - _grow(make_shape(values), at))

    if not free:
        return np.zeros(2)
    found = [
        least_squares(
            measure,
            start[places],
            bounds=(np.zeros(len(free)), np.array([1.0, np.inf])[places]),
            x_scale=np.array([1.0, 1 / float(at.max())])[places],
            method="dogbox",
            xtol=1e-10,
            ftol=1e-12,
            gtol=1e-12,
        )
        for start in _STARTS
    ]
    return make_shape(min(found, key=lambda each: float(each.cost)).x)


def _choose_fewest(among: Sequence[_Free], sums: Mapping[_Free, float]) -> _Free:
    """Return the fewest free parameters that come as near to the points as any."""
    least = min(sums[free] for free in among)
    return next(free for free in among if sums[free] <= least * (1 + _TOLERANCE) + math.ulp(1.0))


def _compute_aicc(squares: float, figures: int, parameters: int) -> float:
    """Return AICc of so many independent figures; the noise is one of the parameters."""
    correction = 2 * parameters * (parameters + 1) / (figures - parameters - 1)
    return figures * math.log(max(squares, math.ulp(1.0)) / figures) + 2 * parameters + correction


def _compute_reach(squares: tuple[float, float], degrees: tuple[int, int]) -> tuple[bool, float]:
    """Return whether a law misses the points, and s² t²; of sums of squares of the noise, and of the distances from it.

    s² is of both together, unless an F test of lack of fit finds that noise doesn't explain the distances: then it is
    of the distances alone, which are the same in every block (N. R. Draper, H. Smith: Applied Regression Analysis,
    Wiley 1998, chapter 2).
    """
    from scipy.special import fdtrc

    noise, distances = squares[0] / degrees[0], squares[1] / degrees[1]
    is_misfit = bool(fdtrc(degrees[1], degrees[0], distances / max(noise, math.ulp(1.0) ** 2)) < LEVEL)
    freedom = degrees[1] if is_misfit else sum(degrees)
    variance = distances if is_misfit else sum(squares) / freedom
    return is_misfit, variance * compute_t_quantile(freedom, 1 - LEVEL / 2) ** 2


def _find_allowed(at: _Floats, means: _Floats, best: _Floats, sum_max: float) -> _Floats:
    """Return the outermost parameters whose sum of squares is at most that, and the best ones, of shape (points, 2).

    They are found along rays, in coordinates in which the region would be a circle, were the law linear in them; where
    a ray meets a limit of the parameters, it continues along it.
    """
    scale = np.array([1.0, 1 / float(at.max())])
    slopes = (at - 1) * np.stack([np.ones_like(at), at]) / (1 + (at - 1) * (best[_SIGMA] + best[_KAPPA] * at))
    jacobian = _center(slopes).T * scale
    least = float(_sum_squares(best, at, means))
    _, lengths, axes = np.linalg.svd(jacobian, full_matrices=False)
    angles = np.linspace(0, 2 * np.pi, _DIRECTIONS, endpoint=False)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    radius = math.sqrt(max(sum_max - least, 0)) / np.maximum(lengths, math.ulp(1.0))
    rays = (circle * radius) @ axes * scale
    reached = np.clip(best + _DISTANCES[:, None, None] * rays, 0, [1.0, np.inf])
    fits = _sum_squares(reached, at, means) <= sum_max
    last = len(_DISTANCES) - 1 - fits[::-1].argmax(axis=0)
    outermost = reached[last, np.arange(_DIRECTIONS)]
    return np.concatenate([best[None], outermost[fits.any(axis=0)]])


def _find_best(shapes: _Floats) -> _Floats:
    """Return the level of the greatest throughput of laws of shape (…, 2); infinite without any."""
    with np.errstate(divide="ignore", invalid="ignore"):
        best = np.sqrt((1 - shapes[..., _SIGMA]) / shapes[..., _KAPPA])
    # With σ = 1 and κ = 0 all levels have the throughput of one.
    return np.asarray(np.maximum(np.nan_to_num(best, nan=1.0, posinf=np.inf), 1.0))


def _enclose(estimate: float | _Floats, allowed: _Floats) -> Estimate:
    """Return an estimate with the range of the values that data allows."""
    value = float(estimate)
    return Estimate(value, min(value, float(allowed.min())), max(value, float(allowed.max())))

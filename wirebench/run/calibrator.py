"""Calibration for a run: the error of its drivers at its loads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from wirebench.errors import WirebenchError
from wirebench.measure.calibrate import Probe, choose_probes, measure_coarsely, plan_probes, write_undisturbed
from wirebench.measure.calibration import Calibration, Fingerprint, read_calibration
from wirebench.measure.usage import Interference
from wirebench.model.labels import pluralise
from wirebench.plan.plan import Plan
from wirebench.results.runs import RunWriter
from wirebench.run.load_pod import pods
from wirebench.run.progress import Progress
from wirebench.targets import Cores, LoadPods, Target, divide_cores


@dataclass(slots=True)
class Calibrator:
    """Looks up the drivers' error, and measures it coarsely at loads where it isn't known."""

    plan: Plan
    target: Target
    writer: RunWriter
    progress: Progress
    #: None where nothing is known.
    calibration: Calibration | None = None

    def calibrate(self) -> None:
        """Find the calibration; if that fails, note it and continue without.

        The target `external` leaves the driver all cores of this machine: it is at least as good there as on its half.
        """
        load_pods = self.target.load_pods
        if load_pods:
            self.target.start(())  # creates the namespace of the load pods
        try:
            if load_pods:
                self._calibrate_in_pod(load_pods)
            else:
                self._calibrate_here(self.target.cores or divide_cores())
        except WirebenchError as error:
            self.writer.note(f"the drivers' error isn't known everywhere: {error.message}: {error.hint}")

    def _calibrate_here(self, cores: Cores) -> None:
        """Keep what is measured for later runs, unless other processes disturbed it. Raises WirebenchError."""
        self.calibration, stale = read_calibration(Fingerprint.of(cores))
        probes, left_out = self._choose_probes(self.calibration, f"{stale}; " if stale else "")
        if left_out:
            self.writer.note(
                f"{pluralise(left_out, 'load')} left to calibrate for the next run, or `wirebench calibrate`"
            )
        if probes:
            interference = Interference(cores.all)
            points, problems = measure_coarsely(probes, cores)
            self._warn_of_uncalibrated(problems)
            self.calibration = self.calibration.add_points(points)
            try:
                write_undisturbed(self.calibration, interference)
            except WirebenchError as error:
                self.writer.note(f"the next run will calibrate again: {error.message}: {error.hint}")

    def _calibrate_in_pod(self, load_pods: LoadPods) -> None:
        """Measure for this run alone: what else runs in the cluster may have disturbed it. Raises WirebenchError."""
        calibrate = partial(pods.calibrate, load_pods, self.plan.scenario.load)
        place = calibrate()
        self.calibration, stale = read_calibration(place.conditions, place.versions)
        probes, left_out = self._choose_probes(self.calibration, f"in a load pod: {stale and f'{stale}; '}")
        if left_out:
            self.writer.note(f"no time to calibrate {pluralise(left_out, 'load')}")
        if probes:
            calibrated = calibrate(probes)
            self._warn_of_uncalibrated(calibrated.problems)
            self.calibration = self.calibration.add_points(calibrated.points)

    def _choose_probes(self, known: Calibration, about: str) -> tuple[list[Probe], int]:
        """Return the probes that there is time for, and how many loads are left out; announce how long they take."""
        plan = self.plan
        cells = dict.fromkeys(planned.cell for block in plan.blocks for planned in plan.list_cells_left(block))
        probes, left_out = choose_probes(plan_probes(cells, plan.scenario.load, known))
        if probes:
            drivers = ", ".join(dict.fromkeys(probe.driver for probe in probes))
            expected_s = sum(probe.expected_s for probe in probes)
            self.progress.step(f"{about}calibrating {drivers}, about {expected_s:.0f} s")
        return probes, left_out

    def _warn_of_uncalibrated(self, problems: Sequence[str]) -> None:
        if problems:
            self.writer.note(f"the drivers' error isn't known everywhere: {'; '.join(problems)}")

"""`/runs/<id>`: one run, read from its folder: provenance, cells with their gates, and what they support."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from datetime import datetime

from wirebench.index import Result
from wirebench.stats import METRICS, CellSummary, Comparison, compare, summarise, words
from wirebench.stats.names import machine_name
from wirebench.stats.summary import clock_of, worst
from wirebench.store import Gate, Record, Run
from wirebench.web.api.answers import CellComparison, CellGate, RunAnswer, RunCell
from wirebench.web.api.endpoint import Asked, Endpoint

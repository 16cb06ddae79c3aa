"""The one place that executes a plan: run, resume.

from wirebench.plan import make_plan, read_scenario
from wirebench.run.runner import execute

run = execute(make_plan(read_scenario("quick"), seed=1))
"""

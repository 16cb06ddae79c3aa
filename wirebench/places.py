"""Where the project's own files are: scenarios, scripts, protos and tools, beside the package."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCENARIOS = ROOT / "scenarios"
K6_SCRIPTS = ROOT / "k6"
CONTRACT = ROOT / "proto" / "python" / "wirebench_proto" / "contract.binpb"
TOOLS = ROOT / ".tools" / "bin"

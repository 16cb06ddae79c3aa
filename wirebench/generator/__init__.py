"""The program that sends load from a pod, and the words that it and the harness exchange."""

from __future__ import annotations

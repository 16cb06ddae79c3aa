"""When requests arrived elsewhere: timing files, what they look like, and where they come from."""

from __future__ import annotations

from wirebench.timing.recording import Recording, read_recording

__all__ = ["Recording", "read_recording"]

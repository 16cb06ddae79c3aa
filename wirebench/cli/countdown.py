"""The time that something of a known length has left: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import threading
import time
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

_PLAIN_INTERVAL_S = 5.0
_BAR_INTERVAL_S = 0.5


class Countdown:
    """Counts down in a thread of its own while the `with` block runs: who runs it may wait for something else."""

    def __init__(self, text: str, expected_s: float) -> None:
        """Take what goes on, and how long it is expected to take, in seconds."""
        self._text = text
        self._expected_s = expected_s
        self._started = time.monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._count, name="countdown", daemon=True)
        self._console = Console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[left]}"),
            console=self._console,
            transient=True,
            auto_refresh=False,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task(text, total=expected_s, left=self._left(0))

    def __enter__(self) -> Self:
        """Begin."""
        self._bar.start()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Take the bar away."""
        self._ended.set()
        self._thread.join()
        self._bar.stop()

    def _count(self) -> None:
        is_terminal = self._console.is_terminal
        while True:
            elapsed_s = time.monotonic() - self._started
            if is_terminal:
                self._bar.update(self._task, completed=elapsed_s, left=self._left(elapsed_s), refresh=True)
            else:
                self._console.print(f"{self._text}: {self._left(elapsed_s)}", highlight=False, soft_wrap=True)
            if self._ended.wait(_BAR_INTERVAL_S if is_terminal else _PLAIN_INTERVAL_S):
                return

    def _left(self, elapsed_s: float) -> str:
        seconds = round(self._expected_s - elapsed_s)
        return f"{seconds // 60}:{seconds % 60:02d} left" if seconds > 0 else "finishing"

"""Write the JSON of all dashboards."""

from pathlib import Path

from grafana.board import Board
from grafana.boards import BOARDS
from grafana.generate import to_json

GENERATED = Path(__file__).parent / "generated"


def path_of(board: Board) -> Path:
    """Return a dashboard's file."""
    return GENERATED / f"{board.uid}.json"


def main() -> None:
    """Write one file a dashboard."""
    for board in BOARDS:
        path_of(board).write_text(to_json(board), encoding="utf-8")


if __name__ == "__main__":
    main()

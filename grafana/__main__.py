"""Write the JSON of all dashboards."""

from pathlib import Path

from grafana.board import Board
from grafana.boards import BOARDS
from grafana.generate import to_json

GENERATED = Path(__file__).parent / "generated"


def path_of(board: Board) -> Path:
    """Return a dashboard's file: in a folder of what it asks, which is not everywhere."""
    return GENERATED / board.datasource.name / f"{board.uid}.json"


def main() -> None:
    """Write one file a dashboard."""
    for board in BOARDS:
        path = path_of(board)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(to_json(board), encoding="utf-8")


if __name__ == "__main__":
    main()

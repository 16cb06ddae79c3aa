"""Write the JSON of all dashboards."""

from pathlib import Path

from grafana.boards import BOARDS
from grafana.generate import to_json

GENERATED = Path(__file__).parent / "generated"


def main() -> None:
    """Write one file a dashboard."""
    GENERATED.mkdir(exist_ok=True)
    for board in BOARDS:
        (GENERATED / f"{board.uid}.json").write_text(to_json(board), encoding="utf-8")


if __name__ == "__main__":
    main()

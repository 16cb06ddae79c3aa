"""The dashboards, one module each."""

from grafana.board import Board
from grafana.boards.generators import GENERATORS
from grafana.boards.scaling import SCALING
from grafana.boards.transports import TRANSPORTS

BOARDS: tuple[Board, ...] = (TRANSPORTS, SCALING, GENERATORS)

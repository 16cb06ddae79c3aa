"""The routes of the ledger."""

from __future__ import annotations

from services.rest.routes import Route

ROUTES = (
    Route("GET", "/accounts/{account_id}/balance", "ledger.get_balance"),
    Route("GET", "/transactions/stream", "ledger.stream_transactions", query=("since", "rate_limit", "limit")),
)

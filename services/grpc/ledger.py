"""The RPCs of LedgerService."""

from __future__ import annotations

from services.grpc.rpcs import RpcService

SERVICE = RpcService(
    "wirebench.v1.LedgerService",
    {
        "GetBalance": "ledger.get_balance",
        "StreamTransactions": "ledger.stream_transactions",
    },
)

"""The operations on the ledger."""

from __future__ import annotations

from typing import Any

from wirebench_proto import ledger_pb2 as pb

from services.domain.ledger import Balance, Transaction
from services.operations.codec import only
from services.operations.operation import Fields, Operation

_STREAM_FIELDS = ("since", "rate_limit", "limit")


def _json_of_balance(balance: Balance) -> dict[str, object]:
    return balance._asdict()


def _fill_balance(response: Any, balance: Balance) -> None:  # noqa: ANN401 - a generated message
    data: pb.Balance = response.data
    data.account_id, data.owner, data.currency, data.balance_cents, data.transactions = balance


def _choice_of_message(message: pb.StreamTransactionsRequest) -> Fields:
    return {name: getattr(message, name) for name in _STREAM_FIELDS if message.HasField(name)}


def _json_of_transaction(transaction: Transaction) -> dict[str, object]:
    return transaction._asdict()


def _fill_transaction(response: Any, transaction: Transaction) -> None:  # noqa: ANN401
    data: pb.Transaction = response.data
    (
        data.id, data.time, data.from_account_id, data.to_account_id,
        data.amount_cents, data.currency, data.reference, data.description,
    ) = transaction  # fmt: skip


OPERATIONS = (
    Operation(
        name="ledger.get_balance",
        message="Balance retrieved successfully",
        request=pb.GetBalanceRequest,
        response=pb.GetBalanceResponse,
        call=lambda application, fields: application.ledger.get_balance(fields.get("account_id", 0)),
        fields_of_json=lambda fields: only(fields, "account_id"),
        fields_of_message=lambda message: {"account_id": message.account_id},
        json_of_value=_json_of_balance,
        fill_message=_fill_balance,
    ),
)

#: What `call` returns is a feed, and the conversions are of its items.
STREAMS = (
    Operation(
        name="ledger.stream_transactions",
        message="",  # the end of a stream has no words
        request=pb.StreamTransactionsRequest,
        response=pb.StreamTransactionsResponse,
        call=lambda application, fields: application.ledger.stream_transactions(
            *(fields.get(name) for name in _STREAM_FIELDS)
        ),
        fields_of_json=lambda fields: only(fields, *_STREAM_FIELDS),
        fields_of_message=_choice_of_message,
        json_of_value=_json_of_transaction,
        fill_message=_fill_transaction,
    ),
)

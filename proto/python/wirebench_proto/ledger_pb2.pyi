from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Balance(_message.Message):
    __slots__ = ("account_id", "owner", "currency", "balance_cents", "transactions")
    ACCOUNT_ID_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    CURRENCY_FIELD_NUMBER: _ClassVar[int]
    BALANCE_CENTS_FIELD_NUMBER: _ClassVar[int]
    TRANSACTIONS_FIELD_NUMBER: _ClassVar[int]
    account_id: int
    owner: str
    currency: str
    balance_cents: int
    transactions: int
    def __init__(self, account_id: _Optional[int] = ..., owner: _Optional[str] = ..., currency: _Optional[str] = ..., balance_cents: _Optional[int] = ..., transactions: _Optional[int] = ...) -> None: ...

class Transaction(_message.Message):
    __slots__ = ("id", "time", "from_account_id", "to_account_id", "amount_cents", "currency", "reference", "description")
    ID_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    FROM_ACCOUNT_ID_FIELD_NUMBER: _ClassVar[int]
    TO_ACCOUNT_ID_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_CENTS_FIELD_NUMBER: _ClassVar[int]
    CURRENCY_FIELD_NUMBER: _ClassVar[int]
    REFERENCE_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    id: int
    time: int
    from_account_id: int
    to_account_id: int
    amount_cents: int
    currency: str
    reference: str
    description: str
    def __init__(self, id: _Optional[int] = ..., time: _Optional[int] = ..., from_account_id: _Optional[int] = ..., to_account_id: _Optional[int] = ..., amount_cents: _Optional[int] = ..., currency: _Optional[str] = ..., reference: _Optional[str] = ..., description: _Optional[str] = ...) -> None: ...

class GetBalanceRequest(_message.Message):
    __slots__ = ("account_id",)
    ACCOUNT_ID_FIELD_NUMBER: _ClassVar[int]
    account_id: int
    def __init__(self, account_id: _Optional[int] = ...) -> None: ...

class GetBalanceResponse(_message.Message):
    __slots__ = ("success", "message", "data")
    SUCCESS_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    success: bool
    message: str
    data: Balance
    def __init__(self, success: _Optional[bool] = ..., message: _Optional[str] = ..., data: _Optional[_Union[Balance, _Mapping]] = ...) -> None: ...

class StreamTransactionsRequest(_message.Message):
    __slots__ = ("since", "rate_limit", "limit")
    SINCE_FIELD_NUMBER: _ClassVar[int]
    RATE_LIMIT_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    since: int
    rate_limit: int
    limit: int
    def __init__(self, since: _Optional[int] = ..., rate_limit: _Optional[int] = ..., limit: _Optional[int] = ...) -> None: ...

class StreamTransactionsResponse(_message.Message):
    __slots__ = ("data",)
    DATA_FIELD_NUMBER: _ClassVar[int]
    data: Transaction
    def __init__(self, data: _Optional[_Union[Transaction, _Mapping]] = ...) -> None: ...

CREATE TABLE balances (
    account_id integer PRIMARY KEY,
    owner text NOT NULL,
    currency text NOT NULL,
    balance_cents bigint NOT NULL,
    transactions integer NOT NULL
);

CREATE TABLE transactions (
    id integer PRIMARY KEY,
    time bigint NOT NULL,
    from_account_id integer NOT NULL,
    to_account_id integer NOT NULL,
    amount_cents bigint NOT NULL,
    currency text NOT NULL,
    reference text NOT NULL,
    description text NOT NULL
);

CREATE INDEX transactions_time ON transactions (time, id);

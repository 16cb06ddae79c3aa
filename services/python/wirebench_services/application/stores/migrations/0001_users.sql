CREATE TABLE users (
    id integer PRIMARY KEY,
    name text NOT NULL,
    email text NOT NULL,
    phone text,
    address text,
    bio text,
    tags text[] NOT NULL,
    avatar bytea
);

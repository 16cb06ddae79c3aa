// What each operation sends, whatever the transport, and what a right answer to it looks like.
//
// An operation has input(), which returns the fields of its request message, and check(data, input),
// which says whether the data of a reply is the right answer. Those that work on a user have the
// virtual user's choice of one: see work.js.

import encoding from 'k6/encoding';

const BIO_CHARACTERS = 3000;
const AVATAR_BYTES = 4096;

// makeOperations returns the operations by name, for one virtual user. `ids` chooses users:
// ids.toRead(), ids.toDelete(), ids.fresh(), the first of as many as an operation creates, and
// ids.any(), one that was there before the load; and an account: ids.account().
export function makeOperations({ payload, payloadBytes, listUsers, batchUsers }, ids) {
  const extras = payload === 'profile' ? profile() : {};
  const user = (id) => ({ id, name: `User ${id}`, email: `user${id}@example.com`, ...extras });
  const same = (data, sent) => data.id === sent.id && data.name === sent.name && data.avatar === sent.avatar;
  return {
    'users.get': {
      input: () => ({ id: ids.toRead() }),
      check: (data, { id }) => data.id === id && data.name.length > 0,
    },
    'users.create': {
      input: () => ({ user: user(ids.fresh()) }),
      check: (data, sent) => same(data, sent.user),
    },
    'users.update': {
      input() {
        const id = ids.toRead();
        return { id, bio: `Updated ${id}${extras.bio || ''}` };
      },
      check: (data, { id, bio }) => data.id === id && data.bio === bio,
    },
    'users.delete': {
      input: () => ({ id: ids.toDelete() }),
      check: (data, { id }) => data.id === id && data.name.length > 0,
    },
    'users.list': {
      input: () => ({ limit: listUsers, after_id: ids.any(listUsers) - 1 }),
      check: (data, { after_id }) => data.length === listUsers && data.every(({ id }) => id > after_id),
    },
    'users.create_batch': {
      input() {
        const first = ids.fresh();
        return { users: Array.from({ length: batchUsers }, (_, place) => user(first + place)) };
      },
      check: (data, { users }) => data.length === users.length && users.every((sent, place) => same(data[place], sent)),
    },
    'ledger.get_balance': {
      input: () => ({ account_id: ids.account() }),
      // k6's gRPC client writes the names of fields in camel case.
      check: (data, { account_id }) => (data.account_id || data.accountId) === account_id && data.owner.length > 0,
    },
    'echo.echo': constant({ payload: encoding.b64encode(bytes(payloadBytes).buffer) }, (data, { payload }) => data.payload === payload),
    'echo.upper': constant({ text: text(payloadBytes) }, (data, sent) => data.text === sent.text.toUpperCase()),
  };
}

function constant(input, check) {
  return { input: () => input, check };
}

// profile returns the fields that make a small user a whole profile.
function profile() {
  return {
    phone: '+49 30 5550 1234',
    address: '12 Harbour Street, 20457 Hamburg, Germany',
    bio: text(BIO_CHARACTERS),
    tags: ['reader', 'writer', 'sailor', 'night-owl', 'early-bird', 'cyclist'],
    avatar: encoding.b64encode(bytes(AVATAR_BYTES).buffer),
  };
}

function text(characters) {
  return 'wirebench '.repeat(characters / 10 + 1).slice(0, characters);
}

function bytes(length) {
  return new Uint8Array(length).map((_, place) => place % 256);
}

// What each operation sends, whatever the transport, and what a right answer to it looks like.
//
// An operation has input(), which returns the fields of its request message, and check(data, input),
// which says whether the data of a reply is the right answer.

import exec from 'k6/execution';
import encoding from 'k6/encoding';
import { randomIntegers } from './random.js';

const LIST_LIMIT = 20;

// makeOperation returns the operation that the settings name, for one virtual user.
export function makeOperation(settings) {
  const random = randomIntegers(settings.seed, exec.vu.idInTest);
  const anyUser = () => settings.firstUser + random(settings.users);
  return makers[settings.operation](settings, anyUser);
}

const makers = {
  'users.get': (settings, anyUser) => ({
    input: () => ({ id: anyUser() }),
    check: (data, { id }) => data.id === id && data.name.length > 0,
  }),
  'users.create': (settings) => ({
    input() {
      const id = settings.idBase + exec.scenario.iterationInTest;
      return { user: { id, name: `User ${id}`, email: `user${id}@example.com` } };
    },
    check: (data, { user }) => data.id === user.id && data.name === user.name && data.email === user.email,
  }),
  'users.update': (settings, anyUser) => ({
    input() {
      const id = anyUser();
      return { id, bio: `Updated ${id}` };
    },
    check: (data, { id, bio }) => data.id === id && data.bio === bio,
  }),
  'users.list': (settings, anyUser) => ({
    input: () => ({ limit: LIST_LIMIT, after_id: anyUser() }),
    check: (data, { after_id }) => data.length <= LIST_LIMIT && data.every((user) => user.id > after_id),
  }),
  'echo.echo': (settings) => {
    const bytes = new Uint8Array(settings.payloadBytes).map((_, place) => place % 256);
    const input = { payload: encoding.b64encode(bytes.buffer) };
    return { input: () => input, check: (data) => data.payload === input.payload };
  },
  'echo.upper': (settings) => {
    const input = { text: 'wirebench '.repeat(settings.payloadBytes / 10 + 1).slice(0, settings.payloadBytes) };
    const upper = input.text.toUpperCase();
    return { input: () => input, check: (data) => data.text === upper };
  },
};

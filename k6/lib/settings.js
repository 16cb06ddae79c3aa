// What the scripts are told by environment variables (k6 run -e NAME=value), the same for all scripts:
//
//   ADDRESS       host:port of the service, or several with commas between: users take them in turn
//   OPERATION     one of the application's, over and over; or instead
//   CLIENTS       kinds of clients as JSON, each with its share of the users and what they do:
//                 [{"name": "readers", "users": 9, "mix": {"users.get": 8, "users.list": 2}},
//                  {"name": "editors", "users": 1, "sequence": ["users.create", "users.update", "users.delete"]}]
//                 or for all users at once phases of equally many CALLS: each user makes the calls of one, and waits
//                 for the others: [{"users": 1, "phases": ["users.create", "users.list", "users.get", "users.delete"]}]
//   CONCURRENCY   virtual users; each keeps one connection of its own
//   RATE          requests per second; without it each user sends when it has its reply (closed load)
//   ARRIVALS      instead of a rate, a file: a JSON list of when requests are due, in nanoseconds from the start
//   CALLS         each user sends so many requests and stops; DURATION_S is the longest that it may take
//   WARMUP_CALLS  each user sends so many before them, which don't count, and waits for the others; the output takes
//                 those of all users as warmup_calls=
//   SPAWN_RATE    users that start a second, the first at once and the last within WARMUP_S; without it all start at once
//   WARMUP_S      load before the measured window
//   DURATION_S    the measured window
//   CONNECTION    keep, or reopen: a fresh connection for every request
//   RECONNECT     yes: a socket client that finds its kept connection closed sends once more, as others do by themselves
//   CODEC         json or protobuf; gRPC has no choice
//   TLS           no, or yes: https, and the same for gRPC and the socket
//   TLS_CA        PEM file (its whole path) of the authority to trust; without it, those of the system
//   TIMEOUT_S     a request that takes longer has failed
//   SEED          of the random ids
//   APPLICATION   what operations send and expect, if not application.json: another file of its form (its whole path)
//   DESCRIPTORS   its messages, compiled, if not those of proto/contract.binpb (its whole path)
//   SEEDED        what is there before the load, if not what the application says: {"users": {"first": 1, "count": 10}}
//   ID_BASE       what is created takes ids from here on
//   PAYLOAD       one of the application's (small, profile, list, batch, 512k), or a number of bytes or users
//   CHECK_EVERY   every so many requests of a user the reply's content is checked; 0 never
//
// and stream.js, whose OPERATION is a stream, and which has no CLIENTS:
//
//   TRANSPORT     rest, grpc, socket
//   STREAM_ITEMS  the items of each stream, 0 where the service decides; TIMEOUT_S is then the longest time without one
//   STREAM_RATE_LIMIT  items a second of each stream; without it as fast as they can be read

import exec from 'k6/execution';
import { checkVariables } from './headers.js';
import { find } from './inputs.js';

// PROTOSET are the messages of the application's protos, compiled.
export const PROTOSET = __ENV.DESCRIPTORS || '../proto/contract.binpb';

const application = JSON.parse(open(__ENV.APPLICATION || import.meta.resolve('../application.json')));
const [STREAMS, OPERATIONS] = [true, false].map((stream) =>
  Object.keys(application.operations).filter((name) => (application.operations[name].stream || false) === stream),
);
const ADDRESSES = { rest: '127.0.0.1:5000', grpc: '127.0.0.1:50051', socket: '127.0.0.1:9000' };
const CODECS = { rest: ['json'], grpc: ['protobuf'], socket: ['json', 'protobuf'] };
const MAX_INT32 = 2147483647;

// readSettings returns the settings, or throws with a line that says which variable is wrong.
export function readSettings(own) {
  const settings = { ...common(own), clients: clients() };
  checkPhases(settings);
  checkRequests(settings.clients.flatMap(operationsOf), own.transport);
  return settings;
}

function checkRequests(operations, transport) {
  for (const name of operations) {
    const request = application.operations[name][transport];
    if (!request || request.line !== undefined) {
      throw new Error(`${name} has no request on ${transport} that k6 can send`);
    }
    const { status = 200 } = request.expect || {};
    if (transport === 'rest' && Math.floor(status / 100) !== 2) {
      throw new Error(`${name} expects status ${status}, which k6 counts as a failure`);
    }
    checkVariables(request.headers || request.metadata);
  }
}

function checkPhases({ clients, calls }) {
  const { phases } = clients.find((each) => each.phases) || {};
  if (phases && (clients.length > 1 || calls === 0 || calls % phases.length !== 0)) {
    throw new Error(`CLIENTS: phases are for all users, and need CALLS: a multiple of ${phases.length}`);
  }
}

// readStreamSettings is readSettings for stream.js.
export function readStreamSettings() {
  const transport = oneOf('TRANSPORT', Object.keys(ADDRESSES), 'rest');
  const operation = oneOf('OPERATION', STREAMS, STREAMS[0]);
  checkRequests([operation], transport);
  return {
    ...common({ address: ADDRESSES[transport], codecs: CODECS[transport] }),
    transport,
    operation,
    streamItems: whole('STREAM_ITEMS', 0, 100000, 1000),
    streamRateLimit: whole('STREAM_RATE_LIMIT', 0, 1000000, 0),
  };
}

function common({ address, codecs }) {
  const settings = {
    application,
    addresses: text('ADDRESS', address).split(','),
    concurrency: whole('CONCURRENCY', 1, 10000, 1),
    rate: whole('RATE', 0, 1000000, 0),
    arrivals: text('ARRIVALS', ''),
    calls: whole('CALLS', 0, 100000, 0),
    warmupCalls: whole('WARMUP_CALLS', 0, 100000, 0),
    spawnRate: number('SPAWN_RATE', 0, 1000000, 0),
    warmupS: number('WARMUP_S', 0, 3600, 0.5),
    durationS: number('DURATION_S', 0.1, 86400, 1.5),
    reopen: oneOf('CONNECTION', ['keep', 'reopen'], 'keep') === 'reopen',
    reconnect: oneOf('RECONNECT', ['no', 'yes'], 'no') === 'yes',
    codec: oneOf('CODEC', codecs, codecs[0]),
    tls: readTLS(),
    timeoutS: number('TIMEOUT_S', 0.001, 600, 10),
    seed: whole('SEED', 0, MAX_INT32, 1),
    seeded: { ...application.seeded, ...json('SEEDED', '{}') },
    idBase: whole('ID_BASE', 1, MAX_INT32, 10000000),
    payload: text('PAYLOAD', 'default'),
    checkEvery: whole('CHECK_EVERY', 0, MAX_INT32, 100),
  };
  if (settings.warmupCalls > 0 && settings.calls === 0) {
    throw new Error('WARMUP_CALLS needs CALLS');
  }
  if (settings.spawnRate > 0 && (settings.concurrency - 1) / settings.spawnRate > settings.warmupS) {
    throw new Error('SPAWN_RATE: the last user must start within WARMUP_S');
  }
  const wrong = settings.addresses.find((each) => !/^[^,]+:\d+$/.test(each));
  if (wrong !== undefined) {
    throw new Error(`ADDRESS must be host:port, not '${wrong}'`);
  }
  return settings;
}

// ownAddress returns the address that this virtual user takes: round robin over connections, which it keeps.
export function ownAddress({ addresses }) {
  return addresses[(exec.vu.idInTest - 1) % addresses.length];
}

// clients returns the kinds of clients, of which there is one if all users do the same.
function clients() {
  const given = text('CLIENTS', '');
  if (given === '') {
    const operation = oneOf('OPERATION', OPERATIONS, OPERATIONS[0]);
    return [checked({ users: 1, sequence: [operation] })];
  }
  const kinds = json('CLIENTS', '');
  if (!Array.isArray(kinds) || kinds.length === 0) {
    throw new Error('CLIENTS must be a list of kinds of clients');
  }
  return kinds.map(checked);
}

function checked(kind) {
  const operations = operationsOf(kind);
  const unknown = operations.find((each) => !OPERATIONS.includes(each));
  if (unknown !== undefined || operations.length === 0 || !(kind.users > 0)) {
    throw new Error(`CLIENTS: each needs users, and a sequence, phases or mix of ${OPERATIONS.join(', ')}`);
  }
  const having = (generator) => operations.find((each) => find(application.operations[each], generator));
  if (having('created') && !having('fresh')) {
    const creating = OPERATIONS.find((each) => find(application.operations[each], 'fresh'));
    throw new Error(`${having('created')} needs ${creating} before it: a load deletes only what it has created`);
  }
  return kind;
}

// operationsOf returns the operations of a kind of clients.
export function operationsOf({ sequence, phases, mix }) {
  return sequence || phases || Object.keys(mix || {});
}

// readTLS returns the text of the PEM file, empty if none is named; null stands for plain text.
function readTLS() {
  if (oneOf('TLS', ['no', 'yes'], 'no') === 'no') {
    return null;
  }
  return { ca: text('TLS_CA', '') ? open(text('TLS_CA', '')) : '' };
}

function text(name, otherwise) {
  const given = __ENV[name];
  return given === undefined || given === '' ? otherwise : given;
}

function json(name, otherwise) {
  try {
    return JSON.parse(text(name, otherwise));
  } catch (error) {
    throw new Error(`${name} must be JSON: ${error.message}`);
  }
}

function oneOf(name, choices, otherwise) {
  const given = text(name, otherwise);
  if (!choices.includes(given)) {
    throw new Error(`${name} must be one of ${choices.join(', ')}, not '${given}'`);
  }
  return given;
}

function number(name, min, max, otherwise) {
  const given = text(name, otherwise);
  const value = Number(given);
  if (!(value >= min && value <= max)) {
    throw new Error(`${name} must be a number from ${min} to ${max}, not '${given}'`);
  }
  return value;
}

function whole(name, min, max, otherwise) {
  const value = number(name, min, max, otherwise);
  if (!Number.isInteger(value)) {
    throw new Error(`${name} must be a whole number, not '${__ENV[name]}'`);
  }
  return value;
}

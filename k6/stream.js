// Load of streams, on any of the three transports: one stream an iteration, read to its end. By hand:
//
//   .tools/bin/k6 run --out wirebench=path=stream.json,warmup=500ms,window=1500ms \
//     -e TRANSPORT=socket -e CONCURRENCY=8 -e STREAM_ITEMS=1000 k6/stream.js
//
// All variables are in lib/settings.js.

import exec from 'k6/execution';
import { sleep } from 'k6';
import load from 'k6/x/wirebench/load';
import codec from 'k6/x/wirebench/codec';
import stream from 'k6/x/wirebench/stream';
import { PROTOSET, ownAddress, readStreamSettings } from './lib/settings.js';
import { buildOptions, loadMs } from './lib/options.js';
import { secured } from './lib/tls.js';
import { checkReply, compileContains, compileExpectation, everyNth, isConsecutive } from './lib/check.js';
import { compileHeaders, override } from './lib/headers.js';
import { drawSeeded, makeInputs } from './lib/inputs.js';
import { randomIntegers } from './lib/random.js';
import { encodeBody, mediaTypes } from './lib/rest.js';
import { compile, compileTarget, fixed, map, resolve } from './lib/template.js';

const settings = readStreamSettings();
export const options = buildOptions(settings);

// Streams that are on their way when the load is over would keep it from ending: a moment later, when
// no VU begins another one, they are cancelled.
const OVERTIME_MS = 20;

// Users that all began at once would ask for streams of equal length at the same moments ever after, and
// wait for items at the same moments: they begin evenly spread over the time of a stream, or of the warm-up.
const spreadS = settings.streamRateLimit > 0 ? Math.min(settings.streamItems / settings.streamRateLimit, settings.warmupS) : 0;

const binary = settings.transport === 'grpc' || settings.codec === 'protobuf';
const messages = binary ? codec.load(PROTOSET) : undefined;
const shouldCheck = everyNth(settings.checkEvery);
const operation = settings.application.operations[settings.operation];
// Whether the load decides how many items there are.
const isCounted = Object.values(operation.inputs || {}).some((each) => each.stream === 'items');
let client;
let draw;
let request;

export default function () {
  load.due();
  if (client === undefined) {
    client = newClient();
    const random = randomIntegers(settings.seed, exec.vu.idInTest);
    const ids = { seeded: (kind, room, offset) => drawSeeded(settings.seeded[kind], room, offset, random) };
    const inputs = makeInputs(operation, settings, ids, random);
    draw = inputs.draw;
    request = makeRequest[settings.transport](operation, inputs.known);
    sleep(settings.rate > 0 ? 0 : spreadS * ((exec.vu.idInTest - 1) / settings.concurrency));
  }
  const inputs = draw();
  const reply = client.read({
    name: settings.operation,
    method: request.method,
    target: request.target(inputs),
    end: request.end,
    body: request.body(inputs),
    headers: request.headers(inputs),
    items: settings.streamItems,
    until: exec.scenario.startTime + loadMs(settings) + OVERTIME_MS,
    check: shouldCheck(),
  });
  if (reply.status === 0) {
    checkReply(() => (!isCounted || reply.items === settings.streamItems) && (reply.first === null || isRight(reply, inputs)));
  }
}

// Each transport's way to ask for a stream, and what its items should be.
const makeRequest = {
  rest: ({ rest }, known) => {
    const [method, target] = rest.request.split(' ');
    const body = rest.body === undefined ? { value: null } : compile(rest.body, known);
    const own = compileAll(rest.headers, known);
    return {
      method,
      target: fixed(compileTarget(target, known)),
      end: rest.end,
      body: fixed(map(body, encodeBody)),
      headers: (inputs) => ({ ...override(mediaTypes('text/event-stream', resolve(body, inputs)), rest.headers), ...own(inputs) }),
      ...expecting((rest.expect || {}).json, known),
      hasText: compileContains((rest.expect || {}).contains, known),
    };
  },
  grpc: ({ grpc }, known) => ({
    target: () => grpc.call,
    body: fixed(map(compile(grpc.message || {}, known), (filled) => messages.encode(grpc.call, filled))),
    headers: compileAll(grpc.metadata, known),
    ...expecting(grpc.expect, known),
  }),
  socket: ({ socket, grpc }, known) => ({
    target: () => socket.method,
    body: messages
      ? makeRequest.grpc({ grpc }, known).body
      : fixed(map(compile(socket.body || {}, known), (filled) => JSON.stringify(filled))),
    headers: () => null,
    ...expecting(socket.expect, known),
  }),
};

// compileAll returns headers as a function of the inputs.
function compileAll(headers, known) {
  const { constant, vary } = compileHeaders(headers, known);
  return vary ? (inputs) => ({ ...constant, ...vary(inputs) }) : () => constant;
}

const expecting = (expectation, known) => ({ expectation, isExpected: compileExpectation(expectation, known) });

// isRight looks at the first and the last item, and whether as many are between them.
function isRight({ first, last, items }, inputs) {
  const { expectation, isExpected, hasText } = request;
  if (hasText && ![first, last].every((item) => hasText(item, inputs))) {
    return false;
  }
  if (expectation === undefined) {
    return true;
  }
  const ends = [first, last].map((item) => (messages ? dataOf(messages.decode(operation.grpc.call, item)) : JSON.parse(item)));
  return ends.every((item) => isExpected(item, inputs)) && isConsecutive(expectation, ...ends, items);
}

// On the socket a message stands for its data, as JSON does.
const dataOf = (message) => (settings.transport === 'socket' ? message.data : message);

function newClient() {
  secured(settings);
  return new stream.Client({
    transport: settings.transport,
    address: ownAddress(settings),
    codec: settings.codec,
    timeout: settings.timeoutS * 1000,
    reopen: settings.reopen,
    reconnect: settings.reconnect,
    tls: settings.tls !== null,
  });
}

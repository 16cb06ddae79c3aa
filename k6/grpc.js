// Load on the gRPC service: one unary call an iteration. By hand:
//
//   .tools/bin/k6 run --out wirebench=path=grpc.json,warmup=500ms,window=1500ms \
//     -e ADDRESS=127.0.0.1:50051 -e OPERATION=users.get -e CONCURRENCY=8 k6/grpc.js
//
// All variables are in lib/settings.js.

import encoding from 'k6/encoding';
import grpc from 'k6/net/grpc';
import load from 'k6/x/wirebench/load';
import { PROTOSET, ownAddress, readSettings } from './lib/settings.js';
import { buildOptions } from './lib/options.js';
import { byName } from './lib/params.js';
import { secured } from './lib/tls.js';
import { makeWork } from './lib/work.js';
import { checkReply, compileExpectation, everyNth } from './lib/check.js';
import { compileHeaders } from './lib/headers.js';
import { compile, fixed } from './lib/template.js';

const settings = readSettings({ transport: 'grpc', address: '127.0.0.1:50051', codecs: ['protobuf'] });
export const options = buildOptions(settings);

const REPLY_BYTES_MAX = 64 * 1024 * 1024;

const client = new grpc.Client();
client.loadProtoset(PROTOSET);

const timeoutMs = settings.timeoutS * 1000;
const connectParams = { plaintext: settings.tls === null, timeout: timeoutMs, maxReceiveSize: REPLY_BYTES_MAX };

// What goes with the calls that are counted under a name, and with those of them that are checked.
const paramsOf = byName((name, { metadata }) => {
  const paramsToCheck = { tags: { name }, timeout: timeoutMs, metadata };
  return { params: { ...paramsToCheck, discardResponseMessage: true }, paramsToCheck };
});

const shouldCheck = everyNth(settings.checkEvery);
let work;
let connected = false;

export default function () {
  load.due();
  work = work || makeWork(secured(settings), makeRequest);
  const step = work.next();
  const { params, paramsToCheck } = paramsOf(step.name, step.request);
  const toCheck = shouldCheck();
  const call = () => invoke(step, toCheck ? paramsToCheck : params);
  const reply = connected ? call() : load.opened(step.name, connect, call);
  if (settings.reopen && connected) {
    client.close();
    connected = false;
  }
  const ok = reply !== undefined && reply.status === grpc.StatusOK;
  work.settle(step, ok);
  if (toCheck && ok) {
    checkReply(() => step.request.isRight(reply.message, step.inputs));
  }
}

function connect() {
  client.connect(ownAddress(settings), connectParams);
  connected = true;
}

// makeRequest returns how an operation's inputs become a message, and what the reply should be.
function makeRequest({ grpc: { call, metadata, message, expect } }, known) {
  const { constant, vary } = compileHeaders(metadata, known);
  return {
    call,
    metadata: encodeMetadata(constant),
    vary: vary && ((inputs) => encodeMetadata(vary(inputs))),
    message: fixed(compile(message || {}, known)),
    isRight: compileExpectation(expect, known),
  };
}

// k6 takes the bytes of keys that end in -bin, which the application has in base64.
function encodeMetadata(metadata) {
  if (Object.keys(metadata).length === 0) {
    return undefined; // It costs nothing then.
  }
  const encode = (key, value) => (key.endsWith('-bin') ? new Uint8Array(encoding.b64decode(value.replace(/=+$/, ''), 'rawstd')) : value);
  return Object.fromEntries(Object.entries(metadata).map(([key, value]) => [key.toLowerCase(), encode(key.toLowerCase(), value)]));
}

function invoke({ name, request, inputs }, params) {
  const { vary } = request;
  const used = vary ? { ...params, metadata: { ...params.metadata, ...vary(inputs) } } : params;
  const startMs = Date.now();
  const reply = client.invoke(request.call, request.message(inputs), used);
  if (reply.status !== grpc.StatusOK) {
    fail(name, reply, Date.now() - startMs);
  }
  return reply;
}

// k6 counts a failed call without its words, and one that it timed out itself not at all.
function fail(name, reply, tookMs) {
  if (reply.status === grpc.StatusDeadlineExceeded && tookMs >= timeoutMs) {
    load.failed(name, reply.status, `no reply within ${settings.timeoutS}s`, tookMs);
  } else {
    load.explain(reply.status, reply.error.message);
  }
}

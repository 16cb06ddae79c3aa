// Load on the socket service: one request frame an iteration. By hand:
//
//   .tools/bin/k6 run --out wirebench=path=socket.json,warmup=500ms,window=1500ms \
//     -e ADDRESS=127.0.0.1:9000 -e OPERATION=users.get -e CONCURRENCY=8 k6/socket.js
//
// All variables are in lib/settings.js.

import load from 'k6/x/wirebench/load';
import socket from 'k6/x/wirebench/socket';
import { PROTOSET, ownAddress, readSettings } from './lib/settings.js';
import { buildOptions } from './lib/options.js';
import { byName } from './lib/params.js';
import { secured } from './lib/tls.js';
import { makeWork } from './lib/work.js';
import { checkReply, compileExpectation, everyNth } from './lib/check.js';
import { compile, fixed, isConstant, map } from './lib/template.js';

const settings = readSettings({ transport: 'socket', address: '127.0.0.1:9000', codecs: ['json', 'protobuf'] });
export const options = buildOptions(settings);

const client = new socket.Client({
  codec: settings.codec,
  timeout: settings.timeoutS * 1000,
  reconnect: settings.reconnect,
  tls: settings.tls !== null,
});
if (settings.codec === 'protobuf') {
  const called = Object.values(settings.application.operations).filter(({ socket, grpc }) => socket && grpc);
  client.load(PROTOSET, Object.fromEntries(called.map(({ socket, grpc }) => [socket.method, grpc.call])));
}

// What goes with the requests that are counted under a name.
const paramsOf = byName((name) => ({ tags: { name } }));

// makeRequest returns how an operation's inputs become a frame, and what the reply should be.
function makeRequest({ socket: { method, body, expect } }, known) {
  const filled = compile(body || {}, known);
  const made = isConstant(filled) ? map(filled, JSON.stringify) : filled;
  return { method, body: fixed(made), isRight: compileExpectation(expect, known) };
}

const shouldCheck = everyNth(settings.checkEvery);
let work;

export default function () {
  load.due();
  work = work || makeWork(secured(settings), makeRequest);
  const step = work.next();
  if (!client.connected) {
    client.connect(ownAddress(settings));
  }
  const { method, body, isRight } = step.request;
  const reply = client.call(method, body(step.inputs), step.name === method ? undefined : paramsOf(step.name));
  if (settings.reopen) {
    client.close();
  }
  work.settle(step, reply.status === 0);
  if (shouldCheck() && reply.status === 0) {
    checkReply(() => isRight(reply.json(), step.inputs));
  }
}

// Load on the gRPC service: one unary call an iteration. By hand:
//
//   .tools/bin/k6 run --out wirebench=path=grpc.json,warmup=500ms,window=1500ms \
//     -e ADDRESS=127.0.0.1:50051 -e OPERATION=users.get -e CONCURRENCY=8 k6/grpc.js
//
// All variables are in lib/settings.js.

import grpc from 'k6/net/grpc';
import load from 'k6/x/wirebench/load';
import { ownAddress, readSettings } from './lib/settings.js';
import { buildOptions } from './lib/options.js';
import { byName } from './lib/params.js';
import { secured } from './lib/tls.js';
import { makeWork } from './lib/work.js';
import { checkReply, everyNth } from './lib/check.js';

const settings = readSettings({ address: '127.0.0.1:50051', codecs: ['protobuf'] });
export const options = buildOptions(settings);

const METHODS = {
  'users.get': 'wirebench.v1.UserService/GetUser',
  'users.create': 'wirebench.v1.UserService/CreateUser',
  'users.update': 'wirebench.v1.UserService/UpdateUser',
  'users.delete': 'wirebench.v1.UserService/DeleteUser',
  'users.list': 'wirebench.v1.UserService/ListUsers',
  'users.create_batch': 'wirebench.v1.UserService/CreateUserBatch',
  'ledger.get_balance': 'wirebench.v1.LedgerService/GetBalance',
  'echo.echo': 'wirebench.v1.EchoService/Echo',
  'echo.upper': 'wirebench.v1.EchoService/Upper',
};
const REPLY_BYTES_MAX = 64 * 1024 * 1024;

const client = new grpc.Client();
client.load(['../proto'], 'wirebench/v1/users.proto', 'wirebench/v1/ledger.proto', 'wirebench/v1/echo.proto');

const timeoutMs = settings.timeoutS * 1000;
const connectParams = { plaintext: settings.tls === null, timeout: timeoutMs, maxReceiveSize: REPLY_BYTES_MAX };

// What goes with the calls that are counted under a name, and with those of them that are checked.
const paramsOf = byName((name) => {
  const paramsToCheck = { tags: { name }, timeout: timeoutMs };
  return { params: { ...paramsToCheck, discardResponseMessage: true }, paramsToCheck };
});

const isDue = everyNth(settings.checkEvery);
let work;
let connected = false;

export default function () {
  load.due();
  work = work || makeWork(secured(settings));
  const step = work.next();
  const { params, paramsToCheck } = paramsOf(step.name);
  const toCheck = isDue();
  const call = () => invoke(step, toCheck ? paramsToCheck : params);
  const reply = connected ? call() : load.opened(step.name, connect, call);
  if (settings.reopen && connected) {
    client.close();
    connected = false;
  }
  const ok = reply !== undefined && reply.status === grpc.StatusOK;
  work.settle(step, ok);
  if (toCheck && ok) {
    checkReply(() => reply.message.success === true && step.check(reply.message.data, step.input));
  }
}

function connect() {
  client.connect(ownAddress(settings), connectParams);
  connected = true;
}

function invoke({ operation, name, input }, params) {
  const startMs = Date.now();
  const reply = client.invoke(METHODS[operation], input, params);
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

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
import { makeOperation } from './lib/operations.js';
import { checkReply, everyNth } from './lib/check.js';

const settings = readSettings({ address: '127.0.0.1:50051', codecs: ['protobuf'] });
export const options = buildOptions(settings);

const METHODS = {
  'users.get': 'wirebench.v1.UserService/GetUser',
  'users.create': 'wirebench.v1.UserService/CreateUser',
  'users.update': 'wirebench.v1.UserService/UpdateUser',
  'users.list': 'wirebench.v1.UserService/ListUsers',
  'echo.echo': 'wirebench.v1.EchoService/Echo',
  'echo.upper': 'wirebench.v1.EchoService/Upper',
};
const REPLY_BYTES_MAX = 64 * 1024 * 1024;

const client = new grpc.Client();
client.load(['../proto'], 'wirebench/v1/users.proto', 'wirebench/v1/echo.proto');

const method = METHODS[settings.operation];
const timeoutMs = settings.timeoutS * 1000;
const connectParams = { plaintext: true, timeout: timeoutMs, maxReceiveSize: REPLY_BYTES_MAX };
const paramsToCheck = { tags: { name: settings.operation }, timeout: timeoutMs };
const params = { ...paramsToCheck, discardResponseMessage: true };

const isDue = everyNth(settings.checkEvery);
let operation;
let connected = false;

export default function () {
  load.due();
  operation = operation || makeOperation(settings);
  const input = operation.input();
  const toCheck = isDue();
  const call = () => invoke(input, toCheck ? paramsToCheck : params);
  const reply = connected ? call() : load.opened(settings.operation, connect, call);
  if (settings.reopen && connected) {
    client.close();
    connected = false;
  }
  if (toCheck && reply !== undefined && reply.status === grpc.StatusOK) {
    checkReply(() => reply.message.success === true && operation.check(reply.message.data, input));
  }
}

function connect() {
  client.connect(ownAddress(settings), connectParams);
  connected = true;
}

function invoke(input, withParams) {
  const startMs = Date.now();
  const reply = client.invoke(method, input, withParams);
  if (reply.status !== grpc.StatusOK) {
    fail(reply, Date.now() - startMs);
  }
  return reply;
}

// k6 counts a failed call without its words, and one that it timed out itself not at all.
function fail(reply, tookMs) {
  if (reply.status === grpc.StatusDeadlineExceeded && tookMs >= timeoutMs) {
    load.failed(settings.operation, reply.status, `no reply within ${settings.timeoutS}s`, tookMs);
  } else {
    load.explain(reply.status, reply.error.message);
  }
}

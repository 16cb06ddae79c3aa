// Load on the REST service: one HTTP request an iteration. By hand:
//
//   .tools/bin/k6 run --out wirebench=path=rest.json,warmup=500ms,window=1500ms \
//     -e ADDRESS=127.0.0.1:5000 -e OPERATION=users.get -e CONCURRENCY=8 k6/rest.js
//
// All variables are in lib/settings.js.

import http from 'k6/http';
import load from 'k6/x/wirebench/load';
import { ownAddress, readSettings } from './lib/settings.js';
import { buildOptions } from './lib/options.js';
import { makeOperation } from './lib/operations.js';
import { checkReply, everyNth } from './lib/check.js';

const settings = readSettings({ address: '127.0.0.1:5000', codecs: ['json'] });
export const options = { ...buildOptions(settings), throw: true };

// Whether a status is a success is decided by our output.
http.setResponseCallback(null);

let root;
const params = {
  tags: { name: settings.operation },
  timeout: settings.timeoutS * 1000,
  headers: { 'Content-Type': 'application/json' },
};
const paramsToCheck = { ...params, responseType: 'text' };

// How each operation's input becomes a request.
const senders = {
  'users.get': ({ id }, p) => http.get(`${root}/api/users/${id}`, p),
  'users.create': ({ user }, p) => http.post(`${root}/api/users`, JSON.stringify(user), p),
  'users.update': ({ id, bio }, p) => http.put(`${root}/api/users/${id}`, JSON.stringify({ bio }), p),
  'users.list': ({ limit, after_id }, p) => http.get(`${root}/api/users?limit=${limit}&after_id=${after_id}`, p),
  'echo.echo': (input, p) => http.post(`${root}/echo`, JSON.stringify(input), p),
  'echo.upper': (input, p) => http.post(`${root}/upper`, JSON.stringify(input), p),
};
const send = senders[settings.operation];

const isDue = everyNth(settings.checkEvery);
let operation;

export default function () {
  load.due();
  root = root || `http://${ownAddress(settings)}`;
  operation = operation || makeOperation(settings);
  const input = operation.input();
  if (!isDue()) {
    attempt(input, params);
    return;
  }
  const reply = attempt(input, paramsToCheck);
  if (reply !== undefined && (reply.status === 200 || reply.status === 201)) {
    checkReply(() => {
      const { success, data } = reply.json();
      return success === true && operation.check(data, input);
    });
  }
}

// k6 has counted a request that got no reply. It is told to throw then because it would write a line
// for each otherwise, and a service that is down makes many thousands a second.
function attempt(input, withParams) {
  try {
    return send(input, withParams);
  } catch (error) {
    if (error.name !== 'GoError') {
      throw error;
    }
    return undefined;
  }
}

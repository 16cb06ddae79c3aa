// Load on the REST service: one HTTP request an iteration. By hand:
//
//   .tools/bin/k6 run --out wirebench=path=rest.json,warmup=500ms,window=1500ms \
//     -e ADDRESS=127.0.0.1:5000 -e OPERATION=users.get -e CONCURRENCY=8 k6/rest.js
//
// All variables are in lib/settings.js.

import http from 'k6/http';
import codec from 'k6/x/wirebench/codec';
import load from 'k6/x/wirebench/load';
import { ownAddress, readSettings } from './lib/settings.js';
import { buildOptions } from './lib/options.js';
import { byName } from './lib/params.js';
import { secured } from './lib/tls.js';
import { makeWork } from './lib/work.js';
import { checkReply, everyNth } from './lib/check.js';

const settings = readSettings({ address: '127.0.0.1:5000', codecs: ['json', 'protobuf'] });
export const options = { ...buildOptions(settings), throw: true };

// Whether a status is a success is decided by our output.
http.setResponseCallback(null);

const MEDIA_TYPES = { json: 'application/json', protobuf: 'application/x-protobuf' };
const PROTOS = ['wirebench/v1/users.proto', 'wirebench/v1/ledger.proto', 'wirebench/v1/echo.proto'];
const messages = settings.codec === 'protobuf' ? codec.load(['../proto'], ...PROTOS) : undefined;

// In JSON the path says what the body then doesn't; a protobuf body is the request message as it is.
const encode = messages
  ? (operation, input) => messages.encode(operation, input)
  : (operation, input, body) => JSON.stringify(body || input);
const decode = messages
  ? ({ operation }, reply) => messages.decode(operation, reply.body)
  : (step, reply) => (reply.json('success') === true ? reply.json('data') : undefined);

let root;

// How each operation's input becomes a request.
const senders = {
  'users.get': ({ id }, p) => http.get(`${root}/api/users/${id}`, p),
  'users.create': ({ user }, p) => http.post(`${root}/api/users`, encode('users.create', { user }, user), p),
  'users.update': ({ id, ...rest }, p) => http.put(`${root}/api/users/${id}`, encode('users.update', { id, ...rest }, rest), p),
  'users.delete': ({ id }, p) => http.del(`${root}/api/users/${id}`, null, p),
  'users.list': ({ limit, after_id }, p) => http.get(`${root}/api/users?limit=${limit}&after_id=${after_id}`, p),
  'users.create_batch': (input, p) => http.post(`${root}/api/users/batch`, encode('users.create_batch', input), p),
  'ledger.get_balance': ({ account_id }, p) => http.get(`${root}/accounts/${account_id}/balance`, p),
  'echo.echo': (input, p) => http.post(`${root}/echo`, encode('echo.echo', input), p),
  'echo.upper': (input, p) => http.post(`${root}/upper`, encode('echo.upper', input), p),
};

// What goes with the requests that are counted under a name, and with those of them that are checked.
const paramsOf = byName((name) => {
  const params = {
    tags: { name },
    timeout: settings.timeoutS * 1000,
    headers: { 'Content-Type': MEDIA_TYPES[settings.codec], Accept: MEDIA_TYPES[settings.codec] },
  };
  return { params, paramsToCheck: { ...params, responseType: messages ? 'binary' : 'text' } };
});

const isDue = everyNth(settings.checkEvery);
let work;

export default function () {
  load.due();
  root = root || `${settings.tls ? 'https' : 'http'}://${ownAddress(settings)}`;
  work = work || makeWork(secured(settings));
  const step = work.next();
  const { params, paramsToCheck } = paramsOf(step.name);
  const toCheck = isDue();
  const reply = attempt(step, toCheck ? paramsToCheck : params);
  const ok = reply !== undefined && (reply.status === 200 || reply.status === 201);
  work.settle(step, ok);
  if (toCheck && ok) {
    checkReply(() => step.check(decode(step, reply), step.input));
  }
}

// k6 has counted a request that got no reply. It is told to throw then because it would write a line
// for each otherwise, and a service that is down makes many thousands a second.
function attempt({ operation, input }, params) {
  try {
    return senders[operation](input, params);
  } catch (error) {
    if (error.name !== 'GoError') {
      throw error;
    }
    return undefined;
  }
}

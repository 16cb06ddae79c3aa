// Load on the REST service: one HTTP request an iteration. By hand:
//
//   .tools/bin/k6 run --out wirebench=path=rest.json,warmup=500ms,window=1500ms \
//     -e ADDRESS=127.0.0.1:5000 -e OPERATION=users.get -e CONCURRENCY=8 k6/rest.js
//
// All variables are in lib/settings.js.

import http from 'k6/http';
import codec from 'k6/x/wirebench/codec';
import load from 'k6/x/wirebench/load';
import { PROTOSET, ownAddress, readSettings } from './lib/settings.js';
import { buildOptions } from './lib/options.js';
import { byName } from './lib/params.js';
import { secured } from './lib/tls.js';
import { makeWork } from './lib/work.js';
import { checkReply, compileContains, compileExpectation, everyNth } from './lib/check.js';
import { compileHeaders, override } from './lib/headers.js';
import { encodeBody, mediaTypes } from './lib/rest.js';
import { compile, compileTarget, fixed, map, resolve } from './lib/template.js';

const settings = readSettings({ transport: 'rest', address: '127.0.0.1:5000', codecs: ['json', 'protobuf'] });
export const options = { ...buildOptions(settings), throw: true };

// Whether a status is a success is decided by our output.
http.setResponseCallback(null);

const MEDIA_TYPES = { json: 'application/json', protobuf: 'application/x-protobuf' };
const messages = settings.codec === 'protobuf' ? codec.load(PROTOSET) : undefined;

let root;

// makeRequest returns how an operation's inputs become a request, and what its reply should be.
function makeRequest({ rest, grpc }, known) {
  const [method, target] = rest.request.split(' ');
  const url = fixed(map(compileTarget(target, known), (path) => root + path));
  const body = compileBody(rest.body, grpc, known);
  const send = fixed(messages ? body : map(body, encodeBody));
  const { constant, vary } = compileHeaders(rest.headers, known);
  const isRight = compileCheck(rest.expect || {}, grpc, known);
  const accept = messages || (rest.expect || {}).json ? MEDIA_TYPES[settings.codec] : '*/*';
  return {
    vary,
    // Of all requests of the operation, whose bodies are texts, or none is.
    headers: (inputs) => ({ ...override(mediaTypes(accept, resolve(body, inputs), MEDIA_TYPES[settings.codec]), rest.headers), ...constant }),
    send: (inputs, params) => http.request(method, url(inputs), send(inputs), params),
    isRight,
  };
}

// In JSON the path says what the body then doesn't; a protobuf body is the request message as it is.
function compileBody(body, grpc, known) {
  if (body === undefined || body === null) {
    return { value: null };
  }
  return messages ? map(compile(grpc.message, known), (filled) => messages.encode(grpc.call, filled)) : compile(body, known);
}

function compileCheck({ status = 200, json, contains }, grpc, known) {
  const isExpected = compileExpectation(json, known);
  const hasText = compileContains(contains, known);
  const decode = messages ? (reply) => messages.decode(grpc.call, reply.body) : (reply) => reply.json();
  return (reply, inputs) =>
    reply.status === status &&
    (json === undefined || isExpected(decode(reply), inputs)) &&
    (contains === undefined || hasText(reply.body, inputs));
}

// What goes with the requests that are counted under a name, and with those of them that are checked.
const paramsOf = byName((name, { headers }, inputs) => {
  const params = { tags: { name }, timeout: settings.timeoutS * 1000, headers: headers(inputs) };
  return { params, paramsToCheck: { ...params, responseType: messages ? 'binary' : 'text' } };
});

const shouldCheck = everyNth(settings.checkEvery);
let work;

export default function () {
  load.due();
  root = root || `${settings.tls ? 'https' : 'http'}://${ownAddress(settings)}`;
  work = work || makeWork(secured(settings), makeRequest);
  const step = work.next();
  const { params, paramsToCheck } = paramsOf(step.name, step.request, step.inputs);
  const toCheck = shouldCheck();
  const reply = attempt(step, toCheck ? paramsToCheck : params);
  const ok = reply !== undefined && reply.status >= 200 && reply.status < 300;
  work.settle(step, ok);
  if (toCheck && ok) {
    checkReply(() => step.request.isRight(reply, step.inputs));
  }
}

// k6 has counted a request that got no reply. It is told to throw then because it would write a line
// for each otherwise, and a service that is down makes many thousands a second.
function attempt({ request, inputs }, params) {
  try {
    const { vary } = request;
    return request.send(inputs, vary ? { ...params, headers: { ...params.headers, ...vary(inputs) } } : params);
  } catch (error) {
    if (error.name !== 'GoError') {
      throw error;
    }
    return undefined;
  }
}

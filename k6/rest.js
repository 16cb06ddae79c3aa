// Load on a REST service by stock k6: one request of a file an iteration. By hand:
//
//   echo '{"method": "GET", "path": "/api/users/1000001"}' >requests.jsonl
//   .tools/bin/k6 run -e URL=http://127.0.0.1:5000 -e REQUESTS=$PWD/requests.jsonl -e CONCURRENCY=8 -e DURATION=5s k6/rest.js

import exec from 'k6/execution';
import http from 'k6/http';
import { check, randomSeed } from 'k6';
import { SharedArray } from 'k6/data';

// URL may be several, with commas between: users take them in turn. REQUESTS has a request a line, as
// `wireload render` prints them. With RATE, so many a second are sent in turn, each once; without it, each user sends one
// at random when it has its reply.
const { URL = 'http://127.0.0.1:5000', REQUESTS, CONCURRENCY = '1', DURATION = '5s', RATE } = __ENV;
const { TIMEOUT = '10s', REOPEN = 'no', SEED = '1', NAME = 'request' } = __ENV;

const requests = new SharedArray('requests', () => open(REQUESTS).trim().split('\n').map((line) => JSON.parse(line)));
const urls = URL.split(',');
const users = Number(CONCURRENCY);
const rate = Number(RATE);
const closed = { executor: 'constant-vus', vus: users };
const open_ = { executor: 'constant-arrival-rate', rate, preAllocatedVUs: users };

export const options = {
  scenarios: { load: { ...(rate ? open_ : closed), duration: DURATION, gracefulStop: '60s' } },
  // The rest is for the processor's sake: the generator is often the first to run out of it.
  systemTags: ['name', 'status', 'error', 'error_code'],
  discardResponseBodies: true,
  noCookiesReset: true,
  noConnectionReuse: REOPEN === 'yes',
  maxRedirects: 0, // A redirect is the reply.
  throw: true, // k6 would log a line for each request that gets no reply; the checks count them.
};

const params = {
  tags: { name: NAME },
  timeout: TIMEOUT,
};
// By it the output's column `expected_response` and http_req_failed tell success.
http.setResponseCallback(http.expectedStatuses({ min: 200, max: 299 }));
randomSeed(Number(SEED) * 10007 + __VU);

export default function () {
  const next = rate ? exec.scenario.iterationInTest % requests.length : Math.floor(Math.random() * requests.length);
  const { method, path, headers, body = null } = requests[next];
  let status = 0;
  try {
    ({ status } = http.request(method, urls[(exec.vu.idInTest - 1) % urls.length] + path, body, { ...params, headers }));
  } catch (error) {
    if (error.name !== 'GoError') {
      throw error;
    }
    if (exec.vu.idInTest === 1 && exec.vu.iterationInScenario === 0) {
      console.warn(error.value ?? error);
    }
  }
  check(status, { 'status is 2xx': (code) => code >= 200 && code < 300 });
}

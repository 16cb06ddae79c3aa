// Load of streams, on any of the three transports: one stream an iteration, read to its end. By hand:
//
//   .tools/bin/k6 run --out wirebench=path=stream.json,warmup=500ms,window=1500ms \
//     -e TRANSPORT=socket -e CONCURRENCY=8 -e STREAM_ITEMS=1000 k6/stream.js
//
// All variables are in lib/settings.js.

import exec from 'k6/execution';
import { sleep } from 'k6';
import load from 'k6/x/wirebench/load';
import stream from 'k6/x/wirebench/stream';
import { ownAddress, readStreamSettings } from './lib/settings.js';
import { buildOptions, loadMs } from './lib/options.js';
import { secured } from './lib/tls.js';
import { checkReply, everyNth } from './lib/check.js';

const settings = readStreamSettings();
export const options = buildOptions(settings);

// Streams that are on their way when the load is over would keep it from ending: a moment later, when
// nobody begins another one, they are cancelled.
const OVERTIME_MS = 20;

// Users that all began at once would ask for streams of equal length at the same moments ever after, and
// wait for items at the same moments: they begin evenly spread over the time of a stream, or of the warm-up.
const spreadS = settings.streamRateLimit > 0 ? Math.min(settings.streamItems / settings.streamRateLimit, settings.warmupS) : 0;

const isDue = everyNth(settings.checkEvery);
let client;

export default function () {
  load.due();
  if (client === undefined) {
    client = newClient();
    sleep(settings.rate > 0 ? 0 : spreadS * ((exec.vu.idInTest - 1) / settings.concurrency));
  }
  const reply = client.read({
    limit: settings.streamItems,
    rate_limit: settings.streamRateLimit,
    until: exec.scenario.startTime + loadMs(settings) + OVERTIME_MS,
    check: isDue(),
  });
  if (reply.status === 0) {
    checkReply(() => reply.right);
  }
}

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

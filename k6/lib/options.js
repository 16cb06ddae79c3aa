// The k6 options that all scripts share.


// Where nothing is ever due, the window opens WARMUP_S after the first request was sent, a moment after
// the scenario starts: the load lasts a little longer so that it covers the window to its end.
const SLACK_S = 0.05;
const K6_DURATION_S_MIN = 1;

// buildOptions returns one scenario that runs warm-up and window without a break between them.
export function buildOptions(settings) {
  return {
    scenarios: {
      load: {
        ...users(settings, `${loadMs(settings)}ms`),
        // Requests in flight at the end are answered and counted, or time out and are counted.
        gracefulStop: `${Math.ceil(settings.timeoutS * 1000) + 1000}ms`,
      },
    },
    // Everything below keeps the generator cheap; it is often the first to run out of processor.
    systemTags: ['name', 'status', 'error', 'error_code'],
    discardResponseBodies: true,
    noCookiesReset: true,
    // A redirect is the reply; the request that would follow isn't the application's.
    maxRedirects: 0,
    noConnectionReuse: settings.reopen,
    tlsVersion: { min: 'tls1.2', max: 'tls1.3' },
  };
}

// loadMs returns how long requests are sent, in milliseconds.
export function loadMs(settings) {
  return Math.ceil(Math.max(K6_DURATION_S_MIN, settings.warmupS + settings.durationS + SLACK_S) * 1000);
}

// A request that is due while all virtual users wait for replies is dropped, and counted as such.
function users(settings, duration) {
  const { arrivals, rate, calls, warmupCalls, spawnRate, concurrency } = settings;
  if (arrivals !== '') {
    return { executor: 'wirebench-arrivals', vus: concurrency, arrivals, duration };
  }
  if (rate > 0) {
    return { executor: 'wirebench-arrivals', vus: concurrency, rate, duration };
  }
  if (calls > 0) {
    return { executor: 'per-vu-iterations', vus: concurrency, iterations: warmupCalls + calls, maxDuration: duration };
  }
  if (spawnRate > 0) {
    const spawnMs = Math.round(((concurrency - 1) / spawnRate) * 1000);
    const stages = [spawnMs, loadMs(settings) - spawnMs].map((ms) => ({ duration: `${ms}ms`, target: concurrency }));
    return { executor: 'ramping-vus', startVUs: 1, stages };
  }
  return { executor: 'constant-vus', vus: concurrency, duration };
}

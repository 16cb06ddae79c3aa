// The k6 options that all scripts share.

// The window opens WARMUP_S after the first request was sent, a moment after the scenario starts: the
// load goes on a little longer so that it covers the window to its end.
const SLACK_S = 0.05;
const K6_DURATION_S_MIN = 1;

// buildOptions returns one scenario that runs warm-up and window without a break between them.
export function buildOptions(settings) {
  const durationS = Math.max(K6_DURATION_S_MIN, settings.warmupS + settings.durationS + SLACK_S);
  return {
    scenarios: {
      load: {
        ...(settings.rate > 0 ? openLoad(settings) : closedLoad(settings)),
        duration: `${Math.ceil(durationS * 1000)}ms`,
        // Requests in flight at the end are answered and counted, or time out and are counted.
        gracefulStop: `${Math.ceil(settings.timeoutS * 1000) + 1000}ms`,
      },
    },
    // Everything below keeps the generator cheap; it is often the first to run out of processor.
    systemTags: ['name', 'status', 'error', 'error_code'],
    discardResponseBodies: true,
    noCookiesReset: true,
    noConnectionReuse: settings.reopen,
  };
}

function closedLoad(settings) {
  return { executor: 'constant-vus', vus: settings.concurrency };
}

// A request that is due while all virtual users wait for replies is dropped, and counted as such.
function openLoad(settings) {
  return {
    executor: 'constant-arrival-rate',
    rate: settings.rate,
    timeUnit: '1s',
    preAllocatedVUs: settings.concurrency,
    maxVUs: settings.concurrency,
  };
}

// Keeps the page of a run that is running up to date: asks for the same page once a second, and takes over
// what differs. Without it, the page reloads itself.

const INTERVAL_MS = 1000;
const INTERVAL_LOST_MS = 5000;
const FETCH_TIMEOUT_MS = 15000;

// refresh changes an element in place: what is being read, or has the focus, stays where it is.
function refresh(shown, fresh) {
  if (shown.outerHTML === fresh.outerHTML) {
    return;
  }
  for (const { name, value } of fresh.attributes) {
    shown.setAttribute(name, value);
  }
  shown.replaceChildren(...fresh.childNodes);
}

// poll returns how long to wait before the next poll.
async function poll() {
  let reply, text;
  try {
    reply = await fetch(window.location.href, { signal: AbortSignal.timeout(FETCH_TIMEOUT_MS) });
    text = await reply.text();
  } catch {
    document.getElementById("lost").hidden = false;
    return INTERVAL_LOST_MS;
  }
  if (reply.status >= 500) {
    document.getElementById("lost").hidden = false; // A server that has a problem may get over it.
    return INTERVAL_LOST_MS;
  }
  const page = new DOMParser().parseFromString(text, "text/html");
  if (!page.getElementById("live")) {
    window.location.reload(); // The run is over: its own page has come.
    return INTERVAL_LOST_MS;
  }
  document.getElementById("lost").hidden = true;
  document.title = page.title;
  for (const fresh of page.querySelectorAll("[data-live]")) {
    refresh(document.querySelector(`[data-live="${fresh.dataset.live}"]`), fresh);
  }
  return INTERVAL_MS;
}

// A hidden page costs nothing until it is shown.
function untilShown() {
  if (!document.hidden) {
    return Promise.resolve();
  }
  return new Promise((resolve) => {
    document.addEventListener("visibilitychange", resolve, { once: true });
  });
}

for (;;) {
  const waitMs = await poll();
  await new Promise((resolve) => {
    setTimeout(resolve, waitMs);
  });
  await untilShown();
}

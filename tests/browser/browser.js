// What the browser's tests share: the server they ask, and pages that report whatever goes wrong in them.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { after, before } from "node:test";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const PYTHON = `${ROOT}.venv/bin/python`;

// How long a busy machine may take for what the page does at once on a quiet one.
const TIMEOUT_MS = 120_000;
export const PHONE = { width: 360, height: 740 };
export const DESKTOP = { width: 1280, height: 900 };

// Starts the browser, and a Python module that prints the addresses that it serves as one line of JSON and ends with its
// input. Returns what tests open pages by.
export function serving(module) {
  const site = { addresses: {} };
  let server, browser;
  before(async () => {
    server = spawn(PYTHON, ["-m", module], { cwd: ROOT, stdio: ["pipe", "pipe", "inherit"] });
    [browser, site.addresses] = await Promise.all([launch(), addressesOf(server)]);
  });
  after(async () => {
    await browser?.close();
    server.stdin.end();
    if (server.exitCode === null) await once(server, "exit");
  });
  // Opens a page in a context of its own: nothing is known of others. It is closed, and what it has complained of
  // fails the test, when the test ends. `expected` is how a complaint begins that is right: of an answer that is an error
  // on purpose, say.
  site.open = async (t, path, { at = "filled", expected = "", ...options } = {}) => {
    const context = await browser.newContext({ viewport: DESKTOP, baseURL: site.addresses[at], ...options });
    context.setDefaultTimeout(TIMEOUT_MS);
    const page = await context.newPage();
    const complaints = watch(page, new URL(site.addresses[at]).origin, expected);
    t.after(async () => {
      await context.close();
      assert.deepEqual(complaints, []);
    });
    await page.goto(path);
    return page;
  };
  return site;
}

function launch() {
  // Root, as in containers, has no sandbox of the browser's.
  return chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox"] });
}

async function addressesOf(server) {
  const lines = createInterface({ input: server.stdout });
  const line = once(lines, "line").then(([text]) => JSON.parse(text));
  const end = once(server, "exit").then(() => Promise.reject(new Error("the server ended before it served anything")));
  return Promise.race([line, end]);
}

// Gathers what a page must never do: ask another host, throw, or write errors, those of the content security policy
// among them.
function watch(page, origin, expected) {
  const complaints = [];
  page.on("request", (request) => {
    if (new URL(request.url()).origin !== origin) complaints.push(`asked ${request.url()}`);
  });
  page.on("pageerror", (error) => complaints.push(`threw ${error}`));
  page.on("dialog", async (dialog) => {
    complaints.push(`showed ${dialog.message()}`);
    await dialog.dismiss();
  });
  page.on("console", (message) => {
    const isRight = expected && message.text().startsWith(expected);
    if (message.type() === "error" && !isRight) complaints.push(message.text());
  });
  return complaints;
}

// Clicks on what leads to another page, and waits until that page is there with its stylesheet.
export async function follow(locator) {
  const loaded = locator.page().waitForEvent("load");
  await locator.click();
  await loaded;
}

// What axe finds wrong for people who use a screen reader, the keyboard, or see little, a line each.
export async function barriers(page) {
  await page.evaluate(AXE);
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return found.violations.flatMap((rule) => rule.nodes.map((node) => `${rule.id}: ${node.html}`));
}

// Whether the page itself can be moved sideways.
export function movesSideways(page) {
  return page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
}

// Presses Tab until the focus is on the element, as a user without a mouse does.
export async function tabTo(page, locator, limit = 80) {
  for (let presses = 0; presses < limit; presses++) {
    if (await locator.evaluate((element) => element === document.activeElement)) return;
    await page.keyboard.press("Tab");
  }
  assert.fail(`the focus didn't reach ${locator} within ${limit} presses of Tab`);
}

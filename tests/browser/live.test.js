// Watching a run in progress: a real one, short, from its first cell to the page of its results.

import assert from "node:assert/strict";
import { test } from "node:test";
import { PHONE, barriers, movesSideways, serving } from "./browser.js";

const site = serving("tests.browser.live");

test("a run is watched while it is running, and its page becomes that of the results", async (t) => {
  const at = { at: "live" };
  const path = `/${site.addresses.run}`;
  const page = await site.open(t, path, at);
  const plain = await site.open(t, path, { ...at, javaScriptEnabled: false });
  const list = await site.open(t, "/", at);

  // The run continues meanwhile: what can only be seen now is waited for at the same time.
  const bar = page.getByRole("progressbar", { name: "In progress" });
  assert.equal(await bar.evaluate((element) => element.max), 4);
  const figures = page.getByRole("region", { name: "In the last second" });
  const before = await bar.evaluate((element) => element.value);
  const element = await bar.elementHandle();
  const grows = page.waitForFunction(([shown, value]) => shown.value > value, [element, before]);
  await Promise.all([
    figures.getByText(/^users\.get, 2 connections: (REST|socket)$/).waitFor(),
    figures.getByText(/^[\d,.]+ requests\/s$/).waitFor(),
    page.getByText(/^about \d+:\d\d left$/).waitFor(),
    page.locator("[data-live=chart-1] :is(polyline, .mark)").first().waitFor({ state: "attached" }),
    plain.getByText(/^[1-4] of 4 windows measured$/).waitFor(),
    grows,
    figures.getByText(/^[\d.]+ ms$/).waitFor().then(async () => {
      await list.reload();
      await list.getByText(/^\d of 4 windows, about \d+:\d\d left$/).waitFor();
    }),
  ]);
  assert.deepEqual(await barriers(page), []);
  await page.setViewportSize(PHONE);
  assert.equal(await movesSideways(page), false);

  await page.getByRole("heading", { name: "The answer" }).waitFor();
  assert.equal(await page.locator("#live").count(), 0);
  await plain.getByRole("heading", { name: "The answer" }).waitFor();
  assert.match(await page.getByRole("main").innerText(), /complete/);
  assert.match(await page.getByRole("main").innerText(), /its page was served while it ran/);
});

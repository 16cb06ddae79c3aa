// Watching a run that goes on: a real one, short, from its first cell to the page of its results.

import assert from "node:assert/strict";
import { test } from "node:test";
import { PHONE, barriers, movesSideways, serving } from "./browser.js";

const site = serving("tests.browser.live");
const PATIENCE = { timeout: 120_000 };

const done = (page) => page.getByRole("progressbar").evaluate((bar) => bar.value);

test("a run is watched while it goes, and its page becomes that of the results", async (t) => {
  const at = { at: "live" };
  const path = `/${site.addresses.run}`;
  const page = await site.open(t, path, at);
  const plain = await site.open(t, path, { ...at, javaScriptEnabled: false });
  const list = await site.open(t, "/", at);

  const bar = page.getByRole("progressbar", { name: "In progress" });
  assert.equal(await bar.evaluate((element) => element.max), 4);
  const figures = page.getByRole("region", { name: "In the last second" });
  await figures.getByText(/^users\.get, 2 connections: (REST|socket)$/).waitFor(PATIENCE);
  await figures.getByText(/^[\d,.]+ requests\/s$/).waitFor(PATIENCE);
  await figures.getByText(/^[\d.]+ ms$/).waitFor(PATIENCE);
  await page.getByText(/^about \d+:\d\d left$/).waitFor(PATIENCE);
  await page.locator("[data-live=chart-1] :is(polyline, .mark)").first().waitFor({ state: "attached", ...PATIENCE });
  assert.deepEqual(await barriers(page), []);
  await page.setViewportSize(PHONE);
  assert.equal(await movesSideways(page), false);

  await list.reload();
  await list.getByText(/^\d of 4 windows, about \d+:\d\d left$/).waitFor(PATIENCE);

  const before = await done(page);
  const element = await bar.elementHandle();
  await page.waitForFunction(([shown, value]) => shown.value > value, [element, before], PATIENCE);
  await plain.getByText(/^[1-4] of 4 windows measured$/).waitFor(PATIENCE);

  await page.getByRole("heading", { name: "The answer" }).waitFor(PATIENCE);
  assert.equal(await page.locator("#live").count(), 0);
  await plain.getByRole("heading", { name: "The answer" }).waitFor(PATIENCE);
  assert.match(await page.getByRole("main").innerText(), /complete/);
  assert.match(await page.getByRole("main").innerText(), /its page was served while it ran/);
});

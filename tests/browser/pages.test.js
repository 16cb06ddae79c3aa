// The pages of `wirebench serve`, as people use them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { PHONE, barriers, follow, movesSideways, serving, tabTo } from "./browser.js";

const site = serving("tests.browser.serve");

const BASE = "20261118T090000Z-quick";
const HEAD = "20261119T090000Z-quick";
const HOSTILE = "20261117T090000Z-hostile";
const PAGES = {
  results: "/",
  filtered: "/?scenario=tiny",
  nothing: "/?scenario=no-such",
  run: `/runs/${HEAD}`,
  hostile: `/runs/${HOSTILE}`,
  choice: "/compare",
  comparison: `/compare?base=${BASE}&head=${HEAD}`,
};

const text = (locator) => locator.innerText();
const choice = (page, label) => page.getByRole("combobox", { name: label });

test("the newest run is shown as charts, with its answer and the table of runs", async (t) => {
  const page = await site.open(t, "/");
  const chapter = page.locator(".chapter");
  assert.equal(await chapter.count(), 1);
  assert.match(await text(chapter.locator(".meta")), /scenario quick · 2026-11-19 09:00 UTC/);
  assert.deepEqual(await chapter.locator("figcaption").allInnerTexts(), [
    "requests/s more is better",
    "Server CPU per request µs, less is better",
    "users.create, 1 connection service time, ms",
    "users.create, 16 connections service time, ms",
    "users.get, 1 connection service time, ms",
    "users.get, 16 connections service time, ms",
  ]);
  const plot = chapter.locator(".plot").first();
  assert.match(await plot.getAttribute("aria-label"), /^Latency by percentile, users\.create/);
  assert.match(await plot.locator("desc").textContent(), /REST p50 .* ms, p99 .* ms; gRPC/);
  assert.equal(await page.locator("table.runs tbody tr").count(), 25);
  assert.match(await text(page.locator("#damaged + ul")), /20261116T090000Z-damaged: run.json/);
});

test("filters change what is shown, and live in the address that can be shared", async (t) => {
  const page = await site.open(t, "/");
  await choice(page, "Scenario").selectOption("quick");
  await choice(page, "Transport").selectOption({ label: "gRPC" });
  await choice(page, "Driver").selectOption("ghz");
  await follow(page.getByRole("button", { name: "Show", exact: true }));
  const query = "?scenario=quick&transport=grpc&driver=ghz";
  assert.equal(new URL(page.url()).search, query);
  const seen = async (of) => [await text(of.locator(".chapter")), await text(of.locator(".runs"))];
  const here = await seen(page);
  assert.match(here[0], /2026-11-19 09:00 UTC/);
  const names = await page.locator(".bars").first().locator(".name").allTextContents();
  assert.deepEqual([...new Set(names)], ["gRPC with ghz"]);
  const elsewhere = await site.open(t, `/${query}`);
  assert.deepEqual(await seen(elsewhere), here);
  assert.equal(await choice(elsewhere, "Driver").inputValue(), "ghz");
  await follow(elsewhere.getByRole("link", { name: "Clear all" }));
  assert.equal(new URL(elsewhere.url()).search, "");
});

test("a run is opened from the table, and its report from there", async (t) => {
  const page = await site.open(t, "/", { expected: "Blocked script execution" });
  await follow(page.locator("table.runs").getByRole("link", { name: "quick" }).first());
  assert.equal(new URL(page.url()).pathname, `/runs/${HEAD}`);
  assert.match(await text(page.locator(".summary")), /socket against REST|Socket against REST/);
  assert.match(await text(page.locator(".gates")), /generator CPU/i);
  assert.equal(await page.locator(".eyebrow code").innerText(), HEAD); // as commands take it
  await page.getByText("Command, machine, versions and scenario").click();
  assert.match(await text(page.locator(".facts").first()), /Some CPU/);
  await follow(page.getByRole("link", { name: "Report" }));
  assert.equal(await text(page.locator("h1")), "A report");
});

test("HTML and SQL in names stay text", async (t) => {
  const page = await site.open(t, "/?scenario=%27%3B+DROP+TABLE+runs%3B+--%3Cimg+src%3Dx+onerror%3Dalert(1)%3E");
  assert.match(await text(page.locator(".chapter h2")), /<script>alert\(2\)<\/script>/);
  await page.goto(`/runs/${HOSTILE}`);
  assert.match(await text(page.locator(".alert")), /it was <b>killed<\/b>/);
  assert.equal(await page.locator("main img, main script, .alert b").count(), 0);
  await page.goto("/");
  assert.equal(await page.locator("table.runs tbody tr").count(), 25);
});

test("all can be reached and done with the keyboard alone", async (t) => {
  const page = await site.open(t, "/");
  await page.keyboard.press("Tab");
  assert.equal(await page.locator(":focus").innerText(), "Skip to the content");
  await page.keyboard.press("Enter");
  assert.equal(await page.locator(":focus").getAttribute("id"), "main");
  await tabTo(page, choice(page, "Scenario"));
  await page.keyboard.type("quick");
  await tabTo(page, page.getByRole("button", { name: "Show", exact: true }));
  const outline = await page.locator(":focus").evaluate((button) => getComputedStyle(button).outlineStyle);
  assert.equal(outline, "solid");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/?scenario=quick");
  const table = page.getByText("All figures as a table").first();
  await tabTo(page, table);
  await page.keyboard.press("Enter");
  assert.equal(await page.locator(".chapter table").first().isVisible(), true);
  await page.goto(`/compare?head=${HEAD}`);
  await tabTo(page, page.getByRole("button", { name: "Compare" }));
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/compare?base=${BASE}&head=${HEAD}`);
  assert.match(await text(page.locator(".summary")), /16 cells in both runs/);
});

for (const [name, path] of Object.entries(PAGES)) {
  test(`${name}: no barriers, in light and in dark, and on a phone nothing moves sideways`, async (t) => {
    const light = await site.open(t, path, { colorScheme: "light" });
    assert.deepEqual(await barriers(light), []);
    const dark = await site.open(t, path, { colorScheme: "dark", viewport: PHONE });
    assert.deepEqual(await barriers(dark), []);
    assert.equal(await movesSideways(dark), false);
    const paper = (page) => page.locator("body").evaluate((body) => getComputedStyle(body).backgroundColor);
    assert.notEqual(await paper(light), await paper(dark));
    assert.equal(await light.locator("h1").count(), 1);
    assert.equal(await light.locator("main").count(), 1);
  });
}

// Spot checks of replies: looking at every one would cost more than sending the request.

import { Counter } from 'k6/metrics';
import { compile, resolve, sizeOf } from './template.js';

const mismatches = new Counter('wirebench_mismatches');

// everyNth returns a function that is true at the first call and at every n-th after it.
export function everyNth(n) {
  let left = 0;
  return () => {
    if (n === 0) {
      return false;
    }
    left = left === 0 ? n - 1 : left - 1;
    return left === n - 1;
  };
}

// checkReply counts a mismatch unless right() says that the reply is right; a reply that can't even be
// looked at is wrong.
export function checkReply(right) {
  try {
    if (right()) {
      return;
    }
  } catch (error) {
    console.error(`a reply could not be checked: ${error}`);
  }
  mismatches.add(1);
}

const MATCHERS = {
  empty: (actual, expected) => (actual === undefined || actual === null || sizeOf(actual) === 0) === expected,
  count: (actual, expected) => sizeOf(actual) === expected,
  above: (actual, expected) => actual > expected,
  matches: holds,
  // Of streams alone, whose first and last item tell of those between: see isConsecutive.
  consecutive: () => true,
};

// compileExpectation returns a function of a reply's data and the inputs that says whether the data are as expected:
// {path: value}, or {path: {matcher: value}}. In a path, * stands for all items of a list, and '' is everything.
export function compileExpectation(expectation, known) {
  const checks = Object.entries(expectation || {}).flatMap(([path, expected]) => {
    const isMatcher = expected !== null && typeof expected === 'object' && !Array.isArray(expected);
    const tests = isMatcher ? Object.entries(expected).map(([name, value]) => [MATCHERS[name], value]) : [[same, expected]];
    return tests.map(([test, value]) => ({ keys: keysOf(path), test, expected: compile(value, known) }));
  });
  return (data, inputs) => checks.every(({ keys, test, expected }) => testAt(data, keys, 0, test, resolve(expected, inputs)));
}

// compileContains returns a function of a reply's text and the inputs that says whether the text has another in it.
export function compileContains(contained, known) {
  const expected = contained === undefined ? { value: '' } : compile(contained, known, String);
  return (text, inputs) => text.includes(resolve(expected, inputs));
}

// isConsecutive says whether a stream's first and last item leave none of its items out.
export function isConsecutive(expectation, first, last, items) {
  const paths = Object.keys(expectation || {}).filter((path) => expectation[path].consecutive);
  return paths.every((path) => keysOf(path).reduce(pick, last) - keysOf(path).reduce(pick, first) === items - 1);
}

const keysOf = (path) => (path === '' ? [] : path.split('.'));

function testAt(data, keys, at, test, expected) {
  if (at === keys.length) {
    return test(data, expected);
  }
  if (keys[at] === '*') {
    return data.every((item) => testAt(item, keys, at + 1, test, expected));
  }
  return testAt(pick(data, keys[at]), keys, at + 1, test, expected);
}

// k6's gRPC client writes the names of fields in camel case.
function pick(data, name) {
  return name in data ? data[name] : data[name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase())];
}

// Whole numbers of 64 bits are texts in the JSON of protobuf.
const same = (actual, expected) => actual === expected || (typeof actual !== typeof expected && String(actual) === String(expected));

// holds says whether data have all that is expected, and as many items.
function holds(actual, expected) {
  if (Array.isArray(expected)) {
    return actual.length === expected.length && expected.every((each, place) => holds(actual[place], each));
  }
  if (expected !== null && typeof expected === 'object') {
    return Object.keys(expected).every((name) => holds(pick(actual, name), expected[name]));
  }
  return same(actual, expected);
}

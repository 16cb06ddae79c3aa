// Random whole numbers that are the same for the same seed, and cheap: one multiplication each.

// randomIntegers returns a function that gives uniform integers from 0 to below - 1; each stream of
// the same seed has its own sequence. Mulberry32: https://gist.github.com/tommyettinger/46a874533244883189143505d203312c
export function randomIntegers(seed, stream) {
  let state = (Math.imul(seed, 0x9e3779b1) ^ Math.imul(stream, 0x85ebca6b)) >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296) * below);
  };
}

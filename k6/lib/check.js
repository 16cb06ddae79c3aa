// Spot checks of replies: looking at every one would cost more than sending the request.

import { Counter } from 'k6/metrics';

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

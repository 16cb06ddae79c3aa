// Parameters of requests that are made once and not for every request.

// byName returns a function that makes a value for a name when it is first asked for it, from what else it is given then.
export function byName(make) {
  const made = {};
  return (name, ...more) => (made[name] = made[name] || make(name, ...more));
}

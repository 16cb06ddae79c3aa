// Parameters of requests that are made once and not for every request.

// byName returns a function that makes a value for a name when it is first asked for it.
export function byName(make) {
  const made = {};
  return (name) => (made[name] = made[name] || make(name));
}

// The inputs of requests, as the application file defines them: what is the same for all requests of a virtual user,
// and a function that draws the rest. wirebench/model/inputs.py draws alike.

import encoding from 'k6/encoding';
import exec from 'k6/execution';
import { compile, fixed, isConstant, resolve } from './template.js';

const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789';
// Options of a generator, which stand beside it.
const OPTIONS = ['max', 'counting', 'of', 'count', 'offset'];

// makeInputs returns {known, draw}: the inputs that are the same for all requests, and draw(), which returns the others.
export function makeInputs(operation, settings, ids, random) {
  const known = {};
  const drawn = [];
  for (const [name, given] of Object.entries(operation.inputs || {})) {
    const compiled = compileInput(given, known, settings, ids, random);
    if (isConstant(compiled)) {
      known[name] = compiled.value;
    } else {
      drawn.push({ name, render: compiled.render });
    }
  }
  // Made into code, as templates are: a loop would take longer than what it does.
  const lines = drawn.map(({ name }, at) => `inputs.${name} = drawn[${at}].render(inputs);`);
  const draw = new Function('drawn', `return () => { const inputs = {}; ${lines.join(' ')} return inputs; }`)(drawn);
  return { known, draw };
}

function compileInput(given, known, settings, ids, random) {
  const generator = Object.keys(given).find((key) => !OPTIONS.includes(key));
  const value = given[generator];
  const sized = (make) => ({ value: make(resolve(compile(value, known))) });
  const redrawn = (make) => ({ render: () => make(resolve(compile(value, known))) });
  switch (generator) {
    case 'seeded':
      return { render: ids.seeded(value, given.count && resolve(compile(given.count, known)), given.offset || 0) };
    case 'fresh':
      return { render: ids.fresh };
    case 'created':
      return { render: () => ids.own(value) };
    case 'range':
      return { render: () => value[0] + random(value[1] - value[0] + 1) };
    case 'list':
      return { render: () => value[random(value.length)] };
    case 'counter':
      return { render: () => value + exec.scenario.iterationInTest };
    case 'text':
      return sized((size) => 'wirebench '.repeat(size / 10 + 1).slice(0, size));
    case 'bytes':
      return sized((size) => base64(size, (place) => place % 256));
    case 'random_text':
      return redrawn((size) => Array.from({ length: size }, () => LETTERS[random(LETTERS.length)]).join(''));
    case 'random_bytes':
      return redrawn((size) => base64(size, () => random(256)));
    case 'payload':
      return compile(choose(given, settings.payload), known);
    case 'stream':
      return { value: { items: settings.streamItems, rate_limit_per_s: settings.streamRateLimit || null }[value] };
    case 'repeat':
      return repeat(given, known, settings, ids, random);
    default:
      return compile(value, known);
  }
}

// drawSeeded returns a function that draws ids of records that were there before the load, with so many from them on.
export function drawSeeded({ first, count }, room, offset, random) {
  const below = Math.max(1, count - (room || 1) + 1);
  return () => first + random(below) + offset;
}

// choose returns what a payload stands for: a number, or a name; the first choice where it stands for nothing.
export function choose({ payload, max = 0 }, asked) {
  if (/^\d+$/.test(asked)) {
    return Number(asked) <= max ? Number(asked) : Object.values(payload)[0];
  }
  return asked !== 'default' && asked in payload ? payload[asked] : Object.values(payload)[0];
}

function repeat(given, known, settings, ids, random) {
  const count = resolve(compile(given.repeat, known));
  const each = compileInput(given.of, known, settings, ids, random);
  const make = fixed(each);
  return {
    render(inputs) {
      const items = [];
      const own = { ...inputs };
      for (let place = 0; place < count; place++) {
        items.push(make(own));
        own[given.counting] += 1;
      }
      return items;
    },
  };
}

function base64(length, valueAt) {
  return encoding.b64encode(new Uint8Array(length).map((_, place) => valueAt(place)).buffer);
}

// find returns name and kind of record of the input that a generator makes.
export function find(operation, generator) {
  const found = Object.entries(operation.inputs || {}).find(([, given]) => generator in given);
  return found && { name: found[0], kind: found[1][generator] };
}

// What a virtual user does, request by request: one operation over and over, a sequence of them, or a
// random mix; and which records its operations are about.

import exec from 'k6/execution';
import { find, makeInputs } from './inputs.js';
import { byName } from './params.js';
import { randomIntegers } from './random.js';

// makeWork returns a virtual user's work: next() says what its next request is, as {name, inputs, request},
// where name is what it is counted under and request is what makeRequest(operation, known) has made of the operation
// once, for the inputs that are the same each time; settle(step, ok) hears how it went.
export function makeWork(settings, makeRequest) {
  const random = randomIntegers(settings.seed, exec.vu.idInTest);
  const client = clientOf(settings);
  const ids = makeIds(settings, client, random);
  const order = client.sequence ? inTurn(client.sequence) : atRandom(client.mix, random);
  const prefix = client.name ? `${client.name}/` : '';
  const prepared = byName((operation) => {
    const definition = settings.application.operations[operation];
    const { known, draw } = makeInputs(definition, settings, ids, random);
    return { name: prefix + operation, draw, request: makeRequest(definition, known), settle: ids.settling(definition) };
  });
  return {
    next() {
      const step = prepared(ids.possible(order.next()));
      step.inputs = step.draw();
      return step;
    },
    settle(step, ok) {
      if (ok) {
        step.settle(step.inputs);
      } else {
        order.restart();
      }
    },
  };
}

// clientOf returns the kind of client that this virtual user is: the users are shared out among the
// kinds as they stand, by their weights.
function clientOf({ clients, concurrency }) {
  const weights = clients.map((client) => client.users);
  const place = ((exec.vu.idInTest - 0.5) / concurrency) * weights.reduce((sum, weight) => sum + weight);
  let before = 0;
  return clients.find((_, index) => (before += weights[index]) > place) || clients[clients.length - 1];
}

// A sequence begins anew after a request that failed: what would follow has nothing to work on.
function inTurn(sequence) {
  let at = 0;
  return {
    next: () => sequence[at++ % sequence.length],
    restart() {
      at = 0;
    },
  };
}

function atRandom(mix, random) {
  const names = Object.keys(mix);
  const total = names.reduce((sum, name) => sum + mix[name], 0);
  return {
    next() {
      let left = random(total);
      return names.find((name) => (left -= mix[name]) < 0);
    },
    restart() {},
  };
}

// makeIds returns the choice of records. In a sequence, what follows a create is about the record that it
// created. In a mix, deletes are about records that this virtual user has created itself; where it has
// none, it creates one instead.
function makeIds(settings, client, random) {
  const { application, idBase } = settings;
  const { operations } = application;
  const seeded = { ...application.seeded, ...settings.seeded };
  const work = client.sequence || Object.keys(client.mix);
  const everyone = settings.clients.flatMap(({ sequence, mix }) => sequence || Object.keys(mix));
  const idsEach = Math.max(1, ...everyone.map((name) => idsOf(operations[name], settings)));
  const most = client.sequence ? 1 : Infinity;
  const deletes = Object.fromEntries(Object.keys(operations).map((name) => [name, find(operations[name], 'created')]));
  const mayDelete = work.some((name) => deletes[name]);
  const keeps = client.sequence !== undefined || mayDelete;
  const created = {};
  const own = (kind) => created[kind] && created[kind][created[kind].length - 1];
  return {
    own,
    fresh: () => idBase + exec.scenario.iterationInTest * idsEach,
    // Ids of records that were there before the load, with so many from them on.
    seeded(kind, room, offset) {
      const { first, count } = seeded[kind];
      const below = Math.max(1, count - (room || 1) + 1);
      const any = () => first + random(below) + offset;
      return client.sequence && !room ? () => (own(kind) === undefined ? any() : own(kind) + offset) : any;
    },
    possible(name) {
      const deleted = mayDelete && deletes[name];
      return deleted && own(deleted.kind) === undefined ? creatorOf(operations, deleted.kind) : name;
    },
    // settling returns what is to be done after an operation has succeeded.
    settling(operation) {
      const [deleted, fresh] = [find(operation, 'created'), find(operation, 'fresh')];
      if (deleted) {
        return () => created[deleted.kind].pop();
      }
      if (!fresh || !keeps) {
        return () => {};
      }
      return (inputs) => {
        const kept = (created[fresh.kind] = created[fresh.kind] || []);
        kept.push(inputs[fresh.name]);
        if (kept.length > most) {
          kept.shift();
        }
      };
    },
  };
}

function creatorOf(operations, kind) {
  return Object.keys(operations).find((name) => (find(operations[name], 'fresh') || {}).kind === kind);
}

// idsOf returns how many ids a request of an operation takes.
function idsOf(operation, settings) {
  const fresh = find(operation, 'fresh');
  if (!fresh || !operation.inputs[fresh.name].count) {
    return fresh ? 1 : 0;
  }
  const nothing = () => 0;
  const { known } = makeInputs(operation, settings, { seeded: () => nothing, own: nothing, fresh: nothing }, nothing);
  const { count } = operation.inputs[fresh.name];
  return typeof count === 'number' ? count : known[count.slice(1, -1)];
}

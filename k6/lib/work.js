// What a virtual user does, request by request: one operation over and over, a sequence of them,
// phases that all users go through together, or a random mix; and which records its operations are about.

import exec from 'k6/execution';
import load from 'k6/x/wirebench/load';
import { drawSeeded, find, makeInputs } from './inputs.js';
import { byName } from './params.js';
import { randomIntegers } from './random.js';
import { operationsOf } from './settings.js';

// makeWork returns a virtual user's work: next() says what its next request is, as {name, inputs, request},
// where name is what it is counted under and request is what makeRequest(operation, known) has made of the operation
// once, for the inputs that are the same each time; settle(step, ok) hears how it went.
export function makeWork(settings, makeRequest) {
  const random = randomIntegers(settings.seed, exec.vu.idInTest);
  const client = clientOf(settings);
  const ids = makeIds(settings, client, random);
  const order = orderOf(client, settings, random);
  const prefix = client.name ? `${client.name}/` : '';
  const prepared = byName((operation) => {
    const definition = settings.application.operations[operation];
    const { known, draw } = makeInputs(definition, settings, ids, random);
    return { name: prefix + operation, draw, request: makeRequest(definition, known), settle: ids.settling(definition) };
  });
  let warmupLeft = settings.warmupCalls;
  return {
    next() {
      if (settings.warmupCalls > 0 && warmupLeft-- === 0) {
        load.finishWarmup(settings.concurrency);
      }
      const step = prepared(ids.possible(order.next()));
      step.inputs = step.draw();
      return step;
    },
    settle(step, ok) {
      step.settle(step.inputs, ok);
      if (!ok) {
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

function orderOf({ sequence, phases, mix }, settings, random) {
  if (sequence) {
    return inTurn(sequence);
  }
  return phases ? inPhases(phases, settings) : atRandom(mix, random);
}

// A sequence begins again after a request that failed: what would follow has nothing to work on.
function inTurn(sequence) {
  let at = 0;
  return {
    next: () => sequence[at++ % sequence.length],
    restart() {
      at = 0;
    },
  };
}

// All users make the calls of one phase, wait for each other, and continue with the next. They warm up on all in turn.
function inPhases(phases, { calls, warmupCalls, concurrency }) {
  const callsEach = calls / phases.length;
  let at = -warmupCalls;
  return {
    next() {
      const call = at++;
      if (call < 0) {
        return phases[(call + warmupCalls) % phases.length];
      }
      if (call > 0 && call % callsEach === 0) {
        load.meet(concurrency);
      }
      return phases[Math.floor(call / callsEach)];
    },
    restart() {},
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
// created. In phases, records are read in the order that they were created in, and the newest is deleted. In
// a mix, deletes are about records that this virtual user has created itself; where it has none, it creates
// one instead.
function makeIds(settings, client, random) {
  const { idBase } = settings;
  const { operations } = settings.application;
  const idsEach = Math.max(1, ...settings.clients.flatMap(operationsOf).map((name) => idsOf(operations[name], settings)));
  const most = client.sequence ? 1 : Infinity;
  const deletes = Object.fromEntries(Object.keys(operations).map((name) => [name, find(operations[name], 'created')]));
  const mayDelete = operationsOf(client).some((name) => deletes[name]);
  const keeps = !client.mix || mayDelete;
  const created = {};
  let reads = 0;
  const own = (kind) => created[kind] && created[kind][created[kind].length - 1];
  // The one in turn; of a sequence there is one.
  const inTurnOf = (kind) => created[kind][reads++ % created[kind].length];
  return {
    own,
    fresh: () => idBase + exec.scenario.iterationInTest * idsEach,
    seeded(kind, room, offset) {
      const any = drawSeeded(settings.seeded[kind], room, offset, random);
      return client.mix || room ? any : () => (own(kind) === undefined ? any() : inTurnOf(kind) + offset);
    },
    possible(name) {
      const deleted = mayDelete && deletes[name];
      return deleted && own(deleted.kind) === undefined ? creatorOf(operationsOf(client), operations, deleted.kind) : name;
    },
    // settling returns what is to be done after an operation: also of a delete that failed, the record may be gone.
    settling(operation) {
      const [deleted, fresh] = [find(operation, 'created'), find(operation, 'fresh')];
      if (deleted) {
        return () => created[deleted.kind].pop();
      }
      if (!fresh || !keeps) {
        return () => {};
      }
      return (inputs, ok) => {
        if (!ok) {
          return;
        }
        const kept = (created[fresh.kind] = created[fresh.kind] || []);
        kept.push(inputs[fresh.name]);
        if (kept.length > most) {
          kept.shift();
        }
      };
    },
  };
}

function creatorOf(names, operations, kind) {
  return names.find((name) => (find(operations[name], 'fresh') || {}).kind === kind);
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

// What a virtual user does, request by request: one operation over and over, a sequence of them,
// phases that all users go through together, or a random mix; and which users its operations are about.

import exec from 'k6/execution';
import load from 'k6/x/wirebench/load';
import { makeOperations } from './operations.js';
import { randomIntegers } from './random.js';
import { operationsOf } from './settings.js';

// makeWork returns a virtual user's work: next() says what its next request is, as {operation, name,
// input, check}, where name is what it is counted under; settle(step, ok) hears how it went.
export function makeWork(settings) {
  const random = randomIntegers(settings.seed, exec.vu.idInTest);
  const client = clientOf(settings);
  const ids = makeIds(settings, client, random);
  const operations = makeOperations(settings, ids);
  const order = orderOf(client, settings, random);
  const prefix = client.name ? `${client.name}/` : '';
  let warmupLeft = settings.warmupCalls;
  return {
    next() {
      if (settings.warmupCalls > 0 && warmupLeft-- === 0) {
        load.finishWarmup(settings.concurrency);
      }
      const operation = ids.possible(order.next());
      const input = operations[operation].input();
      return { operation, name: prefix + operation, input, check: operations[operation].check };
    },
    settle({ operation, input }, ok) {
      if (ok) {
        ids.settle(operation, input);
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

function orderOf({ sequence, phases, mix }, settings, random) {
  if (sequence) {
    return inTurn(sequence);
  }
  return phases ? inPhases(phases, settings) : atRandom(mix, random);
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

// All users make the calls of one phase, wait for each other, and go on with the next. They warm up on all in turn.
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

// makeIds returns the choice of users. In a sequence, what follows a create is about the user that it
// created. In phases, users are read in the order that they were created in, and the newest is deleted. In
// a mix, deletes are about users that this virtual user has created itself; where it has none, it creates
// one instead.
function makeIds(settings, client, random) {
  const { firstUser, users, accounts, idBase, batchUsers } = settings;
  const operations = operationsOf(client);
  const idsEach = settings.clients.some(creates('users.create_batch')) ? batchUsers : 1;
  const created = [];
  let reads = 0;
  const own = () => created[created.length - 1];
  const any = (room = 1) => firstUser + random(Math.max(1, users - room + 1));
  return {
    any,
    account: () => 1 + random(accounts),
    fresh: () => idBase + exec.scenario.iterationInTest * idsEach,
    toRead() {
      if (client.mix || own() === undefined) {
        return any();
      }
      return client.phases ? created[reads++ % created.length] : own();
    },
    toDelete: own,
    possible: (operation) => (operation === 'users.delete' && own() === undefined ? 'users.create' : operation),
    settle(operation, input) {
      if (operation === 'users.delete') {
        created.pop();
      } else if (operations.includes('users.delete') || !client.mix) {
        remember(created, operation, input, client.sequence ? 1 : Infinity);
      }
    },
  };
}

function creates(operation) {
  return (client) => operationsOf(client).includes(operation);
}

function remember(created, operation, input, most) {
  const id = operation === 'users.create' ? input.user.id : operation === 'users.create_batch' ? input.users[0].id : undefined;
  if (id !== undefined) {
    created.push(id);
    if (created.length > most) {
      created.shift();
    }
  }
}

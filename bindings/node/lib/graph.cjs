'use strict';
const check = require('./check.cjs');
const { invalid } = require('./error.cjs');
const handles = require('./handles.cjs');
const native = require('./native.cjs');

// VX_NODE_*, VX_CONTINUE_*, VX_NEXT_*, VX_OUTCOME_*
const group = 1;
const exclusive = 2;
const continueModes = { 'deps-ok': 0, never: 1, always: 2 };
const steps = ['idle', 'run', 'restore', 'complete', 'skip', 'abort', 'done'];
const outcomes = { success: 0, hit: 1, failed: 2, aborted: 4, vanished: 5 };

const none = 0xffffffff;
const node = (value, name) => check.integer(value, name, 0, none - 1);

function choice(value, name, of) {
  if (Object.hasOwn(of, value)) return of[value];
  throw invalid(`${name} must be one of ${Object.keys(of).join(', ')}`);
}

class Graph {
  #handle = native.graphNew();

  constructor() {
    handles.put(this, this.#handle);
  }

  addNode(options) {
    const given = check.known(options, 'options', ['weight', 'group', 'exclusive']);
    const weight = given.weight ?? 0;
    if (typeof weight === 'bigint' ? weight < 0n || weight > 0xffffffffffffffffn : !(Number.isSafeInteger(weight) && weight >= 0)) {
      throw invalid('options.weight must be an integer from 0 on');
    }
    return native.graphAddNode(this.#handle, BigInt(weight), (given.group ? group : 0) | (given.exclusive ? exclusive : 0));
  }
  /** `from` depends on `to`. */
  addEdge(from, to) {
    native.graphAddEdge(this.#handle, node(from, 'from'), node(to, 'to'));
    return this;
  }
  freeze() {
    native.graphFreeze(this.#handle);
    return this;
  }
  get size() {
    return native.graphSize(this.#handle);
  }
  order() {
    return native.graphOrder(this.#handle);
  }
  dependentsCount() {
    return native.graphDependentsCount(this.#handle);
  }
  closure(seeds) {
    return native.graphClosure(this.#handle, Uint32Array.from(check.list(Array.from(seeds), 'seeds', node)));
  }
  criticalPath() {
    return native.graphCriticalPath(this.#handle);
  }
}

class Scheduler {
  #handle;

  constructor(graph, options) {
    const given = check.known(options, 'options', ['workers', 'restoreWorkers', 'continue']);
    const count = (value, name) => check.integer(value ?? 0, name, 0, none);
    this.#handle = native.scheduleNew(handles.get(graph, 'graph'), count(given.workers, 'options.workers'),
      count(given.restoreWorkers, 'options.restoreWorkers'), choice(given.continue ?? 'deps-ok', 'options.continue', continueModes));
  }
  setPriority(id, priority) {
    native.scheduleSetPriority(this.#handle, node(id, 'node'), check.integer(priority, 'priority', Number.MIN_SAFE_INTEGER));
    return this;
  }
  markRestorable(id) {
    native.scheduleMarkRestorable(this.#handle, node(id, 'node'));
    return this;
  }
  /** What to do now; ask again until it is idle or done. */
  next() {
    const [what, id, blocker] = native.scheduleNext(this.#handle);
    const step = { step: steps[what] };
    if (id !== none) step.node = id;
    if (blocker !== none) step.blocker = blocker;
    return step;
  }
  tainted(id) {
    return native.scheduleTainted(this.#handle, node(id, 'node'));
  }
  finish(id, outcome) {
    native.scheduleFinish(this.#handle, node(id, 'node'), choice(outcome, 'outcome', outcomes));
    return this;
  }
  stop() {
    native.scheduleStop(this.#handle);
  }
}

module.exports = { Graph, Scheduler };

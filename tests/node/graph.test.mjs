import assert from 'node:assert/strict';
import test from 'node:test';
import { vx } from './lib/addon.mjs';

const { Graph, Scheduler } = vx;

/** 3 depends on 2 and 1, both on 0. */
const diamond = () => {
  const g = new Graph();
  for (const weight of [1, 5, 2n, 1]) g.addNode({ weight });
  return g.addEdge(1, 0).addEdge(2, 0).addEdge(3, 1).addEdge(3, 2).freeze();
};

test('order, dependents, closure, critical path', () => {
  const g = diamond();
  assert.equal(g.size, 4);
  assert.deepEqual([...g.order()], [0, 1, 2, 3]);
  assert.deepEqual([...g.dependentsCount()], [3, 1, 1, 0]);
  assert.deepEqual([...g.closure([2])], [0, 2]);
  assert.deepEqual([...g.closure(new Set([1, 2]))], [0, 1, 2]);
  assert.deepEqual([...g.criticalPath()], [0, 1, 3]);
});

test('a cycle is named', () => {
  const g = new Graph();
  for (let i = 0; i < 3; i += 1) g.addNode();
  g.addEdge(0, 1).addEdge(1, 2).addEdge(2, 0);
  assert.throws(() => g.freeze(), (e) => e.code === 'VX_E_CYCLE' && e.details.cycle.length === 4);
});

test('what is no node, no weight, no outcome', () => {
  const g = new Graph();
  for (const weight of [-1, 1.5, -1n, 2n ** 64n, '1']) assert.throws(() => g.addNode({ weight }), { code: 'VX_E_INVALID' });
  assert.throws(() => g.addEdge(0, 1), { code: 'VX_E_INVALID' });
  assert.throws(() => g.addEdge(-1, 0), { code: 'VX_E_INVALID' });
  assert.throws(() => g.order(), { code: 'VX_E_INVALID' });
  assert.throws(() => new Scheduler(g), { code: 'VX_E_INVALID' });
  assert.throws(() => new Scheduler({}), { code: 'VX_E_INVALID' });
  assert.throws(() => new Scheduler(diamond(), { continue: 'toString' }), { code: 'VX_E_INVALID' });
  assert.throws(() => new Scheduler(diamond()).finish(0, 'success'), { code: 'VX_E_INVALID' });
});

/** Starts what there is and finishes it at once; the steps in their order. */
function drive(schedule, outcome = () => 'success') {
  const seen = [];
  for (;;) {
    const step = schedule.next();
    if (step.step === 'done') return seen;
    if (step.step === 'idle') assert.fail('nothing runs and nothing is to do');
    seen.push(`${step.step} ${step.node}`);
    if (step.step === 'run' || step.step === 'restore') schedule.finish(step.node, outcome(step.node));
  }
}

test('a schedule starts dependencies first, and skips behind failures', () => {
  assert.deepEqual(drive(new Scheduler(diamond())), ['run 0', 'run 1', 'run 2', 'run 3']);
  assert.deepEqual(drive(new Scheduler(diamond()).setPriority(2, 9)), ['run 0', 'run 2', 'run 1', 'run 3']);
  const ahead = new Scheduler(diamond(), { workers: 2 }).markRestorable(3);
  assert.deepEqual([ahead.next(), ahead.next(), ahead.next()], [{ step: 'run', node: 0 }, { step: 'restore', node: 3 }, { step: 'idle' }]);
  const failing = new Scheduler(diamond(), { workers: 2 });
  assert.deepEqual(drive(failing, (n) => (n === 1 ? 'failed' : 'success')).sort(), ['run 0', 'run 1', 'run 2', 'skip 3']);
  const stopped = new Scheduler(diamond());
  stopped.stop();
  assert.deepEqual(drive(stopped).sort(), ['abort 0', 'abort 1', 'abort 2', 'abort 3']);
  const always = new Scheduler(diamond(), { continue: 'always' });
  drive(always, (n) => (n === 0 ? 'failed' : 'success'));
  assert.equal(always.tainted(3), true);
});

test('a chain of 50,000', () => {
  const g = new Graph();
  for (let i = 0; i < 50_000; i += 1) g.addNode();
  for (let i = 1; i < 50_000; i += 1) g.addEdge(i, i - 1);
  g.freeze();
  assert.equal(g.criticalPath().length, 50_000);
  assert.equal(g.closure([49_999]).length, 50_000);
});

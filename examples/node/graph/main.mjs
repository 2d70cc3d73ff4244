// A small runner of asynchronous functions: the graph says what waits for what, the scheduler what to start next.
import { setTimeout as sleep } from 'node:timers/promises';
import { Graph, Scheduler, VxError } from '@vzn/vx';

const steps = {
  fetch: { after: [], run: () => sleep(20) },
  lint: { after: ['fetch'], run: () => Promise.reject(new Error('a semicolon')) },
  compile: { after: ['fetch'], run: () => sleep(40) },
  bundle: { after: ['compile'], run: () => sleep(10) },
  publish: { after: ['bundle', 'lint'], run: () => sleep(1) },
};

const names = Object.keys(steps);
const graph = new Graph();
for (const _ of names) graph.addNode({ weight: 1 });
names.forEach((name, node) => steps[name].after.forEach((other) => graph.addEdge(node, names.indexOf(other))));
graph.freeze();
console.log('order:', [...graph.order()].map((n) => names[n]).join(' '));
console.log('longest chain:', [...graph.criticalPath()].map((n) => names[n]).join(' '));

const schedule = new Scheduler(graph, { workers: 2 });
const outcomes = {};
const running = new Map();
for (;;) {
  const next = schedule.next();
  if (next.step === 'done') break;
  if (next.step === 'idle') {
    await Promise.race(running.values());
    continue;
  }
  if (next.step === 'skip') {
    outcomes[names[next.node]] = `skipped, because ${names[next.blocker]} failed`;
    continue;
  }
  const { node } = next;
  const ended = (outcome) => {
    outcomes[names[node]] = outcome;
    running.delete(node);
    schedule.finish(node, outcome);
  };
  running.set(node, steps[names[node]].run().then(() => ended('success'), () => ended('failed')));
}
for (const name of names) console.log(`${name}: ${outcomes[name]}`);

try {
  const circle = new Graph();
  for (let i = 0; i < 3; i += 1) circle.addNode();
  circle.addEdge(0, 1).addEdge(1, 2).addEdge(2, 0).freeze();
} catch (error) {
  if (!(error instanceof VxError)) throw error;
  console.log(`${error.code}: ${error.details.cycle.join(' -> ')}`);
}

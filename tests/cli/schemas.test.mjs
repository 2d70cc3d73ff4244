import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { faults } from './lib/schema.mjs';
import { always, cached, copyBuild, monorepo, repository } from './lib/workspace.mjs';

const valid = (name, value) => assert.deepEqual(faults(name, value), []);

const mixed = () =>
  monorepo({
    app: { deps: ['lib'], tasks: { build: copyBuild({ dependsOn: ['^build'], description: 'Makes it' }), ci: { dependsOn: ['build', 'bad'] }, bad: always('exit 2'), late: always('true', { dependsOn: ['bad'] }) }, config: { tags: ['web'] } },
    lib: { tasks: { build: copyBuild() } },
    plain: {},
  });

test('the schemas refuse what is wrong', () => {
  assert.notDeepEqual(faults('summary', {}), []);
  assert.notDeepEqual(faults('plan', { tasks: [{ id: 'a' }] }), []);
  assert.notDeepEqual(faults('vx.config', { taks: {} }), []);
  assert.notDeepEqual(faults('vx.config', { tasks: { a: { exec: { command: '' } } } }), []);
  assert.notDeepEqual(faults('run-request', { task: ['build'] }), []);
  assert.notDeepEqual(faults('event', { v: 1, kind: 'task.end', runId: 'x', ts: 1 }), []);
});

test('summaries of passing, failing and cached runs', () => {
  const ws = mixed();
  for (const args of [['build', '--all'], ['build', '--all'], ['late', 'ci', '--all', '--continue=deps-ok'], ['late', '--all', '--no-cache', '--continue']]) valid('summary', ws.run(args).doc);
});

test('plans', () => {
  const ws = mixed();
  valid('plan', ws.plan(['build', 'ci', 'late', '--all']).doc);
  ws.run(['build', '--all']);
  valid('plan', ws.plan(['build', '--all']).doc);
});

test('shows', () => {
  const ws = mixed();
  for (const [target, kind] of [[[], 'projects'], [['app'], 'project'], [['plain'], 'project'], [['app#build'], 'task'], [['build'], 'tasks']]) {
    valid('show', { kind, result: JSON.parse(ws.vx(['show', ...target, '--format', 'json']).stdout) });
  }
});

test('what the explaining verbs print', () => {
  const ws = mixed();
  ws.run(['build', 'late', '--all', '--continue=always']);
  ws.write('packages/lib/src/x', 'edited\n');
  ws.run(['build', 'late', '--all', '--continue=always']);
  const result = (...args) => JSON.parse(ws.vx([...args, '--format', 'json']).stdout);
  for (const id of ['app#build', 'lib#build', 'app#bad', 'app#late']) valid('why', { result: result('why', id), notices: [] });
  valid('last', { kind: 'run', result: result('last'), notices: [] });
  valid('last', { kind: 'list', result: result('last', '--list'), notices: [] });
  valid('last', { kind: 'log', result: result('last', '--log', 'lib#build'), notices: [] });
  valid('info', { result: result('info'), notices: [] });
  valid('cache-stats', { result: result('cache', 'stats'), notices: [] });
  valid('prune-cache', { result: result('cache', 'prune', '--max-size', '1B'), notices: [] });
  for (const name of ['why', 'info', 'cache-stats', 'prune-cache']) assert.notDeepEqual(faults(name, { result: { more: 1 } }), []);
  assert.notDeepEqual(faults('query-request', { query: 'why' }), []);
  assert.notDeepEqual(faults('query-request', { query: 'prune-cache', olderThan: '1w' }), []);
  valid('query-request', { query: 'last', list: 3, failed: true });
});

test('refusals', () => {
  const ws = mixed();
  for (const args of [['run', 'nope', '--all'], ['run', 'build', '--bogus'], ['show', 'nope'], ['nope']]) valid('error', JSON.parse(ws.vx([...args, '--format=json']).stdout));
});

test('config files of the tests and of the example', () => {
  valid('vx.config', { tasks: { a: cached('true'), b: always('true', { exec: { persistent: { readyWhen: 'up' } } }) }, tags: ['x'] });
  valid('vx.workspace', { projects: ['native/*'], concurrency: 2, cacheRetention: { maxSize: '5G' }, rules: { upfrontKeys: false }, remoteCache: { type: 'http', url: 'http://x' } });
  const example = path.join(repository, 'examples/monorepo');
  valid('vx.config', JSON.parse(fs.readFileSync(path.join(example, 'apps/report/vx.config.json'), 'utf8')));
});

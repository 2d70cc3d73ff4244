import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test from 'node:test';
import { faults } from './lib/schema.mjs';
import { bare, cached, copyBuild, monorepo, snapshot } from './lib/workspace.mjs';

/** The document of `vx info`, held against its schema. */
function info(ws, args = [], options = {}) {
  const r = ws.vx(['info', ...args, '--format', 'json'], options);
  assert.equal(r.status, 0, r.text);
  const doc = JSON.parse(r.stdout);
  assert.deepEqual(faults('info', { result: doc, notices: [] }), []);
  return doc;
}

test('a fresh workspace: everything is said, nothing is created', () => {
  const ws = monorepo({ a: { tasks: { build: copyBuild(), test: copyBuild() } }, b: { tasks: { build: copyBuild() } }, plain: {} });
  const before = snapshot(ws.base);
  const doc = info(ws);
  assert.equal(doc.workspaceRoot, ws.dir);
  assert.deepEqual([doc.projects, doc.tasks], [3, 3]);
  assert.deepEqual(doc.configs, { json: 2, cached: 0, everyRun: [] });
  assert.equal(doc.evaluator, null);
  assert.match(doc.git, /^2\./);
  assert.deepEqual(doc.gitStatusCache, { fsmonitor: false, untrackedCache: false });
  assert.deepEqual([doc.cacheSource, doc.cacheMode, doc.cacheEntries, doc.cacheBytes], ['shared', 'read-write', 0, 0]);
  assert.ok(doc.cacheDir.startsWith(path.join(ws.base, 'home/.cache/vx/')));
  assert.equal(doc.stateDir, ws.path('.vx'));
  assert.deepEqual(doc.cacheRetention, { olderThan: '30d', maxSize: '10GB', maxBytes: 10 * 1024 ** 3 });
  assert.deepEqual([doc.cacheVersion, doc.schemaVersion], ['vx-key-1', 1]);
  assert.deepEqual([doc.remoteCache, doc.admission, doc.telemetry, doc.guard, doc.lockfile], [null, null, null, false, false]);
  assert.equal(doc.workers.cores >= doc.workers.count, true);
  assert.equal(doc.memory.totalBytes, os.totalmem());
  assert.equal(doc.sandbox.declared, false);
  assert.deepEqual(doc.flakyTasks, []);
  assert.equal(ws.vx(['info']).status, 0);
  assert.deepEqual(snapshot(ws.base), before);
});

test('after runs: entries, task runs, a flaky task, settings of the workspace', () => {
  const ws = monorepo({ a: { tasks: { build: copyBuild(), flaky: cached('test -f ok', { outputs: [] }) } } }, { workspace: { concurrency: 3, cacheRetention: { olderThan: '12h', maxSize: false } } });
  ws.write('packages/a/ok', '');
  ws.run(['a#build', 'a#flaky']);
  ws.run(['a#build', 'a#flaky']);
  ws.remove('packages/a/dist');
  ws.run(['a#build']);
  ws.remove('packages/a/ok');
  ws.run(['a#flaky', '--force']);
  ws.git('config', 'core.fsmonitor', 'true');
  ws.git('config', 'core.untrackedCache', 'true');
  const doc = info(ws);
  assert.equal(doc.cacheEntries, 2);
  assert.ok(doc.cacheBytes > 0);
  assert.deepEqual([doc.runs24h, doc.hits24h, doc.restored24h], [6, 3, 1]);
  assert.deepEqual(doc.flakyTasks, [{ taskId: 'a#flaky', project: 'a', task: 'flaky', keys: 1, passes: 1, failures: 1 }]);
  assert.deepEqual(doc.workers.source, 'workspace');
  assert.deepEqual(doc.cacheRetention, { olderThan: '12h', maxSize: null, maxBytes: null });
  assert.deepEqual(doc.gitStatusCache, { fsmonitor: true, untrackedCache: true });
  assert.match(ws.vx(['info']).stdout, /^workers +3 — workspace$/m);
  assert.match(ws.vx(['info']).stdout, /task runs \(24h\) +6 \(3 cache hits: 2 up-to-date, 1 restored\)\nflaky tasks +a#flaky: passed 1×, failed 1× on 1 key\n/);
});

test('configs that do not load are named, and the rest is counted', () => {
  const ws = monorepo({ a: { tasks: { build: copyBuild() } }, b: { tasks: { build: copyBuild() } } });
  ws.write('packages/b/vx.config.json', '{ "tasks": { "build": 1 } }');
  const doc = info(ws);
  assert.deepEqual([doc.projects, doc.tasks, doc.configErrors.length], [2, 1, 1]);
  assert.equal(doc.configErrors[0].path, 'packages/b/vx.config.json');
  assert.match(ws.vx(['info']).stdout, /projects +2 \(1 task · 1 config did not load\)\nconfig errors +packages\/b\/vx\.config\.json/);
  ws.write('vx.workspace.json', '{ "concurrency": -1 }');
  const worse = info(ws);
  assert.deepEqual([worse.projects, worse.tasks], [0, 0]);
  assert.equal(worse.configErrors[0].path, 'vx.workspace.json');
  ws.remove('vx.workspace.json');
  ws.write('packages/b/package.json', '{');
  assert.equal(info(ws).configErrors.length, 1);
});

test('JavaScript configs: the runtime, what is cached, what runs every time, and no runtime at all', () => {
  const ws = monorepo({ a: {}, b: {} });
  ws.write('packages/a/vx.config.mjs', 'export default { tasks: { build: { exec: { command: "true" } } } };');
  ws.write('packages/b/vx.config.mjs', 'export default { tasks: { build: { exec: { command: `echo ${Date.now()}` } } } };');
  const doc = info(ws);
  assert.equal(doc.evaluator.kind, 'node');
  assert.equal(`v${doc.evaluator.version}`, process.version);
  assert.equal(doc.configs.cached + doc.configs.everyRun.length, 2);
  assert.deepEqual(doc.configs.everyRun.map((c) => c.path), ['packages/b/vx.config.mjs']);
  assert.match(ws.vx(['info']).stdout, /configs +0 json · 1 cached · 1 every run\n +packages\/b\/vx\.config\.mjs: /);
  const tools = path.join(ws.base, 'tools');
  fs.mkdirSync(tools);
  fs.symlinkSync('/bin/sh', path.join(tools, 'sh'));
  const alone = info(ws, [], { env: { PATH: tools } });
  assert.deepEqual([alone.evaluator, alone.git, alone.gitStatusCache], [null, null, null]);
  assert.equal(alone.configErrors.length, 2);
  const text = ws.vx(['info'], { env: { PATH: tools } });
  assert.equal(text.status, 0);
  assert.match(text.stdout, /node +\(not found\)\ngit +\(not found\)\n/);
});

test('another store, a missing one, one that is damaged, one that cannot be written', { skip: process.getuid() === 0 ? 'root may write everywhere' : false }, () => {
  const ws = monorepo({ a: { tasks: { build: copyBuild() } } });
  ws.run(['a#build']);
  const store = info(ws).cacheDir;
  fs.chmodSync(path.join(store, 'store-1.db'), 0o444);
  fs.chmodSync(store, 0o555);
  const before = snapshot(store);
  assert.deepEqual([info(ws).cacheMode, info(ws).cacheEntries], ['read-only', 1]);
  assert.match(ws.vx(['info']).stdout, /cache dir .*\(shared, read-only\)/);
  assert.deepEqual(snapshot(store), before);
});

test('a named store: missing is refused by name, empty reads as empty, databases set aside are listed', () => {
  const ws = monorepo({ a: { tasks: { build: copyBuild() } } });
  const missing = ws.vx(['info', '--cache-dir', '../nowhere', '--format', 'json']);
  assert.equal(missing.status, 1);
  assert.equal(JSON.parse(missing.stdout).error.code, 'VX_E_REFUSED');
  assert.match(missing.stderr, /nowhere does not exist/);
  const empty = path.join(ws.base, 'empty');
  fs.mkdirSync(empty);
  const doc = info(ws, ['--cache-dir', empty]);
  assert.deepEqual([doc.cacheDir, doc.cacheSource, doc.cacheEntries], [empty, 'flag', 0]);
  assert.deepEqual(fs.readdirSync(empty), []);
  ws.run(['a#build']);
  fs.writeFileSync(ws.path('.vx/index-1.db.bad-1-2'), 'x');
  assert.deepEqual(info(ws).badFiles, [ws.path('.vx/index-1.db.bad-1-2')]);
});

test('info fails only without a workspace and for words it does not take', () => {
  const ws = bare();
  const r = ws.vx(['info', '--format', 'json']);
  assert.deepEqual([r.status, JSON.parse(r.stdout).error.code], [1, 'VX_E_NO_WORKSPACE']);
  const word = monorepo({ a: {} }).vx(['info', 'x']);
  assert.equal(word.status, 1);
  assert.match(word.stderr, /unexpected word: x/);
});

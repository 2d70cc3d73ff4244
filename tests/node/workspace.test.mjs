import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import test from 'node:test';
import { pathToFileURL } from 'node:url';
import { always, bare, cached, copyBuild, monorepo, single } from '../cli/lib/workspace.mjs';
import { library, open, refusal, vx } from './lib/addon.mjs';

const two = () => monorepo({ app: { deps: ['lib'], tasks: { build: copyBuild({ dependsOn: ['^build'] }), bad: always('exit 3') } }, lib: { tasks: { build: copyBuild() } } });

test('import and require give the same classes', () => {
  const required = createRequire(import.meta.url)(path.join(library, 'index.cjs'));
  assert.deepEqual(Object.keys(vx).filter((k) => k !== 'default').sort(), Object.keys(required).sort());
  for (const [name, value] of Object.entries(required)) assert.equal(vx[name], value);
});

test('the workspace above a path, a relative path, a URL or bytes', async () => {
  const ws = two();
  for (const where of [ws.path('packages/app/src'), path.relative(process.cwd(), ws.path('packages/app')), pathToFileURL(ws.dir), Buffer.from(ws.dir)]) {
    const workspace = await vx.openWorkspace(where);
    assert.equal(workspace.root, ws.dir);
    await workspace.close();
  }
  const none = bare();
  const error = await refusal(vx.openWorkspace(none.dir), 'VX_E_NO_WORKSPACE');
  assert.match(error.message, /no workspace at or above/);
  await refusal(vx.openWorkspace(path.join(none.dir, 'absent')), 'VX_E_IO');
});

test('arguments are checked before they reach the library', async () => {
  for (const bad of ['a\0b', 7, '', 'x\ud800y', Buffer.from('a\0')]) await refusal(vx.openWorkspace(bad), 'VX_E_INVALID');
  const ws = two();
  await refusal(vx.openWorkspace(ws.dir, { evn: {} }), 'VX_E_INVALID');
  await refusal(vx.openWorkspace(ws.dir, { env: { 'A=B': '1' } }), 'VX_E_INVALID');
  const workspace = await open(ws);
  await refusal(workspace.run({ tasks: ['build'] }, { onevent() {} }), 'VX_E_INVALID');
  await refusal(workspace.run({ tasks: ['build'] }, { onEvent: 1 }), 'VX_E_INVALID');
  await refusal(workspace.run({ tasks: ['build'] }, { signal: {} }), 'VX_E_INVALID');
  await refusal(workspace.run('build'), 'VX_E_INVALID');
  assert.match((await refusal(workspace.plan({ task: ['build'] }), 'VX_E_USAGE')).message, /did you mean tasks/);
  assert.throws(() => new vx.Workspace(), { code: 'VX_E_INVALID' });
});

test('plan, run, plan again; the executable agrees', async () => {
  const ws = two();
  const workspace = await open(ws);
  const request = { tasks: ['build'], all: true };
  const statuses = (plan) => plan.tasks.map((t) => [t.id, t.cacheStatus]);
  assert.deepEqual(statuses(await workspace.plan(request)), [['app#build', 'miss'], ['lib#build', 'miss']]);
  const summary = await workspace.run(request);
  assert.equal(summary.ok, true);
  assert.deepEqual(summary.tasks.map((t) => [t.id, t.status]).sort(), [['app#build', 'success'], ['lib#build', 'success']]);
  assert.equal(ws.read('packages/app/dist/x'), 'app\n');
  assert.deepEqual(statuses(await workspace.plan(request)), [['app#build', 'hit-local'], ['lib#build', 'hit-local']]);
  const plan = ws.plan(['build', '--all']);
  for (const row of summary.tasks) assert.equal(plan.keys[row.id], row.hash);
  assert.deepEqual(Object.values(ws.run(['build', '--all']).outcomes), ['up-to-date', 'up-to-date']);
  await workspace.close();
});

test('a task that fails is a result; a request that cannot be is a refusal', async () => {
  const ws = two();
  const workspace = await open(ws);
  const summary = await workspace.run({ tasks: ['app#bad'] });
  assert.deepEqual([summary.ok, summary.exitCode, summary.tasks[0].exitCode], [false, 1, 3]);
  const unknown = await refusal(workspace.run({ tasks: ['biuld'], all: true }), 'VX_E_UNKNOWN_TASK');
  assert.match(unknown.message, /build/);
  ws.config('lib', (c) => (c.tasks.build.dependsOn = ['app#build']));
  const cycle = await refusal(workspace.run({ tasks: ['build'], all: true }), 'VX_E_CYCLE');
  assert.deepEqual([typeof cycle.details, cycle.name], ['object', 'VxError']);
});

test('show, listTasks, info, why, last, cacheStats, pruneCache', async () => {
  const ws = two();
  const workspace = await open(ws);
  await refusal(workspace.last(), 'VX_E_NO_HISTORY');
  await workspace.run({ tasks: ['build'], all: true });
  assert.deepEqual((await workspace.show()).result.map((p) => p.name), ['app', 'lib']);
  assert.equal((await workspace.show('lib#build')).kind, 'task');
  assert.deepEqual((await workspace.listTasks({ filter: ['lib'] })).projects.map((p) => p.name), ['lib']);
  assert.equal((await workspace.info()).result.workspaceRoot, ws.dir);
  assert.equal((await workspace.why('lib#build')).result.taskId, 'lib#build');
  const last = await workspace.last();
  assert.equal(last.result.invocation.taskCount, 2);
  assert.equal((await workspace.last({ list: 5 })).result.length, 1);
  assert.equal((await workspace.last({ run: last.result.invocation.runId })).kind, 'run');
  assert.equal((await workspace.cacheStats()).result.entries, 2);
  await refusal(workspace.pruneCache(), 'VX_E_USAGE');
  assert.equal((await workspace.pruneCache({ maxSize: '1B', dryRun: true })).result.evicted, 2);
  assert.equal((await workspace.pruneCache({ maxSize: '1B' })).result.evicted, 2);
  assert.equal((await workspace.cacheStats()).result.entries, 0);
});

test('the environment is the one given, else the process\'s; it is copied', async () => {
  const ws = single(always('printf "%s" "$WHO" > seen', { exec: { env: { passThrough: ['WHO'] } } }));
  const env = { ...process.env, HOME: path.join(ws.base, 'home'), WHO: 'given' };
  const given = await vx.openWorkspace(ws.dir, { env });
  env.WHO = 'changed later';
  await given.run({ tasks: ['build'], all: true });
  assert.equal(ws.read('packages/a/seen'), 'given');
  process.env.WHO = 'of the process';
  try {
    const inherited = await vx.openWorkspace(ws.dir);
    process.env.WHO = 'changed later';
    await inherited.run({ tasks: ['build'], all: true, cacheDir: path.join(ws.base, 'store') });
    assert.equal(ws.read('packages/a/seen'), 'of the process');
  } finally {
    delete process.env.WHO;
  }
});

test('calls on one workspace may overlap: each has its turn', async () => {
  const ws = two();
  const workspace = await open(ws);
  const run = workspace.run({ tasks: ['build'], all: true });
  const answers = await Promise.all([run, ...Array.from({ length: 20 }, (_, i) => (i % 2 ? workspace.plan({ tasks: ['build'], all: true }) : workspace.listTasks()))]);
  assert.equal(answers[0].ok, true);
  assert.equal(answers.length, 21);
  await workspace.close();
});

test('a closed workspace refuses; closing stops what goes on', async () => {
  const ws = single(always('echo go; exec sleep 600'));
  const workspace = await open(ws);
  let running;
  const started = new Promise((resolve) => (running = resolve));
  const run = workspace.run({ tasks: ['build'], all: true }, { onOutput: running });
  await started;
  const closing = workspace.close();
  assert.equal(workspace.close(), closing);
  assert.equal((await run).exitCode, 143);
  await closing;
  assert.match((await refusal(workspace.plan(), 'VX_E_INVALID')).message, /closed/);
});

test('a path that is no UTF-8', { skip: process.platform === 'darwin' }, async () => {
  const base = bare();
  const dir = Buffer.concat([Buffer.from(`${base.dir}/`), Buffer.from([0xff, 0x61])]);
  fs.mkdirSync(dir);
  fs.writeFileSync(Buffer.concat([dir, Buffer.from('/package.json')]), '{"name":"odd","private":true}');
  fs.writeFileSync(Buffer.concat([dir, Buffer.from('/vx.config.json')]), JSON.stringify({ tasks: { build: cached('mkdir dist; cp src dist/', { files: ['src'] }) } }));
  fs.writeFileSync(Buffer.concat([dir, Buffer.from('/src')]), 's');
  const workspace = await vx.openWorkspace(dir, { env: { PATH: process.env.PATH, HOME: base.dir } });
  assert.equal((await workspace.run({ tasks: ['build'], all: true })).ok, true);
  assert.equal(workspace.rootBytes.equals(dir), true);
  assert.throws(() => workspace.root, { code: 'VX_E_INVALID' });
});

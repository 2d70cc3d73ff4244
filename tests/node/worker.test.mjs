import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { always, cached, cleanEnv, copyBuild, monorepo, single, until } from '../cli/lib/workspace.mjs';
import { addonFile, library, open } from './lib/addon.mjs';

const file = fileURLToPath(new URL('./lib/worker.mjs', import.meta.url));
const linux = process.platform === 'linux';

function start(kind, ws, more = {}) {
  const worker = new Worker(file, { workerData: { kind, dir: ws.dir, env: cleanEnv(ws.base), ...more } });
  const message = new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
  return { worker, message };
}

/** Alive: not gone, and not a zombie that its new parent has yet to look at. */
function alive(pid) {
  if (!linux) {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  }
  try {
    return !/^State:\s+Z/m.test(fs.readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

const descriptors = () => fs.readdirSync('/proc/self/fd').length;
const threads = () => fs.readdirSync('/proc/self/task').length;

test('a run in a Worker, terminated twenty times, leaves nothing', async () => {
  const ws = single(always('echo $$ >> pids; echo go; exec sleep 600'));
  const once = async () => {
    const { worker, message } = start('endless', ws);
    assert.equal(await message, 'going');
    await worker.terminate();
  };
  await once();  // what is made once and kept
  const before = linux ? [descriptors(), threads()] : [];
  for (let i = 0; i < 20; i += 1) await once();
  const pids = ws.read('packages/a/pids').trim().split('\n').map(Number);
  assert.equal(pids.length, 21);
  await until(() => !pids.some(alive), 'the end of every task');
  if (linux) {
    await until(() => descriptors() <= before[0] + 1, 'descriptors to be closed');
    await until(() => threads() <= before[1], 'threads to end');
  }
  const summary = await (await open(ws)).run({ tasks: ['build'], all: true, timeout: 1 });
  assert.equal(summary.ok, false);
});

test('terminated while events come as fast as they can', async () => {
  const ws = single(always('echo go; exec cat /dev/zero'));
  for (let i = 0; i < 5; i += 1) {
    const { worker, message } = start('endless', ws);
    assert.equal(await message, 'going');
    await worker.terminate();
  }
});

test('terminated while queries are on their way', async () => {
  const packages = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`p${i}`, { tasks: { build: copyBuild() } }]));
  const ws = monorepo(packages);
  for (let i = 0; i < 5; i += 1) {
    const { worker, message } = start('queries', ws);
    assert.equal(await message, 'going');
    await worker.terminate();
  }
});

test('terminated while a cache layer owes an answer', async () => {
  const ws = single();
  for (let i = 0; i < 5; i += 1) {
    const { worker, message } = start('layer', ws, { store: path.join(ws.base, 'store') });
    assert.equal(await message, 'going');
    await worker.terminate();
  }
});

test('several Workers at once, each with its own environment', async () => {
  const spaces = Array.from({ length: 3 }, () => single(cached('printf "%s" "$WHO" > out', { outputs: ['out'], exec: { env: { passThrough: ['WHO'] } } })));
  const workers = spaces.map((ws, i) => start('whole', ws, { store: path.join(ws.base, `store${i}`) }));
  for (const { message } of workers) assert.deepEqual(await message, { ok: true, exitCode: 0 });
  for (const [i, ws] of spaces.entries()) assert.equal(ws.read('packages/a/out'), `worker ${path.join(ws.base, `store${i}`)}`);
  for (const { worker } of workers) await worker.terminate();
  assert.equal(process.env.WHO, undefined);
});

test('handles that nobody closes', async () => {
  const ws = single();
  const { worker, message } = start('garbage', ws, { store: path.join(ws.base, 'store') });
  assert.equal(await message, 'done');
  await new Promise((resolve) => worker.once('exit', resolve));
});

/** A program of its own: how it ended and what it printed. */
function program(ws, body, flags = []) {
  const text = `const vx = require(${JSON.stringify(path.join(library, 'index.cjs'))});\n(async () => {\n${body}\n})();`;
  return [process.execPath, [...flags, '-e', text], { cwd: ws.dir, env: cleanEnv(ws.base, { VX_NODE_BINARY: addonFile }), encoding: 'utf8', timeout: 60_000 }];
}

test('a program ends by itself when nothing goes on, closed or not', () => {
  const ws = single();
  const r = spawnSync(...program(ws, `
    const w = await vx.openWorkspace();
    console.log((await w.run({ tasks: ['build'], all: true })).ok);
    await vx.Cache.open({ root: w.root });`));
  assert.deepEqual([r.status, r.signal, r.stdout], [0, null, 'true\n'], r.stderr);
});

test('a program that awaits a run stays until its end', () => {
  const ws = single(always('sleep 0.3'));
  const r = spawnSync(...program(ws, "console.log((await (await vx.openWorkspace()).run({ tasks: ['build'], all: true })).exitCode)"));
  assert.deepEqual([r.status, r.stdout], [0, '0\n'], r.stderr);
});

test('process.exit() in a callback ends the tasks', async () => {
  const ws = single(always('echo $$; exec sleep 600'));
  const r = spawnSync(...program(ws, `
    const w = await vx.openWorkspace();
    w.run({ tasks: ['build'], all: true }, { onOutput: (o) => { process.stdout.write(o.data); process.exit(5); } });`));
  assert.deepEqual([r.status, r.signal], [5, null], r.stderr);
  await until(() => !alive(Number(r.stdout)), 'the end of the task');
});

test('an uncaught error in a host ends the tasks', async () => {
  const ws = single(always('echo $$; exec sleep 600'));
  const r = spawnSync(...program(ws, `
    const w = await vx.openWorkspace();
    w.run({ tasks: ['build'], all: true }, { onOutput: (o) => { process.stdout.write(o.data); setTimeout(() => { throw new Error('host'); }); } });`));
  assert.deepEqual([r.status, r.signal], [1, null], r.stderr);
  assert.match(r.stderr, /Error: host/);
  await until(() => !alive(Number(r.stdout)), 'the end of the task');
});

test('signals stay the host\'s: its handler runs, its default ends it', async () => {
  const ws = single(always('echo go; exec sleep 600'));
  const [command, args, options] = program(ws, `
    const stop = new AbortController();
    process.once('SIGTERM', () => stop.abort());
    const w = await vx.openWorkspace();
    await w.run({ tasks: ['build'], all: true }, { signal: stop.signal, onOutput: () => console.log('going') }).catch((e) => console.log(e.name));
    process.kill(process.pid, 'SIGTERM');
    setInterval(() => {}, 1000);`);
  const child = spawn(command, args, options);
  let out = '';
  child.stdout.on('data', (d) => {
    if (out === '') child.kill('SIGTERM');
    out += d;
  });
  const signal = await new Promise((resolve) => child.on('exit', (_, s) => resolve(s)));
  assert.deepEqual([out, signal], ['going\nAbortError\n', 'SIGTERM']);
});

test('garbage collection of open handles in the middle of work', () => {
  const ws = single();
  const r = spawnSync(...program(ws, `
    for (let i = 0; i < 20; i += 1) {
      const w = await vx.openWorkspace();
      const plan = w.plan({ tasks: ['build'], all: true });
      gc();
      await plan;
      await vx.Cache.open({ dir: process.cwd() + '/../store' }).then((c) => c.lookup(vx.digestBytes('x')));
      gc();
    }
    console.log('ok');`, ['--expose-gc']));
  assert.deepEqual([r.status, r.stdout], [0, 'ok\n'], r.stderr);
});

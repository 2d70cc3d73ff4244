import assert from 'node:assert/strict';
import fs from 'node:fs';
import test from 'node:test';
import { always, cached, monorepo, until } from './lib/workspace.mjs';

/** A task that says where its processes are, then waits; `trap` decides what it does with a signal. */
const waiting = (trap = '') => `${trap} sleep 300 & echo $$ $! > ../../pids; touch ../../up; wait`;
const alive = (pid) => {
  // A zombie is not alive.
  try {
    return !/^State:\s+Z/m.test(fs.readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
};
async function started(ws, args) {
  const run = ws.start(args, { env: { VX_KILL_GRACE_MS: '1000' } });
  await until(() => ws.exists('up'), 'the task to start');
  const pids = ws.read('pids').trim().split(' ').map(Number);
  return { ...run, pids };
}

for (const [signal, code] of [['SIGINT', 130], ['SIGTERM', 143], ['SIGHUP', 129]]) {
  test(`${signal} ends the run by that signal and leaves nothing running`, async () => {
    const ws = monorepo({ a: { tasks: { t: cached(waiting(), { outputs: [] }) } } });
    const run = await started(ws, ['run', 'a#t', '--summarize=s.json']);
    run.child.kill(signal);
    const r = await run.ended;
    assert.equal(r.signal, signal, r.stderr);
    await until(() => run.pids.every((pid) => !alive(pid)), 'the task to be gone');
    const doc = JSON.parse(ws.read('s.json'));
    assert.equal(doc.ok, false);
    assert.equal(doc.exitCode, code);
    assert.deepEqual(doc.tasks, []);
    assert.equal(doc.aborted.length, 1);
    ws.config('a', (c) => (c.tasks.t.exec.command = 'true'));
    assert.equal(ws.run(['a#t']).outcomes['a#t'], 'executed');
  });
}

test('a task that traps the signal and exits 0 is not stored', async () => {
  const ws = monorepo({ a: { tasks: { t: cached("trap 'exit 0' INT; sleep 300 & echo $$ $! > ../../pids; touch ../../up; wait", { outputs: [] }) } } });
  const run = await started(ws, ['run', 'a#t', '--format', 'json']);
  run.child.kill('SIGINT');
  const r = await run.ended;
  assert.equal(r.signal, 'SIGINT');
  assert.deepEqual(JSON.parse(r.stdout).tasks, []);
  assert.equal(ws.plan(['a#t']).status['a#t'], 'miss');
});

test('a second signal ends at once a task that ignores the first', async () => {
  const ws = monorepo({ a: { tasks: { t: always("trap '' INT TERM; echo $$ 1 > ../../pids; touch ../../up; while :; do sleep 0.1; done") } } });
  const run = ws.start(['run', 'a#t'], { env: { VX_KILL_GRACE_MS: '60000' } });
  await until(() => ws.exists('up'), 'the task to start');
  const [pid] = ws.read('pids').trim().split(' ').map(Number);
  run.child.kill('SIGINT');
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.ok(alive(pid));
  const before = Date.now();
  run.child.kill('SIGINT');
  const r = await run.ended;
  assert.ok(Date.now() - before < 10_000);
  assert.equal(r.signal, 'SIGINT');
  await until(() => !alive(pid), 'the task to be gone');
});

test('a stopped run records what it did not count', async () => {
  const ws = monorepo({ a: { tasks: { t: always(waiting()), u: always('true', { dependsOn: ['t'] }) } } });
  const run = await started(ws, ['run', 'a#u', '--all']);
  run.child.kill('SIGINT');
  const r = await run.ended;
  assert.match(r.stdout, /0 total · not counted: 1 aborted, 1 not run/);
});

test('a timeout takes the whole group and is a failure', () => {
  const ws = monorepo({ a: { tasks: { t: always(waiting()) } } });
  const r = ws.run(['a#t', '--timeout', '300'], { env: { VX_KILL_GRACE_MS: '500' } });
  assert.equal(r.status, 1);
  assert.equal(r.doc.tasks[0].timedOut, true);
  assert.equal(r.doc.tasks[0].exitCode, 143);
  assert.match(r.stderr, /failed \(timed out, exit 143\)/);
  const pids = ws.read('pids').trim().split(' ').map(Number);
  assert.ok(pids.every((pid) => !alive(pid)));
});

test('a background child does not hold the run, and its late output is cut', () => {
  const ws = monorepo({ a: { tasks: { t: always('sleep 5 & echo done') } } });
  const before = Date.now();
  const r = ws.vx(['run', 'a#t']);
  assert.equal(r.status, 0);
  assert.ok(Date.now() - before < 4000);
  assert.match(r.stdout, /done/);
});

test('a task that reads its input sees the end of it', () => {
  const ws = monorepo({ a: { tasks: { t: always('cat; echo over') } } });
  assert.match(ws.vx(['run', 'a#t'], { input: 'typed\n' }).stdout, /\nover\n/);
});

test('a server is held until Ctrl-C, its output follows the footer, and nothing is left', async () => {
  const ws = monorepo({ a: { tasks: { dev: always('echo $$ > ../../pids; echo listening; while :; do echo tick; sleep 0.1; done', { exec: { persistent: { readyWhen: 'listening' } } }), e2e: always('echo checked', { dependsOn: ['dev'] }) } } });
  const run = ws.start(['run', 'a#dev']);
  await until(() => /─ vx [^]*tick\n.*tick/.test(run.output()), 'output after the footer');
  assert.match(run.output(), /└─ a#dev ── \(\S+\) running\n/);
  const pid = Number(ws.read('pids'));
  assert.ok(alive(pid));
  run.child.kill('SIGINT');
  assert.equal((await run.ended).signal, 'SIGINT');
  await until(() => !alive(pid), 'the server to be gone');
  const once = ws.vx(['run', 'a#e2e']);
  assert.equal(once.status, 0, once.text);
  assert.match(once.stdout, /checked/);
  assert.equal(alive(Number(ws.read('pids'))), false);
});

test('a held server that dies by itself fails the run', () => {
  const ws = monorepo({ a: { tasks: { dev: always('echo up; sleep 0.5; exit 3', { exec: { persistent: { readyWhen: 'up' } } }) } } });
  const r = ws.vx(['run', 'a#dev']);
  assert.equal(r.status, 1);
  assert.match(r.stderr, /a#dev .*3/);
});

test('a server that cannot start says why', () => {
  const ws = monorepo({
    a: { tasks: { dev: always('sleep 60', { dependsOn: ['b#clear'], exec: { persistent: { readyWhen: 'up' } } }) } },
    b: { tasks: { clear: always('rm -rf ../a') } },
  });
  const r = ws.vx(['run', 'a#dev']);
  assert.equal(r.status, 1);
  assert.match(r.text, /a#dev did not start: .*packages\/a/);
});

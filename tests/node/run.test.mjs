import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import test from 'node:test';
import { faults } from '../cli/lib/schema.mjs';
import { always, cached, copyBuild, monorepo, single, until } from '../cli/lib/workspace.mjs';
import { open, refusal, vx } from './lib/addon.mjs';

const everything = { tasks: ['build'], all: true };

test('events and output, in their order and of the shapes that are written down', async () => {
  const ws = monorepo({
    app: { deps: ['lib'], tasks: { build: cached('echo from-app; echo oops >&2; mkdir -p dist; echo a > dist/a', { dependsOn: ['^build'] }) } },
    lib: { tasks: { build: copyBuild() } },
  });
  const workspace = await open(ws);
  for (const replayed of [false, true]) {
    const seen = [];
    let text = '';
    const summary = await workspace.run(everything, {
      onEvent: (e) => seen.push(e),
      onOutput: (o) => {
        assert.equal(o.taskId, 'app#build');
        assert.equal(o.replayed, replayed);
        text += `${o.stream}:${Buffer.from(o.data)}`;
      },
    });
    assert.equal(summary.ok, true);
    for (const e of seen) assert.deepEqual(faults('event', e), []);
    assert.deepEqual([seen[0].kind, seen.at(-1).kind], ['run.start', 'run.end']);
    const ends = seen.filter((e) => e.kind === 'task.end').map((e) => e.taskId);
    if (!replayed) assert.deepEqual(ends, ['lib#build', 'app#build']);
    assert.deepEqual([...ends].sort(), ['app#build', 'lib#build']);
    assert.match(text, /stdout:from-app\n/);
    assert.match(text, /stderr:oops\n/);
  }
  const quiet = [];
  await workspace.run(everything, { skipCurrent: true, onEvent: (e) => quiet.push(e.kind), onOutput: () => assert.fail('nothing ran') });
  assert.equal(quiet.includes('task.end'), false);
});

test('100 MB of output arrive to the byte', async () => {
  const bytes = 100 << 20;
  const ws = single(always(`head -c ${bytes} /dev/zero`));
  let got = 0;
  let other = 0;
  const ticks = setInterval(() => (other += 1), 5);
  const summary = await (await open(ws)).run(everything, {
    onOutput: ({ data }) => {
      got += data.length;
      if (data[0] !== 0 || data[data.length - 1] !== 0) assert.fail('another byte');
    },
  });
  clearInterval(ticks);
  assert.equal(summary.ok, true);
  assert.equal(got, bytes);
  assert.ok(other > 3, 'timers have their turn between chunks');
});

test('a signal ends tasks at once and the run with an AbortError', async () => {
  const ws = single(always('echo go; exec sleep 600'));
  const workspace = await open(ws);
  const controller = new AbortController();
  let at;
  const error = await workspace.run(everything, {
    signal: controller.signal,
    onOutput: () => {
      at = performance.now();
      controller.abort(new Error('enough'));
    },
  }).catch((e) => e);
  const took = performance.now() - at;
  assert.deepEqual([error.name, error.code, error.cause.message], ['AbortError', 'VX_E_CANCELLED', 'enough']);
  assert.equal(error.summary.exitCode, 143);
  assert.ok(took < 1500, `it took ${took} ms`);  // a sleeping task needs no grace; the rest is this machine's load
  assert.equal(error instanceof vx.VxError, true);
  const again = await workspace.run(everything, { signal: controller.signal }).catch((e) => e);
  assert.deepEqual([again.name, again.summary], ['AbortError', undefined]);
});

test('a task that ignores the signal is killed after its grace', async () => {
  const ws = single(always("trap '' TERM; echo go; while :; do sleep 1; done"));
  const controller = new AbortController();
  const error = await (await open(ws)).run(everything, { signal: controller.signal, onOutput: () => controller.abort() }).catch((e) => e);
  assert.equal(error.name, 'AbortError');
});

test('a signal stops a query that waits', async () => {
  const ws = monorepo({ a: { tasks: { build: always('echo go; exec sleep 600') } } });
  const first = await open(ws);
  const second = await open(ws);
  let running;
  const started = new Promise((resolve) => (running = resolve));
  const stop = new AbortController();
  const run = first.run(everything, { signal: stop.signal, onOutput: running }).catch((e) => e);
  await started;
  const controller = new AbortController();
  setImmediate(() => controller.abort());
  const error = await second.pruneCache({ maxSize: '1B', signal: controller.signal }).catch((e) => e);
  assert.equal(error.name, 'AbortError');
  stop.abort();
  assert.equal((await run).name, 'AbortError');
});

test('a callback that throws stops the run, which rejects with what it threw', async () => {
  const ws = single(always('echo go; exec sleep 600'));
  let calls = 0;
  const thrown = new RangeError('mine');
  const error = await (await open(ws)).run(everything, {
    onOutput() {
      calls += 1;
      throw thrown;
    },
  }).catch((e) => e);
  assert.equal(error, thrown);
  assert.equal(calls, 1);
});

test('two runs at once beside child processes of the host', async () => {
  const packages = Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`p${i}`, { tasks: { build: copyBuild() } }]));
  const spaces = [monorepo(packages), monorepo(packages)];
  const before = ['SIGCHLD', 'SIGINT', 'SIGTERM', 'SIGPIPE'].map((name) => process.listenerCount(name));
  let hosts = 0;
  let going = true;
  const host = (async () => {
    while (going) {
      const { stdout } = await promisify(execFile)('sh', ['-c', 'echo host; exit 0']);
      assert.equal(stdout, 'host\n');
      hosts += 1;
    }
    return promisify(execFile)('sh', ['-c', 'exit 7']).catch((e) => e.code);
  })();
  const summaries = await Promise.all(spaces.map(async (ws) => (await open(ws)).run(everything)));
  await until(() => hosts > 2, 'child processes of the host');
  going = false;
  assert.equal(await host, 7);
  assert.deepEqual(summaries.map((s) => [s.ok, s.summary.successful]), [[true, 12], [true, 12]]);
  assert.deepEqual(['SIGCHLD', 'SIGINT', 'SIGTERM', 'SIGPIPE'].map((name) => process.listenerCount(name)), before);
});

test('long calls leave libuv\'s threads alone', async () => {
  const ws = single(always('echo go; exec sleep 600'));
  const stop = new AbortController();
  const spaces = await Promise.all(Array.from({ length: 8 }, () => open(ws)));
  let running = 0;
  // Runs of one workspace wait for each other, inside the library.
  const runs = spaces.map((w) => w.run(everything, { signal: stop.signal, onEvent: () => (running += 1) }).catch((e) => e.name));
  await until(() => running > 0, 'a run');
  const { stat } = await import('node:fs/promises');
  await Promise.all(Array.from({ length: 16 }, () => stat(ws.dir)));
  stop.abort();
  assert.deepEqual(new Set(await Promise.all(runs)), new Set(['AbortError']));
});

test('refused before it starts: nothing is left over', async () => {
  const ws = single(copyBuild());
  const workspace = await open(ws);
  for (let i = 0; i < 50; i += 1) await refusal(workspace.run({ tasks: ['no-such'], all: true }, { onEvent() {} }), 'VX_E_UNKNOWN_TASK');
  assert.equal((await workspace.run(everything)).ok, true);
});

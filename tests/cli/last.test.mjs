import assert from 'node:assert/strict';
import fs from 'node:fs';
import test from 'node:test';
import { faults } from './lib/schema.mjs';
import { always, cached, copyBuild, monorepo } from './lib/workspace.mjs';

/** The document of `vx last`, held against its schema. */
function last(ws, args = [], options = {}) {
  const r = ws.vx(['last', ...args, '--format', 'json'], options);
  assert.equal(r.status, 0, r.text);
  const doc = JSON.parse(r.stdout);
  const kind = Array.isArray(doc) ? 'list' : 'output' in doc ? 'log' : 'run';
  assert.deepEqual(faults('last', { kind, result: doc, notices: [] }), []);
  return doc;
}
const code = (r) => JSON.parse(r.stdout).error.code;
const byId = (doc) => Object.fromEntries(doc.tasks.map((t) => [`${t.project}#${t.task}`, t]));

const shop = () =>
  monorepo({
    cart: { tasks: { test: always('echo "src/x:1:3 - error: no total"; echo more >&2; test -f ok') } },
    shop: { tasks: { test: cached('echo tested; mkdir -p dist', { dependsOn: ['prepare'] }), prepare: always('true') } },
    late: { deps: ['cart'], tasks: { test: always('true', { dependsOn: ['^test'] }) } },
  });

test('a run that passed, a run that failed, and what failed', () => {
  const ws = shop();
  ws.vx(['run', 'test', '--all', '--continue=deps-ok'], { env: { CI: '' } });
  const doc = last(ws);
  assert.equal(doc.invocation.exitOk, false);
  assert.equal(doc.invocation.command, 'vx run test --all --continue=deps-ok');
  assert.deepEqual(doc.invocation.requestedTasks, ['test']);
  assert.equal(doc.invocation.flow, 'broad');
  assert.equal(doc.invocation.branch, 'main');
  assert.match(doc.invocation.commitSha, /^[0-9a-f]{40}$/);
  assert.equal(doc.invocation.taskCount, doc.tasks.length);
  const tasks = byId(doc);
  assert.equal(tasks['cart#test'].status, 'failed');
  assert.equal(tasks['cart#test'].exitCode, 1);
  assert.match(tasks['cart#test'].output, /no total/);
  assert.match(tasks['cart#test'].output, /more/);
  assert.deepEqual(tasks['cart#test'].locations, [{ file: 'packages/cart/src/x', line: 1, col: 3 }]);
  assert.equal('fixedIn' in tasks['cart#test'], false);
  assert.equal(tasks['late#test'].blockedBy, 'cart#test');
  assert.equal(tasks['late#test'].cacheHit, null);
  assert.equal(tasks['shop#test'].cacheHit, false);
  assert.equal(tasks['shop#test'].restored, null);
  assert.equal('output' in tasks['shop#test'], false);
  const text = ws.vx(['last']).stdout;
  assert.match(text, /^run [0-9a-f-]{36} — FAILED\n {2}\$ vx run test --all --continue=deps-ok\n {2}\S+Z · \S+ · main @ [0-9a-f]{8}\n {2}4 tasks · 0 hits \(0 up-to-date, 0 restored\) · 1 failed\n\n {2}failed \(exit 1\) +cart#test /);
  assert.match(text, /skipped \(after cart#test failed\) +late#test/);
  assert.match(text, /success +shop#test +\S+ {2}[0-9a-f]{8} {2}.*× cpu/);
  assert.match(text, /\n\n {2}re-run what failed: vx run cart#test\n$/);

  ws.write('packages/cart/ok', '');
  ws.run(['test', '--all']);
  const passed = last(ws);
  assert.equal(passed.invocation.exitOk, true);
  assert.equal(byId(passed)['shop#test'].restored, false);
  assert.match(ws.vx(['last']).stdout, /^run \S+ — ok\n/);
  const failed = last(ws, ['--failed']);
  assert.equal(failed.invocation.runId, doc.invocation.runId);
  assert.equal(byId(failed)['cart#test'].fixedIn, passed.invocation.runId);
  assert.deepEqual(last(ws, [doc.invocation.runId]).invocation, failed.invocation);
  assert.deepEqual(last(ws, [doc.invocation.runId.slice(0, 20)]).invocation, failed.invocation);
});

test('the list, its length, and only failed runs', () => {
  const ws = shop();
  for (let i = 0; i < 3; ++i) ws.run(['shop#test']);
  ws.run(['cart#test']);
  const all = last(ws, ['--list']);
  assert.equal(all.length, 4);
  assert.deepEqual(all.map((r) => r.exitOk), [false, true, true, true]);
  assert.deepEqual(all.map((r) => r.startedAt), all.map((r) => r.startedAt).sort((a, b) => b - a));
  for (const args of [['--list', '2'], ['--list=2'], ['2', '--list']]) assert.equal(last(ws, args).length, 2);
  assert.equal(last(ws, ['--list', '--failed']).length, 1);
  const lines = ws.vx(['last', '--list']).stdout.split('\n');
  assert.match(lines[0], /^FAILED {2}\S+Z {2}[0-9a-f-]{13,} .*1 tasks · 0 hits .* \$ vx run 'cart#test' --format json$/);
  const shown = lines.slice(0, 4).map((l) => l.split(/ +/)[2]);
  assert.equal(new Set(shown).size, 4);
  for (const [i, id] of shown.entries()) assert.equal(last(ws, [id]).invocation.runId, all[i].runId);
  for (const bad of [['--list=0'], ['--list=x'], ['--list', 'abcd'], ['--failed', 'abcd'], ['--log', 'a', '--list'], ['--log', 'a', '--failed'], ['a', 'b']]) {
    const r = ws.vx(['last', ...bad]);
    assert.equal(r.status, 1, bad.join(' '));
    assert.match(r.stderr, /see `vx last --help`/);
  }
});

test('what a task printed: of a failure, of an entry, of a hit, and when nothing was kept', () => {
  const ws = shop();
  ws.run(['shop#test']);
  const first = last(ws).invocation.runId;
  ws.run(['shop#test', 'cart#test']);
  assert.deepEqual(last(ws, ['--log', 'cart#test']), { runId: last(ws).invocation.runId, taskId: 'cart#test', status: 'failed', source: 'failure', output: 'src/x:1:3 - error: no total\nmore\n' });
  assert.equal(last(ws, ['--log', 'shop#test']).source, 'cache');
  assert.equal(last(ws, ['--log', 'shop#test']).status, 'cache-hit');
  assert.equal(last(ws, ['--log', 'test', first]).output, 'tested\n');
  assert.equal(ws.vx(['last', '--log', 'shop#test']).stdout, 'tested\n');
  const none = ws.vx(['last', '--log', 'shop#prepare']);
  assert.deepEqual([none.status, none.stdout], [0, '']);
  assert.match(none.stderr, /^\[vx\] no output of shop#prepare in run \S+ was kept/);
  assert.equal(last(ws, ['--log', 'prepare']).source, null);
  assert.equal(code(ws.vx(['last', '--log', 'test', '--format=json'])), 'VX_E_AMBIGUOUS');
  assert.equal(last(ws, ['--log', 'test'], { cwd: 'packages/cart' }).taskId, 'cart#test');
  const absent = ws.vx(['last', '--log', 'cart#test', first]);
  assert.equal(absent.status, 1);
  assert.match(absent.stderr, /was not part of run .*vx last --list/);
});

test('failures that never ran their command keep the reason, servers keep what they printed', () => {
  const ws = monorepo({
    a: { tasks: { boxed: cached('true', { outputs: [], exec: { sandbox: {} } }), probe: cached('true', { outputs: [], inputs: { runtime: ['exit 3'] } }), serve: always('echo "cannot bind"; exit 4', { exec: { persistent: { readyWhen: 'up' } } }) } },
  });
  ws.run(['a#boxed', 'a#probe', 'a#serve', '--continue']);
  const tasks = byId(last(ws));
  assert.match(tasks['a#boxed'].output, /^\[vx\] a#boxed: exec\.sandbox/);
  assert.match(tasks['a#probe'].output, /^\[vx\] a#probe: /);
  assert.equal(tasks['a#serve'].notReady, 'exited');
  assert.equal(tasks['a#serve'].output, 'cannot bind\n');
  assert.match(ws.vx(['last']).stdout, /failed \(never ready: exited, exit 4\) +a#serve/);
});

test('kept output is masked, without escapes, and its file survives odd names', () => {
  const ws = monorepo({ a: { tasks: { 'odd"name\\': always('printf "\\033[31mred %s\\033[0m\\n" "$APP_TOKEN"; exit 1', { exec: { env: { passThrough: ['APP_TOKEN'] } } }) } } });
  ws.run(['a#odd"name\\', '--tag', 'la"bel=x'], { env: { APP_TOKEN: 'hunter2-secret' } });
  const doc = last(ws);
  assert.equal(doc.tasks[0].output, 'red ***\n');
  assert.deepEqual(doc.invocation.tags, { 'la"bel': 'x' });
});

test('forwarded arguments are marked, and the line that runs a failure again says so', () => {
  const ws = monorepo({ a: { tasks: { test: always('exit 1 #'), dep: always('true') } } });
  ws.run(['a#test', '--', '-x']);
  assert.equal(last(ws).tasks[0].forwarded, true);
  assert.match(ws.vx(['last']).stdout, /re-run what failed: vx run a#test -- …\n$/);
  assert.match(last(ws).invocation.command, / -- \(1 argument\)$/);
});

test('no runs, an unknown id, an ambiguous prefix', () => {
  const ws = shop();
  const none = ws.vx(['last', '--format', 'json']);
  assert.equal(none.status, 1);
  assert.equal(code(none), 'VX_E_NO_HISTORY');
  assert.equal(ws.exists('.vx'), false);
  const list = ws.vx(['last', '--list']);
  assert.deepEqual([list.status, list.stdout], [0, 'no run is recorded\n']);
  assert.deepEqual(last(ws, ['--list']), []);
  ws.run(['shop#test']);
  ws.run(['shop#test']);
  const unknown = ws.vx(['last', 'ffffffff', '--format', 'json']);
  assert.deepEqual([unknown.status, code(unknown)], [1, 'VX_E_NO_HISTORY']);
  assert.match(unknown.stderr, /vx last --list/);
  const both = ws.vx(['last', '0', '--format', 'json']);
  assert.deepEqual([both.status, code(both)], [1, 'VX_E_AMBIGUOUS']);
  for (const run of last(ws, ['--list'])) assert.ok(both.stderr.includes(run.runId));
  assert.equal(code(ws.vx(['last', '--failed', '--format', 'json'])), 'VX_E_NO_HISTORY');
  assert.equal(ws.vx(['last', '--list', '--failed']).status, 0);
});

test('a damaged history reads as empty and stays', () => {
  const ws = shop();
  ws.run(['shop#test']);
  fs.writeFileSync(ws.path('.vx/index-1.db'), 'not a database, not at all');
  for (const name of ['-wal', '-shm']) fs.rmSync(ws.path(`.vx/index-1.db${name}`), { force: true });
  assert.equal(code(ws.vx(['last', '--format', 'json'])), 'VX_E_NO_HISTORY');
  assert.equal(ws.read('.vx/index-1.db'), 'not a database, not at all');
});

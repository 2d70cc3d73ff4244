import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { faults } from './lib/schema.mjs';
import { always, cached, copyBuild, monorepo, snapshot, until } from './lib/workspace.mjs';

function ask(ws, word, args = [], options = {}) {
  const r = ws.vx(['cache', word, ...args, '--format', 'json'], options);
  assert.equal(r.status, 0, r.text);
  const doc = JSON.parse(r.stdout);
  assert.deepEqual(faults(word === 'prune' ? 'prune-cache' : 'cache-stats', { result: doc, notices: [] }), []);
  return doc;
}
const code = (r) => JSON.parse(r.stdout).error.code;
const artifacts = (dir) => fs.readdirSync(dir).filter((n) => n.endsWith('.tar.zst')).sort();

/** Two packages whose outputs are 64 KiB each. */
const two = () => {
  const build = cached('mkdir -p dist && head -c 65536 /dev/urandom > dist/blob', {});
  return monorepo({ a: { tasks: { build } }, b: { tasks: { build } } });
};
/** Moves the last use of a project's entries back. */
function age(dir, project, days) {
  const ns = BigInt(Date.now() - days * 86_400_000) * 1_000_000n;
  execFileSync('sqlite3', [path.join(dir, 'store-1.db'), `UPDATE entries SET used_ns = ${ns} WHERE project = '${project}'`]);
}
const hasSqlite = spawnSync('sqlite3', ['--version']).status === 0;

test('stats agree with the directory and with the day', () => {
  const ws = two();
  const none = ask(ws, 'stats');
  assert.deepEqual([none.entries, none.bytes, none.oldestUse, none.hitRate24h, none.projects], [0, 0, null, null, []]);
  assert.equal(fs.existsSync(none.cacheDir), false);
  ws.run(['build', '--all']);
  ws.run(['build', '--all']);
  const before = snapshot(none.cacheDir);
  const doc = ask(ws, 'stats');
  assert.deepEqual(snapshot(none.cacheDir), before);
  assert.equal(doc.entries, 2);
  assert.deepEqual(doc.projects.map((p) => [p.project, p.entries]), [['a', 1], ['b', 1]]);
  assert.deepEqual([doc.runs24h, doc.hits24h, doc.restored24h, doc.hitRate24h], [4, 2, 0, 0.5]);
  assert.ok(doc.savedMs24h >= 0);
  assert.ok(Math.abs(doc.oldestUse - Date.now()) < 600_000);
  const du = fs.readdirSync(doc.cacheDir).reduce((sum, n) => sum + fs.statSync(path.join(doc.cacheDir, n)).blocks * 512, 0);
  assert.ok(Math.abs(doc.bytes - du) <= du / 100, `${doc.bytes} against ${du}`);
  fs.writeFileSync(path.join(doc.cacheDir, `${'ab'.repeat(16)}.tar.zst`), 'x'.repeat(5000));
  assert.deepEqual(ask(ws, 'stats').orphans, { artifacts: 1, bytes: 8192 });
  const text = ws.vx(['cache', 'stats']).stdout;
  assert.match(text, /^cache dir +~\/\.cache\/vx\/\S+ \(shared\)\nentries +2\nsize +\d+ KB of 10 GB\n/);
  assert.match(text, /\n\na +\d+ KB {2}1 entry\nb +\d+ KB {2}1 entry\n$/);
});

test('prune needs sound bounds', () => {
  const ws = two();
  for (const bad of [[], ['--dry-run'], ['--older-than', '0d'], ['--older-than', '30'], ['--older-than', '1w'], ['--max-size', '0'], ['--max-size', '10'], ['--max-size', '1.5G']]) {
    const r = ws.vx(['cache', 'prune', ...bad, '--format', 'json']);
    assert.deepEqual([r.status, code(r)], [1, 'VX_E_USAGE'], bad.join(' '));
    assert.match(r.stderr, /^vx cache: .*see `vx cache --help`/);
  }
  assert.match(ws.vx(['cache', 'prune', '--max-size', '10']).stderr, /10B if bytes are meant/);
  assert.match(ws.vx(['cache', 'stats', '--max-size', '1G']).stderr, /--max-size is for prune/);
  assert.match(ws.vx(['cache']).stderr, /vx cache stats/);
  for (const word of ['list', 'ls', 'clean', 'gc', 'purge', 'clear']) {
    const r = ws.vx(['cache', word]);
    assert.equal(r.status, 1);
    assert.match(r.stderr, /`vx cache stats`.*`vx cache prune`.*`vx last --list`/);
  }
  for (const [word, pointer] of [['stats', 'vx cache stats'], ['history', 'vx last --list'], ['prune', 'vx cache prune']]) {
    const r = ws.vx([word]);
    assert.equal(r.status, 1);
    assert.ok(r.stderr.includes(pointer), r.stderr);
  }
});

test('a store that was never used stays uncreated', () => {
  const ws = two();
  for (const args of [['--older-than', '1d'], ['--max-size', '1B', '--dry-run']]) {
    assert.deepEqual(ask(ws, 'prune', args), { dryRun: args.includes('--dry-run'), evicted: 0, bytesFreed: 0, orphans: 0, orphanBytes: 0 });
  }
  assert.equal(ws.exists('.vx'), false);
  assert.deepEqual(fs.readdirSync(path.join(ws.base, 'home')), []);
  const missing = ws.vx(['cache', 'prune', '--max-size', '1B', '--cache-dir', 'nowhere']);
  assert.equal(missing.status, 1);
  assert.match(missing.stderr, /nowhere does not exist/);
});

test('by age, by size, and what a dry run says is what goes', { skip: hasSqlite ? false : 'needs the sqlite3 command' }, () => {
  const ws = two();
  ws.run(['build', '--all']);
  const dir = ask(ws, 'stats').cacheDir;
  age(dir, 'a', 10);
  const before = snapshot(dir);
  const dry = ask(ws, 'prune', ['--older-than', '5d', '--dry-run']);
  assert.deepEqual(snapshot(dir), before);
  assert.deepEqual([dry.evicted, dry.orphans], [1, 0]);
  assert.equal(ws.vx(['cache', 'prune', '--older-than', '5D', '--dry-run']).stdout.startsWith('Would prune 1 entry ('), true);
  assert.deepEqual(ask(ws, 'prune', ['--older-than', '5d']), { ...dry, dryRun: false });
  assert.equal(artifacts(dir).length, 1);
  assert.deepEqual(ask(ws, 'stats').projects.map((p) => p.project), ['b']);
  assert.deepEqual(ws.run(['build', '--all']).outcomes, { 'a#build': 'executed', 'b#build': 'up-to-date' });
  const half = ask(ws, 'prune', ['--max-size', '100K', '--dry-run']);
  assert.equal(half.evicted, 1);
  assert.deepEqual(ask(ws, 'prune', ['--max-size', '100K']), { ...half, dryRun: false });
  assert.match(ws.vx(['cache', 'prune', '--max-size', '1B']).stdout, /^Pruned 1 entry \(\d+ KB freed\)\n$/);
  assert.equal(artifacts(dir).length, 0);
  assert.equal(ws.vx(['cache', 'prune', '--max-size', '1B']).stdout, 'Pruned 0 entries (0 B freed)\n');
});

test('orphans older than an hour are reaped, younger ones and other names stay', () => {
  const ws = two();
  ws.run(['a#build']);
  const dir = ask(ws, 'stats').cacheDir;
  const old = `${'ab'.repeat(16)}.tar.zst`, young = `${'cd'.repeat(16)}.tar.zst`;
  for (const name of [old, young, 'mine.txt']) fs.writeFileSync(path.join(dir, name), 'x'.repeat(100));
  const then = new Date(Date.now() - 90 * 86_400_000);
  for (const name of [old, 'mine.txt']) fs.utimesSync(path.join(dir, name), then, then);
  const dry = ask(ws, 'prune', ['--older-than', '30d', '--dry-run']);
  assert.deepEqual(dry, { dryRun: true, evicted: 0, bytesFreed: 0, orphans: 1, orphanBytes: 4096 });
  assert.deepEqual(ask(ws, 'prune', ['--older-than', '30d']), { ...dry, dryRun: false });
  assert.deepEqual([old, young, 'mine.txt'].map((n) => fs.existsSync(path.join(dir, n))), [false, true, true]);
});

test('a broken root config is no licence to prune another directory; a nested prune is refused', () => {
  const ws = two();
  ws.run(['a#build']);
  const dir = ask(ws, 'stats').cacheDir;
  ws.write('vx.workspace.json', '{ "cacheDir": 1 }');
  const r = ws.vx(['cache', 'prune', '--max-size', '1B', '--format', 'json']);
  assert.deepEqual([r.status, code(r)], [1, 'VX_E_CONFIG']);
  assert.equal(artifacts(dir).length, 1);
  assert.equal(ask(ws, 'prune', ['--max-size', '1B', '--cache-dir', dir]).evicted, 1);
  ws.remove('vx.workspace.json');
  ws.run(['a#build']);
  const inside = ws.vx(['cache', 'prune', '--max-size', '1B', '--format', 'json'], { env: { VX_RUN_WORKSPACE: ws.dir } });
  assert.deepEqual([inside.status, code(inside)], [1, 'VX_E_REFUSED']);
});

test('prune waits for a run and says so; what the run used stays; a dry run does not wait', async () => {
  const ws = monorepo({ a: { tasks: { build: copyBuild(), slow: always('touch started; while [ ! -f go ]; do sleep 0.02; done', { dependsOn: ['build'] }) } } });
  ws.run(['a#build']);
  const dir = ask(ws, 'stats').cacheDir;
  const run = ws.start(['run', 'a#slow']);
  await until(() => ws.exists('packages/a/started'), 'the task');
  assert.equal(ask(ws, 'prune', ['--max-size', '1B', '--dry-run']).evicted, 1);
  const prune = ws.start(['cache', 'prune', '--max-size', '1B']);
  await until(() => /another vx run \(pid \d+\) is using this workspace: waiting/.test(prune.output()), 'the line that says it waits');
  assert.equal(artifacts(dir).length, 1);
  ws.write('packages/a/go', '');
  assert.equal((await run.ended).status, 0);
  const done = await prune.ended;
  assert.equal(done.status, 0);
  assert.match(done.stdout, /^Pruned 1 entry/);
  assert.equal(artifacts(dir).length, 0);
});

test('Ctrl-C ends a prune that waits', async () => {
  const ws = monorepo({ a: { tasks: { slow: always('touch started; while [ ! -f go ]; do sleep 0.02; done') , build: copyBuild() } } });
  ws.run(['a#build']);
  const run = ws.start(['run', 'a#slow']);
  await until(() => ws.exists('packages/a/started'), 'the task');
  const prune = ws.start(['cache', 'prune', '--max-size', '1B']);
  await until(() => /waiting for it to finish/.test(prune.output()), 'the line that says it waits');
  prune.child.kill('SIGINT');
  assert.equal((await prune.ended).signal, 'SIGINT');
  ws.write('packages/a/go', '');
  assert.equal((await run.ended).status, 0);
});

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { faults } from './lib/schema.mjs';
import { always, cached, copyBuild, monorepo, snapshot } from './lib/workspace.mjs';

/** The document of `vx why`, held against its schema. */
function why(ws, id, more = [], options = {}) {
  const r = ws.vx(['why', id, ...more, '--format', 'json'], options);
  assert.equal(r.status, 0, r.text);
  const doc = JSON.parse(r.stdout);
  assert.deepEqual(faults('why', { result: doc, notices: [] }), []);
  return { ...doc, verdict: doc.why.note, moved: doc.diff.entries.map((e) => `${e.change} ${e.kind} ${e.name}`) };
}
const code = (r) => JSON.parse(r.stdout).error.code;

/**
 * Writes a file and lets the clock leave it behind: a run that describes its inputs within a tick of a write can't tell it from one
 * that came later, and saves nothing.
 */
function edit(ws, name, content) {
  ws.write(name, content);
  const written = fs.statSync(ws.path(name)).ctimeMs;
  while (Date.now() < written + 20);
}

/** app -> lib -> core, each with a cached build. */
const chain = (tasks = {}) =>
  monorepo({
    app: { deps: ['lib'], tasks: { build: copyBuild({ dependsOn: ['^build'], ...tasks.app }) } },
    lib: { deps: ['core'], tasks: { build: copyBuild({ dependsOn: ['^build'], ...tasks.lib }) } },
    core: { tasks: { build: copyBuild(tasks.core) } },
  });

test('an edited file, an added and a removed one', () => {
  const ws = chain();
  ws.run(['app#build']);
  assert.match(why(ws, 'app#build').verdict, /^first recorded run/);
  edit(ws, 'packages/app/src/x', 'edited\n');
  edit(ws, 'packages/app/src/new', 'n\n');
  ws.run(['app#build']);
  const one = why(ws, 'app#build');
  assert.equal(one.verdict, 'cache key changed: file packages/app/src/new, file packages/app/src/x');
  assert.deepEqual(one.moved, ['added file packages/app/src/new', 'changed file packages/app/src/x']);
  assert.equal(one.why.hashChanged, true);
  assert.equal(one.why.thisRun.cacheHit, false);
  assert.equal(one.diff.previousRunId !== one.runId, true);
  assert.equal(one.diff.entries[1].before.length, 40);
  assert.ok(one.diff.unchangedCount > 3);
  const text = ws.vx(['why', 'app#build']).stdout;
  assert.match(text, /^app#build — run [0-9a-f-]{36}\n {2}this run {3}\S+Z · success · executed · key [0-9a-f]{32}\n {2}previous {3}\S+Z · success · key [0-9a-f]{32}\n {2}verdict {4}cache key changed: /);
  assert.match(text, /what changed \(2 components, \d+ unchanged\):\n {4}added {3}file {2}packages\/app\/src\/new {2}[0-9a-f]{8}\n/);
  assert.match(text, /what to do:\n {4}file {2}an input file changed/);
  ws.remove('packages/app/src/new');
  ws.run(['app#build']);
  assert.deepEqual(why(ws, 'app#build').moved, ['removed file packages/app/src/new']);
});

test('an environment value, its absence, and never the value itself', () => {
  const ws = monorepo({ a: { tasks: { build: cached('echo x > out', { outputs: ['out'], inputs: { env: ['API_URL'] } }) } } });
  ws.run(['a#build'], { env: { API_URL: 'https://first.example' } });
  ws.run(['a#build'], { env: { API_URL: 'https://second.example' } });
  const moved = why(ws, 'a#build');
  assert.equal(moved.verdict, 'cache key changed: env API_URL');
  for (const side of ['before', 'after']) assert.match(moved.diff.entries[0][side], /^[0-9a-f]{8}$/);
  assert.doesNotMatch(JSON.stringify(moved), /example/);
  ws.run(['a#build']);
  assert.equal(why(ws, 'a#build').diff.entries[0].after, 'unset');
});

test("a runtime tool's version, of the project and of the workspace", () => {
  const inputs = { runtime: ['./tool --version'], workspaceRuntime: ['cat tool-version'] };
  const ws = monorepo({ a: { tasks: { build: cached('echo x > out', { outputs: ['out'], inputs }) } } });
  edit(ws, 'tool-version', '1\n');
  ws.write('packages/a/tool', '#!/bin/sh\necho tool 1\n', 0o755);
  ws.run(['a#build']);
  ws.write('packages/a/tool', '#!/bin/sh\necho tool 2\n', 0o755);
  ws.run(['a#build']);
  assert.equal(why(ws, 'a#build').verdict, 'cache key changed: runtime ./tool --version');
  edit(ws, 'tool-version', '2\n');
  ws.run(['a#build']);
  assert.equal(why(ws, 'a#build').verdict, 'cache key changed: ws-runtime cat tool-version');
});

test('a config edit through a shared preset, forwarded arguments, a manifest, a lockfile', () => {
  const ws = monorepo({ a: {}, b: {} });
  ws.write('preset.mjs', "export const command = 'mkdir -p dist && cp src/x dist/';\n");
  for (const name of ['a', 'b']) {
    ws.write(`packages/${name}/vx.config.mjs`, `import { command } from '../../preset.mjs';
      export default { tasks: { build: { exec: { command }, cache: { inputs: { files: ['src/**'] }, outputs: { files: ['dist/**'] } } } } };`);
  }
  ws.run(['build', '--all']);
  edit(ws, 'preset.mjs', "export const command = 'mkdir -p dist && cp src/x dist/ && true';\n");
  ws.run(['build', '--all']);
  for (const id of ['a#build', 'b#build']) assert.equal(why(ws, id).verdict, 'cache key changed: task config');
  assert.match(ws.vx(['why', 'a#build']).stdout, /config {2}the task's configuration changed, in its config or in a file that it imports/);
  ws.run(['a#build', '--', ';', 'true']);
  assert.match(why(ws, 'a#build').verdict, /^cache key changed: forwarded argument 1, forwarded argument 2/);
  ws.run(['a#build']);
  assert.match(why(ws, 'a#build').verdict, /served from cache/);
  edit(ws, 'packages/a/package.json', { name: 'a', version: '1.0.1' });
  ws.run(['a#build']);
  assert.equal(why(ws, 'a#build').verdict, 'cache key changed: package.json');
  edit(ws, 'package-lock.json', { lockfileVersion: 3, packages: {} });
  ws.run(['a#build']);
  assert.equal(why(ws, 'a#build').verdict, 'cache key changed: workspace fingerprint');
});

test('the root cause through two dependencies', () => {
  const ws = chain();
  ws.run(['app#build']);
  edit(ws, 'packages/core/src/x', 'edited\n');
  ws.run(['app#build']);
  const r = why(ws, 'app#build');
  assert.equal(r.verdict, 'cache key changed: upstream lib#build');
  assert.deepEqual(r.roots.map((c) => [c.chain, c.entries.map((e) => e.name)]), [[['app#build', 'lib#build', 'core#build'], ['packages/core/src/x']]]);
  assert.match(ws.vx(['why', 'app#build']).stdout, /root cause:\n {4}app#build ← lib#build ← core#build ← file packages\/core\/src\/x\n/);
});

test('a dependency without a saved result ends its chain honestly', () => {
  const ws = monorepo({
    app: { deps: ['lib'], tasks: { build: copyBuild({ dependsOn: ['^build'] }) } },
    lib: { tasks: { build: always('true') } },
  });
  ws.run(['app#build']);
  edit(ws, 'packages/lib/src/x', 'edited\n');
  ws.run(['app#build']);
  const r = why(ws, 'app#build');
  assert.deepEqual(r.roots, [{ chain: ['app#build', 'lib#build'], entries: [] }]);
  assert.equal(why(ws, 'lib#build').verdict, 'no cache block: it runs every time');
  assert.equal(why(ws, 'lib#build').why.thisRun.cacheHit, null);
});

test('a pruned entry, --force, --no-cache, nothing changed, a branch switch', () => {
  const ws = chain();
  ws.run(['core#build']);
  ws.run(['core#build']);
  assert.equal(why(ws, 'core#build').verdict, 'same key, served from cache: its outputs were in place');
  ws.remove('packages/core/dist');
  ws.run(['core#build']);
  assert.equal(why(ws, 'core#build').verdict, 'same key, served from cache: restored');
  ws.run(['core#build', '--force']);
  assert.match(why(ws, 'core#build').verdict, /^this run did not read the cache/);
  assert.equal(ws.vx(['cache', 'prune', '--max-size', '1B']).status, 0);
  ws.run(['core#build']);
  assert.equal(why(ws, 'core#build').verdict, 'its entry was pruned, evicted or damaged: same key, no artifact');
  ws.run(['core#build', '--no-cache']);
  assert.match(why(ws, 'core#build').verdict, /^this run did not read the cache .*policy writes no cache$/);

  ws.git('checkout', '-q', '-b', 'topic');
  edit(ws, 'packages/core/src/x', 'topic\n');
  ws.commit('topic');
  ws.run(['core#build']);
  ws.git('checkout', '-q', 'main');
  ws.run(['core#build']);
  assert.equal(why(ws, 'core#build').verdict, 'cache key changed: file packages/core/src/x; served from cache: restored');
});

test('a failure before, and the run that is compared instead', () => {
  const ws = monorepo({ a: { tasks: { build: cached('! grep -q bad src/x && mkdir -p dist && cp src/x dist/', {}) } } });
  ws.run(['a#build']);
  const first = JSON.parse(ws.vx(['last', '--format', 'json']).stdout).invocation.runId;
  edit(ws, 'packages/a/src/x', 'bad\n');
  ws.run(['a#build']);
  const failed = why(ws, 'a#build');
  assert.equal(failed.verdict, 'cache key changed: file packages/a/src/x; this run failed and saved nothing');
  assert.deepEqual([failed.moved, failed.diff.previousRunId, failed.diff.note], [['changed file packages/a/src/x'], first, '']);
  ws.run(['a#build']);
  assert.equal(why(ws, 'a#build').verdict, 'the previous run on this key failed and saved nothing; this run failed and saved nothing');
  edit(ws, 'packages/a/src/x', 'good\n');
  ws.run(['a#build']);
  const fixed = why(ws, 'a#build');
  assert.equal(fixed.verdict, 'cache key changed: file packages/a/src/x');
  assert.equal(fixed.diff.previousRunId, first);
  assert.match(fixed.diff.note, new RegExp(`compared with run ${first}, the last one that saved: the previous run failed`));
  edit(ws, 'packages/a/src/x', 'bad\n');
  ws.run(['a#build']);
  edit(ws, 'packages/a/src/x', 'good\n');
  ws.run(['a#build']);
  assert.match(why(ws, 'a#build').verdict, /^cache key changed: it has the inputs of run [0-9a-f-]{36} again; served from cache/);
});

test('results that were never saved are compared all the same, through their dependencies too', () => {
  const ws = monorepo({
    app: { deps: ['lib'], tasks: { build: copyBuild({ dependsOn: ['^build'], inputs: { env: ['MODE'] } }) } },
    lib: { tasks: { build: cached('exit 1', { outputs: [] }) } },
  });
  const run = (mode) => ws.run(['app#build', '--continue=always'], { env: { MODE: mode } });
  run('one');
  edit(ws, 'packages/lib/src/x', 'edited\n');
  run('two');
  const r = why(ws, 'app#build');
  assert.equal(r.verdict, 'cache key changed: env MODE, upstream lib#build; not saved: it ran beside a failed task');
  assert.match(r.diff.note, /^compared with run [0-9a-f-]{36}, which saved nothing; nor did any before it$/);
  assert.deepEqual(r.roots.map((c) => [c.chain, c.entries.map((e) => e.name)]), [[['app#build', 'lib#build'], ['packages/lib/src/x']]]);
  for (const e of r.diff.entries) if (e.kind === 'env') assert.match(`${e.before} ${e.after}`, /^[0-9a-f]{8} [0-9a-f]{8}$/);
  // Another store has another salt: its digests say nothing about these.
  ws.run(['app#build', '--continue=always', '--cache-dir', '../store'], { env: { MODE: 'two' } });
  edit(ws, 'packages/app/src/x', 'edited\n');
  ws.run(['app#build', '--continue=always', '--cache-dir', '../store'], { env: { MODE: 'two' } });
  assert.deepEqual(why(ws, 'app#build', ['--cache-dir', '../store']).moved, ['changed file packages/app/src/x']);
  assert.deepEqual(why(ws, 'app#build').moved, []);
});

test('a cached run records no inputs in the history', () => {
  const ws = chain();
  for (let i = 0; i < 2; i++) ws.run(['app#build']);
  const db = ws.path('.vx/index-1.db');
  const has = (word) => [db, `${db}-wal`].some((file) => fs.existsSync(file) && fs.readFileSync(file, 'latin1').includes(word));
  assert.equal(has('inputs BLOB'), false);
  ws.run(['app#build', '--force', '--cache=local:r']);
  assert.equal(has('inputs BLOB'), true);
});

test('withheld saves are told with their reason, in that run and in the next', () => {
  const ws = monorepo({
    a: { tasks: { build: cached('echo x > out && date +%s%N >> src/x', { outputs: ['out'] }) } },
    b: { tasks: { bad: always('exit 1'), build: copyBuild({ dependsOn: ['bad'] }) } },
    c: { tasks: { build: cached('mkdir -p dist && mkfifo dist/pipe', {}) } },
    d: { deps: ['lib'], tasks: { build: copyBuild({ dependsOn: ['^build'] }) } },
    lib: { tasks: { build: copyBuild() } },
    f: { deps: ['a'], tasks: { build: copyBuild({ dependsOn: ['^build'] }) } },
  });
  ws.write('vx.config.json', { tasks: { install: always('echo >> package-lock.json'), pack: cached('echo x > out', { files: ['package.json'], outputs: ['out'], dependsOn: ['install'] }) } });
  ws.run(['root#pack']);
  assert.match(why(ws, 'root#pack').verdict, /not saved: a lockfile or package-manager file at the root changed during the run$/);
  ws.run(['f#build']);
  assert.match(why(ws, 'f#build').verdict, /not saved: a dependency's result had no key that vouches for it$/);
  assert.match(why(ws, 'a#build').verdict, /; not saved: an input was written while it ran$/);
  ws.run(['b#build', '--continue=always']);
  assert.match(why(ws, 'b#build').verdict, /not saved: it ran beside a failed task$/);
  ws.run(['b#build', '--continue=always']);
  assert.match(why(ws, 'b#build').verdict, /^the previous run was not saved: it ran beside a failed task/);
  ws.run(['b#build']);
  assert.equal(why(ws, 'b#build').verdict, 'skipped: b#bad failed; no key recorded');
  ws.run(['c#build']);
  assert.match(why(ws, 'c#build').verdict, /not saved: an output can't be stored$/);
  ws.run(['d#build', '--exclude-dependencies']);
  assert.match(why(ws, 'd#build').verdict, /not saved: it ran without dependencies that its key counts$/);
  ws.run(['d#build', '--cache=local:r']);
  assert.match(why(ws, 'd#build').verdict, /not saved: this run's policy writes no cache$/);
});

/** Runs a#build, which withholds its save with this line, and asks why it did, then why the next run executed. */
function withheld(ws, line, words, more = []) {
  const run = ws.vx(['run', 'a#build', ...more]);
  assert.equal(run.status, 0, run.text);
  assert.match(run.text, line);
  assert.ok(why(ws, 'a#build', more.slice(-2)).verdict.endsWith(`; not saved: ${words}`), why(ws, 'a#build').verdict);
  ws.vx(['run', 'a#build', ...more]);
  return why(ws, 'a#build', more.slice(-2)).verdict;
}

test('a save withheld because the key moved before the command', () => {
  // A task that a#build does not depend on writes its sources, after its key was taken (early, because the store has something). The pause
  // is for the clock: what is written within a tick of the describe counts as written during the command.
  const gen = always('date +%s%N > src/x && sleep 0.2');
  const ws = monorepo({ a: { tasks: { gen, after: always('true', { dependsOn: ['gen'] }), build: copyBuild(), other: cached('true', { outputs: [] }) } } });
  ws.run(['a#other']);
  const more = ['a#after', '--concurrency', '1'];
  const run = ws.vx(['run', 'a#build', ...more]);
  assert.match(run.text, /a#build: not cached: its inputs changed before the command started/);
  assert.match(why(ws, 'a#build').verdict, /; not saved: its inputs changed before its command started$/);
  ws.run(['a#build']);
  assert.match(why(ws, 'a#build').verdict, /^cache key changed/);
});

test('a save withheld because the outputs are too large', () => {
  const ws = monorepo({ a: { tasks: { build: cached('mkdir -p dist && truncate -s 3G dist/big', {}) } } });
  const next = withheld(ws, /a#build: not cached: .*dist\/big/, 'its outputs are too large');
  assert.match(next, /^the previous run was not saved: its outputs are too large/);
});

test('a save withheld because an output is still being written', () => {
  // The large file is packed first: meanwhile the writer writes many times.
  const writer = "setsid sh -c 'while [ ! -e stop ]; do echo x >> dist/out; done' < /dev/null > /dev/null 2>&1 &";
  const ws = monorepo({ a: { tasks: { build: cached(`mkdir -p dist; truncate -s 64M dist/large; ${writer} until [ -s dist/out ]; do :; done`, { files: [] }) } } });
  try {
    const next = withheld(ws, /a#build: not cached: packages\/a\/dist\/out is still being written/, 'an output was still being written');
    assert.match(next, /^the previous run was not saved: an output was still being written/);
  } finally {
    ws.write('packages/a/stop', '');
  }
});

test('a save withheld because the store is in trouble', () => {
  const ws = monorepo({ a: { tasks: { build: cached('mkdir -p dist && cp src/x dist && rm -rf ../../../store && mkdir ../../../store', {}) } } });
  const next = withheld(ws, /a#build: not cached: cannot write in \S+\/store: No such file or directory/, 'the store could not be written', ['--cache-dir', '../store']);
  assert.match(next, /^the previous run was not saved: the store could not be written/);
});

test('names: a bare task, the current project, an unscoped half, near names, a pinned run', () => {
  const ws = monorepo({ '@x/a': { tasks: { build: copyBuild(), solo: cached('true', { outputs: [] }) } }, b: { tasks: { build: copyBuild() } } });
  assert.equal(code(ws.vx(['why', 'build', '--format=json'])), 'VX_E_NO_HISTORY');
  ws.run(['build', 'solo', '--all']);
  assert.equal(why(ws, 'solo').taskId, '@x/a#solo');
  assert.equal(why(ws, 'build', [], { cwd: 'packages/b/src' }).taskId, 'b#build');
  assert.equal(why(ws, 'a#build').taskId, '@x/a#build');
  const both = ws.vx(['why', 'build', '--format', 'json']);
  assert.equal(both.status, 1);
  assert.equal(code(both), 'VX_E_AMBIGUOUS');
  assert.match(both.stderr, /@x\/a#build, b#build/);
  const none = ws.vx(['why', 'biuld', '--format', 'json']);
  assert.equal(code(none), 'VX_E_NO_HISTORY');
  assert.match(none.stderr, /did you mean build\?/);
  const run = why(ws, 'b#build').runId;
  edit(ws, 'packages/b/src/x', 'edited\n');
  ws.run(['b#build']);
  assert.match(why(ws, 'b#build', ['--run', run]).verdict, /^first recorded run/);
  assert.match(why(ws, 'b#build', ['--run', run.slice(0, 18)]).verdict, /^first recorded run/);
  for (const bad of [['b#build', '--run', 'ffff'], ['solo', '--run', why(ws, 'b#build').runId]]) {
    const r = ws.vx(['why', ...bad]);
    assert.equal(r.status, 1);
    assert.match(r.stderr, /vx last --list/);
  }
  assert.match(ws.vx(['why']).stderr, /missing task name.*see `vx why --help`/);
});

test('why and last change no byte, work over a broken config, and know other versions of their databases', () => {
  const ws = chain();
  ws.run(['app#build']);
  ws.write('packages/app/vx.config.json', '{ broken');
  const before = [snapshot(ws.path('.vx')), snapshot(path.join(ws.base, 'home'))];
  assert.match(why(ws, 'app#build').verdict, /^first recorded run/);
  for (const args of [['last'], ['last', '--list'], ['last', '--log', 'app#build'], ['cache', 'stats'], ['info']]) assert.equal(ws.vx(args).status, 0, args.join(' '));
  assert.deepEqual([snapshot(ws.path('.vx')), snapshot(path.join(ws.base, 'home'))], before);

  for (const file of fs.readdirSync(ws.path('.vx'))) if (file.startsWith('index-1')) fs.renameSync(ws.path(`.vx/${file}`), ws.path(`.vx/${file.replace('index-1', 'index-9')}`));
  for (const args of [['why', 'app#build'], ['last'], ['cache', 'stats']]) {
    const r = ws.vx([...args, '--format', 'json']);
    assert.equal(code(r), 'VX_E_CACHE_VERSION');
    assert.match(r.stderr, /index-9\.db.*index-1\.db/);
  }
  assert.equal(ws.vx(['info']).status, 0);
});

test('names that are not UTF-8 print as \\xNN and never break the document', () => {
  const ws = monorepo({ a: { tasks: { build: copyBuild() } } });
  ws.run(['a#build']);
  fs.writeFileSync(Buffer.concat([Buffer.from(`${ws.path('packages/a/src')}/`), Buffer.from([0x66, 0xff, 0x0a])]), 'x');
  ws.run(['a#build']);
  const r = why(ws, 'a#build');
  assert.deepEqual(r.moved, ['added file packages/a/src/f\\xff\n']);
  assert.match(ws.vx(['why', 'a#build']).stdout, /verdict {4}cache key changed: file packages\/a\/src\/f\\xff\\x0a\n/);
});

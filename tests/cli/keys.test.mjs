import assert from 'node:assert/strict';
import fs from 'node:fs';
import test from 'node:test';
import { always, cached, copyBuild, monorepo, single, snapshot } from './lib/workspace.mjs';

/** Runs `a#build` and says how it ended. */
const build = (ws, options) => ws.run(['a#build'], options).outcomes['a#build'];
const HIT = 'up-to-date';
const MISS = 'executed';
/** A workspace whose build has run once. */
function built(task, options) {
  const ws = single(task, options);
  assert.equal(build(ws), MISS);
  assert.equal(build(ws), HIT);
  return ws;
}

test('unset, empty and set variables are three keys; an unlisted one is none', () => {
  const ws = single(copyBuild({ inputs: { env: ['API'] } }));
  const key = (env) => ws.plan(['a#build'], { env }).keys['a#build'];
  const keys = [key({}), key({ API: '' }), key({ API: 'x' })];
  assert.equal(new Set(keys).size, 3);
  assert.equal(key({ OTHER: '1' }), keys[0]);
});

test('every one of forty listed variables counts', () => {
  const names = Array.from({ length: 40 }, (_, i) => `NAME_${i}`);
  const ws = single(copyBuild({ inputs: { env: names } }));
  const base = ws.plan(['a#build']).keys['a#build'];
  const keys = new Set([base]);
  for (const name of [names[0], names[19], names[31], names[32], names[39]]) keys.add(ws.plan(['a#build'], { env: { [name]: '1' } }).keys['a#build']);
  assert.equal(keys.size, 6);
});

test('a passed-through value is not keyed', () => {
  const ws = single(copyBuild({ exec: { env: { passThrough: ['P'] } } }));
  assert.equal(build(ws, { env: { P: '1' } }), MISS);
  assert.equal(build(ws, { env: { P: '2' } }), HIT);
});

test('forwarded arguments are keyed word by word, on requested tasks only', () => {
  const ws = monorepo({ a: { deps: ['b'], tasks: { build: copyBuild({ dependsOn: ['^build'] }) } }, b: { tasks: { build: copyBuild() } } });
  const plan = (...args) => JSON.parse(ws.vx(['run', 'a#build', '--dry=json', ...args]).stdout).tasks;
  const key = (tasks, id) => tasks.find((t) => t.id === id).hash;
  const [one, two, none] = [plan('--', 'a', 'bc'), plan('--', 'ab', 'c'), plan()];
  assert.equal(new Set([key(one, 'a#build'), key(two, 'a#build'), key(none, 'a#build')]).size, 3);
  assert.equal(key(one, 'b#build'), key(none, 'b#build'));
});

test('the order of keys and comments are not keyed, the order of globs is', () => {
  const ws = built(copyBuild({ files: ['src/**', 'other/**'] }));
  const file = 'packages/a/vx.config.json';
  const { build: task } = JSON.parse(ws.read(file)).tasks;
  ws.write(file, `// c\n${JSON.stringify({ tasks: { build: { cache: task.cache, exec: task.exec } } })}`);
  assert.equal(build(ws), HIT);
  task.cache.inputs.files.reverse();
  ws.write(file, { tasks: { build: task } });
  assert.equal(build(ws), MISS);
});

test('description, timeout and retries are keyed; tags and inputStability are not', () => {
  const ws = built();
  ws.config('a', (c) => (c.tags = ['x']));
  assert.equal(build(ws), HIT);
  ws.config('a', (c) => (c.tasks.build.cache.inputStability = { severity: 'warn' }));
  assert.equal(build(ws), HIT);
  for (const change of [(t) => (t.description = 'd'), (t) => (t.exec.timeout = 60000), (t) => (t.exec.retries = 1)]) {
    ws.config('a', (c) => change(c.tasks.build));
    assert.equal(build(ws), MISS);
  }
});

test('two checkouts at different paths have one key and share the store', () => {
  const ws = built();
  ws.commit();
  ws.sh('git clone -q . ../other');
  const other = Object.assign(Object.create(Object.getPrototypeOf(ws)), { base: ws.base, dir: `${ws.base}/other` });
  const r = other.run(['a#build']);
  assert.equal(r.keys['a#build'], ws.plan(['a#build']).keys['a#build']);
});

test('the executable bit and a link with equal text are seen, also without core.fileMode', () => {
  for (const fileMode of ['true', 'false']) {
    const ws = built(copyBuild({ outputs: ['dist/**'] }), { files: {} });
    ws.git('config', 'core.fileMode', fileMode);
    fs.chmodSync(ws.path('packages/a/src/x'), 0o755);
    assert.equal(build(ws), MISS);
  }
  const ws = built(cached('mkdir -p dist'));
  const text = ws.read('packages/a/src/x');
  ws.remove('packages/a/src/x');
  fs.symlinkSync(text, ws.path('packages/a/src/x'));
  assert.equal(build(ws), MISS);
  ws.remove('packages/a/src/x');
  fs.symlinkSync(`${text}2`, ws.path('packages/a/src/x'));
  assert.equal(build(ws), MISS);
});

test('a same-size rewrite whose mtime is put back is a miss, twenty times of twenty', () => {
  const ws = single(copyBuild());
  for (let i = 0; i < 20; i++) {
    ws.sh(`printf ${1000 + 2 * i} > packages/a/src/x; git add -A; git update-index --refresh > /dev/null`);
    ws.vx(['run', 'a#build']);
    ws.sh(`touch -r packages/a/src/x ../stamp; printf ${1001 + 2 * i} > packages/a/src/x; touch -r ../stamp packages/a/src/x`);
    assert.equal(build(ws), MISS, `round ${i}`);
  }
});

test('index flags that make git look away do not hide edits', () => {
  for (const hide of ['git update-index --assume-unchanged packages/a/src/x', 'git update-index --skip-worktree packages/a/src/x', 'git config core.ignoreStat true']) {
    const ws = built();
    ws.sh(hide);
    assert.equal(build(ws), HIT, hide);
    ws.write('packages/a/src/x', 'edited behind the index');
    assert.equal(build(ws), MISS, hide);
  }
});

test('weak stat settings of git are not consulted', () => {
  const ws = built();
  ws.sh('git config core.trustctime false; git config core.checkStat minimal; git update-index --refresh >/dev/null');
  ws.sh('cp -p packages/a/src/x ../copy; printf "b\\n" > ../copy; touch -r packages/a/src/x ../copy; cp -p ../copy packages/a/src/x');
  assert.equal(build(ws), MISS);
});

test('a file monitor hook is never run', () => {
  const ws = built();
  ws.write('hook.sh', `#!/bin/sh\ntouch ${ws.base}/hook-ran\n`, 0o755);
  ws.git('config', 'core.fsmonitor', ws.path('hook.sh'));
  ws.write('packages/a/src/x', 'edited');
  assert.equal(build(ws), MISS);
  assert.equal(fs.existsSync(`${ws.base}/hook-ran`), false);
});

test('an end-of-line attribute does not let one key stand for two files', () => {
  const ws = built();
  ws.write('.gitattributes', '* text\n');
  ws.write('packages/a/src/x', 'line\r\n');
  ws.commit();
  assert.equal(build(ws), MISS);
  const crlf = ws.plan(['a#build']).keys['a#build'];
  ws.write('packages/a/src/x', 'line\n');
  assert.equal(build(ws), MISS);
  assert.notEqual(ws.plan(['a#build']).keys['a#build'], crlf);
});

test('without .git the same key, one notice, and hits', () => {
  const ws = built();
  const key = ws.plan(['a#build']).keys['a#build'];
  ws.sh('cp -R . ../plain; rm -rf ../plain/.git ../plain/.vx');
  const plain = Object.assign(Object.create(Object.getPrototypeOf(ws)), { base: ws.base, dir: `${ws.base}/plain` });
  const first = plain.run(['a#build']);
  assert.equal(first.keys['a#build'], key);
  assert.equal(build(plain), HIT);
  assert.equal(first.stderr.split('\n').filter((l) => /git/.test(l) && l.startsWith('[vx]')).length, 1, first.stderr);
});

test('conflicts, intent-to-add, an unborn branch and new files are seen', () => {
  const ws = built();
  ws.write('packages/a/src/new/deep/f', '1');
  assert.equal(build(ws), MISS);
  ws.git('add', '-N', 'packages/a/src/new/deep/f');
  ws.write('packages/a/src/new/deep/f', '2');
  assert.equal(build(ws), MISS);
  ws.commit();
  ws.sh('git checkout -q -b t; echo t > packages/a/src/x; git commit -qam t; git checkout -q main; echo m > packages/a/src/x; git commit -qam m; git merge t >/dev/null 2>&1 || true');
  assert.equal(build(ws), MISS);
  ws.write('packages/a/src/x', 'resolving');
  assert.equal(build(ws), MISS);
  const unborn = single(copyBuild(), { git: false });
  unborn.git('init', '-q');
  assert.equal(build(unborn), MISS);
  assert.equal(build(unborn), HIT);
});

test('a submodule is read by its own state', () => {
  const ws = built();
  ws.sh('git init -q ../sub; cd ../sub; echo 1 > f; git add f; git commit -q -m 1');
  ws.sh('git -c protocol.file.allow=always submodule --quiet add "$(cd ../sub && pwd)" packages/a/src/sub; git commit -q -m sub');
  assert.equal(build(ws), MISS);
  ws.write('packages/a/src/sub/f', '2');
  assert.equal(build(ws), MISS);
  ws.sh('cd packages/a/src/sub && git commit -qam 2');
  assert.equal(build(ws), HIT);
});

test('a linked worktree below the root is nobody\'s input', () => {
  const ws = monorepo({ a: { tasks: {} } });
  ws.write('vx.config.json', { tasks: { check: cached('true', { files: ['**'], outputs: [] }) } });
  ws.commit();
  ws.run(['//#check']);
  ws.sh('git worktree add -q wt -b wt');
  assert.deepEqual(ws.run(['//#check']).outcomes, { 'root#check': HIT });
  ws.write('wt/new', 'x');
  assert.deepEqual(ws.run(['//#check']).outcomes, { 'root#check': HIT });
});

test('odd file names are inputs', () => {
  const names = ['日本語', 'a"b', 'n\nl', ' lead', 'trail ', 'back\\slash', '-dash'];
  const ws = single(cached('true', { outputs: [] }), { files: Object.fromEntries(names.map((n) => [`src/${n}`, '1'])) });
  fs.writeFileSync(Buffer.concat([Buffer.from(`${ws.path('packages/a/src')}/bad`), Buffer.from([0xff])]), '1');
  ws.commit();
  build(ws);
  assert.equal(build(ws), HIT);
  for (const name of names) {
    ws.write(`packages/a/src/${name}`, '2');
    assert.equal(build(ws), MISS, name);
  }
  fs.writeFileSync(Buffer.concat([Buffer.from(`${ws.path('packages/a/src')}/bad`), Buffer.from([0xff])]), '2');
  assert.equal(build(ws), MISS);
});

test('brackets are literal, respelt globs select the same files', () => {
  const ws = single(cached('true', { files: ['app/[id]/**'], outputs: [] }), { files: { 'app/[id]/f': '1', 'app/i/f': '1' } });
  build(ws);
  ws.write('packages/a/app/i/f', '2');
  assert.equal(build(ws), HIT);
  ws.write('packages/a/app/[id]/f', '2');
  assert.equal(build(ws), MISS);
  for (const spelling of ['./src/**', 'src//**', 'src', 'src/']) {
    const w = built(copyBuild({ files: [spelling] }));
    w.write('packages/a/src/x', `edit ${spelling}`);
    assert.equal(build(w), MISS, spelling);
  }
});

test('tracked files below node_modules are inputs, untracked ones are not', () => {
  const ws = single(copyBuild(), { files: { 'src/node_modules/f': '1' } });
  ws.sh('git add -f packages/a/src/node_modules/f; git commit -q -m nm');
  build(ws);
  ws.write('packages/a/src/node_modules/g', '1');
  assert.equal(build(ws), HIT);
  ws.write('packages/a/src/node_modules/f', '2');
  assert.equal(build(ws), MISS);
});

test('own outputs are not inputs, even when the globs cover them', () => {
  const ws = monorepo({ a: { tasks: { build: cached('mkdir -p out && cp src/x out/x', { files: ['**'], outputs: ['out/**'] }) } } });
  assert.equal(build(ws), MISS);
  assert.equal(build(ws), HIT);
  ws.remove('packages/a/out');
  assert.equal(build(ws), 'restored');
});

test('an input edited while the task runs keeps the result and saves nothing', () => {
  for (const edit of ['echo new > src/x', 'cp src/x /tmp/vx-k-$$; echo new > src/x; cat /tmp/vx-k-$$ > src/x; rm /tmp/vx-k-$$']) {
    const ws = monorepo({
      a: { tasks: { build: cached(`mkdir -p dist; cp src/x dist/x; ${edit}`), after: cached('true', { outputs: [], dependsOn: ['build'] }) } },
    });
    const first = ws.run(['a#after']);
    assert.equal(first.status, 0);
    assert.match(first.stderr, /src\/x/);
    assert.deepEqual(ws.run(['a#after']).executed, ['a#after', 'a#build']);
  }
});

test('with strategy mutable a rewrite to equal bytes is stored', () => {
  const ws = single(cached('mkdir -p dist; cp src/x dist/x; cat dist/x > src/x', { cache: { inputStability: { strategy: 'mutable' } } }));
  assert.equal(build(ws), MISS);
  assert.equal(build(ws), HIT);
});

test('a scratch input that is gone afterwards is fine, one left behind is named and not stored', () => {
  const gone = single(cached('mkdir -p dist; echo > src/tmp.mjs; rm src/tmp.mjs'));
  assert.equal(build(gone), MISS);
  assert.equal(build(gone), HIT);
  const left = single(cached('mkdir -p dist; date +%N > src/tmp.mjs'));
  const r = left.run(['a#build']);
  assert.equal(r.status, 0);
  assert.match(r.stderr, /src\/tmp\.mjs/);
  assert.equal(build(left), MISS);
});

test('probes: failing ones fail the task, equal bytes on the other stream are another key', () => {
  for (const probe of ['exit 1', 'kill -9 $$', 'no-such-program', "printf '\\377'"]) {
    const ws = monorepo({ a: { tasks: { build: cached('touch ran', { inputs: { runtime: [probe] }, outputs: [] }), next: cached('true', { outputs: [], dependsOn: ['build'] }) } } });
    const r = ws.run(['a#next']);
    assert.deepEqual(r.outcomes, { 'a#build': 'failed', 'a#next': 'skipped' }, probe);
    assert.equal(ws.exists('packages/a/ran'), false);
  }
  const ws = single(copyBuild({ inputs: { runtime: ['cat ../../probe'] } }), { git: false });
  ws.write('probe', 'v1');
  build(ws);
  assert.equal(build(ws), HIT);
  ws.write('probe', 'v2');
  assert.equal(build(ws), MISS);
  const key = () => ws.plan(['a#build']).keys['a#build'];
  ws.config('a', (c) => (c.tasks.build.cache.inputs.runtime = ['sh ../../p.sh']));
  ws.write('p.sh', 'echo v');
  const out = key();
  ws.write('p.sh', 'echo v >&2');
  assert.notEqual(key(), out);
});

test('an uncached generator never leads to a stale build', () => {
  const ws = monorepo({ a: { tasks: { gen: always('cat ../../content > src/gen.ts'), build: copyBuild({ dependsOn: ['gen'] }) } } });
  for (const content of ['A', 'B', 'A', 'B']) {
    ws.write('content', content);
    ws.run(['a#build']);
    assert.equal(ws.read('packages/a/dist/gen.ts'), content);
  }
});

test('past a failed dependency nothing is stored', () => {
  const ws = monorepo({ a: { tasks: { bad: cached('exit 1', { outputs: [] }), build: cached('true', { outputs: [], dependsOn: ['bad'] }), more: cached('true', { outputs: [], dependsOn: ['build'] }) } } });
  for (let i = 0; i < 2; i++) assert.deepEqual(ws.run(['a#more', '--continue']).outcomes, { 'a#bad': 'failed', 'a#build': MISS, 'a#more': MISS });
});

test('continue modes: never, deps-ok, always', () => {
  const ws = monorepo({ a: { tasks: { f: always('exit 1'), b: always('true', { dependsOn: ['f'] }), c: always('true', { dependsOn: ['b'] }), d: always('sleep 0.1') } } });
  const end = (...flags) => ws.run(['a#c', 'a#d', '--concurrency=1', ...flags]).outcomes;
  assert.deepEqual(end(), { 'a#f': 'failed', 'a#b': 'skipped', 'a#c': 'skipped', 'a#d': MISS });
  assert.deepEqual(end('--continue'), { 'a#f': 'failed', 'a#b': MISS, 'a#c': MISS, 'a#d': MISS });
  const never = end('--continue=never');
  assert.equal(never['a#c'], 'skipped');
  assert.equal(never['a#f'], 'failed');
});

test('an error at key time fails its task also behind a dependency that failed at key time', () => {
  const bad = { files: ['ignored.local'], outputs: [] };
  for (const own of [bad, { inputs: { runtime: ['exit 1'] }, outputs: [] }]) {
    const ws = monorepo({ a: { tasks: { up: cached('true', bad), down: cached('touch ran', { ...own, dependsOn: ['up'] }), fine: cached('true', { outputs: [], dependsOn: ['up'] }) } } });
    ws.write('.gitignore', `${ws.read('.gitignore')}*.local\n`);
    ws.write('packages/a/ignored.local', '');
    const r = ws.run(['a#down', 'a#fine', '--continue=always']);
    assert.deepEqual(r.outcomes, { 'a#up': 'failed', 'a#down': 'failed', 'a#fine': MISS }, r.stderr);
    assert.equal(ws.exists('packages/a/ran'), false);
  }
});

test('the root lockfile re-keys everything, a copy in a package only that one', () => {
  const ws = monorepo({ a: { tasks: { t: cached('true', { files: ['**'], outputs: [] }) } }, b: { tasks: { t: cached('true', { files: ['**'], outputs: [] }) } } });
  ws.run(['t', '--all']);
  ws.write('package-lock.json', '{"lockfileVersion":3}');
  assert.deepEqual(ws.run(['t', '--all']).executed, ['a#t', 'b#t']);
  ws.write('packages/a/package-lock.json', '{}');
  assert.deepEqual(ws.run(['t', '--all']).executed, ['a#t']);
});

test('a task that rewrites the lockfile lets nothing be saved after it', () => {
  const ws = monorepo({ a: { tasks: { t: cached('true', { outputs: [], dependsOn: ['//#lock'] }) } } });
  ws.write('package-lock.json', '{}');
  ws.write('vx.config.json', { tasks: { lock: always('date +%N > package-lock.json') } });
  ws.commit();
  for (let i = 0; i < 2; i++) assert.equal(ws.run(['a#t']).outcomes['a#t'], MISS);
});

test('plans are stable over many processes and leave the tree alone', () => {
  const ws = built();
  const before = snapshot(ws.path('packages'));
  const keys = new Set();
  for (let i = 0; i < 10; i++) keys.add(ws.plan(['a#build'], { env: Object.fromEntries(Array.from({ length: 5 }, (_, j) => [`E${(j * 7 + i) % 11}`, '1'])) }).keys['a#build']);
  assert.equal(keys.size, 1);
  assert.deepEqual(snapshot(ws.path('packages')), before);
});

test('every index format gives one key', () => {
  const ws = built();
  const key = ws.plan(['a#build']).keys['a#build'];
  for (const version of ['2', '3', '4']) {
    ws.git('update-index', '--index-version', version);
    assert.equal(ws.plan(['a#build']).keys['a#build'], key, version);
  }
  ws.git('update-index', '--split-index');
  assert.equal(ws.plan(['a#build']).keys['a#build'], key);
  ws.git('update-index', '--untracked-cache');
  assert.equal(ws.plan(['a#build']).keys['a#build'], key);
});

test('files outside a sparse checkout are no inputs, and one notice counts those that a glob names', () => {
  const ws = monorepo({
    a: { tasks: { build: copyBuild({ inputs: { workspaceFiles: ['packages/c/src/**'] } }) } },
    c: { files: { 'src/y': '1\n' } },
  });
  const full = ws.plan(['a#build']);
  assert.doesNotMatch(full.text, /sparse/);
  ws.git('sparse-checkout', 'set', '--no-cone', '/*', '!/packages/c/src/');
  const line = /2 input files lie outside the sparse checkout and count as absent/;
  const plan = ws.plan(['a#build']);
  assert.notEqual(plan.keys['a#build'], full.keys['a#build']);
  assert.match(plan.text, line);
  const run = ws.vx(['run', 'a#build']);
  assert.equal(run.status, 0, run.text);
  assert.match(run.text, line);
});

test('a workspace glob of a tree keys a file that stands in the place of its directory', () => {
  const ws = single(copyBuild({ inputs: { workspaceFiles: ['data/**'] } }));
  ws.write('data', 'one\n');
  const first = ws.plan(['a#build']).keys['a#build'];
  ws.write('data', 'two\n');
  assert.notEqual(ws.plan(['a#build']).keys['a#build'], first);
});

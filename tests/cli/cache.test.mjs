import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { always, cached, cleanEnv, copyBuild, monorepo, repository, single, snapshot, tempDir } from './lib/workspace.mjs';

/** `PRAGMA integrity_check` of one database (Linux builds). */
const integrity = path.join(path.resolve(process.env.VX_BUILD_DIR ?? path.join(repository, 'build')), 'tests/fuzz/faults/vx-fuzz-integrity');
const HIT = 'up-to-date';
const MISS = 'executed';
const RESTORED = 'restored';
const build = (ws, args = [], options = {}) => ws.run(['a#build', ...args], options).outcomes['a#build'];
const dist = (ws) => snapshot(ws.path('packages/a/dist'));
/** The store's artifacts. */
function artifacts(ws) {
  const found = [];
  const walk = (dir) => {
    for (const e of fs.readdirSync(dir, { withFileTypes: true })) {
      const file = path.join(dir, e.name);
      if (e.isDirectory()) walk(file);
      else if (e.name.endsWith('.tar.zst')) found.push(file);
    }
  };
  walk(path.join(ws.base, 'home'));
  return found;
}
function databases(ws) {
  const found = [];
  const walk = (dir) => {
    for (const e of fs.readdirSync(dir, { withFileTypes: true })) {
      const file = path.join(dir, e.name);
      if (e.isDirectory()) walk(file);
      else if (/\.(db|sqlite3?)$/.test(e.name)) found.push(file);
    }
  };
  walk(path.join(ws.base, 'home'));
  return found;
}

test('outputs are exactly the entry\'s, whichever way they come', () => {
  const ws = single(copyBuild());
  const sources = (...names) => {
    ws.sh('rm -rf packages/a/src');
    for (const n of names) ws.write(`packages/a/src/${n}`, n);
  };
  for (const [names, want] of [[['1', '2'], MISS], [['1'], MISS], [['1', '2'], RESTORED], [['1'], RESTORED]]) {
    sources(...names);
    ws.write('packages/a/dist/junk', 'junk');
    assert.equal(build(ws), want);
    assert.deepEqual(ws.list('packages/a/dist'), names);
  }
  ws.write('packages/a/dist/junk', 'junk');
  assert.equal(build(ws), RESTORED);
  assert.deepEqual(ws.list('packages/a/dist'), ['1']);
});

test('a damaged output is repaired and the next run writes nothing', () => {
  const ws = single(copyBuild(), { files: { 'src/y': 'yyyy' } });
  build(ws);
  const good = dist(ws);
  const damages = [
    'echo edit > dist/y', 'rm dist/y', 'chmod 700 dist/y', ': > dist/y',
    'touch -r dist/y ../ref; printf zzzz > ../new; touch -r ../ref ../new; cp -p ../new dist/y; rm ../new ../ref', 'rm dist/y; ln -s x dist/y', 'rm dist/y; mkdir dist/y',
  ];
  for (const damage of damages) {
    ws.sh(`cd packages/a && ${damage}`);
    assert.equal(build(ws), RESTORED, damage);
    assert.deepEqual(dist(ws), good, damage);
    assert.equal(build(ws), HIT, damage);
    assert.deepEqual(dist(ws), good, damage);
  }
});

test('modes, times, links, empty files and directories come back exactly, whatever the umask', () => {
  const make = [
    'rm -rf dist; mkdir -p dist/sub dist/empty dist/ro', 'echo a > dist/m755; chmod 755 dist/m755', 'echo b > dist/m600; chmod 600 dist/m600', 'echo c > dist/m444; chmod 444 dist/m444',
    ': > dist/zero', 'echo t > dist/t0; touch -d @0 dist/t0', 'echo t > dist/t60; touch -d "1960-05-05 01:02:03.5" dist/t60', 'echo t > dist/t23; touch -d "2300-01-01" dist/t23',
    'ln -s m755 dist/link', 'ln -s sub dist/dirlink', 'ln -s nowhere dist/dangling', 'ln -s zzz dist/later; echo z > dist/zzz', 'echo r > dist/ro/f; chmod 555 dist/ro',
    'head -c 3000000 /dev/urandom > dist/big',
  ].join('; ');
  const ws = single(cached(make));
  assert.equal(build(ws), MISS);
  const good = dist(ws);
  for (const umask of ['077', '002']) {
    ws.sh('chmod -R u+w packages/a/dist; rm -rf packages/a/dist');
    const r = ws.sh(`umask ${umask}; "$VX" run a#build > ../log 2>&1; cat ../log`, { VX: path.resolve(process.env.VX_BIN ?? new URL('../../build/vx', import.meta.url).pathname) });
    assert.match(r, /restored-local/);
    assert.deepEqual(dist(ws), good, umask);
  }
  assert.equal(build(ws), HIT);
});

test('an absolute or escaping link is refused by name and the task stays green', () => {
  for (const target of ['/etc/passwd', '../../../../outside']) {
    const ws = single(cached(`mkdir -p dist; ln -sf ${target} dist/bad`));
    const r = ws.run(['a#build']);
    assert.equal(r.status, 0, r.text);
    assert.match(r.stderr, /dist\/bad/);
    assert.equal(build(ws), MISS);
  }
});

test('a linked output root outside the project fails the task, on a miss and on a hit', () => {
  const ws = single(copyBuild());
  build(ws);
  ws.sh('mkdir ../elsewhere; echo mine > ../elsewhere/f; rm -rf packages/a/dist; ln -s ../../../elsewhere packages/a/dist');
  for (const edit of [null, 'changed']) {
    if (edit) ws.write('packages/a/src/x', edit);
    const r = ws.run(['a#build']);
    assert.equal(r.outcomes['a#build'], 'failed');
    assert.match(r.stderr, /dist/);
    assert.equal(fs.readFileSync(`${ws.base}/elsewhere/f`, 'utf8'), 'mine\n');
  }
});

test('a link inside the outputs never leads a restore into the sources', () => {
  const ws = single(cached('mkdir -p dist/rt; cp src/x dist/rt/x'));
  build(ws);
  const source = ws.read('packages/a/src/x');
  ws.sh('cd packages/a; rm -rf dist/rt; ln -s ../src dist/rt');
  assert.equal(build(ws), RESTORED);
  assert.equal(fs.lstatSync(ws.path('packages/a/dist/rt')).isDirectory(), true);
  assert.equal(ws.read('packages/a/src/x'), source);
});

test('staging and renaming over the output works', () => {
  const ws = single(cached('rm -rf dist.tmp; mkdir dist.tmp; cp src/x dist.tmp/; rm -rf dist; mv dist.tmp dist'));
  assert.equal(build(ws), MISS);
  assert.equal(build(ws), HIT);
});

test('a negated output survives the clean and the restore and is not stored', () => {
  const ws = single(cached('mkdir -p .next/cache; echo out > .next/out; date +%N >> .next/cache/log', { outputs: ['.next/**', '!.next/cache/**'] }), { git: false });
  ws.write('.gitignore', '.next\n.vx\n');
  build(ws);
  const kept = ws.read('packages/a/.next/cache/log');
  ws.remove('packages/a/.next/out');
  assert.equal(build(ws), RESTORED);
  assert.equal(ws.read('packages/a/.next/cache/log'), kept);
  ws.write('packages/a/src/x', 'edit');
  build(ws);
  assert.ok(ws.read('packages/a/.next/cache/log').startsWith(kept));
});

test('a declaration that matches nothing is said at the save', () => {
  const r = single(cached('true')).run(['a#build']);
  assert.equal(r.status, 0);
  assert.match(r.stderr, /a#build|dist\/\*\*/);
});

test('switching branches back and forth hits and gives each branch\'s outputs', () => {
  const ws = single(copyBuild());
  build(ws);
  ws.sh('git checkout -q -b two; echo two > packages/a/src/x; git commit -qam two');
  build(ws);
  for (const [branch, text] of [['main', 'a\n'], ['two', 'two\n'], ['main', 'a\n']]) {
    ws.git('checkout', '-q', branch);
    assert.equal(build(ws), RESTORED);
    assert.equal(ws.read('packages/a/dist/x'), text);
  }
});

test('without artifacts everything runs again; without the database entries are adopted', () => {
  const ws = single(copyBuild());
  build(ws);
  for (const file of artifacts(ws)) fs.rmSync(file);
  ws.remove('packages/a/dist');
  assert.equal(build(ws), MISS);
  assert.equal(build(ws), HIT);
  for (const file of databases(ws)) for (const suffix of ['', '-wal', '-shm']) fs.rmSync(file + suffix, { force: true });
  ws.remove('packages/a/dist');
  assert.equal(build(ws), RESTORED);
});

test('a flipped bit or a cut is a miss and never a wrong file', () => {
  const ws = single(cached('mkdir -p dist; cp src/x dist/x; echo fixed > dist/y'), { files: { 'src/x': 'content\n'.repeat(50) } });
  build(ws);
  const good = dist(ws);
  const bytesOf = (s) => Object.fromEntries(Object.entries(s).map(([k, v]) => [k, v.replace(/^file (\d+) \d+/, 'file $1')]));
  const [file] = artifacts(ws);
  const whole = fs.readFileSync(file);
  const damage = [];
  for (let at = 0; at < whole.length; at += Math.max(1, Math.floor(whole.length / 12))) damage.push([`bit ${at}`, Buffer.from(whole.map((b, i) => (i === at ? b ^ 0x10 : b)))]);
  for (const cut of [0, 10, whole.length - 1]) damage.push([`cut ${cut}`, whole.subarray(0, cut)]);
  for (const [what, bytes] of damage) {
    for (const f of artifacts(ws)) {
      fs.chmodSync(f, 0o644);
      fs.writeFileSync(f, bytes);
    }
    ws.remove('packages/a/dist');
    const r = ws.run(['a#build']);
    assert.equal(r.status, 0, what);
    // A few bits of a zstd frame mean nothing: such a frame decodes to the same archive, whose sum holds.
    assert.ok([MISS, RESTORED].includes(r.outcomes['a#build']), `${what}: ${r.outcomes['a#build']}`);
    if (what.startsWith('cut')) assert.equal(r.outcomes['a#build'], MISS, what);
    assert.deepEqual(bytesOf(dist(ws)), bytesOf(good), what);
  }
});

test('a broken database is moved aside with one line and the run goes on', () => {
  for (const content of ['garbage'.repeat(40), 'SQLite format 3\0']) {
    const ws = single(copyBuild());
    build(ws);
    for (const file of databases(ws)) {
      for (const suffix of ['-wal', '-shm']) fs.rmSync(file + suffix, { force: true });
      fs.writeFileSync(file, content);
    }
    ws.remove('packages/a/dist');
    const r = ws.run(['a#build']);
    assert.equal(r.status, 0, r.text);
    assert.equal(r.outcomes['a#build'], RESTORED);
    assert.equal(r.stderr.match(/^\[vx\] .*damaged.*$/gm).length, databases(ws).length);
  }
});

test('a store that cannot be made costs one line, never the build', { skip: process.getuid?.() === 0 && 'root ignores modes' }, () => {
  const ws = single(copyBuild());
  fs.chmodSync(`${ws.base}/home`, 0o555);
  const r = ws.run(['a#build']);
  assert.equal(r.status, 0);
  assert.equal(r.outcomes['a#build'], MISS);
});

test('a store path that is a file degrades with a line', () => {
  const ws = single(copyBuild());
  ws.write('notadir', 'x');
  const r = ws.run(['a#build'], { env: { VX_CACHE_DIR: 'notadir/store' } });
  assert.equal(r.status, 0, r.text);
  assert.equal(r.outcomes['a#build'], MISS);
  assert.match(r.stderr, /^\[vx\] /m);
});

test('without a usable HOME the store is in the workspace', () => {
  const ws = single(copyBuild());
  const env = { HOME: `${ws.base}/gitconfig` };
  assert.equal(build(ws, [], { env }), MISS);
  ws.remove('packages/a/dist');
  assert.equal(build(ws, [], { env }), RESTORED);
  assert.ok(ws.exists('.vx/cache'));
});

test('--cache-dir is the whole store; VX_CACHE_DIR is below it', () => {
  const ws = single(copyBuild());
  assert.equal(build(ws, ['--cache-dir', '../store1']), MISS);
  assert.equal(build(ws, ['--cache-dir', '../store2']), MISS);
  // The second run rebuilt the outputs, so their times are not those of the first store's entry.
  assert.equal(build(ws, ['--cache-dir=../store1']), RESTORED);
  assert.equal(build(ws, ['--cache-dir=../store1'], { env: { VX_CACHE_DIR: '../store3' } }), HIT);
  assert.deepEqual(fs.readdirSync(`${ws.base}/home`), []);
});

test('plans and shows leave store and tree as they were', () => {
  const ws = single(copyBuild());
  build(ws);
  const before = JSON.stringify([snapshot(`${ws.base}/home`), snapshot(ws.path('packages'))]);
  for (const args of [['run', 'a#build', '--dry'], ['run', 'a#build', '--dry=json'], ['show'], ['show', 'a#build']]) assert.equal(ws.vx(args).status, 0);
  ws.write('packages/a/src/x', 'edit');
  assert.equal(ws.plan(['a#build']).status['a#build'], 'miss');
  ws.write('packages/a/src/x', 'a\n');
  const after = snapshot(`${ws.base}/home`);
  // SQLite's shared-memory file may appear on a read; content and artifacts must not move.
  const stable = (s) => Object.fromEntries(Object.entries(s).filter(([k]) => !/-(shm|wal)$/.test(k)));
  assert.deepEqual(stable(after), stable(JSON.parse(before)[0]));
  ws.write('packages/a/src/x', 'edit');
  assert.equal(build(ws), MISS);
});

test('dry after a full run: all hits, in text too', () => {
  const ws = monorepo({ a: { tasks: { build: copyBuild() } }, b: { deps: ['a'], tasks: { build: copyBuild({ dependsOn: ['^build'] }) } } });
  ws.run(['build', '--all']);
  const text = ws.vx(['run', 'build', '--all', '--dry']);
  assert.equal(text.status, 0);
  assert.match(text.stdout, /^would run:\n {2}◉ {2}a#build {2}cache hit \(local\) {9}[0-9a-f]{8}\n/);
  assert.match(text.stdout, /\n\n2 task\(s\) planned, 2 cache hits \(2 local\)\.\n$/);
  assert.deepEqual(ws.plan(['build', '--all']).status, { 'a#build': 'hit-local', 'b#build': 'hit-local' });
  assert.deepEqual(ws.plan(['build', '--all', '--force']).status, { 'a#build': 'miss', 'b#build': 'miss' });
  assert.deepEqual(ws.plan(['build', '--all', '--no-cache']).status, { 'a#build': 'no-cache', 'b#build': 'no-cache' });
});

test('--force runs, cleans and saves; --no-cache does none of it; --cache=local:r reads only', () => {
  const ws = single(cached('mkdir -p dist; cp src/x dist/x'));
  build(ws);
  const stray = () => ws.write('packages/a/dist/stray', '1');
  stray();
  assert.equal(build(ws, ['--no-cache']), MISS);
  assert.ok(ws.exists('packages/a/dist/stray'));
  assert.equal(build(ws, ['--no-cache', '--force']), MISS);
  assert.ok(ws.exists('packages/a/dist/stray'));
  assert.equal(build(ws, ['--force']), MISS);
  assert.ok(!ws.exists('packages/a/dist/stray'));
  assert.equal(build(ws), HIT);
  stray();
  assert.equal(build(ws, ['--cache=local:r']), RESTORED);
  assert.ok(!ws.exists('packages/a/dist/stray'));
  ws.write('packages/a/src/x', 'other');
  stray();
  assert.equal(build(ws, ['--cache=local:r']), MISS);
  assert.ok(ws.exists('packages/a/dist/stray'));
  assert.equal(build(ws), MISS);
  for (const bad of ['', 'disk:r', 'local:x', 'local']) assert.equal(ws.run(['a#build', `--cache=${bad}`]).status, 1, bad);
});

test('a failed task is never a hit; retries keep the last attempt\'s output only', () => {
  const ws = monorepo({ a: { tasks: { bad: cached('exit 4', { outputs: [] }), flaky: cached('n=$(cat ../../n 2>/dev/null || echo 0); n=$((n+1)); echo $n > ../../n; echo attempt $n; [ $n -ge 3 ]', { outputs: [] }) } } });
  for (let i = 0; i < 2; i++) assert.equal(ws.run(['a#bad']).outcomes['a#bad'], 'failed');
  assert.equal(ws.run(['a#flaky', '--retry', '2']).outcomes['a#flaky'], MISS);
  const replay = ws.vx(['run', 'a#flaky']).stdout;
  assert.match(replay, /attempt 3/);
  assert.ok(!replay.includes('attempt 1') && !replay.includes('attempt 2'));
});

test('a log is replayed in order, byte for byte', () => {
  const ws = single(cached("for i in 1 2 3; do echo out $i; sleep 0.05; echo err $i >&2; sleep 0.05; done; printf 'nul\\000byte\\377\\n'", { outputs: [] }));
  const text = (r) => r.stdout.slice(r.stdout.indexOf('out 1'), r.stdout.indexOf('└─')).trimEnd();
  const first = text(ws.vx(['run', 'a#build']));
  const second = text(ws.vx(['run', 'a#build']));
  assert.equal(second, first);
  assert.match(first, /^out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n/);
});

test('a secret is nowhere: not in output, store, state or summary', () => {
  const ws = single(cached('echo "token is $API_TOKEN"', { outputs: [], exec: { env: { passThrough: ['API_TOKEN'] } } }));
  const env = { API_TOKEN: 'hunter2-secret' };
  const r = ws.run(['a#build'], { env });
  assert.match(r.stderr, /token is \*\*\*/);
  assert.ok(!r.text.includes('hunter2-secret'));
  assert.ok(!ws.vx(['run', 'a#build'], { env }).text.includes('hunter2-secret'));
  const found = ws.sh(`grep -rl hunter2-secret "${ws.base}" || true`);
  assert.equal(found, '');
});

test('long output keeps its head and tail for the replay and is shown whole live', () => {
  const ws = single(cached('head -c 20000000 /dev/zero | tr "\\0" "a" | fold -w 99', { outputs: [] }));
  const live = ws.vx(['run', 'a#build']);
  assert.ok(live.stdout.length > 20_000_000);
  const replay = ws.vx(['run', 'a#build']);
  assert.ok(replay.stdout.length > 16_000_000 && replay.stdout.length < 17_500_000, `${replay.stdout.length}`);
});

test('a failure behind the clean of a tracked file is told where the file went', () => {
  const ws = monorepo({
    a: { tasks: { build: cached('mkdir -p dist && cp src/x dist/x') }, files: { 'dist/keep.txt': 'kept\n' } },
    b: { deps: ['a'], tasks: { use: always('cat ../a/dist/keep.txt', { dependsOn: ['^build'] }) } },
  });
  ws.git('add', '-f', 'packages/a/dist/keep.txt');
  ws.commit();
  const r = ws.run(['b#use']);
  assert.equal(r.status, 1);
  assert.match(r.stderr, /packages\/a\/dist\/keep\.txt is tracked by git and missing: removed as an output of a#build before it ran/);
  ws.git('restore', '.');
  ws.config('a', (c) => c.tasks.build.cache.outputs.files.push('!dist/keep.txt'));
  const kept = ws.run(['b#use']);
  assert.equal(kept.status, 0, kept.stderr);
  assert.ok(!/tracked by git/.test(kept.stderr), kept.stderr);
});

test('a project whose name is no UTF-8 is cached like any other', { skip: process.platform !== 'linux' }, () => {
  const ws = monorepo({ a: { tasks: { build: copyBuild() } } }, { workspace: { projects: ['packages/*', 'bytes/*'] } });
  const dir = Buffer.concat([Buffer.from(ws.path('bytes/x')), Buffer.from([0xff])]);
  fs.mkdirSync(Buffer.concat([dir, Buffer.from('/src')]), { recursive: true });
  fs.writeFileSync(Buffer.concat([dir, Buffer.from('/src/in')]), 'in\n');
  fs.writeFileSync(Buffer.concat([dir, Buffer.from('/vx.config.json')]), JSON.stringify({ tasks: { build: copyBuild() } }));
  ws.commit();
  const rows = () => ws.run(['build', '--all']).doc.tasks.map((t) => `${t.id} ${t.status}${t.restored ? ' restored' : ''}`).sort();
  assert.deepEqual(rows(), ['a#build success', 'bytes/x\\xff#build success']);
  assert.deepEqual(rows(), ['a#build cache-hit', 'bytes/x\\xff#build cache-hit']);
  fs.rmSync(Buffer.concat([dir, Buffer.from('/dist')]), { recursive: true });
  assert.deepEqual(rows(), ['a#build cache-hit', 'bytes/x\\xff#build cache-hit restored']);
  const stats = ws.vx(['cache', 'stats', '--format', 'json']);
  assert.match(JSON.stringify(JSON.parse(stats.stdout).projects), /bytes\/x\\\\xff/);
});

test('200 runs at once on one store lose nothing', async () => {
  const ws = single(copyBuild());
  ws.commit();
  const clones = [];
  for (let i = 0; i < 20; i++) {
    ws.sh(`git clone -q . ../c${i}`);
    clones.push(Object.assign(Object.create(Object.getPrototypeOf(ws)), { base: ws.base, dir: `${ws.base}/c${i}` }));
  }
  // Ten a work tree: those wait for each other's run lock, and the trees meet in the store.
  const runs = Array.from({ length: 200 }, (_, i) => clones[i % clones.length].start(['run', 'a#build', '--cache-dir', '../shared']).ended);
  for (const r of await Promise.all(runs)) {
    assert.equal(r.status, 0, r.stderr);
    assert.ok(!/locked|damaged|not kept/.test(r.stderr), r.stderr);
  }
  for (const c of clones) assert.equal(c.run(['a#build', '--cache-dir', '../shared']).outcomes['a#build'], HIT);
  assert.equal(fs.readdirSync(ws.path('../shared')).filter((name) => /\.bad-|^\.tmp-/.test(name)).length, 0);
  if (fs.existsSync(integrity)) for (const db of [ws.path('../shared/store-1.db'), ...clones.map((c) => c.path('.vx/index-1.db'))]) execFileSync(integrity, [db]);
});

test('runs in one workspace wait for each other and say so after a second', async () => {
  const ws = monorepo({ a: { tasks: { slow: always('sleep 2'), quick: always('true') } } });
  const first = ws.start(['run', 'a#slow']);
  await new Promise((r) => setTimeout(r, 500));
  const second = ws.start(['run', 'a#quick']);
  const [one, two] = await Promise.all([first.ended, second.ended]);
  assert.equal(one.status, 0);
  assert.equal(two.status, 0);
  assert.match(two.stderr, /\[vx\] waiting for another vx run \(pid \d+\) on this workspace/);
});

test('a 50,000-task chain plans in seconds', () => {
  const base = tempDir();
  const dir = path.join(base, 'ws');
  fs.mkdirSync(dir);
  for (const name of ['home', 'tmp']) fs.mkdirSync(path.join(base, name));
  const tasks = { t0: always('true') };
  for (let i = 1; i < 50_000; i++) tasks[`t${i}`] = always('true', { dependsOn: [`t${i - 1}`] });
  const ws = Object.assign(Object.create(Object.getPrototypeOf(single(copyBuild(), { git: false }))), { base, dir });
  ws.write('package.json', { name: 'root' });
  ws.write('vx.config.json', { tasks });
  const r = ws.vx(['run', '//#t49999', '--dry=json'], { env: cleanEnv(base) });
  assert.equal(JSON.parse(r.stdout).tasks.length, 50_000);
});

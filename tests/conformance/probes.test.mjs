// Acceptance probes that are no single rule: several processes, limits, places that cannot be written.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import {
  HIT, MISS, RESTORED, artifacts, asRoot, asUser, build, built, cached, checkout, cleanEnv, copyBuild, dist, expectFresh, keyOf, monorepo, single, snapshot, storeDir, storeFiles, until,
} from './lib/place.mjs';

const A = 'packages/a';

// breaks: open the parents of restored files by path, not below a descriptor of the anchor
test('a directory that is swapped for a link during restores never leads out of the project', async () => {
  const ws = built(cached('mkdir -p dist/d; for i in 1 2 3 4 5 6 7 8; do echo built > dist/d/f$i; done'));
  const outside = path.join(ws.base, 'outside');
  fs.mkdirSync(outside);
  const swapper = spawn('sh', ['-c', `while :; do mv dist/d dist/.d 2>/dev/null; ln -sfn '${outside}' dist/d 2>/dev/null; rm -f dist/d 2>/dev/null; mv dist/.d dist/d 2>/dev/null; done`], { cwd: ws.path(A), stdio: 'ignore' });
  try {
    for (let round = 0; round < 15; round++) {
      ws.sh(`rm -f ${A}/dist/d/f3 2>/dev/null; echo edited > ${A}/dist/d/f1 2>/dev/null || true`);
      fs.rmSync(path.join(outside, 'f1'), { force: true });
      const r = ws.run(['a#build']);
      assert.ok(['executed', 'restored', 'up-to-date', 'failed'].includes(r.outcomes['a#build']), r.text);
      if (r.outcomes['a#build'] !== 'executed') assert.deepEqual(fs.readdirSync(outside), [], r.stderr);
      for (const n of fs.readdirSync(outside)) fs.rmSync(path.join(outside, n));  // the command itself writes through it
    }
  } finally {
    swapper.kill('SIGKILL');
    await new Promise((resolve) => swapper.once('close', resolve));
  }
});

// breaks: hold the write lock over a pack; write under final names
test('sixteen runs in sixteen checkouts on a fresh store, some of them killed: the others pass, nothing is lost', async () => {
  const ws = single(cached('mkdir -p dist; cp src/x dist/x; head -c 200000 /dev/urandom > dist/r'));
  ws.commit();
  const clones = Array.from({ length: 16 }, (_, i) => {
    ws.sh(`git clone -q . ../c${i}`);
    return checkout(ws, `../c${i}`);
  });
  for (let round = 0; round < 3; round++) {
    const runs = clones.map((c, i) => ({ run: c.start(['run', 'a#build', '--force', '--cache-dir', '../shared']), doomed: round > 0 && i % 5 === round }));
    await until(() => fs.existsSync(`${ws.base}/shared/store-1.db`), 'the store');
    for (const { run, doomed } of runs) if (doomed) run.child.kill('SIGKILL');
    for (const { run, doomed } of runs) {
      const r = await run.ended;
      if (!doomed) assert.equal(r.status, 0, r.stderr);
      assert.doesNotMatch(r.stderr, /locked|malformed/);
    }
  }
  for (const c of clones) {
    c.remove(`${A}/dist`);
    assert.equal(build(c, ['--cache-dir', '../shared']), RESTORED);
    assert.equal(fs.statSync(c.path(`${A}/dist/r`)).size, 200000);
  }
});

// breaks: take no run lock
test('many runs in one checkout are serial and all pass', async () => {
  const ws = monorepo({ a: { tasks: { build: cached('mkdir ../../alone; mkdir -p dist; cp src/x dist/x; rmdir ../../alone') } } });
  const runs = Array.from({ length: 6 }, () => ws.start(['run', 'a#build', '--force']));
  for (const run of runs) {
    const r = await run.ended;
    assert.equal(r.status, 0, r.stderr);
  }
});

// breaks: refuse a store that cannot be written
test('a store that cannot be written serves hits, saves nothing, and costs a line', () => {
  const ws = built(copyBuild());
  const dir = storeDir(ws);
  assert.equal(asUser(ws, ['a#build']).outcomes['a#build'], asRoot ? RESTORED : HIT, 'a change of owner moves stamps');
  fs.chmodSync(dir, 0o500);
  ws.remove(`${A}/dist`);
  const hit = asUser(ws, ['a#build']);
  assert.equal(hit.status, 0, hit.stderr);
  assert.equal(hit.outcomes['a#build'], RESTORED, hit.stderr);
  ws.write(`${A}/src/x`, 'edit');
  const miss = asUser(ws, ['a#build']);
  assert.equal(miss.status, 0);
  assert.equal(miss.outcomes['a#build'], MISS);
  assert.match(miss.stderr, /^\[vx\] .*(written|write|read-only|ermission)/m);
  fs.chmodSync(dir, 0o700);
  assert.equal(asUser(ws, ['a#build']).outcomes['a#build'], MISS, 'nothing was saved meanwhile');
});

// breaks: fail the task when the store is full
test('a full store: green, "not cached", no temporaries; afterwards a save lands', (t) => {
  const ws = single(cached('mkdir -p dist; cp src/x dist/x; head -c ${SIZE:-30000000} /dev/urandom > dist/big', { exec: { env: { passThrough: ['SIZE'] } } }));
  const mount = path.join(ws.base, 'small');
  fs.mkdirSync(mount);
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=12m', 'tmpfs', mount], { stdio: 'ignore' }).status !== 0) return t.skip('no right to mount');
  try {
    const run = (env) => ws.run(['a#build', '--cache-dir', '../small'], { env });
    const r = run({});
    assert.equal(r.status, 0, r.stderr);
    assert.match(r.stderr, /not cached: no space left/);
    assert.deepEqual(fs.readdirSync(mount).filter((n) => n.startsWith('.tmp-') || n.endsWith('.zst')), []);
    assert.equal(run({ SIZE: '1000' }).outcomes['a#build'], MISS);
    assert.equal(run({}).outcomes['a#build'], HIT);
  } finally {
    spawnSync('umount', ['-l', mount]);
  }
});

// breaks: evict by creation, or not at all
test('the store keeps to its limit, and what was used last stays', () => {
  const ws = single(cached('mkdir -p dist; cp src/x dist/x; head -c 100000 /dev/urandom > dist/r'), { workspace: { cacheRetention: { maxSize: '1MB' } } });
  for (let i = 0; i < 25; i++) {
    ws.write(`${A}/src/x`, `${i}`);
    expectFresh(ws, MISS);
    if (i > 0) {
      ws.write(`${A}/src/x`, '0');
      expectFresh(ws, RESTORED, `the first one is used in every round, ${i}`);
    }
    const bytes = artifacts(ws).reduce((sum, f) => sum + fs.statSync(f).size, 0);
    assert.ok(bytes <= (1 << 20) + 110_000, `${bytes}`);
  }
  assert.ok(artifacts(ws).length >= 6);
});

// breaks: name the store after the checkout's path
test('worktrees of one repository share a store, and outlive the main checkout', () => {
  const ws = built(copyBuild());
  ws.commit();
  ws.git('worktree', 'add', '-q', '../wt');
  const other = checkout(ws, '../wt');
  assert.equal(build(other), RESTORED);
  assert.equal(build(other), HIT);
  const keys = [keyOf(ws), keyOf(other)];
  assert.equal(keys[0], keys[1]);
  ws.sh('mv ../ws/.git ../git-alone; rm -rf ../ws/packages; mv ../git-alone ../ws/.git');
  other.write(`${A}/src/x`, 'edit');
  expectFresh(other, MISS);
});

// breaks: hash with the repository's format in one place and SHA-1 in another
test('a SHA-256 repository: edits are seen, clean and dirty files have one identity', async () => {
  const ws = single(copyBuild(), { git: false });
  ws.git('init', '-q', '--object-format=sha256');
  ws.commit();
  expectFresh(ws, MISS);
  const key = keyOf(ws);
  ws.sh(`touch ${A}/src/x`);
  assert.equal(keyOf(ws), key);
  ws.write(`${A}/src/x`, 'edit');
  expectFresh(ws, MISS);
});

// breaks: need git
test('without git on PATH: one notice, hits, and the key of the clone', () => {
  const ws = built(copyBuild());
  const key = keyOf(ws);
  const bin = path.join(ws.base, 'bin');
  fs.mkdirSync(bin);
  for (const name of ['sh', 'mkdir', 'cp']) fs.symlinkSync(spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).stdout.trim(), path.join(bin, name));
  const options = { env: { PATH: bin } };
  const r = ws.run(['a#build'], options);
  assert.equal(r.keys['a#build'], key);
  assert.equal(r.stderr.split('\n').filter((l) => l.startsWith('[vx]') && /git/.test(l)).length, 1, r.stderr);
  assert.equal(build(ws, [], options), HIT);
  ws.write(`${A}/src/x`, 'edit');
  expectFresh(ws, MISS, '', [], options);
  refusedAffected(ws, options);
});
function refusedAffected(ws, options) {
  const r = ws.run(['build', '--affected'], options);
  assert.equal(r.status, 1);
  assert.match(r.stderr, /git/);
}

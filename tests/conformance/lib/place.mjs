// What the rules have in common: little workspaces, what a run reports, and the bytes on disk.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { Workspace, repository, single, until, vxBin } from '../../cli/lib/workspace.mjs';

export * from '../../cli/lib/workspace.mjs';

// What was written in the clock tick in which a task starts counts as written during it; so a run begins a tick after the edits.
const plainVx = Workspace.prototype.vx;
Workspace.prototype.vx = function vx(...args) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 12);
  return plainVx.apply(this, args);
};

export const HIT = 'up-to-date';
export const MISS = 'executed';
export const RESTORED = 'restored';

const buildDir = path.resolve(process.env.VX_BUILD_DIR ?? path.join(repository, 'build'));
/** A helper program of this suite. */
export const tool = (name) => path.join(buildDir, 'tests/conformance', name);

export const build = (ws, args = [], options = {}) => ws.run(['a#build', ...args], options).outcomes['a#build'];
export const keyOf = (ws, args = [], options = {}) => ws.plan(['a#build', ...args], options).keys['a#build'];
export const dist = (ws, name = 'x') => ws.read(`packages/a/dist/${name}`);
export const src = (ws, name = 'x') => ws.read(`packages/a/src/${name}`);

/** One package `a` whose build has run once. */
export function built(task, options) {
  const ws = single(task, options);
  assert.equal(build(ws), MISS);
  return ws;
}

/** Runs the build: the outcome is as said, and the output is what the sources are now. */
export function expectFresh(ws, want, what = '', args = [], options = {}) {
  const r = ws.run(['a#build', ...args], options);
  assert.equal(r.outcomes['a#build'], want, `${what}\n${r.stderr}`);
  assert.deepEqual(fs.readFileSync(ws.path('packages/a/dist/x')), fs.readFileSync(ws.path('packages/a/src/x')), `${what}: stale output`);
  return r;
}

/** The same workspace object for another checkout. */
export function checkout(ws, dir) {
  return Object.assign(Object.create(Object.getPrototypeOf(ws)), { base: ws.base, dir: path.resolve(ws.dir, dir) });
}

/** A request that is refused before anything runs, with a line that matches. */
export function refused(ws, args, pattern) {
  const r = ws.run(args);
  assert.equal(r.status, 1, r.text);
  assert.equal((r.doc.tasks ?? []).length, 0, r.text);
  assert.match(r.stderr, pattern);
}

/** Waits until a file's stamps lie outside the window in which a change could hide. */
export const aged = (ws, name, ms = 80) => until(() => Date.now() > fs.lstatSync(ws.path(name)).ctimeMs + ms, `${name} to age`);

/** Makes git's index such that its record of the file could be believed: equal stamps, not racy. */
export async function trustworthy(ws, name) {
  await aged(ws, name);
  ws.sh('git update-index --refresh -q || true');
  ws.git('update-index', '--force-write-index');
}

/** Rewrites a file in place with other bytes of the same size and puts its mtime back. */
export function forge(ws, name, content) {
  const file = ws.path(name);
  const before = fs.statSync(file);
  assert.equal(Buffer.byteLength(content), before.size);
  ws.sh(`touch -r '${name}' ../stamp`);
  fs.writeFileSync(file, content);
  ws.sh(`touch -r ../stamp '${name}'`);
}

/** Every file of the store, or those with an ending. */
export function storeFiles(ws, ending = '') {
  const found = [];
  const walk = (dir) => {
    if (!fs.existsSync(dir)) return;
    for (const e of fs.readdirSync(dir, { withFileTypes: true })) {
      const file = path.join(dir, e.name);
      if (e.isDirectory()) walk(file);
      else if (e.name.endsWith(ending)) found.push(file);
    }
  };
  walk(path.join(ws.base, 'home/.cache/vx'));
  return found;
}
export const artifacts = (ws) => storeFiles(ws, '.tar.zst');
export const artifactOf = (ws, key) => artifacts(ws).find((f) => f.includes(key));
/** The store's directory. */
export const storeDir = (ws) => path.dirname(storeFiles(ws)[0]);

/** Forgets the rows of the store, so that artifacts are adopted. */
export function dropRows(ws) {
  for (const file of storeFiles(ws, 'store-1.db')) for (const s of ['', '-wal', '-shm']) fs.rmSync(file + s, { force: true });
}

/** Replaces (or makes) the artifact of a key by one with these members, its sum right. */
export function forgeArtifact(ws, key, task, members, { dir = storeDir(ws), edit } = {}) {
  const hex = (t) => Buffer.from(t).toString('hex') || '-';
  const lines = members.map((m) => [m.kind ?? 'f', (m.mode ?? 0o644).toString(8), String(m.mtime ?? 1), hex(m.name), hex(m.body ?? m.target ?? '')].join(' '));
  const out = path.join(dir, `${key}.tar.zst`);
  const r = spawnSync(tool('conformance-forge'), [out, key, task], { input: lines.join('\n') + '\n', encoding: 'utf8' });
  assert.equal(r.status, 0, r.stderr ?? String(r.error));
  if (edit) fs.writeFileSync(out, edit(fs.readFileSync(out)));
  return out;
}

/**
 * Runs `body` while another process holds the write lock of the store's database; `body` may end it early by calling its argument. A run of
 * another checkout keeps the database open meanwhile, as SQLite's log has to be in use for the lock to mean something.
 */
export async function whileLocked(ws, body) {
  ws.sh('rm -rf ../keeper; git clone -q . ../keeper');
  const keeper = checkout(ws, '../keeper');
  keeper.write('packages/a/vx.config.json', { tasks: { keep: { exec: { command: ': > ../../held; while [ ! -e ../../end ]; do sleep 0.02; done' } } } });
  const keeping = keeper.start(['run', 'a#keep']);
  await until(() => keeper.exists('held'), 'the keeper to have the store open');
  const holder = spawn(tool('conformance-lock'), [path.join(storeDir(ws), 'store-1.db-shm'), '120'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const gone = new Promise((resolve) => holder.once('close', resolve));
  try {
    await Promise.race([new Promise((resolve) => holder.stdout.once('data', resolve)), gone]);
    assert.equal(holder.exitCode, null, 'the lock is held');
    await body(() => holder.stdin.end());
  } finally {
    holder.kill('SIGKILL');
    await gone;
    keeper.write('end', '');
    await keeping.ended;
  }
}

/** The environment that lays the shim below vx: coarse stamps, a wrong clock, a network file system (tools/shim.c). */
export const shim = (settings) => ({ LD_PRELOAD: tool('libconformance-shim.so'), ...settings });
export const onLinux = process.platform === 'linux' ? false : 'the shim needs LD_PRELOAD';
export const asRoot = process.getuid?.() === 0;

/** vx as a user who is not root, where modes count. */
export function asUser(ws, args) {
  if (!asRoot) return ws.run(args);
  spawnSync('chown', ['-R', '65534:65534', ws.base]);
  spawnSync('chmod', ['755', ws.base]);
  return ws.run(args, { uid: 65534 });
}

export { vxBin };

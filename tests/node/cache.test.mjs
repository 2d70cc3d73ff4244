import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { cleanEnv, single, tempDir } from '../cli/lib/workspace.mjs';
import { refusal, vx } from './lib/addon.mjs';

const { Cache, Inputs, KeyBuilder } = vx;

/** A tree with a store of its own; `outputs` is dist. */
async function opened(options = {}) {
  const root = tempDir();
  const dir = path.join(tempDir(), 'store');
  const cache = await Cache.open({ dir, root, ...options });
  return { root, dir, cache, outputs: { root, files: ['dist/**'] }, dist: (name) => path.join(root, 'dist', name) };
}
const keyOf = (cache, host, subject = 'p#build') => {
  const key = new KeyBuilder({ schema: 'test-1', subject, explain: true, salt: cache?.salt }).addHost('h', host);
  key.finish();
  return key;
};
const make = (at, text = 'made\n') => {
  fs.mkdirSync(path.join(at.root, 'dist'), { recursive: true });
  fs.writeFileSync(at.dist('out'), text);
};

test('save, look up, restore, replay', async () => {
  const at = await opened();
  assert.deepEqual([at.cache.dir, at.cache.access, at.cache.salt.length, at.cache.notices()], [at.dir, 'read-write', 16, []]);
  const key = keyOf(at.cache, '1').finish();
  assert.equal(await at.cache.lookup(key), null);
  assert.equal(await at.cache.has(key), false);
  make(at);
  await at.cache.save(key, {
    outputs: at.outputs, components: keyOf(at.cache, '1'), command: 'make', stdout: 'hello\n', stderr: Buffer.from([0xff]), durationNs: 5e6, cpuNs: 3e6,
  });
  assert.equal(await at.cache.has(key), true);
  const entry = await at.cache.lookup(key);
  assert.deepEqual(entry.outputs(), [
    { path: 'dist', space: 'project', mode: entry.outputs()[0].mode, size: 0 }, { path: 'dist/out', space: 'project', mode: 0o100644, size: 5 },
  ].slice(-entry.outputs().length));
  assert.deepEqual([entry.stats().key, entry.stats().subject, entry.stats().durationNs], [key, 'p#build', 5e6]);
  assert.equal(await at.cache.isCurrent(entry, at.outputs), true);
  fs.writeFileSync(at.dist('stray'), 'x');
  fs.rmSync(at.dist('out'));
  assert.equal(await at.cache.isCurrent(entry, at.outputs), false);
  assert.equal(await at.cache.restore(entry, at.outputs), true);
  assert.deepEqual(fs.readdirSync(path.join(at.root, 'dist')), ['out']);
  const log = await entry.log();
  assert.deepEqual(log.map((p) => [p.stream, Buffer.from(p.data).toString('latin1')]), [['stdout', 'hello\n'], ['stderr', '\xff']]);
  await at.cache.close();
  assert.equal(await at.cache.close(), undefined);
  await refusal(at.cache.lookup(key), 'VX_E_INVALID');
  fs.rmSync(at.dist('out'));
  assert.equal(await at.cache.restore(entry, at.outputs), true);  // the entry keeps what it needs
});

test('many keys in one pass; a damaged artifact is a miss', async () => {
  const at = await opened();
  const keys = ['1', '2', '3'].map((h) => keyOf(at.cache, h).finish());
  for (const [i, key] of keys.slice(0, 2).entries()) {
    make(at, `${i}`);
    await at.cache.save(key, { outputs: at.outputs });
  }
  const found = await at.cache.lookupMany(keys);
  assert.deepEqual(found.map((e) => e?.stats().key ?? null), [keys[0], keys[1], null]);
  const artifact = fs.readdirSync(at.dir).find((n) => n.startsWith(keys[0]));
  fs.writeFileSync(path.join(at.dir, artifact), 'rubbish');
  make(at, 'as it was');
  assert.equal(await at.cache.restore(found[0], at.outputs), false);
  assert.equal(fs.readFileSync(at.dist('out'), 'utf8'), 'as it was');
  assert.equal(at.cache.notices().length, 1);
});

test('why a key missed', async () => {
  const at = await opened();
  assert.deepEqual(await at.cache.explain(keyOf(at.cache, '1')), { entries: [], unchangedCount: 0, found: false, previousKey: null });
  make(at);
  const first = keyOf(at.cache, '1');
  await at.cache.save(first.finish(), { outputs: at.outputs, components: first });
  const said = await at.cache.explain(keyOf(at.cache, '2'));
  assert.deepEqual([said.found, said.previousKey, said.entries.map((e) => [e.kind, e.name, e.change])], [true, first.finish(), [['host', 'h', 'changed']]]);
  await refusal(at.cache.save(first.finish(), { outputs: at.outputs, components: keyOf(at.cache, '2') }), 'VX_E_INVALID');
});

test('an artifact goes out of one store and into another', async () => {
  const [from, to] = [await opened(), await opened()];
  const key = keyOf(from.cache, '1').finish();
  make(from);
  await from.cache.save(key, { outputs: from.outputs });
  const file = path.join(tempDir(), 'artifact');
  await from.cache.exportFile(key, file);
  await refusal(from.cache.exportFile(key, file), 'VX_E_IO');
  await refusal(from.cache.exportFile(keyOf(from.cache, 'none').finish(), `${file}2`), 'VX_E_NOT_FOUND');
  assert.equal(fs.existsSync(`${file}2`), false);
  await to.cache.importFile(key, file, { outputs: to.outputs, subject: 'p#build' });
  assert.equal(await to.cache.restore(await to.cache.lookup(key), to.outputs), true);
  assert.equal(fs.readFileSync(to.dist('out'), 'utf8'), 'made\n');
  fs.writeFileSync(file, 'rubbish');
  await refusal(to.cache.importFile(keyOf(to.cache, '2').finish(), file, { outputs: to.outputs }), 'VX_E_CORRUPT');
});

test('stats and prune', async () => {
  const at = await opened();
  make(at);
  await at.cache.save(keyOf(at.cache, '1').finish(), { outputs: at.outputs, subject: 'p#build' });
  const stats = await at.cache.stats();
  assert.deepEqual([stats.entries, stats.projects[0].project], [1, 'p']);
  await refusal(at.cache.prune({}), 'VX_E_INVALID');
  assert.equal((await at.cache.prune({ maxBytes: 1, dryRun: true })).evicted, 1);
  assert.equal((await at.cache.prune({ maxBytes: 1 })).evicted, 1);
  assert.equal((await at.cache.stats()).entries, 0);
});

test('owned files are removed before work, and links that lead away are refused', async () => {
  const at = await opened();
  make(at);
  await Cache.cleanOutputs(at.outputs);
  assert.equal(fs.existsSync(at.dist('out')), false);
  fs.rmSync(path.join(at.root, 'dist'), { recursive: true, force: true });
  fs.symlinkSync(tempDir(), path.join(at.root, 'dist'));
  await refusal(Cache.cleanOutputs(at.outputs), 'VX_E_REFUSED');
  await refusal(Cache.cleanOutputs({ root: at.root, file: [] }), 'VX_E_INVALID');
});

test('a memoised step, inputs and all', async () => {
  const ws = single();
  const outputs = { root: ws.dir, projectDir: 'packages/a', files: ['dist/**'] };
  const cache = await Cache.open({ dir: path.join(ws.base, 'store'), root: ws.dir, env: cleanEnv(ws.base) });
  const step = async () => {
    const inputs = await Inputs.open(ws.dir, { env: cleanEnv(ws.base), cache });
    const selection = await inputs.resolve({ projectDir: 'packages/a', files: ['src/**'] });
    const builder = new KeyBuilder({ schema: 'copy-1', subject: 'a#copy', explain: true, salt: cache.salt }).addSelection(selection);
    const key = builder.finish();
    const hit = await cache.lookup(key, { subject: 'a#copy', outputs });
    if (hit && await cache.restore(hit, outputs)) return 'hit';
    await Cache.cleanOutputs(outputs);
    const mark = Inputs.mark();
    ws.sh('mkdir -p packages/a/dist; cp packages/a/src/x packages/a/dist/');
    assert.equal(await inputs.changedSince(selection, mark), null);
    await cache.save(key, { outputs, components: builder });
    return 'made';
  };
  assert.equal(await step(), 'made');
  ws.remove('packages/a/dist');
  assert.equal(await step(), 'hit');
  assert.equal(ws.read('packages/a/dist/x'), 'a\n');
  ws.write('packages/a/src/x', 'b\n');
  assert.equal(await step(), 'made');
});

test('a store that only reads', async () => {
  const at = await opened();
  const reader = await Cache.open({ dir: path.join(tempDir(), 'absent'), readOnly: true });
  assert.equal(await reader.lookup(keyOf(at.cache, '1').finish()), null);
  await refusal(Cache.open({}), 'VX_E_INVALID');
  await refusal(at.cache.lookup('nonsense'), 'VX_E_INVALID');
});

/** A layer in memory that counts what it is asked. */
const table = (more = {}) => {
  const artifacts = new Map();
  const asked = [];
  return {
    artifacts, asked, name: 'table',
    has: async (key) => { asked.push('has'); return artifacts.has(key); },
    get: async (key) => { asked.push('get'); return artifacts.get(key); },
    put: async (key, artifact) => { asked.push('put'); artifacts.set(key, Buffer.from(artifact)); },
    ...more,
  };
};
const asLayer = ({ name, has, get, put }) => ({ name, has, get, put });

test('a layer in JavaScript, behind two stores', async () => {
  const layer = table();
  const [from, to] = [await opened(), await opened()];
  for (const { cache } of [from, to]) assert.equal(cache.addLayer(asLayer(layer)), cache);
  const key = keyOf(from.cache, '1').finish();
  assert.equal(await from.cache.lookup(key, { outputs: from.outputs }), null);
  make(from);
  await from.cache.save(key, { outputs: from.outputs });
  assert.deepEqual([layer.asked, [...layer.artifacts.keys()]], [['get', 'put'], [key]]);
  assert.deepEqual([await to.cache.has(key), await to.cache.lookup(key)], [true, null]);
  const entry = await to.cache.lookup(key, { outputs: to.outputs, subject: 'p#build' });
  assert.equal(await to.cache.restore(entry, to.outputs), true);
  assert.equal(fs.readFileSync(to.dist('out'), 'utf8'), 'made\n');
  assert.deepEqual(layer.asked, ['get', 'put', 'has', 'get']);
  assert.deepEqual([...from.cache.notices(), ...to.cache.notices()], []);
});

test('a layer that rejects, throws or lies is a miss and one line; synchronous answers will do', async () => {
  const key = keyOf(null, '1').finish();
  const wrong = {
    rejects: { get: async () => { throw new Error('no'); } }, throws: { get() { throw new Error('no'); } }, lies: { get: () => Buffer.from('rubbish') }, strings: { get: () => 'text' },
  };
  for (const [name, more] of Object.entries(wrong)) {
    const at = await opened();
    at.cache.addLayer({ name, ...more });
    for (let i = 0; i < 2; i += 1) assert.equal(await at.cache.lookup(key, { outputs: at.outputs }), null, name);
    const lines = at.cache.notices();
    assert.equal(lines.length, 1, `${name}: ${lines}`);
    assert.match(lines[0], new RegExp(`cache: layer ${name}: get failed`));
  }
  const at = await opened();
  at.cache.addLayer({ has: () => true, get: () => null });
  assert.deepEqual([await at.cache.has(key), await at.cache.lookup(key, { outputs: at.outputs }), at.cache.notices()], [true, null, []]);
  assert.throws(() => at.cache.addLayer({ gets() {} }), { code: 'VX_E_INVALID' });
  assert.throws(() => at.cache.addLayer({ get: 1 }), { code: 'VX_E_INVALID' });
});

test('layers that use caches themselves, more of them than there are threads', async () => {
  const inner = await opened();
  const key = keyOf(inner.cache, '1').finish();
  make(inner);
  await inner.cache.save(key, { outputs: inner.outputs });
  const outer = await opened();
  outer.cache.addLayer({ async get(k) {
    if (!(await inner.cache.has(k))) return null;
    const file = path.join(tempDir(), 'artifact');
    await inner.cache.exportFile(k, file);
    return fs.readFileSync(file);
  } });
  const entries = await Promise.all(Array.from({ length: 16 }, () => outer.cache.lookup(key, { outputs: outer.outputs })));
  assert.equal(entries.every((e) => e !== null), true);
  assert.deepEqual(outer.cache.notices(), []);
});

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { tempDir } from '../cli/lib/workspace.mjs';
import { refusal, vx } from './lib/addon.mjs';

const { KeyBuilder } = vx;
const id = 'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391';

test('digests and blob ids', async () => {
  assert.equal(vx.digestBytes('abc'), '06b05ab6733a618578af5f94892f3950');
  assert.equal(vx.digestBytes(Buffer.from('abc')), vx.digestBytes('abc'));
  const file = path.join(tempDir(), 'f');
  fs.writeFileSync(file, 'abc');
  assert.equal(await vx.digestFile(file), vx.digestBytes('abc'));
  assert.equal((await refusal(vx.digestFile(`${file}.absent`), 'VX_E_IO')).errno, 2);
  assert.equal(vx.gitBlobId('abc'), execFileSync('git', ['hash-object', file], { encoding: 'utf8' }).trim());
  assert.equal(vx.gitBlobId('', 'sha256').length, 64);
  assert.throws(() => vx.gitBlobId('', 'md5'), { code: 'VX_E_INVALID' });
});

const full = (more = (k) => k, options = {}) => {
  const k = new KeyBuilder({ schema: 'test-1', subject: 'a#b', explain: true, ...options });
  k.addPlatform('linux-x64').addWorkspaceFile('lock', 'bytes').addPackage(id).addConfig('cc -c').addForward('--x');
  k.addEnv('A', '1').addEnv('B', undefined).addRuntime('cc --version', ' 12\n').addWorkspaceRuntime('node -v', 'v20').addUpstream('c#d', vx.digestBytes('up'));
  more(k.addHost('h', 'v'));
  return k.addFile('src/a.ts', id).addFile('gone', null);
};

test('an item counts by kind, name and value; absent is not empty', () => {
  const key = full().finish();
  assert.match(key, /^[0-9a-f]{32}$/);
  assert.equal(full().finish(), key);
  const others = [
    full((k) => k.addHost('h2', 'v')).finish(), full(undefined, { subject: 'a#c' }).finish(), full(undefined, { schema: 'test-2' }).finish(),
    new KeyBuilder({ schema: 's' }).addEnv('A', '').finish(), new KeyBuilder({ schema: 's' }).addEnv('A', undefined).finish(), new KeyBuilder({ schema: 's' }).finish(),
    new KeyBuilder({ schema: 's' }).addEnv('A', 'bc').finish(), new KeyBuilder({ schema: 's' }).addEnv('Ab', 'c').finish(),
  ];
  assert.equal(new Set([key, ...others]).size, others.length + 1);
});

test('strings and bytes are one; astral letters keep their lengths', () => {
  const strings = new KeyBuilder({ schema: 's' }).addEnv('é', 'ü𐍈').addFile('src/𝒳/日本.ts', id).addFile('z', id).finish();
  const bytes = new KeyBuilder({ schema: 's' }).add('env', Buffer.from('é'), Buffer.from('ü𐍈')).add('file', Buffer.from('src/𝒳/日本.ts'), id).addFile('z', id).finish();
  assert.equal(strings, bytes);
  const byName = new KeyBuilder({ schema: 's' }).add('env', 'é', 'ü𐍈').add('file', 'src/𝒳/日本.ts', id).add('file', 'z', id).finish();
  assert.equal(byName, strings);
  const odd = new KeyBuilder({ schema: 's' }).add('file', Buffer.from([0xff, 0x2f]), id).finish();
  assert.notEqual(odd, new KeyBuilder({ schema: 's' }).add('file', '\ufffd/', id).finish());
});

test('what the fold refuses is told, and no key of the rest is given', () => {
  const wrong = [
    (k) => k.addFile('f', id).addEnv('A', '1'), (k) => k.addEnv('A', '1').addEnv('A', '2'), (k) => k.add('platform', 'named', 'x'), (k) => k.addFile('a\0b', id),
    (k) => k.addEnv('A', 'half \ud83d'), (k) => k.addEnv('\ud83d', '\ude00'), (k) => k.begin('env', 2).addEnv('A', '1').end(), (k) => k.begin('file', 1),
    (k) => k.addUpstream('x', 'short'), (k) => k.add('nonsense', 'x', 'y'), (k) => k.addEnv('A', 7), (k) => k.add('format', 'a', 'b'),
  ];
  for (const [i, make] of wrong.entries()) {
    const k = new KeyBuilder({ schema: 's' });
    assert.throws(() => make(k).finish(), { name: 'VxError', code: 'VX_E_INVALID' }, `case ${i}`);
  }
  const k = new KeyBuilder({ schema: 's' }).addFile('f', id).addEnv('late', '1');
  for (let i = 0; i < 2; i += 1) assert.throws(() => k.finish(), { code: 'VX_E_INVALID' });
  const done = new KeyBuilder({ schema: 's' });
  assert.equal(done.finish(), done.finish());
  assert.throws(() => done.addEnv('A', '1'), { code: 'VX_E_INVALID' });
  assert.throws(() => done.add('env', 'A', Buffer.from('1')), { code: 'VX_E_INVALID' });
  for (const options of [undefined, {}, { schema: 'vx-mine' }, { schema: 's', salt: new Uint8Array(3) }, { schema: 's', sald: 1 }]) {
    assert.throws(() => new KeyBuilder(options), { code: 'VX_E_INVALID' });
  }
});

test('components and differences', () => {
  const before = full();
  const after = full((k) => k.addHost('new', 'x'));
  assert.throws(() => before.components(), { code: 'VX_E_INVALID' });
  before.finish();
  after.finish();
  const list = before.components();
  assert.deepEqual(list.find((c) => c.kind === 'file' && c.name === 'src/a.ts').digest, id);
  const diff = KeyBuilder.diff(before, after);
  assert.deepEqual(diff.entries.map((e) => [e.kind, e.name, e.change]), [['host', 'new', 'added']]);
  assert.equal(diff.unchangedCount > 5, true);
  assert.throws(() => KeyBuilder.diff(before, {}), { code: 'VX_E_INVALID' });
});

test('1,000 builders at once, items in turn', async () => {
  const builders = Array.from({ length: 1000 }, (_, i) => new KeyBuilder({ schema: 's', subject: `p${i}` }));
  const keys = await Promise.all(builders.map(async (k, i) => {
    for (let f = 0; f < 20; f += 1) {
      k.addFile(`f${f}`, id);
      if (f % 7 === i % 7) await null;
    }
    return k.finish();
  }));
  assert.equal(new Set(keys).size, 1000);
  const alone = new KeyBuilder({ schema: 's', subject: 'p500' });
  for (let f = 0; f < 20; f += 1) alone.addFile(`f${f}`, id);
  assert.equal(alone.finish(), keys[500]);
});

test('more items than are handed over at once', () => {
  const one = (n) => {
    const k = new KeyBuilder({ schema: 's' }).begin('file', n);
    for (let i = 0; i < n; i += 1) k.addFile(`f${i}`, id);
    return k.end().finish();
  };
  assert.notEqual(one(5000), one(4999));
});

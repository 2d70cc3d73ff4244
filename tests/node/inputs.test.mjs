import assert from 'node:assert/strict';
import fs from 'node:fs';
import test from 'node:test';
import { cleanEnv, single } from '../cli/lib/workspace.mjs';
import { refusal, vx } from './lib/addon.mjs';

const { Inputs } = vx;
const listed = (ws, options = {}) => Inputs.open(ws.dir, { env: cleanEnv(ws.base), ...options });

test('globs', async () => {
  const g = Inputs.glob(['src/**', '!**/*.md']);
  assert.deepEqual(['src/a.ts', 'src/d/a.md', 'lib/a', Buffer.from('src/b')].map((p) => g.match(p)), [true, false, false, true]);
  assert.equal(Inputs.glob('*.ts').match('a.ts'), true);
  assert.throws(() => Inputs.glob('../x'), { code: 'VX_E_CONFIG' });
  assert.throws(() => Inputs.glob([1]), { code: 'VX_E_INVALID' });
});

test('files and what they are, by globs and by path', async () => {
  const ws = single();
  ws.write('packages/a/src/run.sh', '#!/bin/sh\n', 0o755);
  const inputs = await listed(ws);
  assert.equal(inputs.usesGit, true);
  assert.equal(inputs.notice, '');
  const selection = await inputs.resolve({ projectDir: 'packages/a', files: ['src/**'] });
  assert.equal(selection.count, 2);
  assert.deepEqual(selection.files(), [
    { path: 'packages/a/src/run.sh', identity: `100755:${vx.gitBlobId('#!/bin/sh\n')}`, mode: 0o100755 },
    { path: 'packages/a/src/x', identity: vx.gitBlobId('a\n'), mode: 0o100644 },
  ]);
  assert.deepEqual((await inputs.resolve('packages/*/package.json')).files().map((f) => f.path), ['packages/a/package.json']);
  assert.deepEqual((await inputs.resolve({ paths: ['nowhere'] })).files(), [{ path: 'nowhere', identity: null, mode: 0 }]);
  await refusal(inputs.resolve({ file: [] }), 'VX_E_INVALID');
  await refusal(inputs.resolve('/abs'), 'VX_E_CONFIG');
  inputs.close();
  await refusal(inputs.resolve('x'), 'VX_E_INVALID');
  assert.equal(selection.count, 2);
});

test('whether a file moved while work went on', async () => {
  const ws = single();
  const inputs = await listed(ws);
  const selection = await inputs.resolve({ projectDir: 'packages/a', files: ['src/**'] });
  const mark = Inputs.mark();
  assert.equal(await inputs.changedSince(selection, mark), null);
  ws.write('packages/a/src/x', 'edited\n');
  assert.equal(await inputs.changedSince(selection, mark), 'packages/a/src/x');
  assert.equal(Buffer.from(await inputs.changedSince(selection, mark, { encoding: 'buffer' })).toString(), 'packages/a/src/x');
  inputs.invalidate(['packages/a/src/x']);
  const again = await inputs.resolve({ projectDir: 'packages/a', files: ['src/**'] });
  assert.equal(again.files()[0].identity, vx.gitBlobId('edited\n'));
  await refusal(inputs.changedSince(again, 5), 'VX_E_INVALID');
});

test('names that are no UTF-8 come as bytes', { skip: process.platform === 'darwin' }, async () => {
  const ws = single();
  const name = Buffer.from([...Buffer.from('packages/a/src/'), 0xfe]);
  fs.writeFileSync(Buffer.concat([Buffer.from(`${ws.dir}/`), name]), 'odd');
  const selection = await (await listed(ws)).resolve({ projectDir: 'packages/a', files: ['src/**'] });
  assert.throws(() => selection.files(), { code: 'VX_E_INVALID' });
  assert.deepEqual(selection.files({ encoding: 'buffer' }).map((f) => Buffer.from(f.path)), [Buffer.from('packages/a/src/x'), name]);
});

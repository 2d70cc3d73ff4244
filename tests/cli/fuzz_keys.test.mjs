// A short walk of the key fuzzer; `./dev fuzz keys` walks on.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import test from 'node:test';
import { repository, vxBin } from './lib/workspace.mjs';

test('three hundred random edits never give a wrong output, a stray or a needless run', { timeout: 600_000 }, () => {
  const fuzzer = path.join(repository, 'tests/fuzz/keys/main.mjs');
  const r = spawnSync(process.execPath, [fuzzer, '--steps', '75', '--seed', '1', '--seeds', '4'], { encoding: 'utf8', env: { ...process.env, VX_BIN: vxBin } });
  assert.equal(r.status, 0, r.stdout + r.stderr);
});

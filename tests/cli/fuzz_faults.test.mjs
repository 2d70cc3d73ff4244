// A sample of the fault sweep; `./dev fuzz faults` tries every call.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { repository, vxBin } from './lib/workspace.mjs';

const build = path.resolve(process.env.VX_BUILD_DIR ?? path.join(repository, 'build'));
const shim = path.join(build, 'tests/fuzz/faults/vx-faults.so');

test('a failing system call leaves green tasks green, never a wrong output, and the next run right', {
  timeout: 600_000, skip: !fs.existsSync(shim) && 'the fault shim is Linux only',
}, () => {
  const sweep = path.join(repository, 'tests/fuzz/faults/main.mjs');
  const r = spawnSync(process.execPath, [sweep, '--sample', '120', '--seed', '1'], { encoding: 'utf8', env: { ...process.env, VX_BIN: vxBin, VX_BUILD_DIR: build } });
  assert.equal(r.status, 0, r.stdout + r.stderr);
});

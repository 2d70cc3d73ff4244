// examples/monorepo does what its README says. Works on a copy; installs once.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { before, describe, test } from 'node:test';
import { Workspace, cleanEnv, repository, snapshot, tempDir, vxBin } from './lib/workspace.mjs';

const source = path.join(repository, 'examples/monorepo');
const offline = spawnSync('npm', ['--version']).status !== 0 && 'npm is not here';

describe('examples/monorepo', { skip: offline }, () => {
  let ws;
  const outputs = ['packages/units/dist', 'packages/money/dist', 'packages/text/dist', 'packages/catalog/dist', 'apps/shop/dist', 'apps/report/dist', 'apps/report/report.txt', 'native/checksum/bin'];
  const everything = ['build', 'test', 'lint', '--all'];
  const all = () => JSON.stringify(outputs.map((o) => (fs.statSync(ws.path(o)).isDirectory() ? snapshot(ws.path(o)) : [ws.read(o), fs.statSync(ws.path(o)).mtimeMs])));

  before(() => {
    const base = tempDir('vx-example-');
    for (const name of ['home', 'tmp']) fs.mkdirSync(path.join(base, name));
    fs.writeFileSync(path.join(base, 'gitconfig'), '[user]\n\tname = t\n\temail = t@example.invalid\n[init]\n\tdefaultBranch = main\n');
    ws = new Workspace(base);
    const tracked = execFileSync('git', ['ls-files', '-z', '.'], { cwd: source, encoding: 'utf8' }).split('\0').filter(Boolean);
    for (const file of tracked) {
      fs.mkdirSync(path.dirname(ws.path(file)), { recursive: true });
      fs.copyFileSync(path.join(source, file), ws.path(file));
    }
    execFileSync('npm', ['ci', '--no-audit', '--no-fund', '--silent'], { cwd: ws.dir, stdio: 'pipe' });
    ws.git('init', '-q');
    ws.commit();
  });

  test('cold: everything runs, in order', () => {
    const r = ws.run(everything);
    assert.equal(r.status, 0, r.text);
    assert.equal(new Set(Object.values(r.outcomes)).size, 1);
    assert.equal(r.doc.summary.total, 21);
    const end = (id) => BigInt(r.doc.tasks.find((t) => t.id === id).wallclockEndNs);
    const start = (id) => BigInt(r.doc.tasks.find((t) => t.id === id).wallclockStartNs);
    for (const [first, then] of [['@example/units#build', '@example/money#build'], ['@example/money#build', '@example/catalog#build'], ['native/checksum#build', '@example/report#build'], ['@example/shop#build', '@example/shop#test']]) {
      assert.ok(end(first) <= start(then), `${first} before ${then}`);
    }
  });

  test('the second run is all cached and starts no child but git', () => {
    const trace = path.join(ws.base, 'children');
    const r = ws.run(everything);
    assert.deepEqual([...new Set(Object.values(r.outcomes))], ['up-to-date']);
    if (spawnSync('strace', ['-V']).status !== 0) return;
    const traced = spawnSync('strace', ['-f', '-qq', '-e', 'trace=execve', '-o', trace, vxBin, 'run', ...everything], { cwd: ws.dir, env: cleanEnv(ws.base) });
    assert.equal(traced.status, 0);
    const programs = [...fs.readFileSync(trace, 'utf8').matchAll(/execve\("([^"]+)"[^\n]*= 0$/gm)].map((m) => path.basename(m[1]));
    assert.deepEqual([...new Set(programs)].filter((p) => ![path.basename(vxBin), 'git'].includes(p)), []);
  });

  test('outputs come back equal in bytes, modes and times', () => {
    const good = all();
    for (const o of outputs) ws.remove(o);
    const r = ws.run(everything);
    assert.equal(r.status, 0, r.text);
    assert.ok(!r.executed.length, r.executed.join());
    assert.equal(all(), good);
  });

  test('an edit in a base package re-runs its dependants and nothing else; reverted, all is cached', () => {
    const file = 'packages/units/src/index.ts';
    const text = ws.read(file);
    ws.write(file, text.replace("metre: 'm'", "metre: 'metre'"));
    const r = ws.run(everything);
    const ids = new Set(r.executed.map((id) => id.split('#')[0]));
    assert.deepEqual([...ids].sort(), ['@example/catalog', '@example/money', '@example/report', '@example/shop', '@example/units']);
    assert.deepEqual(r.executed.filter((id) => id.endsWith('#lint')), ['@example/units#lint']);
    ws.write(file, text);
    assert.deepEqual(ws.run(everything).executed, []);
  });

  test('an edit in the package consumed as source reaches what depends on it', () => {
    const file = 'packages/locale/src/index.js';
    const text = ws.read(file);
    ws.write(file, text.replace("each: 'each'", "each: 'every'"));
    const ids = new Set(ws.run(everything).executed.map((id) => id.split('#')[0]));
    assert.ok(ids.has('@example/text') && ids.has('@example/shop') && !ids.has('@example/units') && !ids.has('native/checksum'));
    ws.write(file, text);
    assert.deepEqual(ws.run(everything).executed, []);
  });

  test('the app runs, and every project is shown', () => {
    const r = ws.vx(['run', 'start', '--filter', 'shop', '--output-logs=full']);
    assert.match(r.stdout, /total {3}16\.89/);
    assert.equal(JSON.parse(ws.vx(['show', '--format', 'json']).stdout).length, 8);
  });

  test('it works outside git', () => {
    ws.remove('.git');
    const r = ws.run(everything);
    assert.equal(r.status, 0, r.text);
    assert.equal(r.doc.summary.total, 21);
    assert.deepEqual(ws.run(everything).executed, []);
  });
});

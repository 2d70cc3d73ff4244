import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import test, { before, describe } from 'node:test';
import { packageName, platforms, repository, version } from '../../../bindings/node/npm/packages.mjs';
import { managers, project } from './lib/project.mjs';
import { here, registry } from './lib/registry.mjs';

const others = platforms.filter((p) => p !== here).map(packageName);
let url;
before(async () => {
  ({ url } = await registry());
});

const imports = `import { openWorkspace, version } from '@vzn/vx';
import { defineProject } from '@vzn/vx/config';
import { createRequire } from 'node:module';
const required = createRequire(import.meta.url)('@vzn/vx');
const workspace = await openWorkspace();
const summary = await workspace.run({ tasks: ['build'], all: true });
await workspace.close();
console.log(JSON.stringify([version, summary.ok, summary.tasks[0].status, required.openWorkspace === openWorkspace, typeof defineProject]));
`;

for (const manager of Object.keys(managers)) {
  test(`${manager}: installs, runs the command, imports and requires`, () => {
    const p = project(url, manager);
    p.install();
    assert.equal(p.vx('--version').out.trim(), `vx ${version()}`);
    const first = p.vx('run', 'build', '--all', '--format', 'json');
    assert.equal(first.status, 0, first.text);
    assert.equal(JSON.parse(first.out.slice(first.out.indexOf('{'))).tasks[0].status, 'success');
    assert.equal(p.ws.read('packages/a/dist/x'), 'a\n');
    p.ws.write('use.mjs', imports);
    const used = p.node('use.mjs');
    assert.equal(used.out, `${JSON.stringify([version(), true, 'cache-hit', true, 'function'])}\n`, used.text);
    if (p.exists('@vzn')) for (const name of others) assert.equal(p.exists(name), false, name);
  });
}

test('a failing task: the command\'s own exit code', () => {
  const p = project(url);
  p.install();
  p.ws.write('packages/a/vx.config.json', { tasks: { build: { exec: { command: 'exit 9' } } } });
  assert.equal(p.vx('run', 'build', '--all').status, 1);
  const direct = spawnSync(path.join(p.module(packageName(here)), 'vx'), ['rnu'], { cwd: p.ws.dir });
  assert.deepEqual([p.vx('rnu').status, direct.status > 0], [direct.status, true]);
});

test('--ignore-scripts changes nothing', () => {
  const p = project(url);
  p.install('--ignore-scripts');
  assert.equal(p.vx('--version').out, `vx ${version()}\n`);
});

test('npm ci of a lock file that was made here', () => {
  const p = project(url);
  p.install('--package-lock-only');
  const lock = JSON.parse(p.ws.read('package-lock.json'));
  for (const name of platforms.map(packageName)) assert.equal(lock.packages[`node_modules/${name}`]?.optional, true, name);
  p.must(['npm', 'ci', '--no-audit', '--no-fund']);
  assert.equal(p.vx('--version').out, `vx ${version()}\n`);
});

/** Both doors say the same, in one line. */
function bothRefuse(p, pattern) {
  const r = p.vx('--version');
  assert.equal(r.status, 1, r.text);
  assert.match(r.text, pattern);
  assert.doesNotMatch(r.text, /\n\s+at /);
  const used = p.node('-e', "try { require('@vzn/vx') } catch (e) { console.log(e.code + ': ' + e.message) }");
  assert.match(used.out, pattern);
  return used.out.split(':')[0];
}

describe('broken installs', () => {
  test('--omit=optional', () => {
    const p = project(url);
    p.install('--omit=optional');
    assert.equal(bothRefuse(p, /@vzn\/vx-.* is not installed.*--omit=optional.*npm install --include=optional/), 'VX_LOAD_MISSING');
    p.must(['npm', 'install', '--include=optional', '--no-audit', '--no-fund', `@vzn/vx@${version()}`]);  // what it says to do
    assert.equal(p.vx('--version').out, `vx ${version()}\n`);
  });

  test('node_modules of another platform', () => {
    const other = platforms.find((p) => p.os !== here.os);
    const p = project(url);
    p.install(`--os=${other.os}`, `--cpu=${other.cpu}`);
    assert.equal(p.exists(packageName(other)), true);
    assert.equal(p.exists(packageName(here)), false);
    assert.equal(bothRefuse(p, /lock files or node_modules made on another platform/), 'VX_LOAD_MISSING');
  });

  test('a lock file that left this platform out', () => {
    const p = project(url);
    p.install('--package-lock-only');
    const lock = JSON.parse(p.ws.read('package-lock.json'));
    delete lock.packages[`node_modules/${packageName(here)}`];
    p.ws.write('package-lock.json', lock);
    const ci = p.run(['npm', 'ci', '--no-audit', '--no-fund']);
    if (ci.status !== 0) return assert.match(ci.text, /Missing: @vzn\/vx-/);  // newer npm refuses such a lock file
    assert.equal(bothRefuse(p, /is not installed/), 'VX_LOAD_MISSING');
  });

  test('a binary that was cut short', () => {
    const p = project(url);
    p.install();
    for (const name of ['vx', 'vx.node']) fs.truncateSync(path.join(p.module(packageName(here)), name), 4096);
    assert.equal(bothRefuse(p, /was found but cannot be used: it has 4096 bytes instead of/), 'VX_LOAD_BROKEN');
  });

  test('packages of two versions', () => {
    const p = project(url, 'npm', { manifest: { overrides: { [packageName(here)]: '0.0.1' } } });
    p.install();
    assert.equal(bothRefuse(p, new RegExp(`@vzn/vx is ${version()} but ${packageName(here)} is 0\\.0\\.1`)), 'VX_LOAD_VERSION');
  });

  test('an override that names nothing is not passed over', () => {
    const p = project(url);
    p.install();
    const r = p.run(['npx', '--no-install', 'vx', '--version'], { env: { VX_BINARY: '/no/such' } });
    assert.deepEqual([r.status, r.out], [1, '']);
    assert.match(r.text, /VX_BINARY names \/no\/such/);
  });
});

test('a node_modules that nobody may write, as another user', { skip: process.getuid() !== 0 && 'needs root to become another user' }, () => {
  const p = project(url);
  p.install();
  spawnSync('chmod', ['-R', 'a-w,a+rX', path.join(p.ws.dir, 'node_modules')]);
  spawnSync('chmod', ['a+rx', p.ws.base, p.ws.dir]);
  const nobody = 65534;
  const env = { HOME: '/nonexistent', TMPDIR: '/nonexistent' };
  const r = p.run([path.join(p.ws.dir, 'node_modules/.bin/vx'), '--version'], { uid: nobody, env });
  assert.equal(r.out, `vx ${version()}\n`, r.text);
  assert.equal(p.run(['node', '-p', "require('@vzn/vx').version"], { uid: nobody, env }).out, `${version()}\n`);
});

test('the examples, as they lie in the repository', () => {
  const examples = path.join(repository, 'examples/node');
  for (const name of fs.readdirSync(examples, { withFileTypes: true }).filter((e) => e.isDirectory()).map((e) => e.name)) {
    const p = project(url);
    p.install();
    fs.cpSync(path.join(examples, name), p.ws.path(name), { recursive: true });
    const said = fs.readFileSync(path.join(examples, name, 'expected.txt'), 'utf8');
    const r = p.node(path.join(name, 'main.mjs'));
    assert.equal(r.out.replaceAll(/\d+ ms/g, 'N ms'), said, `${name}: ${r.text}`);
  }
});

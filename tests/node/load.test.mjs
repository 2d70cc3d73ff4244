// Binaries that are missing, broken, of another C library or of another version are four different messages; overrides are final.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test, { describe } from 'node:test';
import { packageName, version } from '../../bindings/node/npm/packages.mjs';
import { vxBin } from '../cli/lib/workspace.mjs';
import { addonFile } from './lib/addon.mjs';
import { editJson, here, install, own } from './lib/install.mjs';

/** How `require('@vzn/vx')` and the launcher fail in this project: both say the same. */
function bothFail(at, env = {}) {
  const options = { cwd: at.dir, env: { ...at.env, ...env }, encoding: 'utf8' };
  const required = spawnSync(process.execPath, ['-e', "import('@vzn/vx').then(() => console.log('loaded'), (e) => console.log(JSON.stringify({ name: e.name, code: e.code, message: e.message })))"], options);
  const launched = spawnSync(process.execPath, [path.join(at.main, 'bin/vx'), '--version'], options);
  assert.notEqual(required.stdout, 'loaded\n');
  const error = JSON.parse(required.stdout);
  assert.equal(error.name, 'VxLoadError');
  assert.equal(launched.status, 1, launched.stderr);
  assert.match(launched.stderr, /^vx: .*\n$/);  // one line, no stack
  return { ...error, launched: launched.stderr.slice('vx: '.length, -1) };
}

test('an installed pair works', () => {
  const at = install();
  const r = spawnSync(process.execPath, ['-p', "require('@vzn/vx').version + ' ' + require('@vzn/vx/package.json').version"], { cwd: at.dir, env: at.env, encoding: 'utf8' });
  assert.equal(r.stdout, `${version()} ${version()}\n`, r.stderr);
  const launched = spawnSync(path.join(at.main, 'bin/vx'), ['--version'], { env: at.env, encoding: 'utf8' });
  assert.deepEqual([launched.stdout, launched.stderr], [`vx ${version()}\n`, '']);
});

test('missing: the package was not installed', () => {
  const at = install();
  fs.rmSync(at.platform, { recursive: true });
  const e = bothFail(at);
  assert.equal(e.code, 'VX_LOAD_MISSING');
  for (const said of [e.message, e.launched]) {
    assert.ok(said.includes(packageName(here)), said);
    assert.match(said, /--omit=optional.*npm install --include=optional @vzn\/vx@/);
  }
});

test('missing: there is none for this platform', () => {
  const at = install();
  fs.rmSync(at.platform, { recursive: true });
  editJson(path.join(at.main, 'package.json'), (m) => delete m.optionalDependencies[packageName(here)]);
  const e = bothFail(at);
  assert.equal(e.code, 'VX_LOAD_MISSING');
  assert.match(e.message, /there is no vx for .*, only for /);
});

describe('broken', () => {
  const damage = {
    'not there': (file) => fs.rmSync(file),
    'cut short': (file) => fs.truncateSync(file, 1000),
    'other bytes of the same length': (file) => fs.writeFileSync(file, Buffer.alloc(fs.statSync(file).size, 'x')),
    'for another processor': (file) => {
      const data = fs.readFileSync(file);
      data.writeUInt16LE(here.cpu === 'x64' ? 183 : 62, 18);
      fs.writeFileSync(file, data);
    },
  };
  for (const [name, harm] of Object.entries(damage)) {
    test(name, { skip: process.platform !== 'linux' && name === 'for another processor' }, () => {
      const at = install();
      for (const file of ['vx.node', 'vx'].map((n) => path.join(at.platform, n))) {
        own(file);
        harm(file);
      }
      const e = bothFail(at);
      assert.equal(e.code, 'VX_LOAD_BROKEN');
      assert.ok(e.message.startsWith(path.join(at.platform, 'vx.node')), e.message);
      assert.ok(e.launched.startsWith(path.join(at.platform, 'vx')), e.launched);
      assert.match(e.message, /Reinstall it/);
    });
  }
});

test('the C library is another one', { skip: process.platform !== 'linux' }, () => {
  const at = install();
  editJson(path.join(at.platform, 'package.json'), (m) => {
    m.vx.glibc = '99.1';
    m.vx.interpreter = '/lib/ld-none.so.1';
    delete m.vx.files;
  });
  own(path.join(at.platform, 'vx.node'));
  fs.writeFileSync(path.join(at.platform, 'vx.node'), 'cannot be loaded');
  const e = bothFail(at);
  assert.equal(e.code, 'VX_LOAD_LIBC');
  for (const said of [e.message, e.launched]) assert.match(said, /needs glibc 99\.1 or newer and this Node runs on (glibc [0-9.]+|a C library that is not glibc)/);
});

test('another version', () => {
  const at = install();
  editJson(path.join(at.platform, 'package.json'), (m) => (m.version = '0.0.9'));
  const e = bothFail(at);
  assert.equal(e.code, 'VX_LOAD_VERSION');
  for (const said of [e.message, e.launched]) assert.match(said, new RegExp(`@vzn/vx is ${version()} but ${packageName(here)} is 0\\.0\\.9`));
  const other = install();
  editJson(path.join(other.main, 'package.json'), (m) => (m.version = '9.0.0'));
  editJson(path.join(other.platform, 'package.json'), (m) => (m.version = '9.0.0'));  // the manifests agree, the binary does not
  const r = spawnSync(process.execPath, ['-e', "require('@vzn/vx')"], { cwd: other.dir, env: other.env, encoding: 'utf8' });
  assert.match(r.stderr, /VxLoadError.*@vzn\/vx is 9\.0\.0 but .*vx\.node is /);
});

test('an override is final', () => {
  const at = install();
  for (const bad of ['/no/such/file', path.join(at.main, 'package.json')]) {
    const e = bothFail(at, { VX_NODE_BINARY: bad, VX_BINARY: bad });
    assert.equal(e.code, 'VX_LOAD_BROKEN');
    assert.ok(e.message.startsWith(`VX_NODE_BINARY names ${bad}`), e.message);
    assert.ok(e.launched.startsWith(`VX_BINARY names ${bad}`), e.launched);
  }
  fs.rmSync(at.platform, { recursive: true });
  const env = { ...at.env, VX_NODE_BINARY: addonFile, VX_BINARY: vxBin };
  assert.equal(spawnSync(process.execPath, ['-p', "require('@vzn/vx').version"], { cwd: at.dir, env, encoding: 'utf8' }).stdout, `${version()}\n`);
  assert.equal(spawnSync(path.join(at.main, 'bin/vx'), ['--version'], { env, encoding: 'utf8' }).stdout, `vx ${version()}\n`);
});

test('no home, no temporary directory, a node_modules that nobody may write', () => {
  const at = install();
  for (let dir = at.dir; path.basename(dir) !== path.basename(os.tmpdir()); dir = path.dirname(dir)) fs.chmodSync(dir, 0o755);
  for (const dir of [at.main, at.platform]) spawnSync('chmod', ['-R', 'a-w,a+rX', dir]);
  const options = { cwd: at.dir, env: { PATH: process.env.PATH, TMPDIR: '/no/such/directory' }, encoding: 'utf8', ...(process.getuid() === 0 ? { uid: 4321, gid: 4321 } : {}) };
  const r = spawnSync(process.execPath, ['-p', "require('@vzn/vx').version"], options);
  assert.equal(r.stdout, `${version()}\n`, r.stderr);
  assert.equal(spawnSync(path.join(at.main, 'bin/vx'), ['--version'], options).stdout, `vx ${version()}\n`);
});

/** The launcher in front of a program of ours. `execve: false` keeps it in front, as on a Node that cannot replace itself. */
function launcher(at, script, { execve = true, detached = false } = {}) {
  const program = path.join(at.dir, 'program');
  fs.writeFileSync(program, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const flags = execve ? [] : ['--import', 'data:text/javascript,process.execve=undefined'];
  return spawn(process.execPath, [...flags, path.join(at.main, 'bin/vx'), 'one', 'two words'], { cwd: at.dir, env: { ...at.env, VX_BINARY: program }, stdio: ['ignore', 'pipe', 'pipe'], detached });
}
async function ended(child, onOutput = () => {}) {
  let out = '';
  child.stdout.on('data', (d) => {
    out += d;
    onOutput(out);
  });
  child.stderr.on('data', (d) => (out += d));
  return new Promise((resolve) => child.on('close', (code, signal) => resolve({ code, signal, out })));
}

for (const execve of [true, false]) {
  describe(`the launcher, ${execve ? 'as this Node does it' : 'in front of a child'}`, () => {
    test('arguments, output and every exit code', async () => {
      const at = install();
      for (const code of [0, 1, 7, 130, 255]) {
        assert.deepEqual(await ended(launcher(at, `printf '%s|' "$@"; exit ${code}`, { execve })), { code, signal: null, out: 'one|two words|' });
      }
    });
    test('death by a signal', async () => {
      const at = install();
      for (const name of ['TERM', 'KILL', 'HUP', 'INT']) assert.deepEqual(await ended(launcher(at, `kill -${name} $$; sleep 5`, { execve })), { code: null, signal: `SIG${name}`, out: '' });
    });
    test('a signal arrives once, and its handler decides', async () => {
      const at = install();
      for (const name of ['TERM', 'INT', 'HUP', 'USR1']) {
        // Not a shell: one that began with a signal ignored (nohup) cannot trap it.
        const child = launcher(at, `exec '${process.execPath}' -e "let n = 0; process.on('SIG${name}', () => { if (++n === 1) setTimeout(() => { console.log(n); process.exit(3); }, 200); }); setInterval(() => {}, 1000); console.log('ready')"`, { execve });
        let sent = false;
        const r = await ended(child, (out) => {
          if (!sent && out.includes('ready')) child.kill(`SIG${name}`);
          sent ||= out.includes('ready');
        });
        assert.deepEqual(r, { code: 3, signal: null, out: 'ready\n1\n' }, name);
      }
    });
  });
}

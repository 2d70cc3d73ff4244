// The packed packages: what is in them, and that the gate refuses what it must.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { examine } from '../../bindings/node/npm/gate.mjs';
import { binaries, mainManifest, packageName, platformManifest, platforms, repository, version } from '../../bindings/node/npm/packages.mjs';
import { build } from './lib/addon.mjs';
import { here, install } from './lib/install.mjs';
import { tempDir } from '../cli/lib/workspace.mjs';

const linux = process.platform !== 'linux' && 'ELF is of Linux';

test('one version everywhere, exact ones between the packages', () => {
  const main = mainManifest();
  assert.deepEqual(Object.keys(main.optionalDependencies), platforms.map(packageName));
  for (const wanted of Object.values(main.optionalDependencies)) assert.equal(wanted, version());
  const own = JSON.parse(fs.readFileSync(path.join(repository, 'bindings/node/package.json'), 'utf8'));
  assert.equal(own.version, version());
  const header = fs.readFileSync(path.join(repository, 'capi/include/vx/base.h'), 'utf8');
  const parts = ['MAJOR', 'MINOR', 'PATCH'].map((p) => header.match(new RegExp(`VX_VERSION_${p} (\\d+)`))[1]);
  assert.equal(parts.join('.'), version());
});

test('no script runs at installation', () => {
  const facts = { files: {}, glibc: '2.36' };
  for (const manifest of [mainManifest(), ...platforms.map((p) => platformManifest(p, facts))]) {
    for (const field of ['scripts', 'dependencies', 'gypfile', 'binary']) assert.equal(field in manifest, false, `${manifest.name}: ${field}`);
  }
});

test('a platform package says whom it is for and holds the binaries only', () => {
  const at = install();
  const manifest = JSON.parse(fs.readFileSync(path.join(at.platform, 'package.json'), 'utf8'));
  assert.deepEqual([manifest.os, manifest.cpu, manifest.preferUnplugged], [[here.os], [here.cpu], true]);
  assert.deepEqual(manifest.libc, here.libc ? [here.libc] : undefined);
  const files = fs.readdirSync(at.platform).filter((n) => !['package.json', 'README.md', 'LICENSE'].includes(n));
  assert.deepEqual(files.sort(), binaries.filter((b) => !b.optional || files.includes(b.name)).map((b) => b.name).sort());
  for (const name of files) assert.equal(fs.statSync(path.join(at.platform, name)).mode & 0o777, 0o755);
});

test('everything that is exported is packed, under every condition', () => {
  const at = install();
  const manifest = JSON.parse(fs.readFileSync(path.join(at.main, 'package.json'), 'utf8'));
  const targets = (value) => (typeof value === 'string' ? [value] : Object.values(value).flatMap(targets));
  for (const target of [...targets(manifest.exports), manifest.main, manifest.types, ...Object.values(manifest.bin)]) {
    if (!target.includes('*')) assert.ok(fs.existsSync(path.join(at.main, target)), target);
  }
  for (const name of fs.readdirSync(path.join(repository, 'capi/schemas')).filter((n) => n.endsWith('.json'))) assert.ok(fs.existsSync(path.join(at.main, 'schemas', name)), name);
  for (const file of fs.readdirSync(path.join(at.main, 'lib'), { recursive: true })) {
    const text = fs.readFileSync(path.join(at.main, 'lib', file), 'utf8');
    for (const [, wanted] of text.matchAll(/(?:require\(|from )'(\.\.?\/[^']+)'/g)) {
      const there = path.join(at.main, 'lib', file.endsWith('ts') ? wanted.replace(/\.(c?)js$/, '.d.$1ts') : wanted);
      assert.ok(fs.existsSync(there), `${file}: ${wanted}`);
    }
  }
  assert.equal(fs.statSync(path.join(at.main, 'bin/vx')).mode & 0o111, 0o111);
});

test('the binaries of this build pass the gate', { skip: linux }, () => {
  const at = install();
  for (const { name, kind } of binaries.filter((b) => fs.existsSync(path.join(at.platform, b.name)))) {
    const found = examine(fs.readFileSync(path.join(at.platform, name)), kind, here);
    assert.deepEqual(found.faults, []);
    assert.match(found.glibc, /^2\.\d+$/);
  }
});

test('the gate refuses what it is for', { skip: linux }, () => {
  const faults = (file, kind, platform = here) => examine(fs.readFileSync(file), kind, platform).faults.join('\n');
  const addon = path.join(build, 'bindings/node/vx.node');
  assert.match(faults(addon, 'addon'), /not stripped/);
  assert.match(faults(addon, 'addon', platforms.find((p) => p.os === 'linux' && p.cpu !== here.cpu)), /another processor/);
  assert.match(faults(path.join(build, 'capi/libvx.so'), 'addon'), /it needs libre2[^]*it exports /);
  const dir = tempDir();
  const library = path.join(dir, 'l.so');
  fs.writeFileSync(path.join(dir, 'l.c'), 'extern int ZSTD_versionNumber(void); int napi_register_module_v1(void) { return ZSTD_versionNumber(); }');
  execFileSync('cc', ['-s', '-shared', '-fPIC', '-Wl,-rpath,/somewhere', '-Wl,--allow-shlib-undefined', path.join(dir, 'l.c'), '-o', library]);
  assert.match(faults(library, 'addon'), /RPATH: \/somewhere[^]*take ZSTD_versionNumber from its host/);
});

/** A Mach-O file of load commands alone. */
function machO(machine, libraries, rpaths = []) {
  const commands = [...libraries.map((name) => [0xc, 24, name]), ...rpaths.map((name) => [0x8000001c, 12, name])].map(([command, start, name]) => {
    const data = Buffer.alloc(start + Math.ceil((name.length + 1) / 8) * 8);
    for (const [at, value] of [[0, command], [4, data.length], [8, start]]) data.writeUInt32LE(value, at);
    data.write(name, start);
    return data;
  });
  const head = Buffer.alloc(32);
  for (const [at, value] of [[0, 0xfeedfacf], [4, machine], [16, commands.length]]) head.writeUInt32LE(value, at);
  return Buffer.concat([head, ...commands]);
}

test('the gate reads macOS binaries as well', () => {
  const mac = platforms.find((p) => p.id === 'darwin-arm64');
  const system = '/usr/lib/libSystem.B.dylib';
  assert.deepEqual(examine(machO(mac.machine, [system, '/usr/lib/libc++.1.dylib']), 'addon', mac).faults, []);
  const bad = examine(machO(0x01000007, [system, '/opt/homebrew/lib/libzstd.1.dylib'], ['@loader_path']), 'addon', mac).faults;
  assert.equal(bad.length, 3);
  assert.match(bad.join('\n'), /another processor[^]*libzstd[^]*RPATH: @loader_path/);
});

// The workspace fingerprint: what an install resolves from.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { HIT, MISS, RESTORED, always, build, cached, copyBuild, dist, keyOf, monorepo } from './lib/place.mjs';
import { rulesOf } from './lib/rule.mjs';

const rule = rulesOf(import.meta.url, 'Lockfile and fingerprint');

const pnpmLock = ({ root = '1.0.0', inner = 'x', settings = 'true', patch = 'aaa' } = {}) => `lockfileVersion: '9.0'
settings:
  autoInstallPeers: ${settings}
overrides:
  z: 1.0.0
patchedDependencies:
  y@1.0.0: { hash: ${patch}, path: patches/y.patch }
importers:
  .:
    devDependencies:
      tool: { specifier: '*', version: ${root} }
  packages/a:
    dependencies:
      x: { specifier: '*', version: 1.0.0 }
  packages/b: {}
packages:
  tool@${root}: { resolution: { integrity: sha512-tool${root} } }
  x@1.0.0: { resolution: { integrity: sha512-x } }
  y@1.0.0: { resolution: { integrity: sha512-y } }
snapshots:
  tool@${root}: {}
  x@1.0.0: { dependencies: { y: 1.0.0 } }
  y@1.0.0: { dependencies: { ${inner}: 1.0.0 } }
`;
const twoPackages = (workspace, more = {}) => monorepo({ a: { tasks: { build: copyBuild() } }, b: { tasks: { build: copyBuild() } } }, { workspace, ...more });
const keysOf = (ws) => ws.plan(['build', '--all']).keys;
const moved = (ws, change) => {
  const before = keysOf(ws);
  change();
  const after = keysOf(ws);
  return Object.keys(before).filter((id) => before[id] !== after[id]).sort();
};

rule(27, 'Root devDependency moves no project under closure keys', {
  law: 'the root importer is in every project\'s digest', breaks: 'fold the project\'s own closure alone', mutation: 'no-root-importer',
}, () => {
  for (const workspace of [undefined, { lockfile: 'whole' }, { lockfile: 'closure' }]) {
    const ws = twoPackages(workspace);
    ws.write('pnpm-lock.yaml', pnpmLock());
    ws.run(['build', '--all']);
    ws.write('pnpm-lock.yaml', pnpmLock({ root: '1.0.1' }));
    assert.deepEqual(ws.run(['build', '--all']).executed, ['a#build', 'b#build']);
  }
});

rule(28, 'Ranges that live only in `.yarnrc.yml`', {
  law: 'folded', breaks: 'leave .yarnrc.yml out of the fingerprint', mutation: 'no-yarnrc',
}, () => {
  const ws = twoPackages();
  ws.write('yarn.lock', '# yarn lockfile v1\n');
  ws.write('.yarnrc.yml', 'catalog:\n  x: ^1.0.0\n');
  assert.deepEqual(moved(ws, () => ws.write('.yarnrc.yml', 'catalog:\n  x: ^2.0.0\n')), ['a#build', 'b#build']);
  assert.deepEqual(moved(ws, () => ws.remove('.yarnrc.yml')), ['a#build', 'b#build']);
});

rule(29, 'Patches recorded by path only', {
  law: 'the patch files that bun.lock lists are folded', breaks: 'fold the lockfile alone', mutation: 'no-patches',
}, () => {
  const ws = twoPackages();
  ws.write('bun.lock', '{ "lockfileVersion": 1, "patchedDependencies": { "x@1.0.0": "patches/x.patch", }, "packages": {} }');
  ws.write('patches/x.patch', 'one');
  assert.deepEqual(moved(ws, () => ws.write('patches/x.patch', 'two')), ['a#build', 'b#build']);
  assert.deepEqual(moved(ws, () => ws.write('patches/other.patch', 'three')), []);
});

rule(30, '`.npmrc`, `bunfig.toml` change installs under an unchanged lockfile', {
  law: 'folded', breaks: 'leave them out of the fingerprint', mutation: 'no-npmrc',
}, () => {
  const ws = twoPackages();
  ws.write('package-lock.json', '{}');
  for (const name of ['.npmrc', 'bunfig.toml', 'pnpm-workspace.yaml', 'npm-shrinkwrap.json', 'bun.lockb']) {
    const text = name === 'pnpm-workspace.yaml' ? 'packages: ["packages/*"]\n' : '# 1\n';
    assert.deepEqual(moved(ws, () => ws.write(name, text)), ['a#build', 'b#build'], name);
    assert.deepEqual(moved(ws, () => ws.write(name, `${text}# 2\n`)), ['a#build', 'b#build'], name);
    ws.remove(name);
    assert.deepEqual(moved(ws, () => ws.write(`packages/a/${name}`, '# inner\n')), [], `${name} in a package is an ordinary file`);
    ws.remove(`packages/a/${name}`);
  }
});

rule(31, 'Cycles hashed without inner edges, cyclic importers merged, patches not reached, top-level fields forgotten', {
  law: 'every part of the lockfile moves the projects it reaches, and no other', breaks: 'leave out what belongs to no project', mutation: 'no-remainder',
}, () => {
  const ws = twoPackages({ lockfile: 'closure' });
  ws.write('patches/y.patch', 'one');
  const move = (change) => {
    ws.write('pnpm-lock.yaml', pnpmLock());
    return moved(ws, () => (typeof change === 'function' ? change() : ws.write('pnpm-lock.yaml', pnpmLock(change))));
  };
  assert.deepEqual(move({ inner: 'y' }), ['a#build']);
  assert.deepEqual(move({ patch: 'bbb' }), ['a#build']);
  assert.deepEqual(move(() => ws.write('patches/y.patch', 'two')), ['a#build']);
  assert.deepEqual(move({ settings: 'false' }), ['a#build', 'b#build']);
  assert.deepEqual(move({}), []);
  assert.deepEqual(move(() => ws.write('pnpm-lock.yaml', `${pnpmLock()}\n# a comment\n`)), []);
});

rule(32, 'Unknown lockfile version or parse error ignored', {
  law: 'the whole file is the key', breaks: 'skip a lockfile that does not parse', mutation: 'no-lockfile',
}, () => {
  const ws = twoPackages({ lockfile: 'closure' });
  ws.write('pnpm-lock.yaml', pnpmLock());
  for (const text of ["lockfileVersion: '99.0'\nimporters: {}\n", "lockfileVersion: '99.0'\nimporters: {}\n# 2\n", '{{{ garbage', '{{{ garbage 2', '']) {
    assert.deepEqual(moved(ws, () => ws.write('pnpm-lock.yaml', text)), ['a#build', 'b#build'], text);
  }
});

const installer = (ws, task) => {
  ws.write('vx.config.json', { tasks: { install: always(task) } });
  ws.commit();
};
/** A task behind an install that gives the lockfile the text of `want`. */
const behindInstall = () => monorepo({ a: { tasks: { build: cached('mkdir -p dist; cat ../../package-lock.json > dist/x', { dependsOn: ['//#install'] }) } } });

rule(33, 'A task rewrites the lockfile; saves land under the old one\'s key', {
  law: 'the fingerprint is watched; once moved nothing is probed or saved', breaks: 'never look at the fingerprint again', mutation: 'no-fingerprint-watch',
}, () => {
  const ws = behindInstall();
  ws.write('package-lock.json', '{}');
  installer(ws, 'cat want > package-lock.json');
  for (const text of ['{"a":1}', '{"b":1}', '{"a":1}', '{"b":1}']) {
    ws.write('want', text);
    const r = ws.run(['a#build']);
    assert.equal(r.outcomes['a#build'], MISS);
    assert.match(r.stderr, /lockfile/);
    assert.equal(dist(ws), text);
  }
  assert.equal(build(ws), MISS, 'nothing was saved under the text before the install');
  assert.equal(build(ws), HIT);
});

rule(34, 'The same through a linked lockfile', {
  law: 'the watch follows links, as the read does', breaks: 'watch the link itself', mutation: 'no-fingerprint-watch',
}, () => {
  const ws = behindInstall();
  ws.write('locks/package-lock.json', '{}');
  fs.symlinkSync('locks/package-lock.json', ws.path('package-lock.json'));
  installer(ws, 'cat want > locks/package-lock.json');
  for (const text of ['{"a":1}', '{"b":1}', '{"a":1}', '{"b":1}']) {
    ws.write('want', text);
    assert.equal(build(ws), MISS);
    assert.equal(dist(ws), text);
  }
});

rule(35, 'Lockfile of another ecosystem believed to be keyed', {
  law: 'not keyed unless workspaceFiles declares it', breaks: 'ignore workspaceFiles', mutation: 'no-workspace-files',
}, () => {
  const ws = twoPackages();
  ws.write('Cargo.lock', '1');
  assert.deepEqual(moved(ws, () => ws.write('Cargo.lock', '2')), []);
  ws.config('a', (c) => (c.tasks.build.cache.inputs.workspaceFiles = ['Cargo.lock']));
  assert.deepEqual(moved(ws, () => ws.write('Cargo.lock', '3')), ['a#build']);
});

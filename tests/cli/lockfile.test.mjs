// `lockfile: "closure"`: an install moves the projects that resolve something else, and no others.
import assert from 'node:assert/strict';
import test from 'node:test';
import { always, cached, copyBuild, monorepo } from './lib/workspace.mjs';

const lock = ({ L = '1', M = '1', root = '1', override = '1', more = '', comment = '' } = {}) => `lockfileVersion: '9.0'
${comment}
overrides:
  z: ${override}.0.0
importers:
  .:
    devDependencies:
      tool: { specifier: '*', version: ${root}.0.0 }
  packages/a:
    dependencies:
      L: { specifier: '*', version: ${L}.0.0 }
  packages/b:
    dependencies:
      a: { specifier: '*', version: 'link:../a' }
  packages/c: {}
${more}
packages:
  L@${L}.0.0: { resolution: { integrity: sha512-L${L} } }
  M@1.0.0: { resolution: { integrity: sha512-M${M} } }
  tool@${root}.0.0: { resolution: { integrity: sha512-tool${root} } }
snapshots:
  L@${L}.0.0: { dependencies: { M: 1.0.0 } }
  M@1.0.0: {}
  tool@${root}.0.0: {}
`;

function three(workspace = { lockfile: 'closure' }, tasks = { build: copyBuild() }) {
  const ws = monorepo({ a: { tasks }, b: { deps: ['a'], tasks }, c: { tasks } }, { workspace });
  ws.write('pnpm-lock.yaml', lock());
  ws.commit('lock');
  return ws;
}
const run = (ws) => ws.run(['build', '--all']);
const ALL = ['a#build', 'b#build', 'c#build'];

test('an edit of the lockfile re-runs whom it reaches, and --affected selects the same', () => {
  const ws = three();
  assert.deepEqual(run(ws).executed, ALL);
  for (const [what, change, executed] of [
    ['nothing', {}, []], ['a comment', { comment: '# c\n\n' }, []], ['L', { L: '2' }, ['a#build', 'b#build']], ['what L needs', { M: '2' }, ['a#build', 'b#build']],
    ['a root tool', { root: '2' }, ALL], ['an override', { override: '2' }, ALL], ['another project', { more: '  packages/d: {}' }, []],
  ]) {
    ws.write('pnpm-lock.yaml', lock(change));
    assert.deepEqual(Object.keys(ws.plan(['build', '--affected=HEAD']).status).sort(), executed, `--affected after ${what}`);
    assert.deepEqual(run(ws).executed, executed, what);
    ws.write('pnpm-lock.yaml', lock());
    assert.deepEqual(run(ws).executed, [], `${what} undone`);
  }
});

test('vx why names the lockfile', () => {
  const ws = three();
  run(ws);
  ws.write('pnpm-lock.yaml', lock({ L: '2' }));
  run(ws);
  assert.match(ws.vx(['why', 'a#build']).stdout, /verdict +cache key changed: host lockfile\n/);
});

test('a lockfile that is not understood counts whole, with one line, and is never ignored', () => {
  const ws = three();
  run(ws);
  for (const text of ["lockfileVersion: '99.0'\n", "lockfileVersion: '99.0'\n# edited\n", '{{{ garbage', '']) {
    ws.write('pnpm-lock.yaml', text);
    const r = run(ws);
    assert.deepEqual([r.status, r.executed], [0, ALL], text);
    assert.equal(r.stderr.split('\n').filter((l) => l.startsWith('[vx] pnpm-lock.yaml: ')).length, 1, r.stderr);
    assert.deepEqual(Object.keys(ws.plan(['build', '--affected=HEAD']).status).sort(), ALL);
    assert.deepEqual(run(ws).executed, []);
  }
});

test('switching the mode is one miss everywhere; other lockfiles stay in the fingerprint', () => {
  const ws = three(null);
  run(ws);
  ws.write('vx.workspace.json', { lockfile: 'closure' });
  assert.deepEqual(run(ws).executed, ALL);
  assert.deepEqual(run(ws).executed, []);
  ws.write('yarn.lock', '# yarn lockfile v1\n');
  assert.deepEqual(run(ws).executed, ALL);
  ws.write('package.json', { name: 'root', private: true, workspaces: ['packages/*'], packageManager: 'npm@10.0.0' });
  ws.write('pnpm-lock.yaml', lock({ comment: '# no longer claimed\n' }));
  assert.deepEqual(run(ws).executed, ALL);
});

test('a patch file moves those who use the patched package', () => {
  const ws = three();
  ws.write('pnpm-lock.yaml', `${lock()}patchedDependencies:\n  M@1.0.0: { hash: x, path: patches/M.patch }\n`);
  ws.write('patches/M.patch', 'one');
  ws.commit('patch');
  run(ws);
  ws.write('patches/M.patch', 'two');
  assert.deepEqual(Object.keys(ws.plan(['build', '--affected=HEAD']).status).sort(), ['a#build', 'b#build']);
  assert.deepEqual(run(ws).executed, ['a#build', 'b#build']);
});

test('yarn classic: what a project asks is in its manifest', () => {
  const ws = monorepo({ a: { tasks: { build: copyBuild() } }, c: { tasks: { build: copyBuild() } } }, { workspace: { lockfile: 'closure' } });
  const yarn = (version) => `# yarn lockfile v1\n\n\nL@^1.0.0:\n  version "${version}"\n  resolved "https://host.invalid/L-${version}.tgz#x"\n`;
  ws.write('packages/a/package.json', { name: 'a', version: '1.0.0', dependencies: { L: '^1.0.0' } });
  ws.write('yarn.lock', yarn('1.0.0'));
  ws.commit('lock');
  run(ws);
  ws.write('yarn.lock', yarn('1.1.0'));
  assert.deepEqual(Object.keys(ws.plan(['build', '--affected=HEAD']).status).sort(), ['a#build']);
  assert.deepEqual(run(ws).executed, ['a#build']);
});

test('a task that rewrites the claimed lockfile lets nothing be saved after it', () => {
  const ws = monorepo({ a: { tasks: { t: cached('true', { outputs: [], dependsOn: ['//#install'] }) } } }, { workspace: { lockfile: 'closure' } });
  ws.write('vx.config.json', { tasks: { install: always('cat want > pnpm-lock.yaml') } });
  ws.write('pnpm-lock.yaml', lock());
  ws.write('want', lock({ L: '2' }));
  ws.commit();
  const r = ws.run(['a#t']);
  assert.equal(r.outcomes['a#t'], 'executed');
  assert.match(r.stderr, /a lockfile or package-manager file at the root changed/);
  assert.equal(ws.run(['a#t']).outcomes['a#t'], 'executed');
  assert.equal(ws.run(['a#t']).outcomes['a#t'], 'up-to-date');
});

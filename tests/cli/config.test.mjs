import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { always, bare, cached, copyBuild, monorepo, single } from './lib/workspace.mjs';

const git = (ws) => {
  ws.git('init', '-q');
  ws.commit();
  return ws;
};
/** A PATH with git and the shell's tools and no JavaScript runtime. */
function pathWithoutNode(ws) {
  const dir = path.join(ws.base, 'bin');
  fs.mkdirSync(dir, { recursive: true });
  for (const tool of ['sh', 'git', 'mkdir', 'cp', 'cat', 'cc', 'touch', 'ls', 'true']) {
    const found = process.env.PATH.split(':').map((d) => path.join(d, tool)).find((f) => fs.existsSync(f));
    if (found && !fs.existsSync(path.join(dir, tool))) fs.symlinkSync(found, path.join(dir, tool));
  }
  return dir;
}
const refuses = (ws, pattern, args = ['build', '--all']) => {
  const r = ws.run(args);
  assert.equal(r.status, 1, r.text);
  assert.deepEqual(r.outcomes, {});
  assert.match(r.stderr, pattern);
  return r;
};
const withConfig = (text, name = 'vx.config.json') => {
  const ws = monorepo({ a: {} }, { git: false });
  ws.write(`packages/a/${name}`, text);
  return ws;
};

function crates() {
  const ws = bare();
  ws.write('vx.workspace.json', { projects: ['crates/*', 'tools/gen'] });
  ws.write('crates/core/vx.config.json', { tasks: { build: copyBuild() } });
  ws.write('crates/core/src/x', '1');
  ws.write('tools/gen/vx.config.json', { tasks: { gen: always('true') } });
  return ws;
}

test('projects without a package manager are known by path, or by the name they set', () => {
  const ws = git(crates());
  const PATH = pathWithoutNode(ws);
  assert.deepEqual(ws.run(['build', '--all'], { env: { PATH } }).outcomes, { 'crates/core#build': 'executed' });
  ws.write('crates/core/vx.config.json', { name: 'core', tasks: { build: copyBuild() } });
  assert.deepEqual(ws.run(['build', '--all'], { env: { PATH } }).executed, ['core#build']);
  ws.write('crates/two/vx.config.json', { name: 'core', tasks: {} });
  const r = refuses(ws, /crates\/core/);
  assert.match(r.stderr, /crates\/two/);
});

test('config dependencies are edges and must exist', () => {
  const ws = crates();
  ws.write('crates/core/vx.config.json', { name: 'core', tasks: { build: always('touch ../order-core') } });
  ws.write('crates/app/vx.config.json', { dependencies: ['core'], tasks: { build: always('test -e ../order-core', { dependsOn: ['^build'] }) } });
  git(ws);
  assert.equal(ws.run(['build', '--all']).status, 0);
  ws.write('crates/app/vx.config.json', { dependencies: ['coer'], tasks: { build: always('true') } });
  refuses(ws, /coer.*core/);
});

test('a literal project that is none is refused, a glob that finds none is not', () => {
  const ws = crates();
  ws.write('vx.workspace.json', { projects: ['crates/*', 'tools/gne'] });
  refuses(git(ws), /tools\/gne/);
  ws.write('vx.workspace.json', { projects: ['crates/*', 'other/*'] });
  assert.equal(ws.run(['build', '--all']).status, 0);
});

test('package edges follow the link rules', () => {
  const ws = monorepo({
    app: { tasks: { t: always('true', { dependsOn: ['^t'] }) } }, shared: { tasks: { t: always('true') } }, waluigi: { tasks: { t: always('true') } }, cat: { tasks: { t: always('true') } },
  });
  const edges = (dependencies) => {
    ws.write('packages/app/package.json', { name: 'app', version: '1.0.0', dependencies });
    return ws.plan(['app#t']).doc.tasks.find((t) => t.id === 'app#t').deps.join();
  };
  assert.equal(edges({ shared: '^2.0.0' }), '');
  assert.equal(edges({ shared: '^1.0.0' }), 'shared#t');
  assert.equal(edges({ luigi: 'workspace:../waluigi' }), 'waluigi#t');
  assert.equal(edges({ luigi: 'npm:waluigi@^1.0.0' }), 'waluigi#t');
  assert.equal(edges({ cat: 'catalog:' }), 'cat#t');
  assert.equal(edges({ shared: 'latest' }), '');
});

test('an edit in a nested project is none of the outer project\'s', () => {
  const ws = monorepo({ foo: { tasks: { build: cached('true', { files: ['**'], outputs: [] }) } }, 'foo-utils': { tasks: {} } });
  ws.write('package.json', { name: 'root', private: true, workspaces: ['packages/*', 'packages/foo/nested'] });
  ws.write('packages/foo/nested/package.json', { name: 'nested', version: '1.0.0' });
  ws.write('packages/foo/nested/f', '1');
  ws.commit();
  ws.run(['foo#build']);
  ws.write('packages/foo/nested/f', '2');
  assert.deepEqual(ws.run(['foo#build']).outcomes, { 'foo#build': 'up-to-date' });
  ws.write('packages/foo/f', '2');
  assert.deepEqual(ws.run(['foo#build']).outcomes, { 'foo#build': 'executed' });
});

test('JSON configs may have comments, trailing commas, a byte-order mark, CRLF and $schema', () => {
  const ws = withConfig('\ufeff// c\r\n{\r\n  "$schema": "x", /* y */\r\n  "tasks": { "build": { "exec": { "command": "true", }, }, },\r\n}\r\n');
  assert.deepEqual(ws.run(['build', '--all']).executed, ['a#build']);
});

test('syntax errors and duplicate keys have their position', () => {
  const broken = withConfig('{\n  "tasks": {\n    "build": }\n}\n');
  const r = broken.vx(['run', 'build', '--all']);
  assert.equal(r.status, 1);
  assert.match(r.stderr, /^vx: packages\/a\/vx\.config\.json:3:\d+: /);
  assert.match(r.stderr, /\^/);
  const twice = withConfig('{\n  "tasks": {},\n  "tasks": {}\n}\n').vx(['run', 'build', '--all']);
  assert.match(twice.stderr, /vx\.config\.json:3:3/);
  assert.match(twice.stderr, /2:3|line 2/);
});

test('the language and the order of keys are not keyed', () => {
  const ws = withConfig('{"tasks":{"build":{"exec":{"command":"true"},"cache":{"inputs":{"files":["src/**"]},"outputs":{"files":[]}}}}}');
  git(ws);
  ws.run(['a#build']);
  ws.write('packages/a/vx.config.json', '// other\n{"tasks":{"build":{"cache":{"outputs":{"files":[]},"inputs":{"files":["src/**"]}},"exec":{"command":"true"}}}}');
  assert.deepEqual(ws.run(['a#build']).outcomes, { 'a#build': 'up-to-date' });
  ws.remove('packages/a/vx.config.json');
  ws.write('packages/a/vx.config.mjs', 'export default { tasks: { build: { exec: { command: "true" }, cache: { inputs: { files: ["src/**"] }, outputs: { files: [] } } } } };\n');
  assert.deepEqual(ws.run(['a#build']).outcomes, { 'a#build': 'up-to-date' });
});

test('shape errors say what to write', () => {
  const task = (t) => withConfig({ tasks: { build: t } });
  refuses(task({ exec: { command: 'x' }, cache: { inputs: { files: [] }, outputs: ['dist/**'] } }), /files/);
  refuses(task({ exce: { command: 'x' } }), /exec/);
  refuses(task({ exec: { command: 'x' }, env: {} }), /exec\.env/);
  refuses(task('x'), /command/);
  refuses(task({}), /exec, dependsOn or cache|exec.*dependsOn.*cache/);
  refuses(task({ exec: { command: ' ' } }), /command/);
  refuses(task({ exec: { command: 'x', timeout: 0 } }), /timeout/);
  refuses(task({ exec: { command: 'x', persistent: {} }, cache: { inputs: { files: [] }, outputs: { files: [] } } }), /persistent/);
  refuses(withConfig({ tasks: { 'a#b': { exec: { command: 'x' } } } }), /a#b/, ['build', '--all']);
  refuses(withConfig({ taks: {} }), /tasks/);
});

test('values of a JavaScript config that JSON cannot hold are refused with their path', () => {
  for (const [value, where] of [['() => 1', 'command'], ['NaN', 'command'], ['new Map()', 'command']]) {
    const ws = withConfig(`export default { tasks: { build: { exec: { command: ${value} } } } };\n`, 'vx.config.mjs');
    refuses(ws, new RegExp(where));
  }
  const absent = withConfig('export default { tasks: { build: { description: undefined, exec: { command: "true" } } } };\n', 'vx.config.mjs');
  assert.equal(absent.run(['a#build']).status, 0);
});

test('what a config prints never reaches the product', () => {
  const ws = withConfig('console.log("noise"); export default { tasks: { build: { exec: { command: "true" } } } };\n', 'vx.config.mjs');
  const plan = ws.vx(['run', 'build', '--all', '--dry=json']);
  JSON.parse(plan.stdout);
  assert.ok(!plan.stdout.includes('noise'));
  assert.ok(!ws.run(['build', '--all']).stdout.includes('noise'));
});

test('a broken config outside the scope does not matter, inside it does', () => {
  const ws = monorepo({ a: { tasks: { build: always('true') } }, b: { tasks: {} } });
  ws.write('packages/b/vx.config.json', '{');
  assert.equal(ws.run(['a#build']).status, 0);
  assert.match(ws.vx(['run', 'build', '--all']).stderr, /packages\/b\/vx\.config\.json/);
});

test('a preset that is imported counts, and an unchanged one starts no runtime', () => {
  const ws = monorepo({ a: {}, b: {} });
  ws.write('tools/preset.mjs', 'export const task = (command) => ({ exec: { command } });\n');
  for (const p of ['a', 'b']) ws.write(`packages/${p}/vx.config.mjs`, "import { task } from '../../tools/preset.mjs';\nexport default { tasks: { build: task('true') } };\n");
  ws.commit();
  assert.equal(ws.run(['build', '--all']).status, 0);
  // The same runtime through a script that counts its starts.
  const counter = path.join(ws.base, 'starts');
  ws.write('../counting-node', `#!/bin/sh\necho start >> ${counter}\nexec ${process.execPath} "$@"\n`, 0o755);
  const env = { VX_NODE: path.join(ws.base, 'counting-node') };
  const starts = () => (fs.existsSync(counter) ? fs.readFileSync(counter, 'utf8').trim().split('\n').length : 0);
  assert.equal(ws.run(['build', '--all'], { env }).status, 0);
  const first = starts();
  assert.ok(first >= 1);
  assert.equal(ws.run(['build', '--all'], { env }).status, 0);
  assert.equal(starts(), first);
  ws.write('tools/preset.mjs', 'export const task = (command) => ({ exec: { command: `${command} && true` } });\n');
  assert.equal(ws.run(['build', '--all'], { env }).status, 0);
  assert.ok(starts() > first);
});

test('a config that reads the environment is evaluated and keyed again when it changes', () => {
  const ws = monorepo({ a: {} });
  ws.write('packages/a/vx.config.mjs', 'export default { tasks: { build: { exec: { command: `echo ${process.env.FOO}` }, cache: { inputs: { files: ["src/**"] }, outputs: { files: [] } } } } };\n');
  ws.commit();
  const at = (env) => ws.run(['a#build'], { env }).outcomes['a#build'];
  assert.equal(at({ FOO: '1' }), 'executed');
  assert.equal(at({ FOO: '2' }), 'executed');
  assert.equal(at({ FOO: '1' }), 'up-to-date');
  assert.equal(at({ FOO: '1', BAR: 'x' }), 'up-to-date');
});

test('glob refusals name the entry', () => {
  for (const entry of ['', '.', '/abs', '../x', 'src\\**', 'C:/src', '@(a|b)', '!!x', '$TURBO_DEFAULT$', '^named', '{b}.ts', '{../s,src}/**']) {
    const ws = single(cached('true', { files: ['src/**', entry] }), { git: false });
    const r = ws.run(['a#build']);
    assert.equal(r.status, 1, entry);
    assert.ok(r.stderr.includes(entry.replaceAll('\\', '\\')) || entry === '', `${entry}: ${r.stderr}`);
  }
  refuses(single(cached('true', { files: ['!x'] }), { git: false }), /./, ['a#build']);
  refuses(single(cached('true', { files: ['src/**', '!src/gen/**', 'src/gen/keep.ts'] }), { git: false }), /src\/gen/, ['a#build']);
  refuses(single(cached('true', { outputs: ['**'] }), { git: false }), /package\.json|vx\.config/, ['a#build']);
});

test('a git-ignored literal is an error of its task, a glob is silent', () => {
  const ws = monorepo({ a: { tasks: { lit: cached('true', { files: ['.env.local'], outputs: [] }), glob: cached('true', { files: ['.env.*'], outputs: [] }), beside: always('true') } } });
  ws.write('.gitignore', '.env.local\n.vx/\n');
  ws.write('packages/a/.env.local', 'x');
  ws.commit();
  const r = ws.run(['a#lit', 'a#glob', 'a#beside', '--continue']);
  assert.equal(r.outcomes['a#lit'], 'failed');
  assert.equal(r.outcomes['a#glob'], 'executed');
  assert.equal(r.outcomes['a#beside'], 'executed');
  assert.match(r.stderr, /\.env\.local/);
});

test('a failing probe fails its task before the command and nothing else', () => {
  const ws = monorepo({ a: { tasks: { probe: cached('touch ran', { inputs: { runtime: ['exit 3'] } }), after: always('true', { dependsOn: ['probe'] }), beside: always('true') } } });
  const r = ws.run(['a#after', 'a#beside']);
  assert.equal(r.status, 1);
  assert.deepEqual(r.outcomes, { 'a#probe': 'failed', 'a#after': 'skipped', 'a#beside': 'executed' });
  assert.equal(ws.exists('packages/a/ran'), false);
  assert.match(r.stderr, /exit 3/);
});

test('the child sees the listed variables and no other', () => {
  const ws = monorepo({ a: { tasks: { t: always('env > out', { exec: { env: { passThrough: ['PASSED', 'ABSENT'], define: { DEFINED: 'd' } } } }) } } });
  ws.run(['a#t'], { env: { PASSED: 'p', HIDDEN: 'h' } });
  const env = Object.fromEntries(ws.read('packages/a/out').trim().split('\n').map((l) => [l.slice(0, l.indexOf('=')), l.slice(l.indexOf('=') + 1)]));
  assert.equal(env.PASSED, 'p');
  assert.equal(env.DEFINED, 'd');
  assert.equal(env.HIDDEN, undefined);
  assert.equal(env.ABSENT, undefined);
  assert.equal(env.VX_RUN_TASK, 'a#t');
  assert.equal(env.VX_RUN_WORKSPACE, ws.dir);
  assert.equal(env.FORCE_COLOR, '1');
});

test('with only JSON configs a run needs no node', () => {
  const ws = single();
  const env = { PATH: pathWithoutNode(ws) };
  assert.deepEqual(ws.run(['build', '--all'], { env }).outcomes, { 'a#build': 'executed' });
  assert.deepEqual(ws.run(['build', '--all'], { env }).outcomes, { 'a#build': 'up-to-date' });
  const js = monorepo({ a: {} }, { git: false });
  js.write('packages/a/vx.config.mjs', 'export default {};\n');
  assert.match(js.vx(['run', 'build', '--all'], { env: { PATH: pathWithoutNode(js) } }).stderr, /VX_NODE/);
});

test('a root project owns only what no member owns', () => {
  const ws = monorepo({ a: { tasks: {} } });
  ws.write('vx.config.json', { tasks: { check: cached('true', { files: ['**'], outputs: [] }) } });
  ws.commit();
  assert.deepEqual(ws.run(['//#check']).outcomes, { 'root#check': 'executed' });
  ws.write('packages/a/src/x', 'edit');
  assert.deepEqual(ws.run(['//#check']).outcomes, { 'root#check': 'up-to-date' });
  ws.write('script.sh', 'edit');
  assert.deepEqual(ws.run(['//#check']).outcomes, { 'root#check': 'executed' });
});

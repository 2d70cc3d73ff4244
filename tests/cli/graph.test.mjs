import assert from 'node:assert/strict';
import test from 'node:test';
import { always, cached, copyBuild, monorepo } from './lib/workspace.mjs';

const ok = (dependsOn) => always('true', dependsOn ? { dependsOn } : {});
const deps = (plan, id) => plan.doc.tasks.find((t) => t.id === id)?.deps;
const refused = (ws, args, pattern, code) => {
  const r = ws.run(args);
  assert.equal(r.status, 1, r.text);
  assert.match(r.stderr, pattern);
  if (code) assert.equal(r.code, code);
  return r;
};

test('^ passes through packages without the task', () => {
  const ws = monorepo({ a: { deps: ['b'], tasks: { test: ok(['^test']) } }, b: { deps: ['c'] }, c: { tasks: { test: ok() } } });
  const plan = ws.plan(['a#test']);
  assert.deepEqual(deps(plan, 'a#test'), ['c#test']);
  assert.deepEqual(ws.run(['a#test']).executed, ['a#test', 'c#test']);
});

test('a holder is never walked past', () => {
  const build = { build: ok(['^build']) };
  const ws = monorepo({ a: { deps: ['b'], tasks: build }, b: { deps: ['c'], tasks: build }, c: { tasks: build } });
  assert.deepEqual(deps(ws.plan(['a#build']), 'a#build'), ['b#build']);
  assert.deepEqual(deps(ws.plan(['a#build']), 'b#build'), ['c#build']);
  ws.config('b', (c) => (c.tasks.build.dependsOn = []));
  assert.deepEqual(ws.plan(['a#build']).doc.tasks.map((t) => t.id).sort(), ['a#build', 'b#build']);
});

test('a diamond reaches its holder once', () => {
  const ws = monorepo({ a: { deps: ['b', 'c'], tasks: { x: ok(['^gen']) } }, b: { deps: ['d'] }, c: { deps: ['d'] }, d: { tasks: { gen: ok() } } });
  assert.deepEqual(deps(ws.plan(['a#x']), 'a#x'), ['d#gen']);
});

test('an entry that nobody declares is refused with the nearest; declared anywhere it is no edge', () => {
  const ws = monorepo({ a: { deps: ['b'], tasks: { build: ok(['^biuld']) } }, b: { tasks: { build: ok() } }, z: { tasks: { other: ok() } } });
  refused(ws, ['a#build'], /biuld.*build/);
  ws.config('z', (c) => (c.tasks.biuld = ok()));
  assert.deepEqual(ws.run(['a#build']).executed, ['a#build']);
});

test('a pattern matches the other tasks of the project, or none', () => {
  const ws = monorepo({ a: { tasks: { check: ok(['lint.*']) } } });
  assert.deepEqual(ws.run(['a#check']).executed, ['a#check']);
  ws.config('a', (c) => Object.assign(c.tasks, { 'lint.a': ok(), 'lint.b': ok() }));
  assert.deepEqual(deps(ws.plan(['a#check']), 'a#check'), ['a#lint.a', 'a#lint.b']);
});

test('malformed entries are refused by name', () => {
  for (const entry of ['pkg#lint.*', '*', '^*', '!x', '^a#b', '#x', '']) {
    const ws = monorepo({ a: { tasks: { t: ok([entry]), x: ok() } } }, { git: false });
    const r = ws.run(['a#t']);
    assert.equal(r.status, 1, entry);
    assert.ok(entry === '' || r.stderr.includes(entry), `${entry}: ${r.stderr}`);
    assert.deepEqual(r.outcomes, {});
  }
});

test('cycles are printed once from their smallest id and nothing starts', () => {
  const ws = monorepo({ a: { tasks: { x: ok(['x']) } } });
  refused(ws, ['a#x'], /a#x -> a#x/, 'VX_E_CYCLE');
  const build = { build: always('touch ran', { dependsOn: ['^build'] }), lint: { exec: { command: 'true' }, dependsOn: [] } };
  const pair = monorepo({ a: { deps: ['b'], tasks: build }, b: { deps: ['a'], tasks: build } });
  const r = refused(pair, ['build', '--all'], /a#build -> b#build -> a#build/, 'VX_E_CYCLE');
  assert.equal(r.stderr.match(/a#build -> b#build/g).length, 1);
  assert.equal(pair.exists('packages/a/ran'), false);
  assert.deepEqual(pair.run(['lint', '--all']).executed, ['a#lint', 'b#lint']);
});

test('a package consumed as source re-keys its dependants and its implicit build is not a name', () => {
  const ws = monorepo({ app: { deps: ['lib'], tasks: { build: copyBuild({ dependsOn: ['^build'] }) } }, lib: {} });
  assert.deepEqual(ws.run(['app#build']).outcomes, { 'app#build': 'executed' });
  assert.deepEqual(ws.run(['app#build']).outcomes, { 'app#build': 'up-to-date' });
  ws.write('packages/lib/any/file', '1');
  assert.deepEqual(ws.run(['app#build']).outcomes, { 'app#build': 'executed' });
  refused(ws, ['build', '--filter', 'lib'], /build/, 'VX_E_UNKNOWN_TASK');
});

test('a group runs its dependencies, is in no count and takes no arguments', () => {
  const ws = monorepo({ a: { tasks: { ci: { dependsOn: ['build', 'test'] }, build: ok(), test: ok() } } });
  const r = ws.run(['a#ci']);
  assert.deepEqual(r.executed, ['a#build', 'a#test']);
  assert.equal(r.doc.summary.total, 2);
  assert.ok(!r.stderr.includes('a#ci'));
  refused(ws, ['a#ci', '--', '--x'], /./);
});

test('a keyed group re-keys its dependants and is not counted', () => {
  const ws = monorepo({
    a: { tasks: { fixtures: { cache: { inputs: { files: ['fix/**'] }, outputs: { files: [] } } }, test: cached('true', { outputs: [], dependsOn: ['fixtures'] }) }, files: { 'fix/a': '1' } },
  });
  assert.equal(ws.run(['a#test']).doc.summary.total, 1);
  assert.deepEqual(ws.run(['a#test']).outcomes, { 'a#test': 'up-to-date' });
  ws.write('packages/a/fix/a', '2');
  assert.deepEqual(ws.run(['a#test']).executed, ['a#test']);
  ws.config('a', (c) => (c.tasks.fixtures.cache.outputs.files = ['x']));
  refused(ws, ['a#test'], /outputs/);
});

test('overlapping outputs are refused unless ordered and allowed', () => {
  const make = (edge) => ({ a: { tasks: { one: cached('mkdir -p dist', { outputs: ['dist/**'] }), two: cached('mkdir -p dist/extra', { outputs: ['dist/extra/**'], dependsOn: edge ? ['one'] : [] }) } } });
  for (const edge of [false, true]) {
    const ws = monorepo(make(edge));
    const r = refused(ws, ['a#one', 'a#two'], /a#one/);
    assert.match(r.stderr, /a#two/);
    assert.match(r.stderr, /dist\/extra\/\*\*/);
  }
  const allowed = monorepo(make(true), { workspace: { rules: { exclusiveOutputs: false } } });
  assert.equal(allowed.run(['a#one', 'a#two']).status, 0);
  const maybe = monorepo({ a: { tasks: { one: cached('true', { outputs: ['dist/*'] }), two: cached('true', { outputs: ['dist/sub/**'] }) } } });
  assert.equal(maybe.run(['a#one', 'a#two']).status, 0);
});

test('a workspace output meets another project\'s output', () => {
  const ws = monorepo({
    a: { tasks: { t: { exec: { command: 'true' }, cache: { inputs: { files: ['src/**'] }, outputs: { files: [], workspaceFiles: ['packages/b/dist/**'] } } } } },
    b: { tasks: { t: cached('true') } },
  });
  const r = refused(ws, ['t', '--all'], /a#t/);
  assert.match(r.stderr, /b#t/);
});

test('an input that another task writes is refused until it is taken back', () => {
  const ws = monorepo({ a: { tasks: { build: cached('true', { files: ['**'], dependsOn: ['gen'] }), gen: cached('mkdir -p src/gen && echo g > src/gen/g', { files: ['spec/**'], outputs: ['src/gen/**'] }) }, files: { 'spec/s': '1' } } });
  const r = refused(ws, ['a#build'], /!src\/gen\/\*\*/);
  assert.match(r.stderr, /a#gen/);
  ws.config('a', (c) => c.tasks.build.cache.inputs.files.push('!src/gen/**'));
  assert.equal(ws.run(['a#build']).status, 0);
});

test('a dependency\'s input moves its dependant unless inputs.tasks is empty', () => {
  const ws = monorepo({ a: { deps: ['b'], tasks: { t: cached('true', { outputs: [], dependsOn: ['^t'] }) } }, b: { tasks: { t: cached('true', { outputs: [] }) } } });
  ws.run(['a#t']);
  ws.write('packages/b/src/x', 'new');
  assert.deepEqual(ws.run(['a#t']).executed, ['a#t', 'b#t']);
  ws.config('a', (c) => (c.tasks.t.cache.inputs.tasks = []));
  ws.run(['a#t']);
  ws.write('packages/b/src/x', 'newer');
  assert.deepEqual(ws.run(['a#t']).executed, ['b#t']);
});

test('inputs.tasks entries that fold nothing are refused', () => {
  for (const tasks of [['build'], ['buidl'], ['!^x']]) {
    const ws = monorepo({ a: { tasks: { build: cached('true', { dependsOn: ['^build'], inputs: { tasks } }) } } }, { git: false });
    const r = ws.run(['a#build']);
    assert.equal(r.status, 1, tasks[0]);
    assert.ok(r.stderr.includes(tasks[0]), r.stderr);
  }
});

test('--exclude-dependencies drops what runs, not what is keyed, and saves nothing unproven', () => {
  const build = { build: copyBuild({ dependsOn: ['^build'] }) };
  const ws = monorepo({ a: { deps: ['b'], tasks: build }, b: { tasks: build } });
  const only = ws.run(['a#build', '--only']);
  assert.deepEqual(only.outcomes, { 'a#build': 'executed' });
  const full = ws.run(['a#build']);
  assert.deepEqual(full.executed, ['a#build', 'b#build']);
  assert.equal(only.keys['a#build'], full.keys['a#build']);
  refused(ws, ['a#build', '--exclude-dependencies=biuld'], /build/);
  refused(ws, ['a#build', '--exclude-dependencies='], /needs a value/);
});

test('one unknown name refuses the whole request', () => {
  const ws = monorepo({ a: { tasks: { build: always('touch ran') } } });
  refused(ws, ['a#build', 'missing'], /missing/);
  assert.equal(ws.exists('packages/a/ran'), false);
});

test('a bare name is the current project\'s; outside every project it asks for a scope', () => {
  const ws = monorepo({ a: { tasks: { build: ok() } }, b: { tasks: { build: ok() } } });
  ws.write('packages/a/src/deep/f', '');
  ws.write('tools/x', '');
  assert.deepEqual(ws.run(['build'], { cwd: 'packages/a/src/deep' }).executed, ['a#build']);
  const r = ws.run(['build'], { cwd: 'tools' });
  assert.equal(r.status, 1);
  assert.match(r.stderr, /--all/);
  assert.match(r.stderr, /--filter/);
});

test('a scoped name may be typed without its scope', () => {
  const ws = monorepo({ '@s/cart': { tasks: { build: ok() } }, other: { tasks: { build: ok() } } });
  assert.deepEqual(ws.run(['cart#build']).executed, ['@s/cart#build']);
  assert.deepEqual(ws.run(['build', '--filter', 'cart']).executed, ['@s/cart#build']);
});

const chain = () => monorepo({ a: { deps: ['b'], tasks: { t: ok() } }, b: { deps: ['c'], tasks: { t: ok() } }, c: { tasks: { t: ok() } } });
const selected = (ws, ...filters) => ws.run(['t', ...filters.flatMap((f) => ['--filter', f])]).executed.map((id) => id.slice(0, -2)).join();

test('graph filters walk dependencies and dependents', () => {
  const ws = chain();
  for (const [filter, want] of [['b...', 'b,c'], ['b^...', 'c'], ['...b', 'a,b'], ['...^b', 'a'], ['...b...', 'a,b,c'], ['*', 'a,b,c'], ['[ab]', '']]) {
    if (want !== '') assert.equal(selected(ws, filter), want, filter);
  }
  assert.equal(selected(ws, '!b', 'a...'), 'a,c');
  assert.equal(selected(ws, '!b'), 'a,c');
  const pair = monorepo({ a: { deps: ['b'], tasks: { t: ok() } }, b: { tasks: { t: ok() } } });
  assert.equal(selected(pair, '!b', 'a...'), 'a');
});

test('directory filters mean the project there, else all below', () => {
  const ws = monorepo({ a: { tasks: { t: ok() } } });
  ws.write('package.json', { name: 'root', private: true, workspaces: ['packages/*', 'packages/a/sub', 'app/\\[id\\]'] });
  ws.write('packages/a/sub/package.json', { name: 'sub', version: '1.0.0' });
  ws.write('packages/a/sub/vx.config.json', { tasks: { t: ok() } });
  assert.equal(selected(ws, './packages/a'), 'a');
  assert.equal(selected(ws, './packages'), 'a,sub');
  assert.equal(selected(ws, '{packages/**}'), 'a,sub');
  ws.write('app/[id]/package.json', { name: 'dyn', version: '1.0.0' });
  ws.write('app/[id]/vx.config.json', { tasks: { t: ok() } });
  assert.equal(selected(ws, '{app/[id]}'), 'dyn');
});

test('a filter that selects nothing is refused, or reported beside others', () => {
  const ws = chain();
  const r = refused(ws, ['t', '--filter', 'nope'], /nope/, 'VX_E_UNKNOWN_PROJECT');
  assert.match(r.stderr, /a.*b.*c/);
  const both = ws.run(['t', '--filter', 'nope', '--filter', 'a']);
  assert.equal(both.status, 0);
  assert.match(both.stderr, /nope/);
  assert.deepEqual(both.executed, ['a#t']);
  for (const bad of ['../x', '...', '!', '']) assert.equal(ws.run(['t', '--filter', bad]).status, 1, bad);
});

test('tags select projects', () => {
  const ws = monorepo({ a: { tasks: { t: ok() }, config: { tags: ['web'] } }, b: { tasks: { t: ok() }, config: { tags: ['api'] } } });
  assert.equal(selected(ws, 'tag:web'), 'a');
  assert.equal(selected(ws, 'tag:*'), 'a,b');
  refused(ws, ['t', '--filter', 'tag:wbe'], /web/);
});

test('a dependsOn of a named project counts for filters', () => {
  const ws = monorepo({ a: { tasks: { gen: ok(), t: ok() } }, b: { tasks: { t: ok(['a#gen']) } } });
  assert.equal(selected(ws, '...a').split(',').includes('b'), true);
});

const uiApp = () => {
  const tasks = {
    build: copyBuild({ dependsOn: ['^build'] }),
    test: cached('true', { files: ['src/**', 'test/**'], outputs: [], dependsOn: ['build'] }),
  };
  return monorepo({ app: { deps: ['ui'], tasks, files: { 'test/x': '1' } }, ui: { tasks, files: { 'test/x': '1' } } });
};

test('--affected keeps exactly the tasks a change reaches', () => {
  const ws = uiApp();
  ws.write('packages/ui/test/x', '2');
  assert.deepEqual(Object.keys(ws.plan(['build', 'test', '--affected=HEAD']).status).sort(), ['ui#build', 'ui#test']);
  ws.git('checkout', '-q', '.');
  ws.write('packages/ui/package.json', { name: 'ui', version: '1.0.1' });
  assert.deepEqual(Object.keys(ws.plan(['build', 'test', '--affected=HEAD']).status).sort(), ['app#build', 'app#test', 'ui#build', 'ui#test']);
});

test('nothing changed is exit 0 with a note, and anchored names run all the same', () => {
  const ws = uiApp();
  const none = ws.vx(['run', 'build', '--affected=HEAD']);
  assert.equal(none.status, 0, none.text);
  assert.match(none.stderr, /nothing affected since HEAD/);
  const anchored = ws.run(['app#test', 'build', '--affected=HEAD']);
  assert.equal(anchored.status, 0);
  assert.ok('app#test' in anchored.outcomes);
  assert.equal(ws.run(['biuld', '--affected=HEAD']).status, 1);
});

test('changed sets: moves count at both ends, deletions staged or not', () => {
  const ws = monorepo({ a: { tasks: { t: ok() }, files: { y: '1' } }, b: { tasks: { t: ok() } } });
  ws.git('mv', 'packages/a/src/x', 'packages/b/src/x2');
  assert.equal(selected(ws, '[HEAD]'), 'a,b');
  ws.git('reset', '-q', '--hard');
  ws.git('rm', '-q', 'packages/a/y');
  assert.equal(selected(ws, '[HEAD]'), 'a');
  ws.git('reset', '-q', '--hard');
  ws.remove('packages/a/y');
  assert.equal(selected(ws, '[HEAD]'), 'a');
});

test('the merge base decides, not the tip of the base branch', () => {
  const ws = monorepo({ a: { tasks: { t: ok() } }, b: { tasks: { t: ok() } } });
  ws.git('checkout', '-q', '-b', 'topic');
  ws.write('packages/a/src/x', 'topic');
  ws.commit();
  ws.git('checkout', '-q', 'main');
  ws.write('packages/b/src/x', 'main');
  ws.commit();
  ws.git('checkout', '-q', 'topic');
  assert.deepEqual(ws.run(['t', '--affected=main']).executed, ['a#t']);
  assert.deepEqual(ws.run(['t', '--affected=main...HEAD']).executed, ['a#t']);
  assert.deepEqual(ws.run(['t', '--affected']).executed, ['a#t']);
});

test('bad references are refused before git is asked', () => {
  const ws = chain();
  for (const ref of ['--output=x', 'a..b', '^x', 'HEAD:f', 'nosuchref']) {
    const r = ws.run(['t', `--affected=${ref}`]);
    assert.equal(r.status, 1, ref);
    assert.deepEqual(r.outcomes, {});
  }
  assert.equal(ws.exists('x'), false);
});

test('a shallow clone without a base is told how to fetch', () => {
  const ws = chain();
  ws.sh('git clone -q --depth 1 "file://$PWD" ../shallow');
  ws.sh('cd ../shallow && git remote remove origin && git checkout -q --detach && git branch -q -D main');
  const r = ws.vx(['run', 't', '--affected'], { cwd: '../shallow' });
  assert.equal(r.status, 1);
  assert.match(r.stderr, /--unshallow|fetch-depth/);
});

test('a root lockfile selects everything, vx-lock.json nothing', () => {
  const ws = uiApp();
  ws.write('vx-lock.json', '{}');
  assert.match(ws.vx(['run', 'build', '--affected=HEAD']).stderr, /nothing affected/);
  ws.write('package-lock.json', '{}');
  assert.equal(Object.keys(ws.plan(['build', '--affected=HEAD']).status).length, 2);
});

test('a workspace below the top of its repository is not affected by what lies outside', () => {
  const ws = monorepo({ a: { tasks: { t: ok() } } }, { git: false });
  ws.sh('git init -q .. && printf "home\\ntmp\\ngitconfig\\n" > ../.gitignore && git add -A .. && git commit -q -m start && echo x > ../outside');
  const r = ws.vx(['run', 't', '--affected=HEAD']);
  assert.equal(r.status, 0);
  assert.match(r.stderr, /nothing affected/);
});

test('without git --affected and [ref] are one line each', () => {
  const ws = monorepo({ a: { tasks: { t: ok() } } }, { git: false });
  assert.equal(ws.run(['t', '--all']).status, 0);
  for (const args of [['--affected'], ['--filter', '[HEAD]']]) {
    const r = ws.vx(['run', 't', ...args]);
    assert.equal(r.status, 1);
    assert.equal(r.stderr.trim().split('\n').length, 1, r.stderr);
  }
});

test('a nested run in the same workspace is refused, another workspace is fine', () => {
  const ws = monorepo({ a: { tasks: { t: always(`"$VX" run a#u`, { exec: { env: { passThrough: ['VX'] } } }), u: ok() } } });
  const VX = process.env.VX_BIN ?? new URL('../../build/vx', import.meta.url).pathname;
  const r = ws.run(['a#t'], { env: { VX: VX.startsWith('/') ? VX : `${process.cwd()}/${VX}` } });
  assert.equal(r.status, 1);
  assert.match(r.stderr, /dependsOn/);
});

test('a chain of thousands of tasks plans without overflow', () => {
  const tasks = { t0: ok() };
  for (let i = 1; i < 5000; i++) tasks[`t${i}`] = ok([`t${i - 1}`]);
  const ws = monorepo({ a: { tasks } }, { git: false });
  assert.equal(ws.plan(['a#t4999']).doc.tasks.length, 5000);
});

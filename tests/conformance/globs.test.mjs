// Which files a declaration selects, and which declarations are refused.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { HIT, MISS, RESTORED, build, built, cached, copyBuild, dist, keyOf, monorepo, refused, single } from './lib/place.mjs';
import { rulesOf } from './lib/rule.mjs';

const rule = rulesOf(import.meta.url, 'Globs');
const inputs = (ws, files) => ws.config('a', (c) => (c.tasks.build.cache.inputs.files = files));
const outputs = (ws, files) => ws.config('a', (c) => (c.tasks.build.cache.outputs.files = files));
const moves = (ws, name, text = `${Math.random()}`) => {
  const before = keyOf(ws);
  ws.write(`packages/a/${name}`, text);
  return keyOf(ws) !== before;
};

rule(59, '`./src/**` matches nothing', {
  law: 'one normaliser for every reader of globs', breaks: 'compile globs as they are typed',
}, () => {
  for (const spelling of ['./src/**', 'src//**', 'src/./**', 'src', 'src/', './src', 'src/**/']) {
    const ws = built(copyBuild({ files: [spelling] }));
    ws.write('packages/a/src/x', `edit ${spelling}`);
    ws.write('packages/a/src/deep/y', '1');
    assert.equal(build(ws), MISS, spelling);
  }
  for (const spelling of ['./dist/**', 'dist//**', 'dist', 'dist/', './dist']) {
    const ws = built(copyBuild({ outputs: [spelling] }));
    ws.remove('packages/a/dist');
    assert.equal(build(ws), RESTORED, spelling);
    assert.equal(dist(ws), 'a\n');
  }
});

rule(60, '`[id]` read as a class', {
  law: 'brackets are literal', breaks: 'read brackets as a class',
}, () => {
  const ws = single(cached('mkdir -p "out/[id]"; cp "app/[id]/f" "out/[id]/f"', { files: ['app/[id]/**'], outputs: ['out/[id]/**'] }), { files: { 'app/[id]/f': '1', 'app/i/f': '1' } });
  assert.equal(build(ws), MISS);
  assert.equal(moves(ws, 'app/i/f'), false);
  assert.equal(moves(ws, 'app/[id]/f'), true);
  assert.equal(build(ws), MISS);
  ws.write('packages/a/out/i/mine', '1');
  ws.remove('packages/a/out/[id]');
  assert.equal(build(ws), RESTORED);
  assert.equal(ws.read('packages/a/out/[id]/f'), ws.read('packages/a/app/[id]/f'));
  assert.ok(ws.exists('packages/a/out/i/mine'));
});

rule(61, '`{b}.ts` matches `b.ts`, never the file', {
  law: 'a brace with one alternative is refused in inputs', breaks: 'expand it',
}, () => {
  const ws = single();
  for (const glob of ['{b}.ts', 'src/{x}', '{src}/**']) {
    inputs(ws, [glob]);
    refused(ws, ['a#build'], /inputs\.files/);
  }
  ws.write('packages/a/{b}.ts', '1');
  inputs(ws, ['\\{b\\}.ts']);
  assert.equal(moves(ws, '{b}.ts'), true);
});

rule(62, '`{dist,lib/esm}/**` packs nothing but is cleaned', {
  law: 'braces with a slash are expanded before scanning', breaks: 'scan from the prefix of the unexpanded pattern',
}, () => {
  const ws = built(cached('mkdir -p dist lib/esm; cp src/x dist/x; cp src/x lib/esm/y', { outputs: ['{dist,lib/esm}/**'] }));
  ws.write('packages/a/lib/esm/stray', '1');
  ws.write('packages/a/lib/other', 'mine');
  ws.remove('packages/a/dist');
  assert.equal(build(ws), RESTORED);
  assert.deepEqual([ws.list('packages/a/dist'), ws.list('packages/a/lib'), ws.list('packages/a/lib/esm')], [['x'], ['esm', 'other'], ['y']]);
});

rule(63, 'Extended globs read as text or wildcard', {
  law: 'refused', breaks: 'read them as text',
}, () => {
  const ws = single();
  for (const glob of ['@(a|b)', '+(a)', '*(a)', '?(a)', 'src/!(x)/**', 'src/@(a)']) {
    inputs(ws, [glob]);
    refused(ws, ['a#build'], /inputs\.files/);
    inputs(ws, ['src/**']);
    outputs(ws, [glob]);
    refused(ws, ['a#build'], /outputs\.files/);
    outputs(ws, ['dist/**']);
  }
});

rule(64, 'Windows spellings, other runners\' tokens, `^named`', {
  law: 'refused with the spelling to use', breaks: 'read them as text',
}, () => {
  const ws = single();
  for (const glob of ['src\\**', 'C:/src', '$TURBO_DEFAULT$', '$TURBO_ROOT$/x', '{projectRoot}/**', '{workspaceRoot}/x', '^production', '^build', '', ' ', '.', './', '/abs', '../x', 'a/../b', '{../shared,src}/**', '!!x', '{a']) {
    inputs(ws, [glob]);
    refused(ws, ['a#build'], /inputs\.files/);
  }
  inputs(ws, ['!x']);
  refused(ws, ['a#build'], /inputs\.files/);
});

rule(65, 'Literal taken back by a negation is never keyed', {
  law: 'refused', breaks: 'accept it',
}, () => {
  const ws = single();
  for (const files of [['src/x', '!src/x'], ['src/x', '!src/**'], ['src/x', '!**'], ['config', '!config/**', '!config']]) {
    inputs(ws, files);
    refused(ws, ['a#build'], /inputs\.files/);
  }
});

rule(66, 'Literal names an ignored file or directory', {
  law: 'an error of the task at key time, probed live', breaks: 'let it select nothing', mutation: 'idle-literal',
}, () => {
  const ws = single(cached('mkdir -p dist; cp .env.local dist/x', { files: ['src/**', '.env.local'] }), { git: false });
  ws.write('.gitignore', '.vx\ndist\n*.local\nlocal/\n');
  ws.git('init', '-q');
  ws.commit();
  ws.write('packages/a/.env.local', '1');
  const r = ws.run(['a#build']);
  assert.equal(r.outcomes['a#build'], 'failed');
  assert.match(r.stderr, /\.env\.local/);
  ws.remove('packages/a/.env.local');
  inputs(ws, ['src/**', 'local']);
  assert.notEqual(build(ws), undefined);
  ws.write('packages/a/local/f', '1');
  assert.match(ws.run(['a#build']).stderr, /local/);
  assert.equal(build(ws), 'failed', 'made after the run before it');
  ws.remove('packages/a/local');
  inputs(ws, ['src/**', '.env*']);
  ws.write('packages/a/.env.local', '2');
  assert.notEqual(build(ws), undefined);
  assert.equal(moves(ws, '.env.local', '3'), false, 'a glob only filters');
});

rule(67, 'Committed fixtures below `node_modules` excluded', {
  law: 'only untracked files there are', breaks: 'drop every file below node_modules',
}, () => {
  const ws = single(copyBuild(), { files: { 'src/node_modules/f': '1' } });
  ws.sh('git add -f packages/a/src/node_modules/f; git commit -q -m nm');
  build(ws);
  ws.write('packages/a/src/node_modules/g', '1');
  assert.equal(build(ws), HIT);
  ws.write('packages/a/src/node_modules/f', '2');
  assert.equal(build(ws), MISS);
  ws.write('.gitignore', '.vx/\ndist/\n');
  assert.equal(moves(ws, 'src/node_modules/g'), false, 'untracked and not ignored');
});

/** Workspaces where a package holds another, with neighbours that sort in between. */
const nested = (inner) => {
  const ws = monorepo({});
  ws.write('package.json', { name: 'root', private: true, workspaces: ['packages/**'] });
  for (const dir of ['foo', 'foo-utils', 'foo/nested', 'a*', 'a*/in', 'abc']) {
    ws.write(`packages/${dir}/package.json`, { name: dir.replace(/[*/]/g, '_'), version: '1.0.0' });
    if (inner || !/\//.test(dir)) ws.write(`packages/${dir}/vx.config.json`, { tasks: { build: cached('true', { files: ['**'], outputs: [] }) } });
    ws.write(`packages/${dir}/f`, '1');
  }
  ws.commit();
  return ws;
};

rule(68, 'Fence broken by a sibling `foo-utils` or a `*` in a directory name', {
  law: 'a look-up of ancestors in a set of directories', breaks: 'look at the neighbour in sorted order', mutation: 'no-fence',
}, () => {
  const ws = nested(true);
  const keys = () => ws.plan(['build', '--all']).keys;
  for (const [file, owner] of [['foo/nested/f', 'foo_nested'], ['a*/in/f', 'a__in'], ['foo-utils/f', 'foo-utils'], ['abc/f', 'abc'], ['foo/f', 'foo'], ['a*/f', 'a_']]) {
    const before = keys();
    ws.write(`packages/${file}`, '2');
    const after = keys();
    assert.deepEqual(Object.keys(after).filter((id) => after[id] !== before[id]), [`${owner}#build`], file);
  }
});

rule(69, 'Fence differs between key, selection and watch, or knows only projects with configs', {
  law: 'one rule, every package', breaks: 'fence off packages with configs alone',
}, () => {
  for (const inner of [true, false]) {
    const ws = nested(inner);
    const before = ws.plan(['foo#build']).keys['foo#build'];
    ws.write('packages/foo/nested/f', '2');
    assert.equal(ws.plan(['foo#build']).keys['foo#build'], before, `configs inside: ${inner}`);
    const affected = Object.keys(ws.plan(['build', '--affected=HEAD']).keys);
    assert.ok(!affected.includes('foo#build'), `${affected}`);
    assert.equal(affected.includes('foo_nested#build'), inner);
  }
});

rule(70, 'Task\'s own outputs swallow its inputs', {
  law: 'refused', breaks: 'accept it',
}, () => {
  const ws = single();
  for (const [ins, outs] of [[['src/**'], ['src/**']], [['src/x'], ['src/**']], [['src/gen'], ['src']], [['src/**/*.ts'], ['src/**']]]) {
    inputs(ws, ins);
    outputs(ws, outs);
    refused(ws, ['a#build'], /src/);
    assert.ok(ws.exists('packages/a/src/x'));
  }
});

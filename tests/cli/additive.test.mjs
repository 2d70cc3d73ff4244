// rules.exclusiveOutputs off: a task that adds to what its dependency left. However each of the two comes, the tree is that of a cold run.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import test from 'node:test';
import { cached, monorepo } from './lib/workspace.mjs';

const A = 'packages/a';
const MISS = 'executed';
/** `one` makes dist from src/one, `two` adds to it from src/two; `two` is not re-keyed by `one` when `apart`. */
function pair(two, { apart = false, one = 'mkdir -p dist/deep; cp src/one/* dist/; echo 1 > dist/deep/f', outputs = ['dist/**'] } = {}) {
  const inputs = apart ? { tasks: [] } : {};
  return monorepo({
    a: {
      files: { 'src/one/x': 'x1\n', 'src/two/y': 'y1\n' },
      tasks: { one: cached(one, { files: ['src/one/**'] }), two: cached(two, { files: ['src/two/**'], outputs, dependsOn: ['one'], inputs }) },
    },
  }, { workspace: { rules: { exclusiveOutputs: false } } });
}
/** Kinds, modes and bytes: what a command makes anew has new times. */
function tree(ws) {
  const out = {};
  const visit = (dir) => {
    for (const e of fs.readdirSync(ws.path(dir), { withFileTypes: true })) {
      const name = `${dir}/${e.name}`;
      const mode = (fs.lstatSync(ws.path(name)).mode & 0o777).toString(8);
      out[name] = e.isDirectory() ? mode : `${mode} ${ws.read(name)}`;
      if (e.isDirectory()) visit(name);
    }
  };
  visit(`${A}/dist`);
  return out;
}
/** The tree of a run that has neither store nor outputs. */
function cold(ws) {
  ws.sh('rm -rf ../cold; cp -R . ../cold; rm -rf ../cold/.vx ../cold/packages/a/dist');
  const other = Object.assign(Object.create(Object.getPrototypeOf(ws)), { base: ws.base, dir: `${ws.base}/cold` });
  other.vx(['run', 'a#two', '--cache-dir', `${ws.base}/cold-store`]);
  const made = tree(other);
  ws.sh('rm -rf ../cold ../cold-store');
  return made;
}
const run = (ws) => ws.run(['a#two']).outcomes;
/** Lets the clock leave an edit behind. */
function edit(ws, name, content) {
  ws.write(`${A}/${name}`, content);
  const written = fs.statSync(ws.path(`${A}/${name}`)).ctimeMs;
  while (Date.now() < written + 20);
}

const HOW = {
  adds: 'cp src/two/* dist/; mkdir -p dist/sub; cp src/two/* dist/sub/',
  changes: 'cp src/two/* dist/; cat src/two/* > dist/x; chmod 600 dist/deep/f',
  'adds nothing': 'cat src/two/* > /dev/null',
};
for (const [what, two] of Object.entries(HOW)) {
  for (const apart of [false, true]) {
    test(`a dependant that ${what}${apart ? ', with a key of its own' : ''}: every combination of hit and miss leaves the tree of a cold run`, () => {
      const ws = pair(two, { apart });
      const states = [['x1\n', { y: 'y1\n' }], ['x2\n', { y: 'y1\n' }], ['x2\n', { z: 'z1\n' }], ['x1\n', { z: 'z1\n' }], ['x1\n', { y: 'y1\n' }]];
      const seen = new Set();
      const step = (one, more) => {
        edit(ws, 'src/one/x', one);
        ws.remove(`${A}/src/two`);
        for (const [name, content] of Object.entries(more)) edit(ws, `src/two/${name}`, content);
        const o = run(ws);
        seen.add(`${o['a#one'] === MISS ? 'miss' : 'hit'} ${o['a#two'] === MISS ? 'miss' : 'hit'}`);
        assert.deepEqual(tree(ws), cold(ws), `${one} ${JSON.stringify(more)}: ${JSON.stringify(o)}`);
      };
      for (const s of [...states, ...states]) step(...s);
      // Of the one a new result, of the other a stored one.
      step('x3\n', { z: 'z1\n' });
      step('x3\n', { y: 'y2\n' });
      step('x4\n', { y: 'y2\n' });
      for (const combination of apart ? ['hit hit', 'miss hit', 'hit miss', 'miss miss'] : ['hit hit', 'hit miss', 'miss miss']) assert.ok(seen.has(combination), `${combination} of ${[...seen]}`);
      ws.remove(`${A}/dist`);
      step('x4\n', { y: 'y2\n' });
    });
  }
}

test('what was only added is up to date in place, and a stray is not', () => {
  const ws = pair(HOW.adds);
  run(ws);
  assert.deepEqual(run(ws), { 'a#one': 'up-to-date', 'a#two': 'up-to-date' });
  ws.write(`${A}/dist/junk`, 'x');
  assert.equal(run(ws)['a#one'], 'restored');
  assert.equal(ws.exists(`${A}/dist/junk`), false);
  assert.deepEqual(run(ws), { 'a#one': 'up-to-date', 'a#two': 'up-to-date' });
});

test('a run that removes a file it found saves nothing, says so, and vx why too', () => {
  const ws = pair('rm dist/x; cp src/two/* dist/');
  for (let i = 0; i < 3; i++) {
    const r = ws.run(['a#two']);
    assert.equal(r.outcomes['a#two'], MISS);
    assert.match(r.stderr, /a#two: not cached: packages\/a\/dist\/x of a dependency was there when it started and is gone/);
    assert.deepEqual(tree(ws), cold(ws));
  }
  assert.match(ws.vx(['why', 'a#two']).stdout, /not saved: it removed a file that it found in place/);
});

test('a same-size rewrite with the old time is seen', () => {
  const ws = pair('cp -p dist/x old; printf "zz\\n" > dist/x; touch -r old dist/x; rm old');
  const want = cold(ws);
  run(ws);
  ws.remove(`${A}/dist`);
  assert.equal(run(ws)['a#two'], 'restored');
  assert.deepEqual(tree(ws), want);
});

test('three in a row, and one whose glob starts at the root', () => {
  const task = (command, more) => cached(command, { files: ['src/x'], ...more });
  const ws = monorepo({
    a: { tasks: {
      one: task('mkdir -p dist; cp src/x dist/one'),
      two: task('cp src/x dist/two', { dependsOn: ['one'] }),
      three: { ...task('cp dist/one dist/two .; cat one two > dist/three; rm one two', { outputs: [], dependsOn: ['two'] }), cache: { inputs: { files: ['src/x'] }, outputs: { files: [], workspaceFiles: [`${A}/dist/**`] } } },
    } },
  }, { workspace: { rules: { exclusiveOutputs: false } } });
  for (const text of ['A', 'B', 'A', 'B']) {
    edit(ws, 'src/x', text);
    ws.run(['a#three']);
    assert.deepEqual(ws.list(`${A}/dist`), ['one', 'three', 'two']);
    assert.equal(ws.read(`${A}/dist/three`), text + text);
    assert.deepEqual([...new Set(Object.values(ws.run(['a#three']).outcomes))], ['up-to-date']);
  }
});

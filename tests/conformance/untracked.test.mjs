// Untracked files from memory: git is not asked again while nothing it looked at has moved (lib/inputs/untracked.hpp).
import assert from 'node:assert/strict';
import { HIT, MISS, aged, always, build, cached, dist, monorepo, single } from './lib/place.mjs';
import { rulesOf } from './lib/rule.mjs';

const rule = rulesOf(import.meta.url, 'Remembered untracked files');

const all = () => cached('mkdir -p dist && cat src/* >dist/x');

/** Runs until a run asked git and remembered: its directories are old enough by then. */
async function remembered(ws, want = 'a\n') {
  for (let i = 0; i < 2; ++i) {
    await aged(ws, 'packages/a/dist');
    assert.equal(build(ws), HIT);
  }
  assert.equal(dist(ws), want);
}

rule(147, 'File added, removed or renamed after the untracked files were remembered', {
  law: 'the memory counts only while every directory git looked into has its stamps', breaks: 'believe it always', mutation: 'untracked-always',
}, async () => {
  const ws = single(all());
  assert.equal(build(ws), MISS);
  await remembered(ws);
  ws.write('packages/a/src/y', 'new\n');
  assert.equal(build(ws), MISS);
  assert.equal(dist(ws), 'a\nnew\n');
  await remembered(ws, 'a\nnew\n');
  ws.write('packages/a/src/empty/deep', 'below\n');  // a directory that was not there: the command can't read it
  assert.notEqual(build(ws), HIT);
});

rule(148, 'Ignore rule edited in place, and the untracked files remembered', {
  law: 'it counts only while every file of rules has its stamps, those of the user and of the repository too', breaks: 'look at directories alone',
  mutation: 'untracked-rules',
}, async () => {
  for (const rules of ['.gitignore', 'packages/a/src/.gitignore', '.git/info/exclude']) {
    const ws = single(all());
    const kept = rules === '.gitignore' ? ws.read(rules) : '';
    ws.write('packages/a/src/y1', 'one\n');
    ws.write('packages/a/src/y2', 'two\n');
    ws.write(rules, `${kept}y1\n`);
    assert.equal(build(ws), MISS);
    await remembered(ws, 'a\none\ntwo\n');
    ws.write(rules, `${kept}y2\n`);
    assert.equal(build(ws), MISS, rules);  // y1 is an input now
    ws.write('packages/a/src/y1', 'ONE\n');
    assert.equal(build(ws), MISS, rules);
    assert.equal(dist(ws), 'a\nONE\ntwo\n');
  }
});

rule(149, 'File added while the untracked files are being asked for', {
  law: 'a directory whose stamp is not older than the question is asked about again', breaks: 'remember the stamps there are', mutation: 'untracked-racy',
}, async () => {
  const ws = monorepo({ a: { tasks: { build: all() } }, b: { tasks: { gen: always('cp src/x ../a/src/gen') } } });
  assert.equal(build(ws), MISS);
  await remembered(ws);
  ws.write('packages/b/src/other', 'makes the run ask\n');
  assert.equal(ws.run(['b#gen']).outcomes['b#gen'], MISS);  // it wrote after the question and before the stamps
  await aged(ws, 'packages/a/src');
  assert.equal(build(ws), MISS);
  assert.match(dist(ws), /b\n/);
});

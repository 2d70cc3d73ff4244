// From the tree into the store and back.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import {
  HIT, MISS, RESTORED, aged, always, artifactOf, artifacts, asUser, build, built, cached, checkout, cleanEnv, copyBuild, dist, dropRows, expectFresh, forge, forgeArtifact,
  keyOf, monorepo, onLinux, refused, shim, single, snapshot, storeDir, storeFiles, until, vxBin, whileLocked,
} from './lib/place.mjs';
import { rulesOf } from './lib/rule.mjs';

const rule = rulesOf(import.meta.url, 'Save and restore');
const A = 'packages/a';
const tree = (ws, dir = `${A}/dist`) => snapshot(ws.path(dir));
const wipe = (ws, dir = `${A}/dist`) => ws.sh(`chmod -R u+rwX ${dir} 2>/dev/null; rm -rf ${dir}`);
const making = (script, more = {}) => cached(`mkdir -p dist; cd dist; ${script}`, more);
/** Runs, deletes, runs again: what comes back equals what was made. */
function roundTrip(ws, { umask } = {}) {
  assert.equal(build(ws), MISS);
  const made = tree(ws);
  wipe(ws);
  if (umask) assert.match(ws.sh(`umask ${umask}; '${vxBin}' run a#build 2>&1`), /restored/);
  else assert.equal(build(ws), RESTORED);
  assert.deepEqual(tree(ws), made);
  assert.equal(build(ws), HIT);
  return made;
}

rule(92, 'Executable bit or mode lost, or umask applied', {
  law: 'modes are carried and set by fchmod', breaks: 'leave the mode of a restored file to open()', mutation: 'no-fchmod',
}, () => {
  for (const umask of ['077', '002']) roundTrip(single(making('for m in 755 600 444 777 640; do echo $m > f$m; chmod $m f$m; done; mkdir d; echo 1 > d/f; chmod 700 d')), { umask });
});

rule(93, 'Names over 100 bytes dropped and agreed with themselves', {
  law: 'pax headers; the packed file is read back', breaks: 'cut names at the size of the old header',
}, () => {
  const long = 'n'.repeat(250);
  const made = roundTrip(single(making(`mkdir -p ${'d'.repeat(120)}/${'e'.repeat(120)}/${'f'.repeat(120)}; echo 1 > ${long}; echo 2 > ${'d'.repeat(120)}/${'e'.repeat(120)}/${'f'.repeat(120)}/x; ln -s ${'t'.repeat(300)} l`)));
  assert.ok(long in made);
});

/** An artifact with these members in the place of the build's own: refused, the task runs, nothing but the outputs is touched. */
function refusedArtifact(members, what, { task = copyBuild(), rows = false } = {}) {
  const ws = built(task);
  const key = keyOf(ws);
  ws.write('outside', 'mine');
  const before = [tree(ws, A), tree(ws, '.git/hooks'), ws.read('outside')];
  const size = fs.statSync(artifactOf(ws, key)).size;
  if (!rows) dropRows(ws);
  forgeArtifact(ws, key, 'a#build', members);
  if (rows) assert.equal(fs.statSync(artifactOf(ws, key)).size, size);
  wipe(ws);
  const r = ws.run(['a#build']);
  assert.equal(r.outcomes['a#build'], MISS, `${what}\n${r.stderr}`);
  const plain = (s) => Object.fromEntries(Object.entries(s).map(([k, v]) => [k, k.startsWith('dist/') ? v.replace(/^file (\d+) \d+/, 'file $1') : v]));
  assert.deepEqual([plain(tree(ws, A)), tree(ws, '.git/hooks'), ws.read('outside')], [plain(before[0]), before[1], before[2]], what);
  assert.equal(build(ws), HIT, `${what}: the next save replaced it`);
}
const sound = { name: 'project/dist/x', body: 'a\n' };

rule(94, 'Old tar dialect\'s fields read as a name', {
  law: 'one dialect, checked header by header', breaks: 'let the archive library guess the dialect',
}, () => {
  refusedArtifact([{ ...sound, kind: 'o' }], 'an old dialect');
  const ws = built();
  dropRows(ws);
  forgeArtifact(ws, keyOf(ws), 'a#build', [{ ...sound, body: 'forged\n' }]);
  wipe(ws);
  assert.equal(build(ws), RESTORED, 'the forge itself makes good archives');
  assert.equal(dist(ws), 'forged\n');
});

rule(95, 'Member past the archive\'s end installed short', {
  law: 'refused', breaks: 'take what is there',
}, () => refusedArtifact([{ ...sound, kind: 'G' }], 'a member that claims more bytes'));

rule(96, 'Quiet return when the artifact is gone after outputs were wiped', {
  law: 'verified before the swap; gone or damaged is a miss with a line', breaks: 'empty the outputs before the artifact is read',
}, () => {
  const ws = built(cached('[ -z "$FAIL" ] && mkdir -p dist && cp src/x dist/x && echo 2 > dist/y', { exec: { env: { passThrough: ['FAIL'] } } }));
  const [file] = artifacts(ws);
  const bytes = fs.readFileSync(file);
  bytes[bytes.length - 20] ^= 1;
  fs.writeFileSync(file, bytes);
  ws.write(`${A}/dist/y`, 'edited');
  const r = ws.run(['a#build']);
  assert.equal(r.outcomes['a#build'], MISS);
  assert.match(r.stderr, /damaged/);
  assert.equal(dist(ws, 'y'), '2\n');
  fs.writeFileSync(file, bytes);
  ws.write(`${A}/dist/y`, 'edited');
  assert.equal(ws.run(['a#build'], { env: { FAIL: '1' } }).outcomes['a#build'], 'failed');
  assert.ok([[], ['x', 'y']].some((want) => JSON.stringify(want) === JSON.stringify(ws.exists(`${A}/dist`) ? ws.list(`${A}/dist`) : [])), 'never a part');
});

rule(97, 'Row says hit, file is gone or replaced', {
  law: 'the file and its size are part of the hit', breaks: 'believe the row', mutation: 'row-is-enough',
}, () => {
  for (const spoil of [(f) => fs.rmSync(f), (f) => fs.truncateSync(f, 100), (f) => fs.appendFileSync(f, 'x'), (f) => (fs.rmSync(f), fs.mkdirSync(f))]) {
    const ws = built();
    spoil(artifacts(ws)[0]);
    assert.equal(build(ws), MISS);
    wipe(ws);
    if (!fs.statSync(artifacts(ws)[0] ?? ws.dir).isDirectory()) assert.equal(build(ws), RESTORED);
  }
});

rule(98, 'Rename then commit mixes two saves', {
  law: 'the rename is inside the transaction', breaks: 'rename before the write lock is held', mutation: 'early-rename',
}, async () => {
  const ws = built(cached('mkdir -p dist; date +%s%N > dist/x; head -c $(( $(date +%s%N) % 4000 )) /dev/urandom > dist/r'));
  const [file] = artifacts(ws);
  const before = fs.readFileSync(file);
  const text = dist(ws);
  await whileLocked(ws, async () => {
    const run = ws.start(['run', 'a#build', '--force']);
    let ended = false;
    run.ended.then(() => (ended = true));
    await until(() => {
      assert.ok(fs.existsSync(file) && fs.readFileSync(file).equals(before), 'bytes become visible only with their rows');
      return ended;
    }, 'the save to give up');
    const r = await run.ended;
    assert.equal(r.status, 0);
    assert.match(r.stderr, /not cached/);
  });
  assert.deepEqual(fs.readFileSync(file), before);
  wipe(ws);
  assert.equal(build(ws), RESTORED);
  assert.equal(dist(ws), text);
});

rule(99, 'Bit flip in a raw block replayed', {
  law: 'a sum over every member, and the frame\'s checksum', breaks: 'skip the sum', mutation: 'no-sum',
}, () => {
  refusedArtifact([sound, { kind: 's', name: 'x' }], 'a wrong sum');
  const ws = built(cached('mkdir -p dist; cp src/x dist/x; head -c 300 /dev/urandom > dist/r'));
  const [file] = artifacts(ws);
  const whole = fs.readFileSync(file);
  const random = fs.readFileSync(ws.path(`${A}/dist/r`));
  for (let at = 0; at < whole.length; at += Math.ceil(whole.length / 25)) {
    fs.writeFileSync(file, Buffer.from(whole.map((b, i) => (i === at ? b ^ 0x04 : b))));
    wipe(ws);
    expectFresh(ws, MISS, `byte ${at}`);
    fs.writeFileSync(file, whole);
  }
  void random;
});

rule(100, 'Remote answers a key with another\'s bytes', {
  law: 'the key is in the artifact', breaks: 'accept any key', mutation: 'no-key-check',
}, () => {
  const ws = built();
  const first = artifactOf(ws, keyOf(ws));
  ws.write(`${A}/src/x`, 'two\n');
  const key = keyOf(ws);
  fs.copyFileSync(first, path.join(path.dirname(first), `${key}.tar.zst`));
  wipe(ws);
  expectFresh(ws, MISS);
});

rule(101, 'Poisoned artifact writes inputs, hooks, other projects', {
  law: 'every member must be a declared output', breaks: 'accept members that no glob selects', mutation: 'any-member',
}, () => {
  for (const name of ['project/src/x', 'project/package.json', 'project/vx.config.json', 'workspace/.git/hooks/post-commit', 'workspace/outside', 'workspace/packages/b/x', 'project/.vx/x',
    'project/dist/../src/x', 'project//abs', 'project/dist/.GIT/x', 'project/dist/node_modules/x', 'other/x', '.vx/other', '/abs', 'project/dist/./x', `project/dist/${'n'.repeat(256)}`]) {
    refusedArtifact([{ name, body: 'poison\n' }], name);
  }
  refusedArtifact([{ name: 'project/dist/a', kind: 'l', target: '..' }, { name: 'project/dist/a/src', body: 'poison' }], 'below a link');
  refusedArtifact([sound, sound], 'twice');
  refusedArtifact([{ name: 'project/dist/x', body: '1' }, { name: 'project/dist/x/y', body: '2' }], 'below a file');
  refusedArtifact([{ name: 'project/dist/z', body: '1' }, sound], 'out of order');
  for (const kind of ['h', 'p', 'c']) refusedArtifact([{ ...sound, kind, target: 'project/src/x' }], `kind ${kind}`);
  refusedArtifact([{ ...sound, mode: 0o4755 }], 'setuid');
  for (const target of ['/etc/passwd', '../../../../x', '../.git/x', '']) refusedArtifact([{ name: 'project/dist/l', kind: 'l', target }], `target ${target}`);
});

rule(102, 'Two entries equal in size, mode, mtime judged current', {
  law: 'inode and ctime, per checkout', breaks: 'judge by size, mode and mtime', mutation: 'no-stamps',
}, () => {
  const ws = built(cached('mkdir -p dist; cp src/x dist/x; touch -d @1000000000 dist/x'));
  ws.write(`${A}/src/x`, 'b\n');
  expectFresh(ws, MISS);
  for (const text of ['a\n', 'b\n', 'a\n']) {
    ws.write(`${A}/src/x`, text);
    expectFresh(ws, RESTORED, text);
    expectFresh(ws, HIT, text);
  }
});

rule(103, 'Stamp taken before the placing rename, or of a file that no longer equals its row', {
  law: 'taken after the rename, and only of what equals its row', breaks: 'stamp whatever lies there', mutation: 'stamp-anything',
}, async () => {
  const ws = built(cached('mkdir -p dist; cp src/x dist/x; touch -d @1000000000 dist/x'));
  wipe(ws);
  assert.equal(build(ws), RESTORED);
  assert.equal(build(ws), HIT, 'the stamps are those of the placed files');
  // Something rewrites the output between the pack and the stamp: the save waits for a lock that we hold meanwhile.
  await whileLocked(ws, async (release) => {
    const run = ws.start(['run', 'a#build', '--force']);
    await until(() => fs.readdirSync(storeDir(ws)).some((n) => n.startsWith('.tmp-') && fs.statSync(path.join(storeDir(ws), n)).size > 0), 'the pack');
    forge(ws, `${A}/dist/x`, 'z\n');
    release();
    assert.equal((await run.ended).status, 0);
  });
  expectFresh(ws, RESTORED, 'the rewritten output is not the entry\'s');
});

rule(104, 'Directory snapshot vouches for a stray or a missing file', {
  law: 'recorded only from a walk that equals the rows; any moved directory ends it', breaks: 'believe a snapshot without looking', mutation: 'snapshot-always',
}, async () => {
  const ws = built(making('cp ../src/x x; mkdir -p deep/er; echo 1 > deep/er/f'));
  for (const spoil of ['echo 1 > stray', 'echo 1 > deep/er/stray', 'mkdir deep/empty', 'ln -s x link', 'rm deep/er/f', 'mv deep other']) {
    await aged(ws, `${A}/dist/deep/er`);
    await aged(ws, `${A}/dist`);
    build(ws);
    assert.equal(build(ws), HIT);
    ws.sh(`cd ${A}/dist; ${spoil}`);
    assert.equal(build(ws), RESTORED, spoil);
    assert.deepEqual([ws.list(`${A}/dist`), ws.list(`${A}/dist/deep`), ws.list(`${A}/dist/deep/er`)], [['deep', 'x'], ['er'], ['f']], spoil);
  }
});

rule(105, 'Mode 000, mtime 0, before 1970, far future', {
  law: 'they round-trip', breaks: 'keep mtimes as unsigned nanoseconds',
}, () => roundTrip(single(making('echo 1 > m0; chmod 0 m0; for d in @0 "1960-05-05 01:02:03.5" 2300-01-01 "2242-12-31 23:59:59.999999999"; do echo 1 > "t$d"; touch -d "$d" "t$d"; done'))));

rule(106, 'Linked output root packed but not cleaned, or sources deleted through it', {
  law: 'links are outputs and never followed; a root that leads outside is refused', breaks: 'do not look at the roots', mutation: 'no-root-check',
}, () => {
  const ws = built();
  ws.sh(`mkdir ../elsewhere; echo mine > ../elsewhere/f; rm -rf ${A}/dist; ln -s ../../../elsewhere ${A}/dist`);
  for (const edit of [null, 'changed']) {
    if (edit) ws.write(`${A}/src/x`, edit);
    const r = ws.run(['a#build']);
    assert.equal(r.outcomes['a#build'], 'failed');
    assert.match(r.stderr, /dist/);
    assert.deepEqual(fs.readdirSync(`${ws.base}/elsewhere`), ['f']);
    assert.ok(fs.lstatSync(ws.path(`${A}/dist`)).isSymbolicLink());
  }
  ws.sh(`rm ${A}/dist; ln -s src ${A}/dist`);
  ws.run(['a#build']);
  assert.equal(ws.read(`${A}/src/x`), 'changed', 'sources behind a link stay');
});

rule(107, 'Restore writes through a link into sources', {
  law: 'no-follow writes', breaks: 'open parents through links',
}, () => {
  for (const edit of [false, true]) {
    const ws = built(making('mkdir -p rt; echo built > rt/x'));
    ws.sh(`cd ${A}; rm -rf dist/rt; ln -s ../src dist/rt`);
    if (edit) ws.write(`${A}/src/y`, '1');
    assert.equal(build(ws), edit ? MISS : RESTORED);
    assert.ok(fs.lstatSync(ws.path(`${A}/dist/rt`)).isDirectory());
    assert.equal(ws.read(`${A}/src/x`), 'a\n');
    assert.equal(ws.read(`${A}/dist/rt/x`), 'built\n');
  }
});

rule(108, 'Link expanded, emptied or dropped', {
  law: 'stored as a link', breaks: 'leave links out of the listing', mutation: 'no-output-links',
}, () => {
  const made = roundTrip(single(making('mkdir d; echo 1 > d/f; echo 2 > f; ln -s f file; ln -s d dir; ln -s nowhere dangling; ln -s zzz later; echo 3 > zzz; ln -s ../src/x up')));
  assert.deepEqual(['file', 'dir', 'dangling', 'later', 'up'].map((n) => made[n]), ['link f', 'link d', 'link nowhere', 'link zzz', 'link ../src/x']);
});

rule(109, 'Content stored both below a link and at its target, restore refuses for ever', {
  law: 'links are never descended', breaks: 'walk through links',
}, () => {
  // node_modules is reached by globs that name it alone, so `out/**` leaves out/node_modules to nobody and this layout names both.
  const task = cached('mkdir -p out/store/p out/node_modules; head -c 1000000 /dev/urandom > out/store/p/f; ln -s ../store/p out/node_modules/p; ln -s store/p out/direct', { outputs: ['out/**', 'out/node_modules/**'] });
  const ws = built(task);
  const made = tree(ws, `${A}/out`);
  assert.ok(fs.statSync(artifacts(ws)[0]).size < 1_200_000, 'the content is there once');
  wipe(ws, `${A}/out`);
  assert.equal(build(ws), RESTORED);
  assert.deepEqual(tree(ws, `${A}/out`), made);
  assert.equal(made['node_modules/p'], 'link ../store/p');
});

rule(110, 'Restored link dangles over undeclared files', {
  law: 'a linked root needs a declared target', breaks: 'store any linked root', mutation: 'any-root-link',
}, () => {
  const command = 'mkdir -p .o/p; cp src/x .o/p/x; rm -rf dist; ln -s .o/p dist';
  const ws = single(cached(command));
  const r = ws.run(['a#build']);
  assert.equal(r.status, 0);
  assert.match(r.stderr, /\.o\/p\/\*\*/);
  assert.equal(build(ws), MISS);
  const both = single(cached(command, { outputs: ['dist', '.o/p/**'] }));
  assert.equal(build(both), MISS);
  both.sh(`rm -rf ${A}/dist ${A}/.o`);
  expectFresh(both, RESTORED);
  assert.equal(fs.readlinkSync(both.path(`${A}/dist`)), '.o/p');
});

rule(111, 'User\'s link replaced on hits only', {
  law: 'one rule for miss and hit', breaks: 'look at the roots before a miss alone', mutation: 'no-root-check',
}, () => {
  const ws = built(cached('mkdir -p out/x; cp src/x out/x/f', { outputs: ['out/x/**'] }));
  ws.sh(`cd ${A}; rm -rf out; mkdir -p build/out; ln -s build/out out`);
  for (const edit of [false, true]) {
    if (edit) ws.write(`${A}/src/x`, 'edit');
    const r = ws.run(['a#build']);
    assert.equal(r.outcomes['a#build'], 'failed');
    assert.match(r.stderr, /build\/out\/x/);
    assert.ok(fs.lstatSync(ws.path(`${A}/out`)).isSymbolicLink());
  }
});

rule(112, 'Output globs reach `.git`, `node_modules`', {
  law: 'never; node_modules only by a glob that names it', breaks: 'let any glob reach node_modules', mutation: 'node-modules-outputs',
}, () => {
  const ws = single(cached('mkdir -p lib; cp src/x lib/x.js', { outputs: ['**/*.js'] }));
  ws.write('.gitignore', 'node_modules\n.vx\n*.js\n');
  const kept = [`${A}/node_modules/p/a.js`, `${A}/lib/node_modules/q/b.js`, `${A}/sub/.git/hooks/c.js`];
  for (const f of kept) ws.write(f, 'kept');
  for (const want of [MISS, HIT, RESTORED]) {
    if (want === RESTORED) ws.remove(`${A}/lib/x.js`);
    assert.equal(build(ws), want);
    for (const f of kept) assert.equal(ws.read(f), 'kept');
  }
  for (const glob of ['.git/**', '.vx/x', 'a/.git/x']) {
    ws.config('a', (c) => (c.tasks.build.cache.outputs.files = [glob]));
    refused(ws, ['a#build'], /outputs/);
  }
  const named = built(cached('mkdir -p node_modules/gen; cp src/x node_modules/gen/x', { outputs: ['node_modules/gen/**'] }));
  named.remove(`${A}/node_modules`);
  assert.equal(build(named), RESTORED);
  assert.equal(named.read(`${A}/node_modules/gen/x`), 'a\n');
});

rule(113, '`outputs: [\'**\']` deletes sources and config', {
  law: 'refused', breaks: 'accept outputs that cover the manifest or the config',
}, () => {
  const ws = single();
  for (const outs of [['**'], ['*'], ['**/*.json'], ['package.json'], ['vx.config.json'], ['**/*', '!src/**']]) {
    ws.config('a', (c) => (c.tasks.build.cache.outputs.files = outs));
    refused(ws, ['a#build'], /outputs/);
    assert.ok(ws.exists(`${A}/package.json`) && ws.exists(`${A}/src/x`));
  }
});

rule(114, 'Project output read back as workspace output', {
  law: 'separate prefixes and a column of their own', breaks: 'store both spaces under one name',
}, () => {
  const task = cached('mkdir -p dist ../../dist; echo project > dist/x; echo workspace > ../../dist/x');
  task.cache.outputs.workspaceFiles = ['dist/**'];
  const ws = built(task);
  for (const dir of [`${A}/dist`, 'dist']) wipe(ws, dir);
  assert.equal(build(ws), RESTORED);
  assert.deepEqual([ws.read(`${A}/dist/x`), ws.read('dist/x')], ['project\n', 'workspace\n']);
  assert.equal(build(ws), HIT);
  ws.write('dist/stray', '1');
  assert.equal(build(ws), RESTORED);
  assert.equal(ws.exists('dist/stray'), false);
});

rule(115, 'Overlapping outputs flip files between runs', {
  law: 'refused by path, subtree and witness; rebased to the root', breaks: 'accept overlaps',
}, () => {
  const pairs = [[['dist/**'], ['dist/**']], [['dist/**'], ['dist/js/*']], [['dist/x'], ['dist']], [['dist/*.js'], ['dist/x.*']], [['a/**/x'], ['a/b/*']]];
  for (const [one, two] of pairs) {
    for (const dependsOn of [undefined, ['one']]) {
      const ws = monorepo({ a: { tasks: { one: cached('true', { outputs: one }), two: cached('true', { outputs: two, dependsOn }) } } });
      refused(ws, ['a#one', 'a#two'], /a#one.*a#two|a#two.*a#one/);
    }
  }
  const ws = monorepo({ a: { tasks: { one: cached('true') } }, b: { tasks: { two: cached('true', { outputs: [] }) } } });
  ws.config('b', (c) => (c.tasks.two.cache.outputs.workspaceFiles = ['packages/a/dist/sub/**']));
  refused(ws, ['a#one', 'b#two'], /a#one.*b#two|b#two.*a#one/);
});

rule(116, 'Additive: removal undone by a hit, same-size rewrite lost, workspace additions cleaned by glob', {
  law: 'stamps say what a dependant added; only that is stored and cleaned, and a run that removes what it found stores nothing', breaks: 'take its globs for its own', mutation: 'no-clause-2',
}, () => {
  const ws = monorepo({
    a: { tasks: {
      one: cached('mkdir -p dist; cp src/x dist/x; echo 1 > dist/gone; printf aa > dist/same'), build: cached('rm -f dist/gone; printf bb > dist/same; cp src/x dist/added', { dependsOn: ['one'] }),
    } },
  }, { workspace: { rules: { exclusiveOutputs: false } } });
  const want = (text) => assert.deepEqual([ws.list(`${A}/dist`), dist(ws), dist(ws, 'added'), dist(ws, 'same')], [['added', 'same', 'x'], text, text, 'bb']);
  for (const text of ['A', 'B', 'A', 'A', 'B']) {
    ws.write(`${A}/src/x`, text);
    ws.run(['a#build']);
    want(text);
  }
  wipe(ws);
  ws.run(['a#build']);
  want('B');
  // Without the removal it is stored, and comes back over what the other has restored.
  ws.config('a', (c) => (c.tasks.build.exec.command = 'printf bb > dist/same; cp src/x dist/added'));
  const all = (text) => assert.deepEqual([ws.list(`${A}/dist`), dist(ws), dist(ws, 'added'), dist(ws, 'same')], [['added', 'gone', 'same', 'x'], text, text, 'bb']);
  for (const text of ['A', 'B']) {
    ws.write(`${A}/src/x`, text);
    ws.run(['a#build']);
    all(text);
  }
  wipe(ws);
  assert.equal(build(ws), RESTORED);
  all('B');
});

rule(118, 'Link inside a read grant, or a planted output link, pulls in a foreign file', {
  law: 'packing follows no link', breaks: 'store what a link leads to',
}, () => {
  const ws = single(making('ln -sf /etc/passwd stolen; ln -sf ../../../../outside far'));
  const r = ws.run(['a#build']);
  assert.equal(r.status, 0);
  assert.match(r.stderr, /dist\/(stolen|far)/);
  assert.equal(artifacts(ws).length, 0);
  const dir = built(making('mkdir real; echo 1 > real/f; ln -s ../src linked'));
  dir.write(`${A}/src/secret`, 'x'.repeat(100000));
  wipe(dir);
  dir.remove(`${A}/src/secret`);
  assert.equal(build(dir), RESTORED);
  assert.equal(fs.readlinkSync(dir.path(`${A}/dist/linked`)), '../src');
});

rule(119, 'Detached writer after exit', {
  law: 'not stored; caught while packing', breaks: 'list the outputs when the run ends',
}, async () => {
  const ws = single(cached('mkdir -p dist; cp src/x dist/x; (trap "" HUP TERM INT; while [ ! -e ../../go ]; do sleep 0.02; done; echo late > dist/late; : > ../../wrote) > /dev/null 2>&1 &'));
  assert.equal(build(ws), MISS);
  ws.write('go', '');
  await until(() => ws.exists('wrote') || Date.now() > fs.statSync(ws.path('go')).mtimeMs + 2000, 'the writer, if it lives');
  wipe(ws);
  expectFresh(ws, RESTORED);
  assert.deepEqual(ws.list(`${A}/dist`), ['x']);
  const busy = single(making('head -c 30000000 /dev/zero > big; (trap "" HUP TERM INT; i=0; while [ $i -lt 400 ]; do echo x >> big; i=$((i+1)); done) > /dev/null 2>&1 &'));
  const first = busy.run(['a#build']);
  wipe(busy);
  const second = busy.run(['a#build']);
  assert.ok(second.outcomes['a#build'] === MISS || !/still being written/.test(first.stderr));
});

rule(120, 'Store at the workspace root hides sources by `.gitignore`', {
  law: 'refused before anything is written', breaks: 'accept any directory',
}, () => {
  const ws = single();
  ws.write('holder/sub/package.json', '{"name":"h"}');
  for (const dir of ['.', A, '..', 'holder', '/', '']) {
    for (const run of [() => ws.run(['a#build', `--cache-dir=${dir}`]), () => (dir === '' ? null : ws.run(['a#build'], { env: { VX_CACHE_DIR: dir } }))]) {
      const r = run();
      if (r === null) continue;
      assert.equal(r.status, 1, `${dir}: ${r.text}`);
      assert.equal(ws.git('status', '--porcelain'), '?? holder/\n');
    }
  }
  assert.equal(ws.read('.gitignore'), 'node_modules/\n.vx/\ndist/\n');
});

rule(121, 'Additive restore leaves files of the other state', {
  law: 'strays are removed on every hit', breaks: 'leave strays', mutation: 'keep-strays',
}, () => {
  const ws = single();
  for (const [names, want] of [[['1', '2'], MISS], [['1'], MISS], [['1', '2'], RESTORED], [['1'], RESTORED]]) {
    ws.sh(`rm -rf ${A}/src`);
    for (const n of names) ws.write(`${A}/src/${n}`, n);
    ws.write(`${A}/dist/junk/deep`, 'junk');
    assert.equal(build(ws), want);
    assert.deepEqual(ws.list(`${A}/dist`), names);
  }
});

rule(122, 'Edited or deleted output not repaired', {
  law: 'a proof of the files and of their set', breaks: 'take a known key as proof', mutation: 'always-current',
}, () => {
  const ws = built(copyBuild(), { files: { 'src/y': 'yyyy' } });
  const good = tree(ws);
  for (const damage of ['echo edit > y', 'rm y', 'chmod 700 y', ': > y', 'rm y; ln -s x y', 'rm y; mkdir y', 'mkdir empty', 'touch y', 'rm -rf ../dist', 'rm -rf ../dist; echo 1 > ../dist']) {
    ws.sh(`cd ${A}/dist && ${damage}`);
    assert.equal(build(ws), RESTORED, damage);
    assert.deepEqual(tree(ws), good, damage);
    assert.equal(build(ws), HIT, damage);
  }
  forge(ws, `${A}/dist/y`, 'zzzz');
  assert.equal(build(ws), RESTORED);
  assert.deepEqual(tree(ws), good);
});

rule(123, 'Half-extracted tree after a failed restore', {
  law: 'staged and verified whole, then swapped', breaks: 'write members straight into the tree',
}, () => {
  const ws = built(cached('[ -z "$FAIL" ] && mkdir -p dist && cp src/x dist/a && cp src/x dist/z', { exec: { env: { passThrough: ['FAIL'] } } }));
  const key = keyOf(ws);
  dropRows(ws);
  wipe(ws);
  forgeArtifact(ws, key, 'a#build', [{ name: 'project/dist/a', body: 'forged' }, { name: 'project/dist/m', body: 'forged' }, { name: 'project/src/x', body: 'bad, and last' }]);
  assert.equal(ws.run(['a#build'], { env: { FAIL: '1' } }).outcomes['a#build'], 'failed');
  assert.deepEqual(ws.exists(`${A}/dist`) ? ws.list(`${A}/dist`) : [], []);
  assert.equal(build(ws), MISS);
  assert.deepEqual(ws.list(`${A}/dist`), ['a', 'z']);
  assert.equal(fs.existsSync(ws.path('.vx/stage')) ? fs.readdirSync(ws.path('.vx/stage')).length : 0, 0, 'nothing is left behind');
});

rule(124, 'Equal files collapse into one path', {
  law: 'rows and members by path', breaks: 'store equal content once',
}, () => {
  const made = roundTrip(single(making('for i in 1 2 3 4 5; do mkdir d$i; echo same > d$i/f; echo same > f$i; : > e$i; done; ln f1 hard')));
  assert.equal(Object.keys(made).filter((n) => made[n].endsWith('same\n')).length, 11);
});

rule(125, 'Empty file, empty directory, large file missing', {
  law: 'all stored; size changes no meaning', breaks: 'leave empty directories out', mutation: 'no-empty-dirs',
}, () => {
  const made = roundTrip(single(making(': > zero; mkdir -p empty/deeper; head -c 20000000 /dev/urandom > big; head -c 5000000 /dev/zero > zeros')));
  assert.ok('empty/deeper/' in made);
  assert.ok(made.big.length > 20000000);
});

rule(126, 'Read-only outputs block clean or restore', {
  law: 'made writable, modes reproduced', breaks: 'give up at the first EACCES', mutation: 'no-unlock',
}, () => {
  const ws = single(making('mkdir d; cp ../src/x d/f; chmod 444 d/f; chmod 555 d'));
  const run = () => asUser(ws, ['a#build']);
  assert.equal(run().outcomes['a#build'], MISS);
  const made = tree(ws);
  for (const [spoil, want] of [['chmod 700 dist/d', RESTORED], ['chmod 755 dist/d; rm -f dist/d/f; chmod 555 dist/d', RESTORED], ['chmod 755 dist/d; echo 1 > dist/d/stray; chmod 555 dist/d', RESTORED]]) {
    ws.sh(`cd ${A}; ${spoil}`);
    assert.equal(run().outcomes['a#build'], want, spoil);
    assert.deepEqual(tree(ws), made, spoil);
  }
  ws.write(`${A}/src/x`, 'edit');
  ws.sh(`chmod 0 ${A}/dist`);
  const miss = run();
  assert.equal(miss.outcomes['a#build'], MISS, miss.stderr);
  assert.equal(fs.statSync(ws.path(`${A}/dist`)).mode & 0o777, 0o755);
  assert.deepEqual(Object.values(tree(ws)).map((v) => v.split(' ')[1]), Object.values(made).map((v) => v.split(' ')[1]));
});

rule(127, 'mtimes differ between local, remote and copy paths', {
  law: 'one rule, one routine', breaks: 'leave the mtime of a restored file to the clock', mutation: 'no-utimens',
}, () => {
  const ws = built();
  const made = tree(ws);
  for (const how of ['restore', 'adoption', 'siblings']) {
    wipe(ws);
    if (how === 'adoption') dropRows(ws);
    if (how === 'siblings') {
      ws.sh('rm -rf .vx/stage; echo 1 > .vx/stage');
    }
    assert.equal(build(ws), RESTORED, how);
    assert.deepEqual(tree(ws), made, how);
  }
});

rule(128, 'Negated output wiped', {
  law: 'taken back from clean, save and restore', breaks: 'ignore negations of outputs', mutation: 'no-output-negation',
}, () => {
  const ws = single(cached('mkdir -p .next/cache; cp src/x .next/x; date +%s%N >> .next/cache/log; head -c 300000 /dev/urandom > .next/cache/big', { outputs: ['.next/**', '!.next/cache/**'] }), { git: false });
  ws.write('.gitignore', '.next\n.vx\n');
  ws.git('init', '-q');
  ws.commit();
  assert.equal(build(ws), MISS);
  assert.ok(fs.statSync(artifacts(ws)[0]).size < 100000);
  const kept = ws.read(`${A}/.next/cache/log`);
  ws.remove(`${A}/.next/x`);
  assert.equal(build(ws), RESTORED);
  assert.equal(ws.read(`${A}/.next/cache/log`), kept);
  ws.write(`${A}/src/x`, 'edit');
  assert.equal(build(ws), MISS);
  assert.ok(ws.read(`${A}/.next/cache/log`).startsWith(kept));
});

rule(129, 'Output outside the package accepted and not restored', {
  law: '`..` is refused, workspaceFiles is exact', breaks: 'accept globs that climb',
}, () => {
  const ws = single(cached('mkdir -p ../../shared/gen; cp src/x ../../shared/gen/x', { outputs: [] }));
  for (const glob of ['../../shared/gen/**', '../*/x', '/abs/x', 'a/../../x', '{../x,dist}/**']) {
    ws.config('a', (c) => (c.tasks.build.cache.outputs.files = [glob]));
    refused(ws, ['a#build'], /outputs\.files/);
  }
  ws.config('a', (c) => (c.tasks.build.cache.outputs = { files: [], workspaceFiles: ['shared/gen/**'] }));
  assert.equal(build(ws), MISS);
  ws.remove('shared');
  assert.equal(build(ws), RESTORED);
  assert.equal(ws.read('shared/gen/x'), 'a\n');
  ws.write('shared/gen/stray', '1');
  assert.equal(build(ws), RESTORED);
  assert.deepEqual(ws.list('shared/gen'), ['x']);
});

rule(130, 'Names that differ in case collide silently', {
  law: 'detected by the inode that was placed, both are named', breaks: 'do not compare inodes', mutation: 'no-case-check', skip: onLinux,
}, () => {
  const ws = built(making('echo upper > Foo; echo lower > foo'));
  wipe(ws);
  const r = ws.run(['a#build'], { env: shim({ SHIM_FOLD: 'Foo=foo' }) });
  assert.equal(r.outcomes['a#build'], MISS);
  assert.match(r.stderr, /Foo.*foo|foo.*Foo/);
});

rule(131, 'Declared output never produced, mute hit', {
  law: 'a line at the save and at each hit', breaks: 'say it at the save alone', mutation: 'mute-hit',
}, () => {
  const ws = single(cached('true', { outputs: ['dist/**', 'out'] }));
  for (const want of [MISS, HIT, HIT]) {
    const r = ws.run(['a#build']);
    assert.equal(r.outcomes['a#build'], want);
    assert.match(r.stderr, /cache\.outputs matched no files \(dist\/\*\*, out\)/);
  }
  const silent = single(cached('true', { outputs: [] }));
  assert.doesNotMatch(silent.run(['a#build']).stderr, /matched no files/);
});

rule(132, 'Two runs restore one `dist/`', {
  law: 'the run lock: one run at a time per root', breaks: 'take no lock', mutation: 'no-run-lock',
}, async () => {
  const ws = monorepo({ a: { tasks: { build: cached('mkdir -p dist; : > ../../inside; cp src/x dist/x; while [ ! -e ../../go ]; do sleep 0.02; done; rm ../../inside; cp src/x dist/y') } } });
  const first = ws.start(['run', 'a#build']);
  await until(() => ws.exists('inside'), 'the first run');
  const second = ws.start(['run', 'a#build', '--force']);
  await until(() => /wait/i.test(second.output()), 'the second run to say that it waits');
  assert.ok(ws.exists(`${A}/dist/x`));
  ws.write('go', '');
  for (const run of [first, second]) {
    const r = await run.ended;
    assert.equal(r.status, 0, r.stderr);
  }
  assert.deepEqual(ws.list(`${A}/dist`), ['x', 'y']);
});

rule(133, 'Hard link or in-place edit alters the stored entry', {
  law: 'nothing in the tree shares an inode with the store', breaks: 'link outputs out of the store',
}, () => {
  const ws = built(making('cp ../src/x x; head -c 100000 /dev/urandom > r'));
  const made = tree(ws);
  for (const spoil of ['printf junk >> x; printf junk >> r', 'ln x ../../../linked; : > ../../../linked']) {
    ws.sh(`cd ${A}/dist; ${spoil}`);
    wipe(ws);
    assert.equal(build(ws), RESTORED);
    assert.deepEqual(tree(ws), made);
    for (const f of storeFiles(ws)) assert.equal(fs.statSync(f).nlink, 1);
  }
});

rule(134, 'Crash or full disk leaves a truncated entry', {
  law: 'temporary names, the size in the row, the sum', breaks: 'write under the final name',
}, async () => {
  const ws = single(making('cp ../src/x x; head -c 400000 /dev/urandom > r'));
  for (let round = 0; round < 12; round++) {
    ws.write(`${A}/src/x`, `${round}`);
    const run = ws.start(['run', 'a#build']);
    await until(() => run.child.exitCode !== null || artifacts(ws).length > 0 || storeFiles(ws).some((f) => path.basename(f).startsWith('.tmp-')) || Math.random() < 0.05, 'some moment');
    run.child.kill('SIGKILL');
    await run.ended;
    const seen = ws.run(['a#build']);
    assert.equal(seen.status, 0, seen.stderr);
    assert.equal(dist(ws), `${round}`);
    assert.equal(fs.statSync(ws.path(`${A}/dist/r`)).size, 400000);
    wipe(ws);
    expectFresh(ws, RESTORED);
  }
  // A temporary is never an entry, and a short file under the right name is none.
  const key = keyOf(ws);
  const file = artifactOf(ws, key);
  const whole = fs.readFileSync(file);
  dropRows(ws);
  fs.writeFileSync(file, whole.subarray(0, whole.length / 2));
  fs.writeFileSync(path.join(path.dirname(file), '.tmp-host-1-abc'), whole);
  wipe(ws);
  expectFresh(ws, MISS);
});

rule(135, 'Fresh database beside an old `-wal`', {
  law: 'all three files are moved aside, under the lock', breaks: 'move the database alone',
}, () => {
  const ws = built();
  for (const name of ['store-1.db', 'index-1.db']) {
    const dir = name === 'store-1.db' ? storeDir(ws) : ws.path('.vx');
    for (let n = 1; n <= 3; n++) ws.write(`${A}/src/x`, `${name} ${n}`), build(ws);
    const file = path.join(dir, name);
    const wal = fs.existsSync(`${file}-wal`) ? fs.readFileSync(`${file}-wal`) : Buffer.alloc(0);
    fs.writeFileSync(`${file}-wal`, wal.length > 0 ? wal : 'an old log');
    fs.writeFileSync(file, 'garbage'.repeat(30));
    wipe(ws);
    const r = ws.run(['a#build']);
    assert.equal(r.status, 0, r.stderr);
    assert.equal(r.outcomes['a#build'], RESTORED, r.stderr);
    const bad = fs.readdirSync(dir).filter((n) => n.startsWith(`${name}`) && n.includes('.bad-'));
    assert.ok(bad.some((n) => n.includes('-wal') || n.endsWith('wal')), `${bad}`);
    wipe(ws);
    expectFresh(ws, RESTORED);
  }
});

rule(136, 'Other host\'s temporaries deleted by a wrong clock', {
  law: 'ages are measured on the directory\'s own clock', breaks: 'measure them on the local clock', mutation: 'prune-local-clock', skip: onLinux,
}, () => {
  const ws = built();
  const file = path.join(storeDir(ws), '.tmp-otherhost-1-0123456789abcdef');
  fs.writeFileSync(file, 'being written');
  const clock = `${ws.base}/clock`;
  fs.writeFileSync(clock, `${40 * 86400}`);
  ws.run(['a#build'], { env: shim({ SHIM_CLOCK: clock }) });
  ws.write(`${A}/src/x`, 'edit');
  ws.run(['a#build'], { env: shim({ SHIM_CLOCK: clock }) });
  assert.ok(fs.existsSync(file));
  fs.utimesSync(file, 0, 0);
  fs.writeFileSync(clock, `${90 * 86400}`);
  ws.write(`${A}/src/x`, 'edit 2');
  ws.run(['a#build'], { env: shim({ SHIM_CLOCK: clock }) });
  assert.ok(!fs.existsSync(file), 'an old one does go');
});

rule(137, 'Log replay differs (bytes lost, streams reordered)', {
  law: 'raw records in order', breaks: 'keep the streams apart',
}, () => {
  const ws = single(cached("for i in 1 2 3; do echo out $i; sleep 0.05; echo err $i >&2; sleep 0.05; done; printf 'nul\\000 bad\\377 end'", { outputs: [] }));
  const text = () => {
    const r = ws.vx(['run', 'a#build']).stdout;
    return r.slice(r.indexOf('out 1'), r.indexOf('└─')).trimEnd();
  };
  const live = text();
  assert.match(live, /^out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\nnul/);
  assert.equal(text(), live);
  assert.equal(text(), live);
});

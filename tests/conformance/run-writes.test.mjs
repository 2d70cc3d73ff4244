// What is written while a run goes on, and what may still be believed afterwards.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import {
  HIT, MISS, RESTORED, always, build, built, cached, copyBuild, dist, expectFresh, keyOf, monorepo, single, snapshot, storeFiles, until,
} from './lib/place.mjs';
import { rulesOf } from './lib/rule.mjs';

const rule = rulesOf(import.meta.url, 'Writes during the run');
const noOutputs = (command, more = {}) => cached(command, { outputs: [], ...more });
const copyX = (more = {}) => cached('mkdir -p dist; cp src/x dist/x', more);
const oneProject = (tasks, more = {}) => monorepo({ a: { tasks, ...more } }, more.workspace ? { workspace: more.workspace } : {});
const loose = { rules: { upfrontKeys: false } };
const X = 'packages/a/src/x';

/** Runs with the texts one after another; the output always is what the input is. */
function follow(ws, ids, texts, { put = (text) => ws.write('want', text), read = () => dist(ws), flags = [] } = {}) {
  for (const text of texts) {
    put(text);
    const r = ws.run([...ids, ...flags]);
    assert.equal(read(), text, `${text}\n${r.stderr}`);
  }
}

rule(71, 'Uncached generator writes a later task\'s input after it was keyed', {
  law: 'write reach makes readers unstable, facts are dropped', breaks: 'key readers of an uncached task\'s project up front', mutation: 'no-write-reach',
}, () => {
  const ws = oneProject({ gen: always('cat ../../want > src/x'), build: copyX({ dependsOn: ['gen'] }) });
  follow(ws, ['a#build'], ['A', 'A', 'B', 'B', 'A', 'A', 'B', 'B', 'B']);
  assert.equal(build(ws), HIT);
});

rule(72, 'Run-start listing, OIDs or manifest digest outlive a write', {
  law: 'the facts of the written project are dropped', breaks: 'keep the facts of the run\'s start', mutation: 'keep-facts',
}, () => {
  // `look` reads everything before `gen` has run, so that every fact is known by then.
  const ws = oneProject({
    look: noOutputs('true', { files: ['src/**', 'package.json'] }), gen: always('cat ../../want > src/x; cat ../../want > src/new; printf \'{"name":"a","version":"%s"}\' "$(cat ../../want)" > package.json', { dependsOn: ['look'] }),
    build: cached('mkdir -p dist; cat src/new package.json > dist/x', { dependsOn: ['gen'], inputs: { tasks: [] } }),
  });
  follow(ws, ['a#build'], ['A', 'A', 'B', 'B', 'A', 'B'], { read: () => dist(ws).slice(0, 1) });
  assert.equal(ws.read('packages/a/dist/x'), 'B{"name":"a","version":"B"}');
  ws.git('add', '-A');
  ws.git('commit', '-qm', 'all');
  follow(ws, ['a#build'], ['A', 'A', 'B', 'B', 'A'], { read: () => dist(ws).slice(0, 1) });
});

rule(73, 'Consumer keyed on a producer\'s outputs as they lay before it ran', {
  law: 'keys fold keys; a reader of a same-project output is unstable', breaks: 'fold the files that lie under the producer\'s outputs, up front', mutation: 'no-clause-1',
}, () => {
  const tasks = { gen: cached('cp ../../want b', { files: ['want'], outputs: ['b'] }), build: cached('mkdir -p dist; cp b dist/x', { files: ['b'], dependsOn: ['gen'], inputs: { tasks: [] } }) };
  tasks.gen.cache.inputs.workspaceFiles = ['want'];
  const ws = oneProject(tasks, { workspace: loose });
  follow(ws, ['a#build'], ['1', '2', '1', '2', '1']);
  ws.config('a', (c) => delete c.tasks.build.cache.inputs.tasks);
  follow(ws, ['a#build'], ['1', '2']);
  assert.equal(build(ws), HIT, 'stored under the key that execution derives');
  const strict = monorepo({ p: { tasks: { build: copyBuild() } }, a: { deps: ['p'], tasks: { build: cached('mkdir -p dist; cp ../p/dist/x dist/x', { dependsOn: ['^build'] }) } } });
  const key = strict.run(['a#build']).keys['a#build'];
  strict.remove('packages/p/dist');
  const second = strict.run(['a#build']);
  assert.equal(second.keys['a#build'], key);
  assert.equal(second.executed.length, 0);
});

rule(74, 'Formatter rewrites its input; stored under the unformatted key', {
  law: 'the truth check: what was written while the task ran is never stored', breaks: 'save without looking at the inputs again', mutation: 'no-truth-check',
}, () => {
  const ws = single(cached('mkdir -p dist; cat src/x > dist/x; echo formatted > src/x'));
  const first = ws.run(['a#build']);
  assert.match(first.stderr, /src\/x/);
  ws.write(X, 'a\n');
  assert.equal(build(ws), MISS, 'nothing lies under the text before');
});

/** A build that waits between reading and ending, so that a test can edit meanwhile. */
const waiting = (more = {}) => cached('mkdir -p dist; cp src/x dist/x; : > ../../started; while [ ! -e ../../go ]; do sleep 0.02; done', more);
async function editDuring(ws, ids, edit) {
  for (const name of ['started', 'go']) ws.remove(name);
  const run = ws.start(['run', ...ids]);
  await until(() => ws.exists('started'), 'the task to start');
  await edit();
  ws.write('go', '');
  return run.ended;
}

rule(75, 'User edits during the command', {
  law: 'the truth check', breaks: 'save without looking at the inputs again', mutation: 'no-truth-check',
}, async () => {
  const ws = single(waiting(), { git: false });
  ws.write('.gitignore', '.vx\ndist\n');
  const r = await editDuring(ws, ['a#build'], () => ws.write(X, 'edited\n'));
  assert.equal(r.status, 0);
  assert.match(r.stderr + r.stdout, /src\/x/);
  ws.write(X, 'a\n');
  assert.equal(build(ws), MISS);
  ws.write(X, 'edited\n');
  ws.write('go', '');
  expectFresh(ws, MISS);
});

rule(76, 'Edit and revert during the command', {
  law: 'any write at or after the describe counts', breaks: 'judge by bytes alone', mutation: 'by-bytes',
}, async () => {
  const ws = single(waiting());
  await editDuring(ws, ['a#build'], () => {
    ws.write(X, 'edited\n');
    ws.write(X, 'a\n');
  });
  assert.equal(build(ws), MISS);
});

rule(77, 'File added under a glob during the command', {
  law: 'the added-file check', breaks: 'check the listed files alone', mutation: 'no-added-files',
}, () => {
  for (const name of ['src/new', 'src/deep/er/new']) {
    const ws = single(cached(`mkdir -p dist "$(dirname ${name})"; ls src > dist/x; echo 1 > ${name}`));
    const r = ws.run(['a#build']);
    assert.match(r.stderr, /new/);
    ws.remove(`packages/a/${name}`);
    assert.equal(build(ws), MISS, name);
  }
  const literal = single(cached('mkdir -p dist; echo 1 > conf', { files: ['src/**', 'conf'] }));
  assert.match(literal.run(['a#build']).stderr, /conf/);
  literal.remove('packages/a/conf');
  assert.equal(build(literal), MISS);
  const scratch = single(cached('mkdir -p dist; echo > src/tmp.mjs; rm src/tmp.mjs'));
  build(scratch);
  assert.equal(build(scratch), HIT, 'what is gone again does not count');
});

rule(78, 'Cached rewriter ahead of a `tasks: []` reader', {
  law: 'a reader that folds no path to it is unstable', breaks: 'key it up front', mutation: 'no-clause-6',
}, () => {
  const ws = oneProject({ fmt: noOutputs('cp want src/x', { files: ['want'] }), build: copyX({ dependsOn: ['fmt'], inputs: { tasks: [] } }) });
  const put = (text) => ws.write('packages/a/want', text);
  for (const text of ['A', 'B', 'C', 'A', 'D', 'B']) {
    put(text);
    ws.run(['a#build']);
    assert.equal(dist(ws), ws.read(X), text);
  }
});

rule(79, 'A miss that saved nothing leaves old facts for later readers', {
  law: 'outputs are marked anyway', breaks: 'mark the outputs of saved tasks alone', mutation: 'no-marks',
}, () => {
  // `gen` is never stored (it rewrites an input); `look` makes every fact known before it runs.
  const ws = oneProject({
    look: noOutputs('true', { files: ['src/**', 'gen/**'] }),
    gen: cached('mkdir -p gen; cat src/x > gen/x; touch src/x', { outputs: ['gen/**'], dependsOn: ['look'] }),
    build: cached('mkdir -p dist; cp gen/x dist/x', { files: ['gen/**'], dependsOn: ['gen'], inputs: { tasks: [] } }),
  }, { workspace: loose });
  follow(ws, ['a#build'], ['A', 'A', 'B', 'B', 'A', 'B'], { put: (text) => ws.write(X, text), flags: ['--cache=local:rw'] });
  ws.config('a', (c) => (c.tasks.gen.exec.command = 'mkdir -p gen; cat src/x > gen/x'));
  follow(ws, ['a#build'], ['A', 'B', 'A'], { put: (text) => ws.write(X, text), flags: ['--cache=local:r'] });
  // Without a clean the command itself may remove an output: that is known, too.
  ws.config('a', (c) => {
    c.tasks.gen.exec.command = 'mkdir -p gen; if grep -q keep src/x; then echo > gen/old; else rm -f gen/old; fi; echo > gen/x';
    c.tasks.build.exec.command = 'mkdir -p dist; echo $(ls gen) > dist/x';
  });
  ws.write(X, 'keep');
  ws.run(['a#build']);
  assert.equal(dist(ws), 'old x\n');
  ws.write(X, 'drop');
  ws.run(['a#build', '--cache=local:r']);
  assert.equal(dist(ws), 'x\n');
});

rule(80, 'The clean\'s deletions not marked', {
  law: 'every wipe is', breaks: 'leave the removed paths unmarked', mutation: 'no-clean-marks',
}, () => {
  const ws = oneProject({
    look: noOutputs('true', { files: ['src/**', 'gen/**'] }),
    gen: cached('mkdir -p gen; for f in src/*; do cp $f gen/; done', { outputs: ['gen/**'], dependsOn: ['look'] }),
    build: cached('mkdir -p dist; ls gen > dist/x', { files: ['gen/**'], dependsOn: ['gen'], inputs: { tasks: [] } }),
  }, { workspace: loose });
  const list = (names) => {
    ws.sh('rm -rf packages/a/src');
    for (const n of names) ws.write(`packages/a/src/${n}`, n);
    ws.run(['a#build']);
    assert.equal(dist(ws), names.map((n) => `${n}\n`).join(''));
  };
  list(['1', '2']);
  list(['1']);
  assert.equal(build(ws), HIT, 'keyed on what was there');
  list(['1', '2', '3']);
  list(['1', '3']);
  assert.equal(build(ws), HIT);
});

rule(81, 'Workspace partition kept after an output write', {
  law: 'dropped', breaks: 'keep the workspace\'s table', mutation: 'no-marks',
}, () => {
  const ws = monorepo({
    g: { tasks: { look: noOutputs('true', { files: [], inputs: { workspaceFiles: ['packages/g/out/**', 'packages/g/src/**'] } }), gen: cached('mkdir -p out; cat src/x > out/x', { outputs: ['out/**'], dependsOn: ['look'] }) } },
    a: { tasks: { build: cached('mkdir -p dist; cp ../g/out/x dist/x', { files: [], dependsOn: ['g#gen'], inputs: { workspaceFiles: ['packages/g/out/**'], tasks: [] } }) } },
  }, { workspace: loose });
  follow(ws, ['a#build'], ['A', 'B', 'A', 'B', 'C'], { put: (text) => ws.write('packages/g/src/x', text) });
  assert.equal(build(ws), HIT);
});

rule(82, 'Generated `.gitignore` / `.gitattributes` changes set and trust', {
  law: 'facts below are dropped; readers are unstable', breaks: 'key readers up front, keep the facts', mutation: 'no-clause-9',
}, () => {
  const outs = [['src/.gitignore'], ['{gen,src/.gitignore}'], ['src/.git*'], ['src/{a,.gitignore}']];
  for (const globs of outs) {
    const ws = oneProject({
      gen: cached('cp want src/.gitignore', { files: ['want'], outputs: globs }),
      build: cached('mkdir -p dist; git ls-files -co --exclude-standard src/x src/y > dist/x', { files: ['src/x', 'src/y*'], dependsOn: ['gen'] }),
    }, { files: { 'src/y': '1', want: '# nothing\n' } });
    ws.sh('git rm -q --cached packages/a/src/y; git commit -qam untracked');
    for (const text of ['# nothing\n', '/y\n', '# nothing\n', '/y\n']) {
      ws.write('packages/a/want', text);
      ws.run(['a#build']);
      assert.equal(dist(ws).includes('src/y'), !text.includes('y'), `${globs} ${text}`);
    }
    assert.equal(build(ws), HIT, `${globs}`);
    ws.write('packages/a/want', '# nothing\n');
    assert.equal(ws.run(['a#build']).executed.length, 0, `stored under the key that execution derives: ${globs}`);
  }
});

rule(83, 'Probe answered before its upstream wrote', {
  law: 'answered after it, for that task alone', breaks: 'answer every probe at the start', mutation: 'no-clause-7',
}, () => {
  const make = (twin) => monorepo({
    g: { tasks: { gen: cached('cp want out', { files: ['want'], outputs: ['out'] }) }, files: { want: '0' } },
    a: { tasks: {
      build: cached('mkdir -p dist; cat ../g/out > dist/x', { dependsOn: ['g#gen'], inputs: { runtime: ['cat ../g/out'], tasks: [] } }),
      ...(twin ? { twin: noOutputs('true', { inputs: { runtime: ['cat ../g/out'] } }) } : {}),
    } },
  });
  for (const twin of [false, true]) {
    const ws = make(twin);
    ws.write('packages/g/out', '0');
    follow(ws, twin ? ['a#twin', 'a#build'] : ['a#build'], ['A', 'B', 'A', 'B', 'C'], { put: (text) => ws.write('packages/g/want', text) });
  }
});

rule(84, 'Upstream withheld its save, dependant saves over it', {
  law: 'unkeyed propagates', breaks: 'save whatever the upstream\'s key was worth', mutation: 'no-unkeyed',
}, () => {
  const ws = oneProject({
    build: cached('mkdir -p dist; cat src/x > dist/x; cat ../../next > src/x'), after: cached('mkdir -p out; cat dist/x > out/x', { files: [], outputs: ['out/**'], dependsOn: ['build'] }),
    last: noOutputs('true', { files: [], dependsOn: ['after'] }),
  });
  ws.write('next', 'b\n');
  ws.run(['a#last']);
  ws.write(X, 'a\n');
  assert.deepEqual(ws.run(['a#last']).executed, ['a#after', 'a#build', 'a#last']);
});

rule(85, 'Dependant runs on an aborted task\'s partial outputs', {
  law: 'aborted counts as failed', breaks: 'let dependants of an aborted task run',
}, async () => {
  for (const flags of [[], ['--continue=always']]) {
    const ws = oneProject({ build: waiting({ exec: {} }), after: always('touch ../../after', { dependsOn: ['build'] }) });
    const run = ws.start(['run', 'a#after', ...flags]);
    await until(() => ws.exists('started'), 'the task to start');
    run.child.kill('SIGINT');
    const r = await run.ended;
    assert.ok(r.status === 130 || r.signal === 'SIGINT', r.stderr);
    assert.equal(ws.exists('after'), false);
    ws.write('go', '');
    assert.equal(build(ws), MISS, 'and nothing was stored');
  }
});

rule(86, '`--continue` stores what a failed upstream fed', {
  law: 'taint: neither it nor what builds on it is saved', breaks: 'save tainted results', mutation: 'no-taint',
}, () => {
  const ws = oneProject({
    gen: cached('mkdir -p gen; cat ../../part > gen/x; [ ! -e ../../fail ]', { outputs: ['gen/**'] }), build: cached('mkdir -p dist; cat gen/x > dist/x', { files: [], dependsOn: ['gen'] }),
    next: noOutputs('true', { files: [], dependsOn: ['build'] }),
  });
  ws.write('part', 'half');
  ws.write('fail', '');
  assert.deepEqual(ws.run(['a#next', '--continue=always']).outcomes, { 'a#gen': 'failed', 'a#build': MISS, 'a#next': MISS });
  ws.remove('fail');
  ws.write('part', 'whole');
  assert.deepEqual(ws.run(['a#next']).executed, ['a#build', 'a#gen', 'a#next']);
  assert.equal(dist(ws), 'whole');
  // Also when the key does not fold the upstream.
  ws.config('a', (c) => (c.tasks.build.cache.inputs = { files: [], tasks: [] }));
  ws.write('part', 'half');
  ws.write('fail', '');
  ws.run(['a#build', '--continue=always', '--force']);
  ws.remove('fail');
  ws.write('part', 'whole');
  assert.equal(build(ws, ['--force']) && dist(ws), 'whole');
  ws.write('part', 'half');
  ws.write('fail', '');
  ws.config('a', (c) => (c.tasks.build.description = 'a key of its own'));
  ws.run(['a#build', '--continue=always', '--force']);
  assert.equal(dist(ws), 'half');
  ws.remove('fail');
  ws.write('part', 'whole');
  assert.equal(build(ws), MISS, 'nothing was stored behind the failure');
});

rule(87, 'Restore beside a sibling\'s clean', {
  law: 'writes are tested as well as reads: a task that shares outputs waits for its turn', breaks: 'let it hit ahead of its dependencies', mutation: 'no-clause-2',
}, () => {
  const ws = oneProject({
    one: cached('mkdir -p dist; cp src/x dist/one'), build: cached('mkdir -p dist; cat dist/one > dist/x; cp src/x dist/two', { dependsOn: ['one'] }),
  }, { workspace: { rules: { exclusiveOutputs: false } } });
  for (const text of ['A', 'B', 'A', 'A', 'B']) {
    ws.write(X, text);
    ws.run(['a#build']);
    assert.deepEqual(['one', 'two', 'x'].map((n) => dist(ws, n)), [text, text, text]);
  }
  ws.remove('packages/a/dist');
  ws.run(['a#build']);
  assert.deepEqual(ws.list('packages/a/dist'), ['one', 'two', 'x']);
});

rule(88, 'Workspace output lands in any project', {
  law: 'reachable projects and their dependants are unstable and out of the tier', breaks: 'key them up front', mutation: 'no-clause-4',
}, () => {
  const ws = monorepo({
    g: { tasks: { gen: cached('mkdir -p ../a/got; cp src/x ../a/got/x', { outputs: [] }) } },
    a: { tasks: { build: cached('mkdir -p dist; cp got/x dist/x', { files: ['got/**'], dependsOn: ['g#gen'], inputs: { tasks: [] } }) } },
  }, { workspace: loose });
  ws.config('g', (c) => (c.tasks.gen.cache.outputs = { files: [], workspaceFiles: ['packages/a/got/**'] }));
  follow(ws, ['a#build'], ['A', 'B', 'A', 'B', 'C'], { put: (text) => ws.write('packages/g/src/x', text) });
  assert.equal(build(ws), HIT);
});

rule(89, 'Cancelled or signalled task that exits 0 is stored', {
  law: 'not stored', breaks: 'judge by the exit code alone', mutation: 'signalled-passes',
}, async () => {
  const ws = single(cached("trap 'exit 0' INT TERM; mkdir -p dist; echo half > dist/x; : > ../../started; while :; do sleep 0.02; done", { inputs: {} }));
  const run = ws.start(['run', 'a#build']);
  await until(() => ws.exists('started'), 'the task to start');
  run.child.kill('SIGINT');
  await run.ended;
  ws.config('a', (c) => c);
  assert.equal(ws.plan(['a#build']).status['a#build'], 'miss');
  assert.equal(storeFiles(ws, '.tar.zst').length, 0);
});

rule(90, 'One-shot run trusts a watcher\'s view', {
  law: 'it never does', breaks: 'believe entries that a monitor marked unchanged', mutation: 'trust-index',
}, () => {
  const ws = built();
  ws.write('hook.sh', "#!/bin/sh\nprintf 'token\\0'\n", 0o755);
  ws.git('config', 'core.fsmonitor', ws.path('hook.sh'));
  ws.git('update-index', '--fsmonitor', '--untracked-cache');
  ws.git('status');
  ws.git('update-index', '--fsmonitor-valid', X);
  for (const text of ['edited 1\n', 'edited 2\n']) {
    ws.write(X, text);
    assert.equal(ws.git('status', '--porcelain', '--', X), '', 'git sees no change');
    expectFresh(ws, MISS);
  }
});

rule(91, 'Status query writes state, the real run is skipped', {
  law: 'reading verbs write nothing that decides', breaks: 'record what a plan found as done',
}, () => {
  const ws = built(copyX());
  ws.write(X, 'edited\n');
  const stable = () => Object.fromEntries(Object.entries(snapshot(`${ws.base}/home`)).filter(([k]) => !/-(shm|wal)$/.test(k)));
  const before = stable();
  for (const args of [['run', 'a#build', '--dry'], ['run', 'a#build', '--dry=json'], ['show'], ['show', 'a#build'], ['run', 'a#build', '--dry', '--force']]) assert.equal(ws.vx(args).status, 0);
  assert.deepEqual(stable(), before);
  assert.equal(ws.plan(['a#build']).status['a#build'], 'miss');
  expectFresh(ws, MISS);
});

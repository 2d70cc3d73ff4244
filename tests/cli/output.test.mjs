import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import test from 'node:test';
import { always, cached, cleanEnv, copyBuild, monorepo, single, until, vxBin } from './lib/workspace.mjs';

const head = (text) => text.slice(0, text.indexOf('─ vx '));

test('focused: the requested task streams in a frame, its dependency is silent, the footer is last', () => {
  const ws = monorepo({ app: { deps: ['lib'], tasks: { build: always('echo app says', { dependsOn: ['^build'] }) } }, lib: { tasks: { build: always('echo lib says') } } });
  const r = ws.vx(['run', 'build'], { cwd: 'packages/app' });
  assert.equal(r.status, 0, r.text);
  assert.match(r.stdout, /^┌─ app#build > \$ echo app says\n\napp says\n\n└─ app#build ── \(\d+ms\) success\n\n─ vx /);
  assert.ok(!r.stdout.includes('lib says'));
  assert.match(r.stdout, / {2}result {4}2 tasks · 2 no-cache · \S+\n$/);
  assert.equal(r.stderr, '');
});

test('broad: executed tasks are rows, hits are silent', () => {
  const ws = monorepo({ a: { tasks: { build: copyBuild() } }, b: { tasks: { build: copyBuild() } } });
  const cold = ws.vx(['run', 'build', '--all']);
  assert.match(cold.stdout, /^ ⏺︎ {2,}\S+ success miss {5}[ab]#build$/m);
  const warm = ws.vx(['run', 'build', '--all']);
  assert.equal(head(warm.stdout), '');
  assert.match(warm.stdout, /2 tasks · all cached/);
});

test('the footer has its lines in order and bars of fifty cells', () => {
  const ws = monorepo({ a: { tasks: { build: copyBuild() } }, b: { tasks: { build: always('exit 3') } }, c: {} });
  const r = ws.vx(['run', 'build', '--all', '--continue', '--concurrency', '2']);
  assert.equal(r.status, 1);
  const lines = r.stdout.slice(r.stdout.indexOf('─ vx ')).split('\n');
  assert.equal([...lines[0]].length, 62);
  assert.match(lines[1], /^ {2}projects {2}[▰▱]{50}$/u);
  assert.match(lines[2], /^ {12}2 in run · \d total$/);
  assert.match(lines[3], /^ {2}tasks {5}▰{50}$/u);
  assert.equal(lines[4], '            1 failed · 1 success · 2 total');
  assert.match(lines[5], /^ {2}cache {5}▰{50}$/u);
  assert.equal(lines[6], '            1 miss · 1 no-cache');
  assert.equal(lines[7], '');
  assert.match(lines[8], /^ {2}info {6}2 workers · local cache$/);
  assert.match(lines[9], /^ {2}time {6}\S+ · max \S+ · avg \S+ · min \S+$/);
  assert.match(lines[10], /^ {2}result {4}2 tasks · 1 failed · 0 cached \(0%\) · 1 no-cache · \S+$/);
  assert.deepEqual(lines.slice(11), ['']);
});

test('a failing dependency is a row now and a frame above the footer', () => {
  const ws = monorepo({ app: { deps: ['lib'], tasks: { build: always('true', { dependsOn: ['^build'] }) } }, lib: { tasks: { build: always('echo broken; exit 2') } } });
  for (const args of [['run', 'app#build'], ['run', 'build', '--all']]) {
    const r = ws.vx(args);
    assert.equal(r.status, 1);
    const text = head(r.stdout);
    assert.match(text, /^ ◼︎ .* failed {2}no-cache lib#build$/m);
    assert.match(text, /^ ⊘ .* skipped .* app#build • blocked by lib#build$/m);
    assert.match(text, /┌─ lib#build > failed \(exit 2\)\n\n\$ echo broken; exit 2\n\n├─ OUTPUT ─{50}\n\nbroken\n\n└─ lib#build ── \(\S+\) failed \(exit 2\)\n\n$/);
    assert.ok(text.indexOf('◼') < text.indexOf('┌─'));
  }
});

test('a skip names the root failure through skips and groups', () => {
  const ws = monorepo({
    a: { tasks: { x: always('exit 1'), g: { dependsOn: ['x'] }, y: always('true', { dependsOn: ['g'] }), z: always('true', { dependsOn: ['y'] }), w: always('true', { dependsOn: ['z'] }) } },
  });
  const r = ws.vx(['run', 'a#w']);
  for (const task of ['y', 'z', 'w']) assert.match(r.stdout, new RegExp(`skipped .* a#${task} • blocked by a#x$`, 'm'));
  assert.ok(!r.stdout.includes('a#g'));
});

test('output modes: full, errors-only, hash-only, none', () => {
  const ws = monorepo({ a: { tasks: { build: cached('mkdir -p dist; echo built; echo x > dist/x') } }, b: { tasks: { build: always('echo bad; exit 1') } } });
  const mode = (m) => head(ws.vx(['run', 'build', '--all', '--continue', '--output-logs', m]).stdout);
  ws.vx(['run', 'build', '--all', '--continue']);
  assert.match(mode('full'), /┌─ a#build > up-to-date • [0-9a-f]{8}\n\n├─ OUTPUT .*\n\nbuilt\n/);
  const errors = mode('errors-only');
  assert.ok(errors.includes('┌─ b#build > failed (exit 1)') && !errors.includes('a#build'));
  assert.match(mode('hash-only'), /^up-to-date a#build [0-9a-f]{32}$/m);
  assert.match(mode('hash-only'), /^failed b#build/m);
  assert.equal(mode('none'), '');
});

test('CI shows full frames whatever was selected; CI=0 and CI=false do not count', () => {
  const ws = monorepo({ a: { tasks: { build: always('echo hi') } } });
  assert.match(ws.vx(['run', 'build', '--all'], { env: { CI: '1' } }).stdout, /┌─ a#build > success/);
  for (const CI of ['0', 'false']) assert.ok(!ws.vx(['run', 'build', '--all'], { env: { CI } }).stdout.includes('┌─'));
});

test('two tasks printing at once come as whole blocks', () => {
  const chatty = (word) => always(`for i in 1 2 3 4 5 6 7 8; do echo ${word} $i; sleep 0.02; done`);
  const ws = monorepo({ a: { tasks: { t: chatty('aa') } }, b: { tasks: { t: chatty('bb') } } });
  const r = ws.vx(['run', 't', '--all', '--output-logs=full', '--concurrency=2']);
  const words = [...r.stdout.matchAll(/^(aa|bb) \d$/gm)].map((m) => m[1]).join('');
  assert.ok(words === 'aa'.repeat(8) + 'bb'.repeat(8) || words === 'bb'.repeat(8) + 'aa'.repeat(8), words);
});

test('one requested task streams before it ends', async () => {
  const ws = monorepo({ a: { tasks: { t: always('echo first; while [ ! -e go ]; do sleep 0.02; done; echo second') } } });
  const run = ws.start(['run', 'a#t']);
  await until(() => /^first$/m.test(run.output()), 'the first line while the task runs');
  assert.ok(!/^second$/m.test(run.output()));
  ws.write('packages/a/go', '');
  const r = await run.ended;
  assert.equal(r.status, 0);
  assert.match(r.stdout, /first\nsecond\n/);
});

test('plain output has no escapes although tasks may colour; FORCE_COLOR keeps them, NO_COLOR beats it', () => {
  const ws = monorepo({ a: { tasks: { t: always("printf '\\033[31mred\\033[0m\\n'") } } });
  assert.ok(!ws.vx(['run', 'a#t']).stdout.includes('\x1b'));
  assert.ok(ws.vx(['run', 'a#t'], { env: { FORCE_COLOR: '1' } }).stdout.includes('\x1b[31mred'));
  assert.ok(!ws.vx(['run', 'a#t'], { env: { FORCE_COLOR: '1', NO_COLOR: '1' } }).stdout.includes('\x1b'));
});

test('a closed reader changes nothing: the run finishes, saves and exits with its own code', () => {
  const ws = monorepo({ a: { tasks: { build: cached('mkdir -p dist; seq 1 20000; echo x > dist/x') } } });
  const r = spawnSync('sh', ['-c', `{ "${vxBin}" run a#build; echo $? > status; } | head -n 1 >/dev/null`], { cwd: ws.dir, env: cleanEnv(ws.base), encoding: 'utf8' });
  assert.equal(r.stderr, '');
  assert.equal(ws.read('status'), '0\n');
  assert.deepEqual(ws.run(['a#build']).outcomes, { 'a#build': 'up-to-date' });
});

test('stdout closed from the start is no error either', () => {
  const ws = single();
  const r = spawnSync('sh', ['-c', `"${vxBin}" run a#build >&-`], { cwd: ws.dir, env: cleanEnv(ws.base), encoding: 'utf8' });
  assert.equal(r.status, 0, r.stderr);
  assert.deepEqual(ws.run(['a#build']).outcomes, { 'a#build': 'up-to-date' });
});

test('with --format json stdout is one document and the frames are on stderr', () => {
  const ws = monorepo({ a: { tasks: { t: always('echo says') } } });
  const r = ws.run(['a#t']);
  assert.equal(r.stdout.trim().split('\n').length, 1);
  assert.match(r.stderr, /says\n/);
  assert.match(r.stderr, /─ vx /);
  assert.deepEqual(Object.keys(r.doc), ['runId', 'ok', 'exitCode', 'startedAt', 'endedAt', 'totalMs', 'savedMs', 'tasks', 'aborted', 'summary']);
  assert.equal(r.doc.tasks.length, r.doc.summary.total);
  assert.equal(r.doc.exitCode, r.status);
});

test('verbosity adds a table, summarize writes the document', () => {
  const ws = single();
  const r = ws.vx(['run', 'a#build', '--verbosity', '1', '--summarize=out/s.json']);
  assert.match(r.stdout, /^TASK +STATUS +DURATION\na#build +success +\S+\n\n─ vx/m);
  assert.equal(JSON.parse(ws.read('out/s.json')).ok, true);
  ws.vx(['run', 'a#build', '--summarize']);
  const [file] = ws.list('.vx/runs');
  assert.match(file, /^[0-9a-f-]{36}\.json$/);
});

test('on a terminal a region stands below the text while tasks run, and is gone at the end', { skip: spawnSync('script', ['--version']).status !== 0 && 'script is not here' }, () => {
  const ws = monorepo({ a: { tasks: { t: always('sleep 0.6') } }, b: { tasks: { t: always('sleep 0.6; exit 3') } } });
  const r = spawnSync('script', ['-qec', `"${vxBin}" run t --all`, '/dev/null'], { cwd: ws.dir, env: cleanEnv(ws.base, { TERM: 'xterm' }), encoding: 'utf8' });
  assert.equal(r.status, 1);
  assert.match(r.stdout, /\x1b\[\d+A\x1b\[J/);
  const footer = r.stdout.slice(r.stdout.indexOf('─ vx 0'));
  assert.ok(footer.length > 0 && !footer.includes('\x1b[J'));
  const dumb = ws.vx(['run', 't', '--all']);
  assert.ok(!dumb.stdout.includes('\x1b'));
});

test('ids that are not UTF-8 never make stdout invalid', () => {
  const ws = monorepo({ a: { tasks: { build: cached('mkdir -p dist; ls src') }, } });
  ws.sh("printf x > \"packages/a/src/$(printf 'bad\\377')\"");
  const r = spawnSync(vxBin, ['run', 'a#build', '--format', 'json'], { cwd: ws.dir, env: cleanEnv(ws.base) });
  assert.equal(r.status, 0);
  assert.equal(Buffer.compare(Buffer.from(r.stdout.toString('utf8')), r.stdout), 0);
  JSON.parse(r.stdout.toString('utf8'));
});

test('forwarded arguments reach requested tasks and show on the command line', () => {
  const ws = monorepo({ app: { deps: ['lib'], tasks: { t: always('echo app', { dependsOn: ['^t'] }) } }, lib: { tasks: { t: always('echo "$# lib" > seen') } } });
  const r = ws.vx(['run', 'app#t', '--', '--help', 'a b', "it's"]);
  assert.match(r.stdout, /> \$ echo app --help 'a b' 'it'\\''s'\n\napp --help a b it's\n/);
  assert.equal(ws.read('packages/lib/seen'), '0 lib\n');
});

import assert from 'node:assert/strict';
import fs from 'node:fs';
import test from 'node:test';
import { always, bare, copyBuild, monorepo, single } from './lib/workspace.mjs';

const two = () => monorepo({ app: { deps: ['lib'], tasks: { build: copyBuild({ dependsOn: ['^build'] }), test: always('true') } }, lib: { tasks: { build: copyBuild() } } });

test('version prints itself and nothing else, inside and outside a workspace', () => {
  const ws = bare();
  for (const args of [['version'], ['--version']]) {
    const r = ws.vx(args);
    assert.equal(r.status, 0);
    assert.match(r.stdout, /^vx \d+\.\d+\.\d+\S*\n$/);
    assert.equal(r.stderr, '');
  }
  const extra = ws.vx(['version', 'now']);
  assert.equal(extra.status, 1);
  assert.match(extra.stderr, /^vx version: unexpected word: now \(see `vx version --help`\)\n$/);
  assert.equal(ws.vx(['-V']).status, 1);
});

test('help is the same by flag and by verb, for every verb', () => {
  const ws = bare();
  const general = ws.vx(['help']).stdout;
  assert.equal(ws.vx(['--help']).stdout, general);
  assert.equal(ws.vx(['-h']).stdout, general);
  const verbs = [...general.matchAll(/^ {2}vx (\w+)/gm)].map((m) => m[1]);
  assert.ok(verbs.includes('run') && verbs.includes('show') && verbs.includes('help') && verbs.includes('version'));
  for (const verb of new Set(verbs)) {
    const text = ws.vx(['help', verb]).stdout;
    assert.ok(text.includes(`vx ${verb}`));
    assert.equal(ws.vx([verb, '--help']).stdout, text);
    assert.equal(ws.vx([verb, '-h']).stdout, text);
  }
});

test('an unlisted flag is refused with the verb pointer on every verb', () => {
  const ws = single();
  for (const verb of ['run', 'show', 'help', 'version']) {
    const r = ws.vx([verb, '--bogus-flag']);
    assert.equal(r.status, 1);
    assert.equal(r.stdout, '');
    assert.equal(r.stderr, `vx ${verb}: unknown flag: --bogus-flag (see \`vx ${verb} --help\`)\n`);
  }
});

test('bare vx is help in a workspace and a refusal outside', () => {
  assert.equal(single().vx([]).status, 0);
  const ws = bare();
  const outside = ws.vx([]);
  assert.equal(outside.status, 1);
  assert.equal(outside.stdout, '');
  assert.match(outside.stderr, /^vx: /);
});

test('hints: a near flag, no guess for a far one, a task typed as a verb', () => {
  const ws = two();
  assert.match(ws.vx(['run', 'build', '--retries', '2']).stderr, /unknown flag: --retries \(did you mean --retry\?\)/);
  assert.match(ws.vx(['show', '--jsom']).stderr, /unknown flag: --jsom \(see/);
  assert.match(ws.vx(['show', '--json']).stderr, /did you mean --format json\?/);
  assert.match(ws.vx(['biuld']).stderr, /vx run build/);
  assert.match(ws.vx(['build']).stderr, /`vx run build --all`/);
  assert.match(ws.vx(['build'], { cwd: 'packages/lib' }).stderr, /`vx run build`/);
  assert.match(ws.vx(['build', 'app']).stderr, /`vx run build --filter app`/);
  assert.match(ws.vx(['app#build']).stderr, /`vx run app#build`/);
  for (const args of [['biuld'], ['build'], ['zzzz'], ['run-many'], ['daemon']]) assert.equal(ws.vx(args).status, 1);
});

test('run without a name lists the tasks here, or all', () => {
  const ws = two();
  assert.match(ws.vx(['run'], { cwd: 'packages/app' }).stderr, /missing task name; app has build, test/);
  assert.match(ws.vx(['run']).stderr, /missing task name; there are build, test/);
  assert.equal(ws.run([]).code, 'VX_E_USAGE');
});

test('optional values need their equals sign; empty means bare where it may', () => {
  const ws = two();
  ws.commit();
  const r = ws.vx(['run', '--affected', 'build']);
  assert.equal(r.status, 0, r.text);
  assert.equal(ws.vx(['run', 'build', '--affected=']).status, 0);
  assert.match(ws.vx(['run', 'build', '--retry=']).stderr, /--retry needs a value/);
  assert.match(ws.vx(['run', 'build', '--filter=']).stderr, /--filter needs a value/);
});

test('a refusal with JSON asked is one document on stdout and the same line on stderr', () => {
  const ws = single();
  const cases = [
    [['run', 'biuld', '--all'], 'VX_E_UNKNOWN_TASK'],
    [['run', 'build', '--filter', 'nope'], 'VX_E_UNKNOWN_PROJECT'],
    [['run', 'build', '--bogus'], 'VX_E_USAGE'],
    [['show', 'nope'], 'VX_E_UNKNOWN_PROJECT'],
    [['zzzz'], 'VX_E_UNKNOWN_COMMAND'],
  ];
  for (const [args, code] of cases) {
    const plain = ws.vx(args);
    const json = ws.vx([...args, '--format', 'json']);
    assert.equal(json.status, 1);
    const doc = JSON.parse(json.stdout);
    assert.deepEqual(Object.keys(doc), ['ok', 'error'], args.join(' '));
    assert.equal(doc.ok, false);
    assert.equal(doc.error.code, code, args.join(' '));
    assert.equal(json.stderr, plain.stderr);
    assert.equal(plain.stdout, '');
    assert.equal(json.stdout.split('\n').length, 2);
  }
});

test('no workspace has its code', () => {
  const ws = bare();
  const r = ws.vx(['run', 'build', '--format=json']);
  assert.equal(r.status, 1);
  assert.equal(JSON.parse(r.stdout).error.code, 'VX_E_NO_WORKSPACE');
});

test('spellings of other runners are read or refused, never dropped', () => {
  const ws = two();
  assert.deepEqual(ws.run(['-t', 'build', '-p', 'lib']).outcomes, { 'lib#build': 'executed' });
  assert.deepEqual(ws.run(['build', '-F', 'lib', '--skip-nx-cache']).outcomes, { 'lib#build': 'executed' });
  assert.deepEqual(ws.run(['build', '-r', '--exclude', 'app']).outcomes, { 'lib#build': 'up-to-date' });
  assert.equal(ws.vx(['run', 'build', '--all', '--dry-run']).status, 0);
  for (const flag of ['--scope=x', '--since=main', '--no-daemon', '--token=x', '--verbose', '--parallel']) {
    const r = ws.vx(['run', 'build', '--all', flag]);
    assert.equal(r.status, 1);
    assert.match(r.stderr, /is not a vx flag/);
  }
});

test('show: the list, a project, a task, a task everywhere, and their documents', () => {
  const ws = monorepo({
    app: { deps: ['lib'], tasks: { build: copyBuild({ dependsOn: ['^build'], description: 'Makes it' }) }, config: { tags: ['web'] } },
    lib: { tasks: { build: copyBuild(), ci: { dependsOn: ['build'] } } },
  });
  const list = ws.vx(['show']);
  assert.equal(list.status, 0);
  assert.match(list.stdout, /^app +packages\/app +1 task +\[web\]$/m);
  assert.match(list.stdout, /^lib +packages\/lib +2 tasks$/m);
  const doc = JSON.parse(ws.vx(['show', '--format', 'json']).stdout);
  assert.deepEqual(doc.map((p) => Object.keys(p)), doc.map(() => ['name', 'dir', 'tags', 'tasks']));
  assert.match(ws.vx(['show', 'app']).stdout, /^app — packages\/app\n/);
  assert.match(ws.vx(['show', 'app']).stdout, /command +mkdir -p dist/);
  assert.match(ws.vx(['show', 'lib']).stdout, /command +\(group\)/);
  assert.deepEqual(Object.keys(JSON.parse(ws.vx(['show', 'app', '--format=json']).stdout)), ['name', 'dir', 'config']);
  const one = JSON.parse(ws.vx(['show', 'app#build', '--format=json']).stdout);
  assert.deepEqual(Object.keys(one), ['name', 'dir', 'task', 'config']);
  assert.equal(one.config.description, 'Makes it');
  assert.equal(JSON.parse(ws.vx(['show', 'build', '--format=json']).stdout).length, 2);
  assert.match(ws.vx(['show', 'biuld']).stderr, /build/);
  assert.equal(ws.vx(['show', 'biuld']).status, 1);
  assert.equal(ws.vx(['show', '']).status, 1);
});

test('reading verbs write nothing below the root and the store', () => {
  const ws = two();
  for (const args of [['show'], ['show', 'app', '--format=json'], ['help'], ['version'], ['biuld']]) ws.vx(args);
  assert.equal(ws.exists('.vx'), false);
  assert.deepEqual(fs.readdirSync(`${ws.base}/home`), []);
  assert.equal(ws.git('status', '--porcelain'), '');
});

// What a key contains.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { HIT, MISS, RESTORED, always, bare, build, built, cached, checkout, cleanEnv, copyBuild, dist, expectFresh, keyOf, monorepo, refused, single, tool, trustworthy } from './lib/place.mjs';
import { rulesOf } from './lib/rule.mjs';

const rule = rulesOf(import.meta.url, 'Key content');
const noOutputs = (command, more = {}) => cached(command, { outputs: [], ...more });

rule(1, 'Unset and empty variable keyed alike', {
  law: 'absent, empty and unlisted are three states with tags of their own', breaks: 'fold an unset variable as an empty value', mutation: 'unset-is-empty',
}, () => {
  const ws = single(cached('mkdir -p dist; echo "[${API-unset}]" > dist/x', { inputs: { env: ['API'] }, exec: { env: { passThrough: ['API'] } } }));
  const states = [[undefined, '[unset]\n'], ['', '[]\n'], ['x', '[x]\n']];
  for (const want of [MISS, RESTORED]) {
    for (const [API, text] of states) {
      assert.equal(build(ws, [], { env: { API } }), want);
      assert.equal(dist(ws), text);
    }
  }
  const listed = keyOf(ws);
  ws.config('a', (c) => (c.tasks.build.cache.inputs.env = []));
  assert.notEqual(keyOf(ws), listed);
});

rule(2, 'Joined texts ambiguous', {
  law: 'every item is tag, length, bytes', breaks: 'leave the length out of the framing', mutation: 'no-lengths',
}, () => {
  const ws = single(copyBuild());
  const forwards = [[], ['a bc'], ['a', 'bc'], ['ab', 'c'], ['abc'], ['a', 'b', 'c'], ['a', '', 'bc'], ['']];
  const keys = new Set(forwards.map((words) => keyOf(ws, words.length ? ['--', ...words] : [])));
  assert.equal(keys.size, forwards.length);
  // What one stream ends with and the other begins with, around bytes that look like the tag between them.
  const probes = ["printf 'a\\022\\000b'; printf c >&2", "printf a; printf 'b\\022\\000c' >&2"];
  const split = probes.map((text) => {
    ws.write('probe.sh', `${text}\n`);
    ws.config('a', (c) => (c.tasks.build.cache.inputs.runtime = ['sh ../../probe.sh']));
    return keyOf(ws);
  });
  assert.notEqual(split[0], split[1]);
});

rule(3, 'Hash state cut between parts merges chains', {
  law: 'one streaming 128-bit state; golden vectors are never edited', breaks: 'finish the hash with half of its state', mutation: 'half-hash',
  skip: process.arch !== 'x64' || process.platform !== 'linux' ? 'the vector is of linux-x64' : false,
}, () => {
  const ws = bare();
  ws.write('vx.workspace.json', { projects: ['packages/*'] });
  ws.write('packages/a/vx.config.json', { name: 'a', tasks: { build: { exec: { command: 'true' }, cache: { inputs: { files: ['src/**'], env: ['API', 'MODE'] }, outputs: { files: ['dist/**'] } } } } });
  ws.write('packages/a/src/x', '1\n');
  assert.equal(keyOf(ws, [], { env: { MODE: '' } }), '318e9fc70b7482a14f6aae60f17d3d30');
});

rule(4, 'Narrow globs miss package.json changes', {
  law: 'the project manifest is always folded', breaks: 'fold no manifest', mutation: 'no-manifest',
}, () => {
  const ws = built();
  ws.write('packages/a/package.json', { name: 'a', version: '2.0.0' });
  assert.equal(build(ws), MISS);
  ws.write('packages/a/package.json', { name: 'a', version: '3.0.0' });
  ws.write('.gitignore', 'node_modules/\n.vx/\ndist/\npackages/a/package.json\n');
  ws.sh('git rm -q --cached packages/a/package.json');
  assert.equal(build(ws), MISS, 'also when git ignores it');
});

rule(5, '`--` arguments ignored', {
  law: 'arguments are folded, for requested tasks alone', breaks: 'fold no arguments', mutation: 'no-forward',
}, () => {
  const ws = monorepo({
    a: { deps: ['b'], tasks: { build: cached('p() { mkdir -p dist; echo "$@" > dist/x; }; p', { dependsOn: ['^build'] }) } }, b: { tasks: { build: copyBuild() } },
  });
  for (const [words, want] of [[['one'], MISS], [['two'], MISS], [['one'], RESTORED]]) {
    const r = ws.run(['a#build', '--', ...words]);
    assert.equal(r.outcomes['a#build'], want);
    assert.equal(dist(ws), `${words}\n`);
  }
  const [plain, with1] = [ws.plan(['a#build']).keys, ws.plan(['a#build', '--', 'one']).keys];
  assert.equal(plain['b#build'], with1['b#build']);
  assert.notEqual(plain['a#build'], with1['a#build']);
});

rule(6, '`chmod +x`, or a file swapped for a link with the same text, keeps the key', {
  law: 'identities carry the mode', breaks: 'leave the mode prefix out of identities', mutation: 'no-mode',
}, () => {
  const ws = built(cached('mkdir -p dist; stat -c %a src/x > dist/mode'));
  fs.chmodSync(ws.path('packages/a/src/x'), 0o755);
  assert.equal(build(ws), MISS);
  assert.equal(dist(ws, 'mode'), '755\n');
  fs.chmodSync(ws.path('packages/a/src/x'), 0o644);
  assert.equal(build(ws), RESTORED);
  const text = ws.read('packages/a/src/x');
  ws.remove('packages/a/src/x');
  fs.symlinkSync(text, ws.path('packages/a/src/x'));
  assert.equal(build(ws), MISS);
});

rule(7, 'The same under `core.fileMode=false`', {
  law: 'a trusted id keeps its id, the mode comes from the disk', breaks: 'take the mode of the index', mutation: 'index-mode',
}, async () => {
  const ws = built(cached('mkdir -p dist; stat -c %a src/x > dist/mode'));
  ws.git('config', 'core.fileMode', 'false');
  fs.chmodSync(ws.path('packages/a/src/x'), 0o755);
  ws.git('add', 'packages/a/src/x');
  await trustworthy(ws, 'packages/a/src/x');
  assert.equal(build(ws), MISS);
  assert.equal(dist(ws, 'mode'), '755\n');
});

rule(8, 'Link keyed by its target\'s bytes, or lost', {
  law: 'a link folds its text', breaks: 'leave links out of the set',
}, () => {
  const ws = single(cached('mkdir -p dist; readlink src/l > dist/l', { files: ['src/**'] }), { files: { 'other/t': '1', 'other/u': '1' } });
  fs.symlinkSync('../other/t', ws.path('packages/a/src/l'));
  assert.equal(build(ws), MISS);
  ws.write('packages/a/other/t', 'edited behind the link');
  assert.equal(build(ws), HIT);
  for (const target of ['../other/u', '../nowhere', '../other']) {
    ws.remove('packages/a/src/l');
    fs.symlinkSync(target, ws.path('packages/a/src/l'));
    assert.equal(build(ws), MISS, target);
    assert.equal(dist(ws, 'l'), `${target}\n`);
  }
});

rule(9, 'Unknown config field dropped, task keyed as if absent', {
  law: 'unknown fields are refused at every level', breaks: 'let an object with unknown fields pass',
}, () => {
  const levels = [
    (c) => (c.taks = {}), (c) => (c.tasks.build.dependOn = []), (c) => (c.tasks.build.exec.comand = 'x'), (c) => (c.tasks.build.exec.env = { pass: [] }),
    (c) => (c.tasks.build.cache.input = {}), (c) => (c.tasks.build.cache.inputs.file = []), (c) => (c.tasks.build.cache.outputs.dirs = []),
    (c) => (c.tasks.build.cache.inputStability = { stratgy: 'mutable' }),
  ];
  const ws = single();
  const sound = ws.read('packages/a/vx.config.json');
  for (const spoil of levels) {
    ws.write('packages/a/vx.config.json', sound);
    ws.config('a', spoil);
    refused(ws, ['a#build'], /packages\/a\/vx\.config\.json/);
  }
  ws.write('packages/a/vx.config.json', sound);
  ws.write('vx.workspace.json', { concurency: 1 });
  refused(ws, ['a#build'], /concurency/);
});

rule(10, 'Values that JSON loses', {
  law: 'refused at load with their place', breaks: 'serialise the config with JSON.stringify and accept the result',
}, () => {
  const ws = single();
  ws.remove('packages/a/vx.config.json');
  for (const value of ['() => 1', 'Symbol("s")', '10n', 'NaN', 'Infinity', 'new Date(0)', '[undefined]', '"\\ud800"', 'Object.defineProperty({}, "g", { enumerable: true, get: () => 1 })']) {
    ws.write('packages/a/vx.config.mjs', `export default { tasks: { build: { description: ${value}, exec: { command: 'true' }, cache: { inputs: { files: [] }, outputs: { files: [] } } } } };\n`);
    refused(ws, ['a#build'], /description/);
  }
  ws.remove('packages/a/vx.config.mjs');
  ws.write('packages/a/vx.config.json', '{"tasks":{"build":{"exec":{"command":"true","command":"false"}}}}');
  refused(ws, ['a#build'], /command/);
});

rule(11, 'Misspelt or `^`-less entry in `inputs.tasks`, or a list that opens with `!`, folds nothing', {
  law: 'exact entries must be named by dependsOn; a list that opens with a negation is refused', breaks: 'accept entries that no dependsOn names',
}, () => {
  const ws = monorepo({ a: { deps: ['b'], tasks: { build: copyBuild({ dependsOn: ['^build'] }) } }, b: { tasks: { build: copyBuild() } } });
  for (const tasks of [['build'], ['^bild'], ['c#build'], ['!^x'], ['!^build']]) {
    ws.config('a', (c) => (c.tasks.build.cache.inputs.tasks = tasks));
    refused(ws, ['a#build'], /inputs\.tasks/);
  }
});

rule(12, 'Patterns in `inputs.tasks` taken literally', {
  law: 'one matcher serves the fold and every reader of the list', breaks: 'compare entries as text',
}, () => {
  const ws = monorepo({ a: { deps: ['b', 'c'], tasks: { build: copyBuild({ dependsOn: ['^build'] }) } }, b: { tasks: { build: copyBuild() } }, c: { tasks: { build: copyBuild() } } });
  const moves = (tasks, edited) => {
    ws.config('a', (c) => (c.tasks.build.cache.inputs.tasks = tasks));
    const before = keyOf(ws);
    ws.write(`packages/${edited}/src/x`, `${Math.random()}`);
    return keyOf(ws) !== before;
  };
  for (const [tasks, b, c] of [[['^bui*'], true, true], [['^*'], true, true], [['b#*'], true, false], [['*#build', '!c#build'], true, false], [['^*', '!^b*'], false, false], [[], false, false]]) {
    assert.deepEqual([moves(tasks, 'b'), moves(tasks, 'c')], [b, c], JSON.stringify(tasks));
  }
});

rule(13, 'Dropped dependencies leave the key', {
  law: 'keys follow dependsOn, whatever runs; what folds a dropped task is not saved', breaks: 'save what folds a dropped dependency', mutation: 'save-dropped',
}, () => {
  const make = () => monorepo({ a: { deps: ['b'], tasks: { build: cached('mkdir -p dist; cat ../b/dist/x > dist/x', { dependsOn: ['^build'] }) } }, b: { tasks: { build: copyBuild() } } });
  const ws = make();
  ws.write('packages/b/dist/x', 'stale\n');
  const r = ws.run(['a#build', '--exclude-dependencies']);
  assert.equal(r.outcomes['a#build'], MISS);
  assert.equal(dist(ws), 'stale\n');
  assert.equal(r.keys['a#build'], keyOf(ws));
  assert.equal(build(ws), MISS);
  assert.equal(dist(ws), 'b\n');
  assert.equal(build(ws, ['--exclude-dependencies']), HIT);
});

rule(14, 'Dependants of a server not keyed on its sources', {
  law: 'a server is keyed over its whole project', breaks: 'key a server without files',
}, () => {
  const ws = monorepo({ s: { tasks: { serve: { exec: { command: 'echo up; exec sleep 1000', persistent: { readyWhen: 'up' } } } } }, a: { tasks: { build: noOutputs('true', { dependsOn: ['s#serve'] }) } } });
  assert.equal(build(ws), MISS);
  assert.equal(build(ws), HIT);
  ws.write('packages/s/any/file', 'edited');
  assert.equal(build(ws), MISS);
});

rule(15, 'Two derivations give one task two keys', {
  law: 'one fold for the plan, the up-front pass and execution', breaks: 'let the plan fold without the upstream keys',
}, () => {
  const ws = monorepo({
    a: { deps: ['b', 'c'], tasks: { build: copyBuild({ dependsOn: ['^build', 'gen', 'all'] }), gen: always('true'), all: { dependsOn: ['check'] }, check: noOutputs('true') } },
    b: { deps: ['c'], tasks: { build: copyBuild({ dependsOn: ['^build'], inputs: { runtime: ['echo 1'], env: ['X'] } }) } }, c: {},
  });
  const cold = ws.plan(['a#build']).keys;
  const lazy = ws.run(['a#build', '--force']).keys;
  const warm = ws.plan(['a#build']).keys;
  const early = ws.run(['a#build']).keys;
  for (const id of Object.keys(lazy)) for (const keys of [cold, warm, early]) assert.equal(keys[id], lazy[id], id);
  assert.ok(Object.keys(lazy).length >= 4);
});

rule(16, 'Config-less package consumed as source is in no key', {
  law: 'a keyed implicit build; ^ passes through packages without the task', breaks: 'give implicit builds no files',
}, () => {
  const ws = monorepo({
    a: { deps: ['lib'], tasks: { build: cached('mkdir -p dist; cat ../lib/src/x ../deep/src/x > dist/x', { dependsOn: ['^build'] }) } },
    lib: { deps: ['mid'] }, mid: { deps: ['deep'], tasks: { test: noOutputs('true') } }, deep: {},
  });
  build(ws);
  for (const name of ['lib', 'deep']) {
    ws.write(`packages/${name}/src/x`, 'edited\n');
    assert.equal(build(ws), MISS, name);
  }
  assert.equal(dist(ws), 'edited\nedited\n');
});

rule(17, 'Probe runs with another PATH than the task', {
  law: 'the same bin directories lead', breaks: 'run probes with the PATH of vx', mutation: 'probe-path',
}, () => {
  const ws = single(cached('mkdir -p dist; mytool > dist/x', { inputs: { runtime: ['mytool'] } }));
  const tool1 = (where, text) => ws.write(`${where}node_modules/.bin/mytool`, `#!/bin/sh\necho ${text}\n`, 0o755);
  for (const [where, text] of [['', 'root 1'], ['', 'root 2'], ['packages/a/', 'own 1'], ['packages/a/', 'own 2']]) {
    tool1(where, text);
    assert.equal(build(ws), MISS, text);
    assert.equal(dist(ws), `${text}\n`);
  }
  ws.config('a', (c) => (c.tasks.build.cache.inputs = { files: [], workspaceRuntime: ['mytool'] }));
  const before = keyOf(ws);
  tool1('packages/a/', 'own 3');
  assert.equal(keyOf(ws), before, 'the project\'s tool is not the root\'s');
  tool1('', 'root 3');
  assert.notEqual(keyOf(ws), before);
});

rule(18, 'Probe streams concatenated, or decoded lossily', {
  law: 'two items; output that is not UTF-8 fails the task', breaks: 'fold both streams as one', mutation: 'probe-streams',
}, () => {
  const ws = single(noOutputs('true', { inputs: { runtime: ['sh ../../p.sh'] } }));
  const keys = ['echo ab', 'echo ab >&2', 'echo a; echo b >&2', 'printf ""'].map((text) => {
    ws.write('p.sh', text);
    return keyOf(ws);
  });
  assert.equal(new Set(keys).size, 4);
  ws.write('p.sh', "printf '\\377'");
  assert.equal(build(ws), 'failed');
});

rule(19, 'Failing probe hashed as an empty value', {
  law: 'the task that declares it fails, before its command', breaks: 'take a failed probe\'s output as its value', mutation: 'probe-may-fail',
}, () => {
  for (const probe of ['exit 3', 'kill -9 $$', 'no-such-program']) {
    const ws = monorepo({
      a: { tasks: { build: noOutputs('touch ran', { inputs: { runtime: [probe] } }), next: noOutputs('touch next', { dependsOn: ['build'] }) } },
      b: { tasks: { other: noOutputs('true') } },
    });
    const r = ws.run(['a#next', 'b#other']);
    assert.deepEqual(r.outcomes, { 'a#build': 'failed', 'a#next': 'skipped', 'b#other': MISS });
    assert.match(r.stderr, new RegExp(probe.split(' ')[0]));
    assert.ok(!ws.exists('packages/a/ran'));
    const on = ws.run(['a#next', '--continue=always']);
    assert.equal(on.outcomes['a#next'], MISS);
    assert.equal(ws.run(['a#next', '--continue=always']).outcomes['a#next'], MISS, 'behind it nothing is stored');
  }
});

rule(20, 'Blank probe folds nothing', {
  law: 'refused at load', breaks: 'accept blank commands',
}, () => {
  const ws = single();
  for (const field of ['runtime', 'workspaceRuntime']) {
    for (const text of ['', '  \t']) {
      ws.config('a', (c) => (c.tasks.build.cache.inputs = { files: ['src/**'], [field]: [text] }));
      refused(ws, ['a#build'], new RegExp(field));
    }
  }
});

rule(21, 'Remote child sees a variable the local child does not', {
  law: 'one environment, made from the declaration, wherever the task runs', breaks: 'let exec.remote change the environment or the key',
}, () => {
  const seen = [false, true].map((remote) => {
    const ws = single(cached('mkdir -p dist; env | sort > dist/env', { exec: { remote, env: { define: { D: '1' }, passThrough: ['P'] } } }));
    const r = ws.run(['a#build'], { env: { P: 'p', OTHER: 'o' } });
    return [r.keys['a#build'], dist(ws, 'env').replaceAll(ws.base, 'BASE')];
  });
  assert.deepEqual(seen[0], seen[1]);
  assert.ok(!seen[0][1].includes('OTHER'));
});

rule(22, 'Undeclared variable reaches the child, or an `.env` file is loaded by the runner', {
  law: 'isolation is complete, nothing is loaded', breaks: 'hand the child the whole environment', mutation: 'leaky-env',
}, () => {
  const ws = built(cached('mkdir -p dist; echo "[$API][$DOT]" > dist/x'));
  ws.write('.env', 'DOT=1\n');
  ws.write('packages/a/.env', 'DOT=1\n');
  assert.equal(build(ws, [], { env: { API: 'stage' } }), HIT);
  assert.equal(build(ws, ['--force'], { env: { API: 'stage' } }), MISS);
  assert.equal(dist(ws), '[][]\n');
});

rule(23, 'Result crosses OS or CPU', {
  law: 'a platform item unless portable; keyed groups never have it', breaks: 'fold no platform', mutation: 'no-platform',
}, () => {
  const on = (ws, platform) => {
    const r = spawnSync(tool('conformance-platform'), [ws.dir, platform], { encoding: 'utf8', env: cleanEnv(ws.base) });
    assert.equal(r.status, 0, r.stderr);
    return JSON.parse(r.stdout).tasks.find((t) => t.id === 'a#build').hash;
  };
  for (const portable of [false, true]) {
    const ws = monorepo({ a: { deps: ['lib'], tasks: { build: copyBuild({ dependsOn: ['^build'], cache: { portable } }) } }, lib: {} });
    const keys = new Set(['linux-x64', 'darwin-x64', 'linux-arm64'].map((p) => on(ws, p)));
    assert.equal(keys.size, portable ? 1 : 3, `portable: ${portable}`);
  }
});

rule(24, 'Program config read the environment or a file its bytes do not show', {
  law: 'the evaluated object is keyed', breaks: 'key the config file\'s bytes',
}, () => {
  const ws = single();
  ws.remove('packages/a/vx.config.json');
  ws.write('packages/a/vx.config.mjs', `import fs from 'node:fs';
const word = fs.readFileSync(new URL('./word', import.meta.url), 'utf8').trim();
export default { tasks: { build: { exec: { command: \`mkdir -p dist; echo \${word} \${process.env.API} > dist/x\` }, cache: { inputs: { files: [] }, outputs: { files: ['dist/**'] } } } } };\n`);
  for (const [API, word, want] of [['1', 'w', MISS], ['2', 'w', MISS], ['2', 'v', MISS], ['1', 'w', RESTORED]]) {
    ws.write('packages/a/word', word);
    assert.equal(build(ws, [], { env: { API } }), want);
    assert.equal(dist(ws), `${word} ${API}\n`);
  }
});

rule(25, 'Declared variables dropped beyond some number', {
  law: 'all are folded', breaks: 'fold the first sixteen', mutation: 'sixteen-variables',
}, () => {
  const names = Array.from({ length: 40 }, (_, i) => `V${i}`);
  const ws = single(noOutputs('true', { inputs: { env: names } }));
  const keys = new Set([keyOf(ws)]);
  for (const name of names) keys.add(keyOf(ws, [], { env: { [name]: '1' } }));
  assert.equal(keys.size, 41);
});

rule(26, 'Parallel start folds or runs another task\'s fields', {
  law: 'no shared mutable state in fold or spawn', breaks: 'share one command text between workers',
}, () => {
  const names = Array.from({ length: 60 }, (_, i) => `p${i}`);
  const ws = monorepo(Object.fromEntries(names.map((n) => [n, { tasks: { build: cached(`mkdir -p dist; echo ${n} $ME $VX_RUN_TASK > dist/x`, { exec: { env: { define: { ME: n } } } }) } }])));
  for (let round = 0; round < 3; round++) {
    const r = ws.run(['build', '--all', '--force', '--concurrency', '32']);
    for (const n of names) assert.equal(ws.read(`packages/${n}/dist/x`), `${n} ${n} ${n}#build\n`);
    assert.equal(r.executed.length, 60);
  }
  assert.equal(ws.run(['build', '--all']).executed.length, 0);
});

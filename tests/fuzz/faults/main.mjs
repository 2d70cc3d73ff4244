// The fault sweep: each file-system call that a save, a restore, an eviction or the history makes below the store, `.vx` and the
// outputs fails once. A green task stays green, a fault of the tree fails the task by name, nothing wrong is ever left, and the next
// run without faults is right.
//   node main.mjs [--sample N] [--seed S] [--scenario NAME] [--keep]
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Random } from '../keys/random.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const buildDir = path.resolve(process.env.VX_BUILD_DIR ?? path.join(here, '../../../build'));
const vxBin = path.resolve(process.env.VX_BIN ?? path.join(buildDir, 'vx'));
const shim = path.join(buildDir, 'tests/fuzz/faults/vx-faults.so');
const integrity = path.join(buildDir, 'tests/fuzz/faults/vx-fuzz-integrity');

// A memory file system where there is one: thousands of fsyncs prove nothing here.
const scratch = fs.existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir();
const base = fs.realpathSync(fs.mkdtempSync(path.join(scratch, 'vx-faults-')));
const live = path.join(base, 'live');
const root = path.join(live, 'ws');
const store = path.join(live, 'store');
const faultLog = path.join(base, 'log');

const sh = (script) => {
  const r = spawnSync('sh', ['-ec', script], { cwd: base, encoding: 'utf8', env: environment() });
  if (r.status !== 0) throw new Error(`${script}\n${r.stderr}`);
  return r.stdout;
};
function environment(extra = {}) {
  return { PATH: process.env.PATH, HOME: base, TMPDIR: base, LANG: 'C.UTF-8', GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null', VX_CACHE_DIR: '../store', ...extra };
}
function vx(faults = {}) {
  return spawnSync(vxBin, ['run', 'a#build', 'b#test', '--format', 'json', '--output-logs', 'full'],
    { cwd: root, encoding: 'utf8', maxBuffer: 64 << 20, env: environment(faults), timeout: 300_000 });
}
const write = (name, text) => {
  fs.mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
  fs.writeFileSync(path.join(root, name), typeof text === 'string' ? text : JSON.stringify(text));
};

// Workspaces ------------------------------------------------------------------------------------------------------------------

const COMMAND = 'mkdir -p dist/empty dist/ro; cat src/x > dist/x; chmod 755 dist/x; echo r > dist/ro/r; chmod 444 dist/ro/r; chmod 555 dist/ro; ln -s x dist/ln; head -c 300000 /dev/zero > dist/big; echo built';
function fresh() {
  sh(`test ! -e live || chmod -R u+rwX live; rm -rf live; mkdir -p live/ws`);
  write('package.json', { name: 'root', workspaces: ['packages/*'] });
  write('packages/a/package.json', { name: 'a' });
  write('packages/a/src/x', 'one\n');
  write('packages/a/vx.config.json', { tasks: { build: { exec: { command: COMMAND }, cache: { inputs: { files: ['src/**'] }, outputs: { files: ['dist/**'] } } } } });
  write('packages/b/package.json', { name: 'b', dependencies: { a: '*' } });
  write('packages/b/vx.config.json', { tasks: { test: { exec: { command: 'cat ../a/dist/x; head -c 100000 /dev/zero | tr "\\0" x' }, dependsOn: ['^build'], cache: { inputs: { files: ['src/**'] }, outputs: { files: [] } } } } });
  sh('cd live/ws && git init -q . && git add -A && git -c user.name=t -c user.email=t@example.invalid commit -qm start');
}
function good() {
  const r = vx();
  if (r.status !== 0) throw new Error(`a run without faults: ${r.status ?? r.signal}\n${r.stderr}`);
  return JSON.parse(r.stdout);
}
const edit = () => write('packages/a/src/x', 'two\n');

/** What is on disk when the faulted run starts. `again`: a run right before it, so that nothing is left to do. */
const SCENARIOS = {
  create: { prepare: () => {} },
  save: { prepare: () => (good(), edit()) },
  save_again: { prepare: () => (good(), sh('rm live/store/*.zst')) },
  restore: { prepare: () => (good(), sh('chmod -R u+w live/ws/packages/a/dist; rm -rf live/ws/packages/a/dist')) },
  restore_over: {
    prepare: () => (good(), edit(), good(), write('packages/a/src/x', 'one\n'), sh('cd live/ws/packages/a/dist && mkdir -p stray/deep ln2 && echo s > stray/deep/s && rm ln && mkdir ln && echo y > ln/y')),
  },
  nothing: { prepare: () => good(), again: true },
  evict: { prepare: () => (write('vx.workspace.json', { cacheRetention: { maxSize: '1K' } }), good(), edit()) },
  adopt: { prepare: () => (good(), sh('rm live/store/store-1.db*; chmod -R u+w live/ws/packages/a/dist; rm -rf live/ws/packages/a/dist')) },
  damaged: { prepare: () => (good(), sh('for f in live/store/*.zst; do printf zz | dd of="$f" bs=1 seek=60 conv=notrunc 2>/dev/null; done; chmod -R u+w live/ws/packages/a/dist; rm -rf live/ws/packages/a/dist')) },
  lost_index: { prepare: () => (good(), sh('head -c 100 live/ws/.vx/index-1.db > live/i; cat live/i > live/ws/.vx/index-1.db; rm -f live/ws/.vx/index-1.db-*; rm live/i')) },
};

function reset(name) {
  sh(`test ! -e live || chmod -R u+rwX live; rm -rf live; cp -a template-${name} live`);
}
function makeTemplate(name) {
  fresh();
  SCENARIOS[name].prepare();
  sh(`rm -rf template-${name}; cp -a live template-${name}`);
}

/** The mode of the kept root aside: the clean opens it to its owner when it cannot be read. */
function snapshot() {
  return sh(`cd live/ws/packages/a && test -d dist && find dist -mindepth 1 -printf '%y %m %p %l\\n' 2>/dev/null | sort && cat dist/x dist/ro/r && wc -c < dist/big`);
}

// Cases -----------------------------------------------------------------------------------------------------------------------

const KINDS = [
  ['EIO', 5], ['ENOSPC', 28], ['EACCES', 13], ['EMFILE', 24], ['ENOMEM', 12], ['short', 'short'],
  ['ENOSPC from then on', 28, true], ['EIO from then on', 5, true], ['EROFS', 30],
];
const preload = (extra) => ({
  LD_PRELOAD: shim, VX_FAULT_BELOW: `${store}:${root}/.vx:${root}/packages/a/dist`, VX_FAULT_LOG: faultLog, ...extra,
});
const readLog = () => {
  const text = fs.existsSync(faultLog) ? fs.readFileSync(faultLog, 'utf8') : '';
  fs.rmSync(faultLog, { force: true });
  return text.split('\n').filter(Boolean).map((line) => {
    const [, n, call, name] = /^(\d+) (\S+) (.*)$/.exec(line);
    return { n: Number(n), call, path: name };
  });
};
const start = (name) => {
  reset(name);
  if (SCENARIOS[name].again) good();
};

/** How many calls this kind of fault could hit. */
function countCalls(name, kind) {
  start(name);
  const r = vx(preload({ VX_FAULT_WITH: String(kind[1]) }));
  const calls = readLog();
  if (r.status !== 0) throw new Error(`${name}: the counting run failed\n${r.stderr}`);
  return calls.length;
}

class Finding extends Error {}

/** May a fault at this path fail the task? Only the tree's own: the outputs and their staging; and no descriptors for a restore. */
const ofTree = (at, kind) => (kind[0] === 'EMFILE' && at.endsWith('.zst')) || at.startsWith(`${root}/packages/a/dist`) || at.startsWith(`${root}/.vx/stage`);

function checkFaulted(r, kind, fired, expected) {
  if (r.signal !== null || (r.status !== 0 && r.status !== 1)) throw new Finding(`ended with ${r.signal ?? r.status}`);
  if (r.status === 0) {
    const now = snapshot();
    if (now !== expected) throw new Finding(`green, but the outputs are\n${now}\nnot\n${expected}`);
    return;
  }
  if (!fired.some((f) => ofTree(f.path, kind))) throw new Finding('a fault of the cache failed a task');
  if (!/dist|\.vx/.test(r.stderr)) throw new Finding('the failure names no path');
  if (/internal error/i.test(r.stderr)) throw new Finding('called an internal error');
}

function checkAfter(fired, expected) {
  const left = fs.existsSync(store) ? fs.readdirSync(store).filter((f) => f.startsWith('.tmp-')) : [];
  const undeletable = fired.some((f) => f.call.startsWith('unlink')) || fired.length > 1;
  if (left.length > 0 && !undeletable) throw new Finding(`temporaries stay in the store: ${left}`);
  const next = vx();
  if (next.status !== 0) throw new Finding(`the next run, without faults, ended with ${next.status ?? next.signal}\n${next.stderr}`);
  const now = snapshot();
  if (now !== expected) throw new Finding(`after the next run the outputs are\n${now}\nnot\n${expected}`);
  for (const db of [path.join(store, 'store-1.db'), path.join(root, '.vx/index-1.db')]) {
    const told = spawnSync(integrity, [db], { encoding: 'utf8' });
    if (told.status !== 0) throw new Finding(`${db}: ${told.stdout}`);
  }
  const stage = path.join(root, '.vx/stage');
  const staged = fs.existsSync(stage) ? fs.readdirSync(stage) : [];
  if (staged.length > 0) throw new Finding(`the stage keeps ${staged}`);
}
function checkThird(name) {
  if (name === 'evict') return;
  const third = JSON.parse(vx().stdout);
  for (const row of third.tasks) {
    if (row.status !== 'cache-hit' || row.restored) throw new Finding(`the second run after it: ${row.id} is ${row.status}${row.restored ? ', restored' : ''}`);
  }
}

function tryOne(name, kind, n, expected) {
  const [, value, stays] = kind;
  start(name);
  const r = vx(preload({ VX_FAULT_WITH: String(value), VX_FAULT_AT: String(n), ...(stays ? { VX_FAULT_STAY: '1' } : {}) }));
  const fired = readLog();
  if (fired.length === 0) return false;
  try {
    checkFaulted(r, kind, fired, expected);
    checkAfter(fired, expected);
    checkThird(name);
  } catch (e) {
    if (!(e instanceof Finding)) throw e;
    const first = fired[0];
    console.log(`${name}: ${kind[0]} at call ${n}, ${first.call} ${first.path.slice(live.length + 1)}: ${e.message}\n  it said: ${r.stderr.split('\n').filter((l) => /\[vx\]|vx:|error|fail/i.test(l)).slice(0, 6).join('\n           ')}`);
    findings++;
  }
  return true;
}

function parse(args) {
  const out = { sample: 0, seed: 1, scenario: '', keep: false };
  for (let i = 0; i < args.length; i++) {
    const name = args[i].replace(/^--/, '');
    if (name === 'keep') out.keep = true;
    else if (name === 'scenario' && args[i + 1] in SCENARIOS) out.scenario = args[++i];
    else if (['sample', 'seed'].includes(name) && /^\d+$/.test(args[i + 1] ?? '')) out[name] = Number(args[++i]);
    else {
      console.error(`fuzz faults: what is ${args[i]}? usage: [--sample N] [--seed S] [--scenario ${Object.keys(SCENARIOS).join('|')}] [--keep]`);
      process.exit(2);
    }
  }
  return out;
}

const options = parse(process.argv.slice(2));
const random = new Random(options.seed);
let findings = 0;
let tried = 0;
const began = Date.now();
try {
  const cases = [];
  for (const name of options.scenario ? [options.scenario] : Object.keys(SCENARIOS)) {
    makeTemplate(name);
    start(name);
    good();
    const expected = snapshot();
    for (const kind of KINDS) for (let n = countCalls(name, kind); n > 0; n--) cases.push([name, kind, n, expected]);
  }
  const all = cases.length;
  if (all === 0) throw new Error(`${shim} counts nothing in ${vxBin}; is the program named vx?`);
  while (options.sample > 0 && cases.length > options.sample) cases.splice(random.below(cases.length), 1);
  for (const one of cases) if (tryOne(...one)) tried++;
  console.log(`${tried} faults of ${all} tried in ${((Date.now() - began) / 1000).toFixed(1)} s, ${findings} findings`);
} finally {
  if (options.keep) console.log(`kept: ${base}`);
  else sh(`chmod -R u+rwX . ; rm -rf ${base}`);
}
process.exit(findings === 0 ? 0 : 1);

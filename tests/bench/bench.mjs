// Measures vx beside Turborepo on one generated tree, in interleaved rounds, against floors and budgets. See README.md.
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { generate, taskNames } from './generate.mjs';
import { environment, machine, measure, median, tools } from './measure.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const turboVersion = '2.11.11';
const sizes = {
  quick: { packages: 100, layers: 10, files: 11, rounds: 5, peerRounds: 3 },
  // A round of thousands of executed tasks takes a peer minutes: one of each such scenario.
  full: { packages: 1090, layers: 100, files: 12, rounds: 5, peerRounds: 1 },
};

function options(argv) {
  const out = { size: 'quick', turbo: true, vx: path.resolve(process.env.VX_BIN ?? path.join(root, 'build/vx')), work: path.join(root, 'build/bench'), strict: false, npm: false };
  for (const arg of argv) {
    if (arg === '--quick' || arg === '--full') out.size = arg.slice(2);
    else if (arg === '--no-turbo') out.turbo = false;
    else if (arg === '--strict') out.strict = true;
    else if (arg === '--npm') out.npm = true;
    else if (/^--rounds=\d+$/.test(arg)) out.rounds = Number(arg.slice(9));
    else if (/^--packages=\d+$/.test(arg)) out.packages = Number(arg.slice(11));
    else if (/^--layers=\d+$/.test(arg)) out.layers = Number(arg.slice(9));
    else if (arg.startsWith('--work=')) out.work = path.resolve(arg.slice(7));
    else throw new Error(`unknown argument ${arg}: --quick --full --no-turbo --npm --strict --rounds=N --packages=N --layers=N --work=DIR`);
  }
  return { ...sizes[out.size], ...out };
}

/** Turborepo from npm, in a directory of its own. Returns the native program: npm's shim costs it a Node start. */
function installTurbo(work) {
  const dir = path.join(work, 'turbo');
  const native = () => {
    const modules = path.join(dir, 'node_modules');
    const below = (d) => (fs.existsSync(d) ? fs.readdirSync(d).map((n) => path.join(d, n, 'bin/turbo')) : []);
    return [...below(path.join(modules, '@turbo')), ...below(modules).filter((f) => /turbo-/.test(f))].find((f) => fs.existsSync(f));
  };
  if (!native()) {
    fs.mkdirSync(dir, { recursive: true });
    fs.writeFileSync(path.join(dir, 'package.json'), '{"private":true}\n');
    execFileSync('npm', ['install', '--no-audit', '--no-fund', '--silent', `turbo@${turboVersion}`], { cwd: dir, stdio: 'inherit' });
  }
  return native();
}

/**
 * A directory with an `npm` that does for `npm run NAME` what npm does, without npm's start. Turborepo starts tasks through it, half a second of
 * CPU each; a cold run of 3,270 tasks would measure npm. The scripts of the tree need no unescaping.
 */
function quickNpm(dir) {
  fs.mkdirSync(dir, { recursive: true });
  const text = '#!/bin/sh\nfor name; do :; done\nexec sh -c "$(sed -n "s/^    \\"$name\\": \\"\\(.*\\)\\",\\{0,1\\}$/\\1/p" package.json)"\n';
  fs.writeFileSync(path.join(dir, 'npm'), text, { mode: 0o755 });
  return dir;
}

/**
 * Takes a path out of the way without deleting it: ext4 looks for inodes that were not freed within the last minute, so whoever creates files
 * after a mass deletion pays for it. Everything goes when the bench ends.
 */
function discard(work, file) {
  const trash = path.join(work, 'trash');
  fs.mkdirSync(trash, { recursive: true });
  if (fs.existsSync(file)) fs.renameSync(file, path.join(trash, String(discarded++)));
}
let discarded = Date.now() * 1000;

/** One runner: how it is called on the tree and how its traces are removed. */
function contenders(o, tree, env) {
  const list = [];
  list.push({
    name: 'vx', command: [o.vx, 'run', ...taskNames, '--all'], dry: [o.vx, 'run', ...taskNames, '--all', '--dry=json'], env: { ...env, VX_CACHE_DIR: path.join(o.work, 'vx-store') },
    cold: () => {
      discard(o.work, path.join(o.work, 'vx-store'));
      discard(o.work, path.join(tree, '.vx'));
    },
    executed: (r) => Number(/(\d+) miss/.exec(r.stdout)?.[1] ?? 0),
  });
  if (o.turboProgram) {
    const peerEnv = o.npm ? env : { ...env, PATH: `${quickNpm(path.join(o.work, 'npm'))}:${env.PATH}` };
    const flags = ['--no-daemon', '--output-logs=none', `--cache-dir=${path.join(o.work, 'turbo-store')}`];
    list.push({
      name: 'turbo', command: [o.turboProgram, 'run', ...taskNames, ...flags], dry: [o.turboProgram, 'run', ...taskNames, '--no-daemon', '--dry=json'], env: peerEnv,
      cold: () => {
        discard(o.work, path.join(o.work, 'turbo-store'));
        for (const dir of execFileSync('find', [tree, '-name', '.turbo', '-type', 'd', '-prune'], { encoding: 'utf8' }).split('\n')) if (dir) discard(o.work, dir);
      },
      executed: (r) => {
        const m = /Cached:\s+(\d+) cached, (\d+) total/.exec(r.stdout);
        return m ? Number(m[2]) - Number(m[1]) : NaN;
      },
    });
  }
  return list;
}

class Bench {
  constructor(o) {
    this.o = o;
    this.tree = path.join(o.work, `tree-${o.packages}-${o.layers}`);
    this.env = environment();
    this.samples = {};
  }
  say(text) {
    process.stderr.write(`${text}\n`);
  }
  note(scenario, who, r) {
    ((this.samples[scenario] ??= {})[who] ??= []).push({ ms: r.ms, cpuMs: r.cpuMs, rssKb: r.rssKb });
  }
  run(c, { dry = false } = {}) {
    return measure(this.o.tools.timed, dry ? c.dry : c.command, { cwd: this.tree, env: c.env });
  }
  expect(c, r, want, scenario) {
    const got = c.executed(r);
    if (Number.isFinite(got) && got !== want) throw new Error(`${c.name}, ${scenario}: ${got} tasks ran, expected ${want}\n${r.stdout.slice(-1500)}`);
  }
  wipe() {
    for (const p of this.packages) discard(this.o.work, path.join(this.tree, 'packages', p.name, 'dist'));
  }
  edit(p, text) {
    fs.appendFileSync(path.join(this.tree, 'packages', p.name, 'src/f0.ts'), text);
  }
  /** Tasks that an edit in src of `start` re-runs: build and lint there, then build and test of everything above. */
  reached(start) {
    const above = new Set([start.index]);
    for (const p of this.packages) if (p.deps.some((d) => above.has(d))) above.add(p.index);
    return above.size * 2 + 1;
  }

  /** Who takes part in round `i` of a scenario that executes most of the tree. */
  executing(i) {
    return this.list.filter((c) => c.name === 'vx' || i < this.o.peerRounds);
  }

  setup() {
    const { o } = this;
    fs.mkdirSync(o.work, { recursive: true });
    o.tools = tools(path.join(o.work, 'bin'));
    if (o.turbo) {
      try {
        o.turboProgram = installTurbo(o.work);
      } catch (error) {
        this.say(`turbo is left out: ${error.message.split('\n')[0]}`);
      }
    }
    this.say(`generating ${o.packages} packages in ${o.layers} layers ...`);
    this.packages = generate(this.tree, o);
    this.list = contenders(o, this.tree, this.env);
    this.leaf = this.packages.at(-1);
    this.base = this.packages[Math.floor(Math.ceil(o.packages / o.layers) / 2)];
    this.total = this.packages.length * taskNames.length;
  }

  floors(scenario) {
    this.note(scenario, 'git status', measure(this.o.tools.timed, ['git', 'status', '--porcelain'], { cwd: this.tree, env: this.env }));
    this.note(scenario, 'lstat walk', measure(this.o.tools.timed, [this.o.tools.lstat_walk, this.tree], { env: this.env }));
  }

  cold(rounds) {
    for (let i = 0; i < rounds; i++) {
      for (const c of this.executing(i)) {
        this.wipe();
        c.cold();
        const r = this.run(c);
        this.expect(c, r, this.total, 'cold');
        this.note('cold', c.name, r);
      }
      // The tasks' own cost: the same commands by a plain loop of the same shell.
      this.wipe();
      const loop = path.join(this.o.work, 'loop.sh');
      const scripts = JSON.parse(fs.readFileSync(path.join(this.tree, 'packages', this.packages[0].name, 'package.json'), 'utf8')).scripts;
      fs.writeFileSync(loop, this.packages.flatMap((p) => taskNames.map((t) => `(cd packages/${p.name} && exec sh -c '${scripts[t]}')\n`)).join(''));
      this.note('cold', 'tasks alone', measure(this.o.tools.timed, ['sh', loop], { cwd: this.tree, env: this.env }));
    }
    // Every contender's store is warm from here on; the tree's outputs are equal whoever made them.
    for (const c of this.list) this.run(c);
  }

  warm(rounds) {
    for (const c of this.list) this.run(c);
    for (let i = 0; i < rounds; i++) {
      this.floors('warm');
      for (const c of this.list) {
        this.run(c); // Another contender may have written the outputs anew: nothing changed means since its own last run.
        const r = this.run(c);
        this.expect(c, r, 0, 'warm');
        this.note('warm', c.name, r);
        this.note('dry', c.name, this.run(c, { dry: true }));
      }
      this.note('version', 'vx', measure(this.o.tools.timed, [this.o.vx, '--version'], { env: this.env }));
    }
  }

  deleted(rounds) {
    for (let i = 0; i < rounds; i++) {
      for (const c of this.list) {
        this.wipe();
        const r = this.run(c);
        this.expect(c, r, 0, 'outputs deleted');
        this.note('outputs deleted', c.name, r);
        if (this.packages.some((p) => !fs.existsSync(path.join(this.tree, 'packages', p.name, 'dist/out.txt')))) throw new Error(`${c.name} did not restore every output`);
      }
    }
  }

  edits(rounds) {
    for (const [scenario, p] of [['leaf edit', this.leaf], ['base edit', this.base]]) {
      const want = this.reached(p);
      for (let i = 0; i < rounds; i++) {
        for (const c of p === this.base ? this.executing(i) : this.list) {
          this.run(c);
          this.edit(p, `export const e${scenario.length}_${i}_${c.name} = ${i};\n`);
          const r = this.run(c);
          this.expect(c, r, want, scenario);
          this.note(scenario, c.name, r);
        }
      }
      execFileSync('git', ['checkout', '-q', '.'], { cwd: this.tree });
      for (const c of this.list) this.run(c);
    }
    this.note('tasks of a leaf edit', 'plain loop', this.leafTasks());
  }

  leafTasks() {
    const dir = path.join(this.tree, 'packages', this.leaf.name);
    const scripts = JSON.parse(fs.readFileSync(path.join(dir, 'package.json'), 'utf8')).scripts;
    return measure(this.o.tools.timed, ['sh', '-c', taskNames.map((t) => `sh -c '${scripts[t]}'`).join('; ')], { cwd: dir, env: this.env });
  }

  all() {
    this.setup();
    const { rounds } = this.o;
    const steps = [['cold', () => this.cold(Math.min(rounds, 3))], ['warm and dry', () => this.warm(rounds * 2)], ['outputs deleted', () => this.deleted(rounds)], ['edits', () => this.edits(rounds)]];
    for (const [name, step] of steps) {
      this.say(`${name} ...`);
      step();
    }
    return this.results();
  }

  mid(scenario, who, field = 'ms') {
    return median((this.samples[scenario]?.[who] ?? []).map((s) => s[field]));
  }
  /** The median of per-round ratios: a slow moment of the machine hits both sides of one round. */
  ratio(scenario, over, under) {
    const a = this.samples[scenario]?.[over];
    const b = this.samples[scenario]?.[under];
    return a && b ? median(a.map((s, i) => s.ms / b[Math.min(i, b.length - 1)].ms)) : null;
  }

  results() {
    const perTask = (this.mid('cold', 'vx', 'cpuMs') - this.mid('cold', 'tasks alone', 'cpuMs')) / this.total;
    const leafExtra = this.mid('leaf edit', 'vx') - this.mid('warm', 'vx') - this.mid('tasks of a leaf edit', 'plain loop');
    const rss = Math.max(...Object.values(this.samples).flatMap((s) => (s.vx ?? []).map((x) => x.rssKb))) / 1024;
    const budget = (name, value, limit, most = true, unit = '×') => ({ name, value, limit, unit, most, pass: value === null ? null : most ? value <= limit : value >= limit });
    const budgets = [
      budget('vx --version, ms', this.mid('version', 'vx'), 5, true, 'ms'),
      budget('warm: vx / git status', this.ratio('warm', 'vx', 'git status'), 1.5),
      budget('warm: turbo / vx', this.ratio('warm', 'turbo', 'vx'), 12, false),
      budget('outputs deleted: turbo / vx', this.ratio('outputs deleted', 'turbo', 'vx'), 5, false),
      budget('cold: CPU beyond the tasks\' own, ms a task', perTask, 0.7, true, 'ms'),
      budget('cold: vx / turbo', this.ratio('cold', 'vx', 'turbo'), 1),
      budget('leaf edit: beyond no change and the tasks, ms', leafExtra, 20, true, 'ms'),
      budget('leaf edit: turbo / vx', this.ratio('leaf edit', 'turbo', 'vx'), 15, false),
      budget('peak memory, MB', rss, 60, true, 'MB'),
    ];
    const table = Object.entries(this.samples).flatMap(([scenario, by]) =>
      Object.entries(by).map(([who, list]) => ({ scenario, who, ms: this.mid(scenario, who), cpuMs: this.mid(scenario, who, 'cpuMs'), mb: Math.max(...list.map((s) => s.rssKb)) / 1024, rounds: list.length })));
    const { packages, layers, files, size } = this.o;
    return { machine: machine(), size, packages, layers, filesPerPackage: files, tasks: this.total, turbo: this.o.turboProgram ? turboVersion : null, table, budgets, samples: this.samples };
  }
}

function print(r) {
  const ms = (v) => (v === null ? '-' : v < 10 ? v.toFixed(2) : v.toFixed(0));
  const line = (cells, widths) => cells.map((c, i) => (i < 2 ? String(c).padEnd(widths[i]) : String(c).padStart(widths[i]))).join('  ');
  const widths = [22, 12, 9, 9, 7, 7];
  console.log(`${r.machine.cpu} × ${r.machine.cpus}, ${r.machine.kernel}; ${r.packages} packages, ${r.layers} layers, ${r.tasks} tasks${r.turbo ? `; turbo ${r.turbo}` : ''}\n`);
  console.log(line(['scenario', 'who', 'wall ms', 'cpu ms', 'MB', 'rounds'], widths));
  for (const row of r.table) console.log(line([row.scenario, row.who, ms(row.ms), ms(row.cpuMs), row.mb.toFixed(0), row.rounds], widths));
  console.log('\nbudget                                              measured     limit');
  for (const b of r.budgets) {
    const mark = b.pass === null ? 'n/a ' : b.pass ? 'ok  ' : 'MISS';
    console.log(`${b.name.padEnd(50)}  ${b.value === null ? '       -' : b.value.toFixed(2).padStart(8)}  ${b.most ? '≤' : '≥'} ${String(b.limit).padStart(5)}  ${mark}`);
  }
}

const o = options(process.argv.slice(2));
if (!fs.existsSync(o.vx)) {
  console.error(`bench: no vx at ${o.vx}; build it first, or set VX_BIN`);
  process.exit(1);
}
if (spawnSync('cc', ['--version']).status !== 0) {
  console.error('bench: a C compiler is needed for the floors');
  process.exit(1);
}
const results = new Bench(o).all();
fs.rmSync(path.join(o.work, 'trash'), { recursive: true, force: true });
print(results);
fs.writeFileSync(path.join(o.work, `results-${o.size}.json`), JSON.stringify(results, null, 2) + '\n');
if (o.strict && results.budgets.some((b) => b.pass === false)) process.exitCode = 1;

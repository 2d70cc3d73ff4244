// The key fuzzer: random workspaces, random edits, one `vx run` an edit; what the tasks printed and left is compared with what their
// inputs now say.
//   node main.mjs [--steps N] [--seed S] [--seeds K] [--keep] [--trace]
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { spawnSync } from 'node:child_process';
import { write } from './disk.mjs';
import { GIT_STEPS } from './git_steps.mjs';
import { PROJECTS } from './model.mjs';
import { Random } from './random.mjs';
import { draw, Finding, round } from './rounds.mjs';
import { OUTPUT_STEPS, STORE_STEPS, TREE_STEPS } from './steps.mjs';
import { build, TASKS } from './workspace.mjs';

const KINDS = [[50, TREE_STEPS], [26, GIT_STEPS], [17, OUTPUT_STEPS], [7, STORE_STEPS]];
const TRACED = 25;
const AGED_MS = 60;

class State {
  constructor(seed, base) {
    this.random = new Random(seed);
    this.base = base;
    this.trace = [];
    this.env = {};
    this.materials = new Map();  // key → state of the inputs
    this.hashes = new Map();     // and back
    this.saved = new Set();      // states whose results are in the store
    this.clean = new Map();      // work tree → what its last, clean run asked for
    this.workspaces = build(this.random, base);
    this.ws = this.workspaces[0];
    this.originals = new Map(PROJECTS.flatMap((p) => ['package.json', 'vx.config.json'].map((f) => {
      const name = p.dir === '' ? f : `${p.dir}/${f}`;
      return [name, fs.readFileSync(`${this.ws.dir}/${name}`, 'latin1')];
    })));
  }
  note(line) {
    this.trace.push(`${this.step}: ${line}`);
    if (this.trace.length > TRACED) this.trace.shift();
    if (options.trace) console.log(this.trace.at(-1));
  }
  forgetSaved() {
    this.saved.clear();
    this.clean.clear();
  }
  /** Changes something; tries again while there is nothing to change. */
  change() {
    for (let tries = 0; tries < 20; tries++) {
      const table = this.random.weighted(KINDS);
      const [name, step] = this.random.weighted(table.map(([weight, ...rest]) => [weight, rest]));
      const what = step(this);
      if (what === false) continue;
      this.note(`${this.ws.name} ${name}: ${JSON.stringify(what)}`);
      if (name !== 'nothing') this.clean.set(this.ws, '');
      return name;
    }
    return 'nothing';
  }
  /** Puts the configs back that a merge left unreadable. */
  mend() {
    for (const [name, content] of this.originals) write(`${this.ws.dir}/${name}`, content);
    this.note('configs put back');
  }
}

function parse(args) {
  const out = { steps: 300, seed: 1, seeds: 1, keep: false, trace: false };
  for (let i = 0; i < args.length; i++) {
    const name = args[i].replace(/^--/, '');
    if (name === 'keep' || name === 'trace') out[name] = true;
    else if (name in out && /^\d+$/.test(args[i + 1] ?? '')) out[name] = Number(args[++i]);
    else {
      console.error(`fuzz keys: what is ${args[i]}? usage: [--steps N] [--seed S] [--seeds K] [--keep] [--trace]`);
      process.exit(2);
    }
  }
  return out;
}

function removeTree(dir) {
  spawnSync('chmod', ['-R', 'u+rwX', dir], { stdio: 'ignore' });
  fs.rmSync(dir, { recursive: true, force: true });
}

async function fuzz(seed, steps) {
  const base = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'vx-keys-')));
  const state = new State(seed, base);
  try {
    let ask = { ...draw(state), requested: TASKS };
    for (state.step = 0; state.step < steps; state.step++) {
      state.ws = state.workspaces[state.random.chance(70) ? 0 : 1];
      // Stamps of the edit before grow old enough to be remembered; not by chance, so that seeds replay.
      if (state.step % 3 === 0) await new Promise((resolve) => setTimeout(resolve, AGED_MS));
      const name = state.step === 0 ? 'nothing' : state.change();
      if (name !== 'nothing' || !state.clean.get(state.ws)) ask = draw(state);
      else [ask.requested, ask.args, ask.env] = JSON.parse(state.clean.get(state.ws));
      const prepared = await round(state, ask);
      if (prepared.model.fault) state.mend();
    }
  } catch (e) {
    console.log(`seed ${seed}, step ${state.step}: ${e instanceof Finding ? e.message : e.stack}\n\nthe last steps:\n${state.trace.join('\n')}`);
    console.log(`\nagain: ./dev fuzz keys --seed ${seed} --steps ${state.step + 1} --keep`);
    if (options.keep) console.log(`kept: ${base}`);
    else removeTree(base);
    return false;
  }
  removeTree(base);
  return true;
}

const options = parse(process.argv.slice(2));
const began = Date.now();
let bad = 0;
for (let seed = options.seed; seed < options.seed + options.seeds; seed++) if (!(await fuzz(seed, options.steps))) bad++;
const seconds = (Date.now() - began) / 1000;
const total = options.steps * options.seeds;
console.log(`${options.seeds} seeds, ${total} steps, ${seconds.toFixed(1)} s, ${(total / seconds).toFixed(1)} steps a second, ${bad} findings`);
process.exit(bad === 0 ? 0 : 1);

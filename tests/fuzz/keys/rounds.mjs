// One run of vx after one edit, and everything that must hold of it.
import fs from 'node:fs';
import { list, lstat, read, readlink, rewriteKeepingTimes } from './disk.mjs';
import { Model } from './model.mjs';
import { someFile, twist } from './steps.mjs';
import { OUTPUT_DIRS, TASKS } from './workspace.mjs';

export class Finding extends Error {}

/** Kind, mode and content of everything below `dir`; `keep` aside where the declaration takes it back. */
function snapshot(dir, keep) {
  const out = {};
  const visit = (at, prefix) => {
    for (const name of list(at)) {
      if (keep && prefix === '' && name === 'keep') continue;
      const path = `${at}/${name}`;
      const st = lstat(path);
      const mode = (st.mode & 0o7777n).toString(8);
      if (st.isDirectory()) {
        out[`${prefix}${name}/`] = `dir ${mode}`;
        visit(path, `${prefix}${name}/`);
      } else if (st.isSymbolicLink()) out[prefix + name] = `link ${readlink(path)}`;
      else out[prefix + name] = `file ${mode} ${read(path)}`;
    }
  };
  const st = lstat(dir);
  if (st?.isDirectory()) visit(dir, '');
  else if (st) out['.'] = 'not a directory';
  return out;
}

function difference(got, want, exact) {
  for (const name of Object.keys(want)) {
    if (got[name] !== want[name]) return `${JSON.stringify(name)} is ${apart(got[name], want[name])}`;
  }
  for (const name of exact ? Object.keys(got) : []) if (!(name in want)) return `${JSON.stringify(name)} is a stray: ${short(got[name])}`;
  return '';
}
/** Where two texts part. */
function apart(got = 'absent', want = 'absent') {
  let at = 0;
  while (at < got.length && got[at] === want[at]) at++;
  return `${short(got.slice(Math.max(0, at - 80)))}, not ${short(want.slice(Math.max(0, at - 80)))}`;
}
const short = (text) => JSON.stringify(text === undefined ? 'absent' : text.length > 300 ? `${text.slice(0, 300)}…` : text);

/** What to ask for this time. */
export function draw(state) {
  const { random } = state;
  const requested = random.chance(30) ? TASKS : random.some(TASKS, 35);
  if (requested.length === 0) requested.push(random.pick(TASKS));
  const args = random.weighted([[85, []], [5, ['x']], [5, ['a b', "q'uote"]], [3, ['']], [2, ['-v', 'x']]]);
  const policy = random.weighted([[80, {}], [5, { flags: ['--force'], reads: false }], [4, { flags: ['--no-cache'], reads: false, writes: false }],
    [4, { flags: ['--cache=local:r'], writes: false }], [3, { flags: ['--cache=local:w'], reads: false }], [2, { flags: ['--continue=always'] }], [2, { flags: ['--concurrency', '1'] }]]);
  return { requested: [...requested], args, flags: [], reads: true, writes: true, env: { ...state.env }, ...policy };
}

const commandLine = (ask) => [...ask.requested, ...ask.flags, '--format', 'json', '--output-logs', 'full', ...(ask.args.length ? ['--', ...ask.args] : [])];

function keptFiles(ws) {
  return OUTPUT_DIRS.map((dir) => JSON.stringify(snapshot(`${ws.dir}/${dir}/keep`, false)));
}

/** Prepares a run: the model of now, written out as lists for the reader. */
function prepare(ws, ask) {
  const model = new Model(ws);
  if (model.fault) return { model };
  const order = model.closure(ask.requested);
  for (const id of order) model.task(id, ask);
  ws.writeLists(model, order.filter((id) => !model.task(id, ask).uncached), ask);
  return { model, order, kept: keptFiles(ws) };
}

function document(r, what) {
  if (r.signal !== null || (r.status !== 0 && r.status !== 1)) throw new Finding(`${what} ended with ${r.signal ?? r.status}\n${r.stderr}`);
  try {
    return JSON.parse(r.stdout);
  } catch {
    throw new Finding(`${what} printed no document: ${r.stdout}\n${r.stderr}`);
  }
}

function checkKeys(state, id, task, hash) {
  if (!hash || task.uncached || task.unstable) return;
  const material = state.materials.get(hash);
  if (material !== undefined && material !== task.material) throw new Finding(`${id}: one key, ${hash}, for two states of its inputs`);
  const known = state.hashes.get(task.material);
  if (known !== undefined && known !== hash) throw new Finding(`${id}: two keys, ${known} and ${hash}, for one state of its inputs`);
  state.materials.set(hash, task.material);
  state.hashes.set(task.material, hash);
}

function checkOutputs(ws, id, task, exact) {
  if (!task.outDir) return;
  const got = snapshot(`${ws.dir}/${task.outDir}`, task.keeps);
  const wrong = difference(got, task.outputs, exact);
  if (wrong) throw new Finding(`${id}: ${task.outDir}: ${wrong}`);
}

function checkTask(state, ws, ask, id, task, row, r) {
  if (!row) throw new Finding(`${id} is not in the summary`);
  if (task.failed) {
    if (task.wrong === '' && ask.flags.includes('--continue=always')) return;  // it ran over whatever lay there
    if (row.status !== 'failed' && row.status !== 'skipped') throw new Finding(`${id} is ${row.status}, but ${task.wrong || 'an upstream'} can be no input`);
    return;
  }
  if (row.status !== 'success' && row.status !== 'cache-hit') throw new Finding(`${id} ${row.status}\n${r.stderr}`);
  if (task.uncached) return;
  checkKeys(state, id, task, row.hash);
  const executed = row.status === 'success';
  if (!executed && !ask.reads) throw new Finding(`${id} is a hit although the cache was not to be read`);
  checkOutputs(ws, id, task, ask.writes || !executed);
  if (ask.requested.includes(id) && !r.stderr.includes(`${task.line}\n`)) throw new Finding(`${id} did not print ${task.line}\n${r.stderr}`);
  if (executed && ask.reads && !task.late && state.saved.has(task.material)) throw new Finding(`${id} ran again although its result is stored\n${r.stderr}`);
}

/** The whole check of a finished run. */
export function check(state, ws, ask, prepared, r, { last = false } = {}) {
  const { model, order, kept } = prepared;
  if (model.fault) {
    document(r, 'a run over a broken config');
    return;
  }
  const doc = document(r, 'vx run');
  const tasks = new Map(order.map((id) => [id, { ...model.task(id, ask), keeps: model.declaration(id).cache?.outputs.files.some((g) => g.startsWith('!')) }]));
  const broken = [...tasks.values()].some((t) => t.failed);
  if (!doc.tasks) throw new Finding(`the run was refused: ${r.stdout}${r.stderr}`);
  const rows = new Map(doc.tasks.map((row) => [row.id, row]));
  for (const [id, task] of tasks) checkTask(state, ws, ask, id, task, rows.get(id), r);
  if (r.status !== (broken ? 1 : 0)) throw new Finding(`exit code ${r.status}\n${r.stderr}`);
  const now = keptFiles(ws);
  OUTPUT_DIRS.forEach((dir, i) => {
    const owner = [...tasks.values()].find((t) => t.outDir === dir);
    if (owner?.keeps && !owner.failed && kept[i] !== now[i]) throw new Finding(`${dir}/keep changed: ${kept[i]} -> ${now[i]}`);
  });
  if (ask.writes && !broken) {
    for (const [id, task] of tasks) {
      const row = rows.get(id);
      // "up-to-date" does not prove that the artifact is whole.
      if (!task.uncached && !task.late && (row.status === 'success' || row.restored)) state.saved.add(task.material);
    }
  }
  checkQuiet(state, ws, ask, tasks, rows, last);
}

/** When nothing changed since a clean run of the same, everything is in place already. */
function checkQuiet(state, ws, ask, tasks, rows, last) {
  const same = JSON.stringify([ask.requested, ask.args, ask.env]);
  const clean = ask.reads && ask.writes && [...tasks.values()].every((t) => !t.failed && !t.late);
  if (last && clean && state.clean.get(ws) === same) {
    for (const [id, task] of tasks) {
      const row = rows.get(id);
      if (!task.uncached && (row.status !== 'cache-hit' || row.restored)) throw new Finding(`${id}: nothing changed, yet it was ${row.status}${row.restored ? ', restored' : ''}`);
    }
  }
  state.clean.set(ws, clean ? same : '');
}

// The kinds of rounds ---------------------------------------------------------------------------------------------------------

/** Processes that still work below the base directory: children of a killed vx. */
function busy(base) {
  return fs.readdirSync('/proc').some((pid) => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return false;
    try {
      return fs.readlinkSync(`/proc/${pid}/cwd`).startsWith(`${base}/`);
    } catch {
      return false;
    }
  });
}
async function quiet(base) {
  const deadline = Date.now() + 30_000;
  while (busy(base)) {
    if (Date.now() > deadline) throw new Finding('a process outlived its run by thirty seconds');
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

async function plainRound(state, ask) {
  const prepared = prepare(state.ws, ask);
  check(state, state.ws, ask, prepared, state.ws.run(commandLine(ask), ask.env), { last: true });
  return prepared;
}

/** A plan names the keys that the run after it uses, and changes nothing. */
async function plannedRound(state, ask) {
  const prepared = prepare(state.ws, ask);
  const r = state.ws.run([...ask.requested, '--dry=json', ...(ask.args.length ? ['--', ...ask.args] : [])], ask.env);
  if (!prepared.model.fault && r.status === 0) {
    for (const row of JSON.parse(r.stdout).tasks) {
      const task = prepared.model.task(row.id, ask);
      if (task && !task.failed && !task.late) checkKeys(state, row.id, task, row.hash);
    }
  }
  check(state, state.ws, ask, prepared, state.ws.run(commandLine(ask), ask.env));
  return prepared;
}

async function killedRound(state, ask) {
  const { ws, random } = state;
  const prepared = prepare(ws, ask);
  const started = ws.start(commandLine(ask), ask.env);
  await new Promise((resolve) => setTimeout(resolve, random.below(45)));
  started.child.kill('SIGKILL');
  await started.done;
  await quiet(state.base);
  check(state, ws, ask, prepared, ws.run(commandLine(ask), ask.env));
  const stage = `${ws.dir}/.vx/stage`;
  if (lstat(stage) && list(stage).length > 0) throw new Finding(`the killed run's stage stays: ${list(stage)}`);
  return prepared;
}

/** An edit beside the run, now and then taken back at once: whatever that run did, nothing wrong may be stored. */
async function racedRound(state, ask) {
  const { ws, random } = state;
  const file = someFile(state, 'file');
  const old = file && read(`${ws.dir}/${file}`);
  const prepared = prepare(ws, ask);
  if (!old || prepared.model.fault) return plainRound(state, ask);
  const pause = () => new Promise((resolve) => setTimeout(resolve, random.below(30)));
  const rewrite = (text) => rewriteKeepingTimes(`${ws.dir}/${file}`, text);
  state.note(`beside it: ${JSON.stringify(file)}`);
  const started = ws.start(commandLine(ask), ask.env);
  await pause();
  rewrite(twist(random, old));
  if (random.chance(40)) await pause(), rewrite(old);
  document(await started.done, 'a run with an edit beside it');
  state.clean.set(ws, '');
  const careful = { ...ask, flags: [], reads: true, writes: true };
  check(state, ws, careful, prepare(ws, careful), ws.run(commandLine(careful), ask.env));
  rewrite(old);
  const again = prepare(ws, careful);
  check(state, ws, careful, again, ws.run(commandLine(careful), ask.env));
  return again;
}

async function twiceRound(state, ask) {
  const prepared = prepare(state.ws, ask);
  const both = [state.ws.start(commandLine(ask), ask.env), state.ws.start(commandLine(ask), ask.env)];
  const [first, second] = await Promise.all(both.map((b) => b.done));
  check(state, state.ws, ask, prepared, first);
  check(state, state.ws, ask, prepared, second);
  return prepared;
}

async function clonesRound(state, ask) {
  const prepared = state.workspaces.map((ws) => prepare(ws, ask));
  const done = await Promise.all(state.workspaces.map((ws) => ws.start(commandLine(ask), ask.env).done));
  const saved = new Set(state.saved);
  state.workspaces.forEach((ws, i) => {
    state.saved = new Set(saved);  // what one saved just now the other need not have seen
    check(state, ws, ask, prepared[i], done[i]);
  });
  return prepared.find((p) => p.model.fault) ?? prepared[0];
}

const ROUNDS = [[75, plainRound], [6, plannedRound], [5, killedRound], [5, racedRound], [4, twiceRound], [5, clonesRound]];

export async function round(state, ask) {
  const kind = state.random.weighted(ROUNDS);
  state.note(`${kind.name} ${state.ws.name}: ${commandLine(ask).filter((a) => !['--format', 'json', '--output-logs', 'full'].includes(a)).join(' ')}`);
  return kind(state, ask);
}

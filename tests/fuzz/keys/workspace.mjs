// A random workspace on disk, its clones, and how git and vx are called in them.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { bytes, isFree, list, lstat, makeDirs, reader, symlink, utf8, write } from './disk.mjs';
import { PROJECTS } from './model.mjs';
import { listBytes } from './text.mjs';

export const ENV_NAMES = ['VXF_A', 'VXF_B'];
const here = path.dirname(fileURLToPath(import.meta.url));
const vxBin = path.resolve(process.env.VX_BIN ?? path.join(here, '../../../build/vx'));

/** Names of files, some of them odd. */
export const NAMES = ['x', 'y', 'z.txt', 'm.c', '.dot', 'a b', ' lead', 'tail ', 'n\nl', 'q"uote', 'back\\slash', '[id]', '-dash', '*', 'q?',
  '{b}', 'd.md', 'f.flt', 'crlf.tx', 'id.v', 'o.tsbuildinfo', utf8('日本語'), 'bad\xff', 'long'.repeat(30)];
export const DIRS = ['src', 'src', 'src/d', 'src/d/e', 'src/skip', 'lib', 'data', 'src/node_modules/m', 'src/[id]', 'odd dir'];

export const content = (random) => {
  const alphabet = ['a', 'b', 'c', '\n', '\r\n', 'x', '$Id$', '\0', 'é', '\xff'];
  let text = '';
  for (let n = random.weighted([[1, 0], [8, 2], [8, 6], [2, 40]]); n > 0; n--) text += random.pick(alphabet);
  return random.below(400) === 0 ? text.repeat(9000) : text;
};

// Declarations ----------------------------------------------------------------------------------------------------------------

const GLOBS = ['src/**', 'src/**', 'src/*', 'src/d/**', 'lib', 'data/*.txt', '{src,lib}/**', 'src/?', './src//d', 'src/x', 'nowhere.txt', 'data', 'src/[id]/**',
  'src/{x,y}', 'lib/**', 'src/node_modules/**', 'src/', 'src/**/*.c', 'odd dir/*'];
const WIDE = ['**', '**/*.c', '**/x'];
const TAKEN = ['!src/skip/**', '!**/*.md', '!src/d/e', '!lib/z.txt'];
const SHARED = ['shared/**', 'shared/x', '*.cfg', 'packages/a/data/**', 'packages/*/data/*'];

export function inputsFor(random, project, outputDirs, alone) {
  const wide = random.chance(project === 'root' ? 60 : 25);
  const files = wide ? [random.pick(WIDE)] : [...new Set([random.pick(GLOBS), random.pick(GLOBS), random.pick(GLOBS)].slice(0, 1 + random.below(3)))];
  if (wide && !(alone && random.chance(50))) files.push(...outputDirs.map((d) => `!${d}/**`));
  if (random.chance(40)) files.push(random.pick(TAKEN.filter((t) => !files.includes(t.slice(1)))));
  if (project === 'c' && !wide) files.push('made/**');
  return {
    files,
    ...(random.chance(35) ? { workspaceFiles: random.some(SHARED, 40) } : {}),
    ...(random.chance(50) ? { env: random.some(ENV_NAMES, 70) } : {}),
  };
}

function cachedTask(random, id, out, inputs, more = {}) {
  const outputs = out === '-' ? [] : [`${out}/**`, ...(random.chance(30) ? [`!${out}/keep/**`] : [])];
  return {
    exec: { command: `$VXF_READER ${out} ${id}`, env: { passThrough: ['VXF_READER', 'VXF_LISTS', 'VXF_ROOT', ...ENV_NAMES] } },
    ...more,
    cache: { inputs, outputs: { files: outputs } },
  };
}

export function configs(random) {
  const task = (project, name, out, dirs, more, alone) => cachedTask(random, `${project}#${name}`, out, inputsFor(random, project, dirs, alone), more);
  const order = (t) => (random.chance(10) ? { ...t, cache: { ...t.cache, inputs: { ...t.cache.inputs, tasks: [] } } } : t);
  const prep = 'mkdir -p made; rm -f made/seed.txt; if [ -f seed.txt ]; then cat seed.txt > made/seed.txt; fi';
  return {
    'root': { tasks: { check: task('root', 'check', 'dist', ['dist']) } },
    a: { tasks: { build: task('a', 'build', 'dist', ['dist'], {}, true) } },
    inner: { tasks: { build: task('inner', 'build', 'dist', ['dist'], {}, true) } },
    b: {
      tasks: {
        gen: task('b', 'gen', 'gen', ['gen', 'dist']),
        build: order(task('b', 'build', 'dist', ['gen', 'dist'], { dependsOn: ['^build', 'gen'] })),
        test: task('b', 'test', '-', ['gen', 'dist'], { dependsOn: ['build'] }),
      },
    },
    c: {
      tasks: {
        prep: { exec: { command: prep } },
        build: order(task('c', 'build', 'dist', ['dist'], { dependsOn: ['^build', 'prep'] }, true)),
      },
    },
  };
}
export const TASKS = ['root#check', 'a#build', 'inner#build', 'b#gen', 'b#build', 'b#test', 'c#build'];
export const OUTPUT_DIRS = ['dist', 'packages/a/dist', 'packages/a/inner/dist', 'packages/b/gen', 'packages/b/dist', 'packages/c/dist'];

// A work tree -----------------------------------------------------------------------------------------------------------------

export class Workspace {
  constructor(base, name) {
    this.base = base;
    this.name = name;
    this.dir = `${base}/${name}`;
    this.lists = `${base}/lists-${name}`;
    fs.mkdirSync(this.lists, { recursive: true });
    this.commons = new Map();
  }
  environment(extra = {}) {
    return {
      PATH: process.env.PATH, HOME: `${this.base}/home`, TMPDIR: `${this.base}/tmp`, LANG: 'C.UTF-8', GIT_CONFIG_GLOBAL: `${this.base}/gitconfig`, GIT_CONFIG_NOSYSTEM: '1',
      GIT_AUTHOR_DATE: '2001-01-01T00:00:00Z', GIT_COMMITTER_DATE: '2001-01-01T00:00:00Z', GIT_EDITOR: 'true', ...extra,
    };
  }
  /** A git command of the fuzzer's user; whether it worked does not matter, only what it left. `paths` are given on stdin. */
  git(args, { paths, cwd = this.dir, env } = {}) {
    const all = paths ? ['--literal-pathspecs', ...args, '--pathspec-from-file=-', '--pathspec-file-nul'] : args;
    const input = paths ? bytes(paths.map((p) => `${p}\0`).join('')) : '';
    return spawnSync('git', all, { cwd, env: this.environment(env), input, encoding: 'latin1' });
  }
  /** NUL-separated answers of a git that neither writes nor asks a monitor. */
  query(args, cwd = this.dir) {
    const r = spawnSync('git', ['--no-optional-locks', '-c', 'core.fsmonitor=false', '-c', 'core.untrackedCache=false', ...args],
      { cwd, env: this.environment(), encoding: 'latin1', maxBuffer: 64 << 20 });
    return r.status === 0 ? r.stdout.split('\0').filter(Boolean) : undefined;
  }
  ignores(name) {
    const r = spawnSync('git', ['--no-optional-locks', 'check-ignore', '-z', '--stdin'], { cwd: this.dir, env: this.environment(), input: bytes(`${name}\0`), encoding: 'latin1' });
    return r.stdout.length > 0;
  }
  commonDir(dir) {
    return spawnSync('git', ['rev-parse', '--path-format=absolute', '--git-common-dir'], { cwd: bytes(dir).toString(), env: this.environment(), encoding: 'latin1' }).stdout.trim();
  }

  copyTo(path) {
    spawnSync('cp', ['-a', this.dir, path]);
  }
  /** Tells the reader what each of these tasks reads. */
  writeLists(model, ids, context) {
    for (const id of ids) fs.writeFileSync(`${this.lists}/${id.replace(/[#/]/g, '_')}`, listBytes(model.task(id, context).records));
  }
  runEnvironment(env) {
    return this.environment({ VXF_READER: reader, VXF_LISTS: this.lists, VXF_ROOT: this.dir, VX_MUTATION: process.env.VX_MUTATION ?? '', ...env });
  }
  /** `vx run` to its end. */
  run(args, env) {
    const r = spawnSync(vxBin, ['run', ...args], { cwd: this.dir, env: this.runEnvironment(env), encoding: 'latin1', timeout: 300_000, maxBuffer: 256 << 20 });
    return { status: r.status, signal: r.signal, stdout: r.stdout, stderr: r.stderr };
  }
  /** The same left running: `done` resolves with the same answer. */
  start(args, env) {
    const child = spawn(vxBin, ['run', ...args], { cwd: this.dir, env: this.runEnvironment(env), stdio: ['ignore', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (d) => (stdout += d.toString('latin1')));
    child.stderr.on('data', (d) => (stderr += d.toString('latin1')));
    const done = new Promise((resolve) => child.on('close', (status, signal) => resolve({ status, signal, stdout, stderr })));
    return { child, done };
  }
}

const fill = (random, dir, name) => isFree(dir, name) && write(`${dir}/${name}`, content(random));

/** The files of a fresh workspace. */
function populate(random, ws) {
  write(`${ws.dir}/package.json`, '{"name":"root","private":true,"workspaces":["packages/*","packages/a/inner"]}\n');
  write(`${ws.dir}/package-lock.json`, '{}\n');
  const all = configs(random);
  const ignored = ['.vx/', 'node_modules/', '*.ign'].filter((_, i) => i === 0 || random.chance(60));
  if (random.chance(60)) ignored.push('dist/', 'gen/');
  if (random.chance(40)) ignored.push('made/');
  write(`${ws.dir}/.gitignore`, `${ignored.join('\n')}\n`);
  for (const p of PROJECTS) {
    const dir = p.dir === '' ? ws.dir : `${ws.dir}/${p.dir}`;
    if (p.dir !== '') write(`${dir}/package.json`, `${JSON.stringify({ name: p.name, version: '1.0.0', dependencies: Object.fromEntries(p.deps.map((d) => [d, '*'])) })}\n`);
    write(`${dir}/vx.config.json`, `${JSON.stringify(all[p.id], null, 1)}\n`);
    write(`${dir}/src/x`, content(random));
    for (let i = 0; i < 6; i++) fill(random, dir, `${random.pick(DIRS)}/${random.pick(NAMES)}`);
    if (random.chance(60) && !lstat(`${dir}/src/ln`)) symlink('x', `${dir}/src/ln`);
  }
  write(`${ws.dir}/packages/c/seed.txt`, 'seed\n');
  for (let i = 0; i < 4; i++) fill(random, ws.dir, `shared/${random.pick(NAMES)}`);
  write(`${ws.dir}/top.cfg`, 'cfg\n');
}

export const FILTER_CONFIG = ['filter.rot.clean=tr a-z n-za-m', 'filter.rot.smudge=tr n-za-m a-z'];

/** A workspace and its clone below `base`, which share a store. */
export function build(random, base) {
  for (const name of ['home', 'tmp', 'ws1']) makeDirs(`${base}/${name}`);
  write(`${base}/gitconfig`, '[user]\n\tname = t\n\temail = t@example.invalid\n[init]\n\tdefaultBranch = main\n[protocol "file"]\n\tallow = always\n[advice]\n\tdetachedHead = false\n[gc]\n\tauto = 0\n');
  const ws1 = new Workspace(base, 'ws1');
  const format = random.chance(15) ? ['--object-format=sha256'] : [];
  ws1.git(['init', '-q', ...format]);
  populate(random, ws1);
  ws1.git(['add', '-A']);
  ws1.git(['commit', '-q', '-m', 'start']);
  const inner = `${base}/sub`;
  makeDirs(inner);
  ws1.git(['init', '-q', ...format], { cwd: inner });
  write(`${inner}/s`, 'sub\n');
  ws1.git(['add', '-A'], { cwd: inner });
  ws1.git(['commit', '-q', '-m', 'sub'], { cwd: inner });
  ws1.git(['config', 'index.version', random.pick(['2', '3', '4'])]);
  if (random.chance(15)) ws1.git(['config', 'core.untrackedCache', 'true']);
  if (random.chance(15)) ws1.git(['config', 'core.splitIndex', 'true']);
  ws1.git(['clone', '-q', ws1.dir, `${base}/ws2`], { cwd: base });
  const ws2 = new Workspace(base, 'ws2');
  write(`${base}/monitor`, '#!/bin/sh\nprintf "t\\0"\n', 0o755);
  return [ws1, ws2];
}

/** The store's files, wherever below `base` they are. */
export function storeFiles(base) {
  const found = [];
  const visit = (dir) => {
    for (const name of list(dir)) {
      const st = lstat(`${dir}/${name}`);
      if (st?.isDirectory()) visit(`${dir}/${name}`);
      else if (st) found.push(`${dir}/${name}`);
    }
  };
  visit(`${base}/home`);
  return found;
}

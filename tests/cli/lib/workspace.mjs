// Small real workspaces for tests of the whole command.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { after } from 'node:test';

const here = path.dirname(fileURLToPath(import.meta.url));
export const repository = path.resolve(here, '../../..');
export const vxBin = path.resolve(process.env.VX_BIN ?? path.join(repository, 'build/vx'));

const made = [];
const running = new Set();
function removeAll() {
  for (const child of running) child.kill('SIGINT');
  if (process.env.VX_TEST_KEEP) return;
  for (const dir of made) {
    spawnSync('chmod', ['-R', 'u+rwX', dir], { stdio: 'ignore' });
    fs.rmSync(dir, { recursive: true, force: true });
  }
}
// Listing the rules of tests/conformance registers no hook: that alone would start a test report.
if (process.env.VX_CONFORMANCE_LIST !== '1') after(removeAll);

/** A fresh directory that goes away after the file's tests. */
export function tempDir(name = 'vx-cli-') {
  const dir = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), name)));
  made.push(dir);
  return dir;
}

/** The environment of every child: nothing of the developer's machine but PATH. */
export function cleanEnv(base, extra = {}) {
  const env = {
    PATH: process.env.PATH,
    HOME: path.join(base, 'home'),
    TMPDIR: path.join(base, 'tmp'),
    LANG: 'C.UTF-8',
    GIT_CONFIG_GLOBAL: path.join(base, 'gitconfig'),
    GIT_CONFIG_NOSYSTEM: '1',
    VX_MUTATION: process.env.VX_MUTATION,
    ...extra,
  };
  for (const [key, value] of Object.entries(env)) if (value === undefined) delete env[key];
  return env;
}

/** How a task ended: what the run did, not what it is called. */
function outcomeOf(row) {
  if (row.status === 'cache-hit') return row.restored ? 'restored' : 'up-to-date';
  return row.status === 'success' ? 'executed' : row.status;
}

export class Workspace {
  constructor(base, dir = path.join(base, 'ws')) {
    this.base = base;
    this.dir = dir;
  }
  path(name) {
    return path.join(this.dir, name);
  }
  write(name, content, mode) {
    const file = this.path(name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, typeof content === 'string' || Buffer.isBuffer(content) ? content : JSON.stringify(content, null, 2) + '\n');
    if (mode !== undefined) fs.chmodSync(file, mode);
  }
  read(name) {
    return fs.readFileSync(this.path(name), 'utf8');
  }
  exists(name) {
    return fs.lstatSync(this.path(name), { throwIfNoEntry: false }) !== undefined;
  }
  remove(name) {
    fs.rmSync(this.path(name), { recursive: true, force: true });
  }
  list(name) {
    return fs.readdirSync(this.path(name)).sort();
  }
  /** Changes one project's config in place. */
  config(project, change) {
    const file = `packages/${project}/vx.config.json`;
    const value = JSON.parse(this.read(file));
    change(value);
    this.write(file, value);
  }
  sh(script, env = {}) {
    return execFileSync('sh', ['-ec', script], { cwd: this.dir, env: cleanEnv(this.base, env), encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  }
  git(...args) {
    return execFileSync('git', args, { cwd: this.dir, env: cleanEnv(this.base), encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  }
  commit(message = 'change') {
    this.git('add', '-A');
    this.git('commit', '-q', '--allow-empty', '-m', message);
  }
  /** Runs vx to its end. */
  vx(args, { cwd = '', env = {}, input, timeout = 300_000, uid } = {}) {
    const r = spawnSync(vxBin, args, {
      cwd: this.path(cwd), env: cleanEnv(this.base, env), encoding: 'utf8', input: input ?? '', timeout, uid, gid: uid, maxBuffer: 256 << 20,
    });
    if (r.error) throw r.error;
    return { status: r.status, signal: r.signal, stdout: r.stdout, stderr: r.stderr, text: r.stdout + r.stderr };
  }
  /** `vx run ARGS --format json`: the summary, and each task's outcome by id. */
  run(args, options = {}) {
    const dashes = args.indexOf('--');
    const flags = ['--format', 'json'];
    const all = dashes < 0 ? ['run', ...args, ...flags] : ['run', ...args.slice(0, dashes), ...flags, ...args.slice(dashes)];
    const r = this.vx(all, options);
    let doc;
    try {
      doc = JSON.parse(r.stdout);
    } catch {
      throw new Error(`vx ${all.join(' ')} printed no document (status ${r.status})\nstdout: ${r.stdout}\nstderr: ${r.stderr}`);
    }
    const outcomes = {};
    for (const row of doc.tasks ?? []) outcomes[row.id] = outcomeOf(row);
    const keys = {};
    for (const row of doc.tasks ?? []) keys[row.id] = row.hash;
    return { ...r, doc, outcomes, keys, code: doc.error?.code, executed: Object.keys(outcomes).filter((id) => outcomes[id] === 'executed').sort() };
  }
  /** `vx run ARGS --dry=json`: the plan, and each task's status and key by id. */
  plan(args, options = {}) {
    const dashes = args.includes('--') ? args.indexOf('--') : args.length;
    const r = this.vx(['run', ...args.slice(0, dashes), '--dry=json', ...args.slice(dashes)], options);
    const doc = JSON.parse(r.stdout);
    const status = {};
    const keys = {};
    for (const task of doc.tasks ?? []) {
      status[task.id] = task.cacheStatus;
      keys[task.id] = task.hash;
    }
    return { ...r, doc, status, keys, code: doc.error?.code };
  }
  /** Starts vx and leaves it running. `ended` resolves with what it printed and how it ended. */
  start(args, { cwd = '', env = {}, stdio = ['ignore', 'pipe', 'pipe'] } = {}) {
    const child = spawn(vxBin, args, { cwd: this.path(cwd), env: cleanEnv(this.base, env), stdio });
    running.add(child);
    let stdout = '';
    let stderr = '';
    child.stdout?.on('data', (chunk) => (stdout += chunk));
    child.stderr?.on('data', (chunk) => (stderr += chunk));
    const ended = new Promise((resolve) => child.on('close', (status, signal) => {
      running.delete(child);
      resolve({ status, signal, stdout, stderr });
    }));
    return { child, ended, output: () => stdout + stderr };
  }
}

/** An empty workspace directory with its own home. */
export function bare() {
  const base = tempDir();
  for (const name of ['ws', 'home', 'tmp']) fs.mkdirSync(path.join(base, name));
  fs.writeFileSync(path.join(base, 'gitconfig'), '[user]\n\tname = t\n\temail = t@example.invalid\n[init]\n\tdefaultBranch = main\n');
  return new Workspace(base);
}

/** A cached task. */
export function cached(command, { files = ['src/**'], outputs = ['dist/**'], dependsOn, inputs = {}, cache = {}, exec = {}, ...rest } = {}) {
  return {
    exec: { command, ...exec },
    ...(dependsOn ? { dependsOn } : {}),
    cache: { inputs: { files, ...inputs }, outputs: { files: outputs }, ...cache },
    ...rest,
  };
}
/** A task that runs every time. */
export function always(command, { dependsOn, exec = {}, ...rest } = {}) {
  return { exec: { command, ...exec }, ...(dependsOn ? { dependsOn } : {}), ...rest };
}
/** The usual build: copies src to dist. */
export function copyBuild(more = {}) {
  return cached('mkdir -p dist && cp -R src/. dist/', more);
}

/**
 * An npm workspace of packages below `packages/`. `packages` maps a name to { deps?, tasks?, files?, config? };
 * without `tasks` a package has no config.
 */
export function monorepo(packages, { git = true, root = {}, workspace } = {}) {
  const ws = bare();
  ws.write('package.json', { name: 'root', private: true, workspaces: ['packages/*'], ...root });
  if (workspace) ws.write('vx.workspace.json', workspace);
  ws.write('.gitignore', 'node_modules/\n.vx/\ndist/\n');
  for (const [name, spec] of Object.entries(packages)) {
    const dir = `packages/${name.replace(/^@[^/]*\//, '')}`;
    const dependencies = Object.fromEntries((spec.deps ?? []).map((dep) => [dep, '*']));
    ws.write(`${dir}/package.json`, { name, version: '1.0.0', ...(spec.deps ? { dependencies } : {}) });
    if (spec.tasks) ws.write(`${dir}/vx.config.json`, { ...(spec.config ?? {}), tasks: spec.tasks });
    for (const [file, content] of Object.entries({ 'src/x': `${name}\n`, ...(spec.files ?? {}) })) ws.write(`${dir}/${file}`, content);
  }
  if (git) {
    ws.git('init', '-q');
    ws.commit('start');
  }
  return ws;
}

/** One package `a` with a cached build. */
export function single(task = copyBuild(), options = {}) {
  return monorepo({ a: { tasks: { build: task }, files: options.files } }, options);
}

/** Waits until `test` holds; the one place where tests wait for something outside. */
export async function until(test, what, ms = 60_000) {
  const deadline = Date.now() + ms;
  while (!(await test())) {
    if (Date.now() > deadline) throw new Error(`waited too long for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Every entry below a directory: kind, mode, size, mtime, link text, content. Directory times aside. */
export function snapshot(root) {
  const out = {};
  const walk = (dir, prefix) => {
    for (const name of fs.readdirSync(dir, { encoding: 'buffer' }).map((b) => b.toString('latin1')).sort()) {
      const file = Buffer.concat([Buffer.from(`${dir}/`), Buffer.from(name, 'latin1')]);
      const st = fs.lstatSync(file, { bigint: true });
      const key = prefix + name;
      const mode = (st.mode & 0o7777n).toString(8);
      if (st.isDirectory()) {
        out[`${key}/`] = `dir ${mode}`;
        walk(file.toString(), `${key}/`);
      } else if (st.isSymbolicLink()) out[key] = `link ${fs.readlinkSync(file)}`;
      else out[key] = `file ${mode} ${st.mtimeNs} ${fs.readFileSync(file, 'latin1')}`;
    }
  };
  if (fs.existsSync(root)) walk(root, '');
  return out;
}

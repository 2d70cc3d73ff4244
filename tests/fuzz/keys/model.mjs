// What every task ought to read and so to print: the declarations taken from the configs on disk, the files from git and the disk,
// the selection from globs.mjs. Nothing here looks at what vx says.
import { createHash } from 'node:crypto';
import { bytes, list, lstat, read } from './disk.mjs';
import { matcher } from './globs.mjs';
import { argumentRecord, fileRecord, look, outputsOf, sumOf, variableRecord } from './text.mjs';

const digest = (value) => createHash('sha1').update(typeof value === 'string' ? bytes(value) : JSON.stringify(value)).digest('hex');
const canonical = (value) =>
  Array.isArray(value) ? value.map(canonical)
  : value && typeof value === 'object' ? Object.fromEntries(Object.keys(value).sort().map((k) => [k, canonical(value[k])]))
  : value;

/** Root files that are in every key (keys.md 3.4), those the fuzzer writes. */
export const FINGERPRINT = ['package-lock.json', '.npmrc'];
export const PROJECTS = [
  { name: 'root', id: 'root', dir: '' },
  { name: 'a', id: 'a', dir: 'packages/a', deps: [] },
  { name: 'inner', id: 'inner', dir: 'packages/a/inner', deps: [] },
  { name: 'b', id: 'b', dir: 'packages/b', deps: ['a'] },
  { name: 'c', id: 'c', dir: 'packages/c', deps: ['b', 'inner'] },
];
const below = (path, dir) => dir === '' || path.startsWith(`${dir}/`);
const join = (dir, path) => (dir === '' ? path : `${dir}/${path}`);

/** Does any directory above `path` happen to be a link? Then git's path is not what lies there. */
function behindLink(root, path, known) {
  const dir = path.slice(0, Math.max(0, path.lastIndexOf('/')));
  if (dir === '') return false;
  if (!known.has(dir)) known.set(dir, behindLink(root, dir, known) || !lstat(`${root}/${dir}`)?.isDirectory());
  return known.get(dir);
}

/** What a repository holds of which git will not tell: every file, as far as no repository of its own begins. */
function walk(dir, prefix, found) {
  for (const name of list(dir)) {
    if (name === '.git') continue;
    const st = lstat(`${dir}/${name}`);
    if (st?.isDirectory()) walk(`${dir}/${name}`, `${prefix}${name}/`, found);
    else if (st?.isFile() || st?.isSymbolicLink()) found.set(prefix + name, false);
  }
}

/** Files git knows below `dir` of the work tree: Map path → tracked. Nested repositories are asked themselves. */
function listRepository(ws, dir, prefix, found) {
  const links = new Map();
  const nested = [];
  const visit = (name, isTracked) => {
    const path = name.endsWith('/') ? name.slice(0, -1) : name;
    if (behindLink(dir, path, links)) return;
    const st = lstat(`${dir}/${path}`);
    if (!st) return;
    if (st.isDirectory()) {
      if (name.endsWith('/') || isTracked) nested.push(path);
    } else if (st.isFile() || st.isSymbolicLink()) found.set(prefix + path, isTracked || found.get(prefix + path) === true);
  };
  // "<tag> <path>"; the tag is "?" for what git does not track.
  const lines = ws.query(['ls-files', '-z', '-t', '--cached', '--others', '--exclude-standard'], dir);
  if (lines === undefined) walk(dir, prefix, found);  // a submodule that was moved without git's knowledge
  for (const line of new Set(lines)) visit(line.slice(2), line[0] !== '?');
  for (const path of new Set(nested)) {
    if (!lstat(`${dir}/${path}/.git`)) continue;
    if (ws.commonDir(`${dir}/${path}`) === ws.commonDir(dir)) continue;  // a linked worktree of this repository
    listRepository(ws, `${dir}/${path}`, `${prefix + path}/`, found);
  }
}

const ALWAYS = [/(^|\/)\.git(\/|$)/, /(^|\/)\.vx(\/|$)/, /\.tsbuildinfo$/, /(^|\/)vx-lock\.json$/, /(^|\/)\.[0-9a-f]{16}-[0-9a-f]{8}\.tmp\//];

export class Model {
  /** `fault` when the configs cannot be read: then every run is refused. */
  constructor(ws) {
    this.ws = ws;
    this.overlay = new Map();
    this.configs = new Map();
    this.fault = '';
    for (const p of PROJECTS) {
      try {
        this.configs.set(p.id, JSON.parse(read(`${ws.dir}/${join(p.dir, 'vx.config.json')}`)));
        JSON.parse(read(`${ws.dir}/${join(p.dir, 'package.json')}`));
      } catch (e) {
        this.fault ||= `${p.dir}: ${e.message}`;
      }
    }
    if (this.fault) return;
    this.files = new Map();
    listRepository(ws, ws.dir, '', this.files);
    for (const path of this.files.keys()) {
      if (ALWAYS.some((r) => r.test(path)) || (!this.files.get(path) && /(^|\/)node_modules\//.test(path))) this.files.delete(path);
    }
    this.foreseePrep();
    this.sorted = [...this.files.keys()].sort((x, y) => (x < y ? -1 : x > y ? 1 : 0));
    this.tasks = new Map();
  }

  /** What the uncached `prep` of c will have written when anything that depends on it is keyed: made/seed.txt, a copy of seed.txt. */
  foreseePrep() {
    const seed = look(this.ws.dir, 'packages/c/seed.txt');
    const made = 'packages/c/made/seed.txt';
    this.prepped = seed.kind === '-' ? null : { kind: 'f', content: seed.content };
    this.madeIgnored = !this.files.has(made) && this.ws.ignores(made);
  }
  /** Computes as if prep had run. */
  afterPrep(run) {
    const made = 'packages/c/made/seed.txt';
    const files = this.files;
    const sorted = this.sorted;
    this.overlay.set(made, this.prepped);
    if (this.prepped && !this.madeIgnored && !files.has(made)) {
      this.files = new Map(files).set(made, false);
      this.sorted = [...sorted, made].sort((x, y) => (x < y ? -1 : x > y ? 1 : 0));
    }
    const result = run();
    this.overlay.delete(made);
    this.files = files;
    this.sorted = sorted;
    return result;
  }

  declaration(id) {
    const [project, name] = id.split('#');
    return this.configs.get(project)?.tasks?.[name];
  }
  upstreams(id) {
    const [projectId] = id.split('#');
    const project = PROJECTS.find((p) => p.id === projectId);
    return (this.declaration(id).dependsOn ?? []).flatMap((entry) => {
      if (!entry.startsWith('^')) return entry.includes('#') ? [entry] : [`${projectId}#${entry}`];
      return (project.deps ?? []).map((dep) => `${dep}#${entry.slice(1)}`);
    });
  }
  /** The requested tasks and everything they depend on, dependencies first. */
  closure(ids) {
    const order = [];
    const visit = (id) => {
      if (order.includes(id)) return;
      this.upstreams(id).forEach(visit);
      if (!order.includes(id)) order.push(id);
    };
    ids.forEach(visit);
    return order;
  }

  select(project, declaration) {
    const { files, workspaceFiles = [] } = declaration.cache.inputs;
    const { files: outputs, workspaceFiles: sharedOutputs = [] } = declaration.cache.outputs;
    const wanted = matcher(files);
    const shared = matcher(workspaceFiles);
    const own = matcher(outputs);
    const ownShared = matcher(sharedOutputs);
    const fences = PROJECTS.filter((p) => p.dir !== project.dir && below(p.dir, project.dir)).map((p) => p.dir);
    const inProject = (path) => project.dir === '' ? path : path.slice(project.dir.length + 1);
    const selected = this.sorted.filter((path) => {
      if (look(this.ws.dir, path, this.overlay).kind === '-') return false;
      if (below(path, project.dir) && own.test(inProject(path))) return false;
      if (ownShared.test(path)) return false;
      if (shared.test(path)) return true;
      return below(path, project.dir) && !fences.some((f) => below(path, f)) && wanted.test(inProject(path));
    });
    return { selected, wrong: this.wrongLiteral(project, wanted, selected, fences, true) || this.wrongLiteral(PROJECTS[0], shared, selected, [], false) };
  }
  /** A literal that names something on disk which can be no input fails its task. */
  wrongLiteral(project, list, selected, fences, fenced) {
    for (const literal of list.literals) {
      const path = join(project.dir, literal);
      const at = (p) => p === path || p.startsWith(`${path}/`);
      if (selected.some(at) || !lstat(`${this.ws.dir}/${path}`)) continue;
      const candidate = (p) => at(p) && !(fenced && fences.some((f) => below(p, f)));
      if (this.sorted.some(candidate)) continue;
      return path;
    }
    return '';
  }

  /** Everything about one task: what it reads and prints, what it leaves, and a digest of all that may move its key. */
  task(id, { env, args, requested }) {
    const known = this.tasks.get(id);
    if (known) return known;
    const [projectId, name] = id.split('#');
    const project = PROJECTS.find((p) => p.id === projectId);
    const declaration = this.declaration(id);
    const ups = this.upstreams(id).map((up) => ({ id: up, ...this.task(up, { env, args, requested }) }));
    const compute = () => (declaration.cache ? this.cachedTask(id, project, declaration, ups, { env, args: requested.includes(id) ? args : [] }) : { uncached: true, failed: ups.some((u) => u.failed) });
    const value = ups.some((u) => u.uncached) ? this.afterPrep(compute) : compute();
    this.tasks.set(id, { name, ...value });
    return this.tasks.get(id);
  }

  cachedTask(id, project, declaration, ups, { env, args }) {
    const { selected, wrong } = this.select(project, declaration);
    const keyed = (declaration.cache.inputs.tasks ?? ['*', '^*']).length > 0;
    const inputs = [...new Set([...FINGERPRINT, join(project.dir, 'package.json'), ...selected])];
    const looks = inputs.map((path) => ({ path, ...look(this.ws.dir, path, this.overlay) }));
    const names = declaration.cache.inputs.env ?? [];
    const upFiles = keyed ? ups.filter((u) => u.out).map((u) => ({ path: u.out, kind: 'f', content: u.text })) : [];
    const records = [...inputs.map((p) => `f${p}`), ...upFiles.map((u) => `f${u.path}`), ...names.map((n) => `e${n}`)];
    const texts = [
      ...args.map(argumentRecord),
      ...[...looks, ...upFiles].map((l) => fileRecord(l.path, l)),
      ...names.map((n) => variableRecord(n, env[n])),
    ];
    const text = texts.join('');
    const dir = declaration.exec.command.split(' ')[1];
    const material = digest([id, canonical(declaration), args, names.map((n) => env[n] ?? null),
      looks.map((l) => [l.path, l.kind, digest(l.content ?? '')]), keyed ? ups.map((u) => u.material ?? `uncached ${u.id}`).sort() : []]);
    return {
      text, records, material, wrong,
      // What an uncached task wrote a moment ago may look written during the run: the result is right, but need not be kept.
      late: ups.some((u) => u.uncached || u.late),
      unstable: keyed && ups.some((u) => u.uncached || u.unstable),
      failed: wrong !== '' || ups.some((u) => u.failed),
      line: `VXF ${id} ${sumOf(text)}`,
      out: dir === '-' ? undefined : join(project.dir, `${dir}/all`),
      outDir: dir === '-' ? undefined : join(project.dir, dir),
      outputs: dir === '-' ? {} : outputsOf(text, [...looks, ...upFiles]),
    };
  }
}

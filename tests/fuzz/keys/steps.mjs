// Edits of the tree, the outputs and the store. A step changes something and says what; it returns false when there was nothing to
// change. `state` holds the random numbers, the two work trees and what the run will be asked.
import fs from 'node:fs';
import { bytes, chmod, hasRealParents, isFree, list, lstat, makeDirs, parent, read, readlink, remove, rename, rewriteKeepingTimes, symlink, walk, write } from './disk.mjs';
import { PROJECTS } from './model.mjs';
import { content, DIRS, ENV_NAMES, inputsFor, NAMES, OUTPUT_DIRS, storeFiles } from './workspace.mjs';

const KEPT = /(^|\/)(vx\.config\.json|package\.json|package-lock\.json|\.npmrc|\.gitignore|\.gitattributes|\.gitmodules|seed\.txt)$/;
const FENCE = /(^|\/)(\.git|\.vx|made)$/;

/** Files and links that an edit may touch. */
export function editable(ws) {
  return walk(ws.dir, (path, name) => FENCE.test(path) || OUTPUT_DIRS.includes(path) || path === 'wt' || KEPT.test(name));
}
export const someFile = (state, kind) => {
  const files = editable(state.ws).filter((f) => !kind || (kind === 'link') === lstat(`${state.ws.dir}/${f}`).isSymbolicLink());
  return files.length > 0 ? state.random.pick(files) : undefined;
};
const projectDir = (random) => random.pick(PROJECTS).dir;
const freshPath = (random) => {
  const dir = projectDir(random);
  if (dir === '' && random.chance(50)) return `shared/${random.pick(NAMES)}`;
  return `${dir && `${dir}/`}${random.pick(DIRS)}/${random.pick(NAMES)}`;
};
const onFile = (kind, change) => (state) => {
  const file = someFile(state, kind);
  if (file === undefined) return false;
  return change(state, `${state.ws.dir}/${file}`, file);
};
/** Other bytes of the same number. */
export const twist = (random, text) => {
  if (text === '') return undefined;
  const at = random.below(text.length);
  return text.slice(0, at) + String.fromCharCode((text.charCodeAt(at) + 1 + random.below(254)) % 256) + text.slice(at + 1);
};

export const TREE_STEPS = [
  [10, 'edit', onFile('file', ({ random }, path, name) => (write(path, content(random)), name))],
  [12, 'same-size', onFile('file', ({ random }, path, name) => {
    const text = twist(random, read(path));
    return text === undefined ? false : (rewriteKeepingTimes(path, text), name);
  })],
  [4, 'replace-keeping-times', onFile('file', ({ random, base }, path, name) => {
    const text = twist(random, read(path));
    if (text === undefined) return false;
    const before = lstat(path);
    write(`${base}/tmp/new`, text, Number(before.mode & 0o777n));
    fs.utimesSync(`${base}/tmp/new`, Number(before.mtimeNs) / 1e9, Number(before.mtimeNs) / 1e9);
    rename(`${base}/tmp/new`, path);
    return name;
  })],
  [4, 'chmod', onFile('file', ({ random }, path, name) => {
    const mode = random.pick([0o644, 0o755, 0o600, 0o700, 0o444, 0o645]);
    chmod(path, mode);
    return `${name} ${mode.toString(8)}`;
  })],
  [3, 'file-to-link', onFile('file', (state, path, name) => {
    const text = state.random.pick([read(path), 'x', '../y', 'nowhere']);
    if (text === '' || text.includes('\0') || text.length > 200) return false;
    remove(path);
    symlink(text, path);
    return name;
  })],
  [2, 'link-to-file', onFile('link', (_, path, name) => {
    const text = readlink(path);
    remove(path);
    write(path, text);
    return name;
  })],
  [3, 'retarget', onFile('link', ({ random }, path, name) => {
    remove(path);
    symlink(random.pick(['x', 'y', '../lib', 'gone', './x']), path);
    return name;
  })],
  [8, 'add', ({ ws, random }) => {
    const name = freshPath(random);
    if (!isFree(ws.dir, name)) return false;
    write(`${ws.dir}/${name}`, content(random));
    return name;
  }],
  [2, 'add-link', ({ ws, random }) => {
    const name = freshPath(random);
    if (!hasRealParents(ws.dir, name) || lstat(`${ws.dir}/${name}`)) return false;
    makeDirs(parent(`${ws.dir}/${name}`));
    symlink(random.pick(['x', '..', 'gone', '../src']), `${ws.dir}/${name}`);
    return name;
  }],
  [5, 'delete', onFile(undefined, (_, path, name) => (remove(path), name))],
  [4, 'rename', onFile(undefined, ({ ws, random }, path, name) => {
    const to = freshPath(random);
    if (!isFree(ws.dir, to)) return false;
    makeDirs(parent(`${ws.dir}/${to}`));
    rename(path, `${ws.dir}/${to}`);
    return `${name} -> ${to}`;
  })],
  [2, 'swap-names', (state) => {
    const [one, two] = [someFile(state), someFile(state)].map((f) => f && `${state.ws.dir}/${f}`);
    if (!one || one === two) return false;
    rename(one, `${state.base}/tmp/swap`);
    rename(two, one);
    rename(`${state.base}/tmp/swap`, two);
    return `${one} <-> ${two}`;
  }],
  [3, 'move-dir', ({ ws, random }) => {
    const dir = projectDir(random);
    const at = (name) => `${ws.dir}/${dir && `${dir}/`}${name}`;
    const from = at(random.pick(DIRS));
    const to = at(random.pick([...DIRS, 'moved']));
    if (!lstat(from)?.isDirectory() || from === to || to.startsWith(`${from}/`) || from.startsWith(`${to}/`)) return false;
    if (!hasRealParents(ws.dir, to.slice(ws.dir.length + 1))) return false;
    remove(to);
    makeDirs(parent(to));
    rename(from, to);
    return `${from} -> ${to}`;
  }],
  [2, 'dir-to-link', ({ ws, random }) => {
    const dir = `${ws.dir}/${projectDir(random)}/${random.pick(['src/d', 'lib', 'src/[id]'])}`;
    if (!lstat(dir)?.isDirectory()) return false;
    const away = `${parent(dir)}/real`;
    if (lstat(away)) return false;
    rename(dir, away);
    symlink('real', dir);
    return dir;
  }],
  [2, 'dir-to-file', ({ ws, random }) => {
    const dir = `${ws.dir}/${projectDir(random)}/${random.pick(['src/d', 'lib', 'data'])}`;
    if (!lstat(dir)?.isDirectory()) return false;
    remove(dir);
    write(dir, content(random));
    return dir;
  }],
  [1, 'empty-dir', ({ ws, random }) => {
    const dir = `${ws.dir}/${projectDir(random)}/${random.pick(DIRS)}/void`;
    if (!hasRealParents(ws.dir, dir.slice(ws.dir.length + 1))) return false;
    if (lstat(dir)) return false;
    makeDirs(dir);
    return dir;
  }],
  [1, 'touch', onFile('file', (_, path, name) => (fs.utimesSync(bytes(path), new Date(), new Date()), name))],
  [2, 'ignore', ({ ws, random }) => {
    const file = `${ws.dir}/${random.pick(['.gitignore', 'packages/a/.gitignore', 'packages/b/src/.gitignore', '.git/info/exclude'])}`;
    if (!hasRealParents(ws.dir, file.slice(ws.dir.length + 1)) || !lstat(parent(file))?.isDirectory()) return false;
    const lines = random.some(['*.txt', 'lib/', '/src/y', '!x', 'src/d', '*.c', 'dist/', 'gen/', 'made/', 'data/*', '!data/x'], 25);
    write(file, `.vx/\n${lines.join('\n')}\n`);
    return `${file}: ${lines.join(' ')}`;
  }],
  [2, 'attributes', ({ ws, random }) => {
    const file = `${ws.dir}/${random.pick(['.gitattributes', 'packages/a/.gitattributes', 'packages/a/src/.gitattributes', '.git/info/attributes'])}`;
    if (!hasRealParents(ws.dir, file.slice(ws.dir.length + 1)) || !lstat(parent(file))?.isDirectory()) return false;
    if (random.chance(25)) return remove(file), `${file} gone`;
    const lines = random.some(['*.tx text eol=crlf', '* text=auto', '*.v ident', '*.flt filter=rot', 'x -text', '*.c text', 'y crlf', 'src/** text', '*.txt working-tree-encoding=UTF-16'], 25);
    write(file, `${lines.join('\n')}\n`);
    return `${file}: ${lines.join(', ')}`;
  }],
  [2, 'seed', ({ ws, random }) => {
    const file = `${ws.dir}/packages/c/seed.txt`;
    if (random.chance(15)) remove(file);
    else write(file, content(random));
    return 'seed.txt';
  }],
  [1, 'fingerprint', ({ ws, random }) => {
    const file = `${ws.dir}/${random.pick(['package-lock.json', '.npmrc'])}`;
    if (random.chance(20)) remove(file);
    else write(file, `# ${random.below(4)}\n`);
    return file;
  }],
  [1, 'manifest', ({ ws, random }) => {
    const file = `${ws.dir}/packages/${random.pick(['a', 'b', 'c'])}/package.json`;
    const value = safely(() => JSON.parse(read(file)));
    if (value === undefined) return false;
    write(file, `${JSON.stringify({ ...value, version: `1.0.${random.below(3)}` })}\n`);
    return file;
  }],
  [3, 'config', ({ ws, random }) => {
    const project = random.pick(PROJECTS);
    const file = `${ws.dir}/${project.dir && `${project.dir}/`}vx.config.json`;
    const value = safely(() => JSON.parse(read(file)));
    if (value === undefined) return false;
    const name = random.pick(Object.keys(value.tasks).filter((t) => value.tasks[t].cache));
    const task = value.tasks[name];
    const dirs = project.id === 'b' ? ['gen', 'dist'] : ['dist'];
    const tasks = task.cache.inputs.tasks;
    if (random.chance(50)) task.cache.inputs = { ...inputsFor(random, project.id, dirs, project.id !== 'b' && project.id !== 'root'), ...(tasks ? { tasks } : {}) };
    else task.exec.env.define = { VXF_DEFINED: String(random.below(3)) };
    write(file, `${JSON.stringify(value, null, 1)}\n`);
    return `${project.id}#${name} ${JSON.stringify(task.cache.inputs)}`;
  }],
  [3, 'variable', (state) => {
    const name = state.random.pick([...ENV_NAMES, 'VXF_UNDECLARED']);
    const value = state.random.pick([undefined, '', 'x', 'y z']);
    state.env = { ...state.env, [name]: value };
    if (value === undefined) delete state.env[name];
    return `${name}=${value}`;
  }],
  [4, 'nothing', () => 'nothing'],
];

function safely(run) {
  try {
    return run();
  } catch {
    return undefined;
  }
}

// Outputs -----------------------------------------------------------------------------------------------------------------------

const outputFiles = (ws) => OUTPUT_DIRS.flatMap((d) => (lstat(`${ws.dir}/${d}`)?.isDirectory() ? walk(`${ws.dir}/${d}`, (path) => path === 'keep').map((f) => `${ws.dir}/${d}/${f}`) : []));
const onOutput = (change) => (state) => {
  const files = outputFiles(state.ws);
  if (files.length === 0) return false;
  const file = state.random.pick(files);
  const done = change(state, file, lstat(file));
  return done === false ? false : file.slice(state.ws.dir.length + 1);
};
export const OUTPUT_STEPS = [
  [3, 'output-edit', onOutput(({ random }, file, st) => (st.isFile() ? write(file, content(random)) : remove(file)))],
  [3, 'output-same-size', onOutput(({ random }, file, st) => {
    const text = st.isFile() ? twist(random, read(file)) : undefined;
    if (text === undefined) return false;
    rewriteKeepingTimes(file, text);
  })],
  [3, 'output-delete', onOutput((_, file) => remove(file))],
  [2, 'output-chmod', onOutput(({ random }, file, st) => (st.isFile() ? chmod(file, random.pick([0o600, 0o777, 0o400])) : false))],
  [2, 'output-link', onOutput((_, file) => (remove(file), symlink('../src/x', file)))],
  [2, 'output-to-dir', onOutput((_, file) => (remove(file), write(`${file}/deep/er`, 'x')))],
  [3, 'output-stray', ({ ws, random }) => {
    const dir = `${ws.dir}/${random.pick(OUTPUT_DIRS)}`;
    const st = lstat(dir);
    if (st && !st.isDirectory()) return false;
    const name = random.pick(NAMES);
    if (random.chance(20)) makeDirs(`${dir}/void`);
    else if (random.chance(20)) makeDirs(dir), remove(`${dir}/${name}`), symlink('../src', `${dir}/${name}`);
    else write(`${dir}/sub/${name}`, 'stray');
    return dir;
  }],
  [2, 'output-gone', ({ ws, random }) => {
    const dir = random.pick(OUTPUT_DIRS);
    remove(`${ws.dir}/${dir}`);
    return dir;
  }],
  [1, 'output-is-file', ({ ws, random }) => {
    const dir = random.pick(OUTPUT_DIRS);
    remove(`${ws.dir}/${dir}`);
    write(`${ws.dir}/${dir}`, 'x');
    return dir;
  }],
  [1, 'output-is-link', ({ ws, random }) => {
    const dir = random.pick(OUTPUT_DIRS);
    remove(`${ws.dir}/${dir}`);
    symlink('src', `${ws.dir}/${dir}`);
    return dir;
  }],
  [1, 'output-keep', ({ ws, random }) => {
    const dir = `${ws.dir}/${random.pick(OUTPUT_DIRS)}`;
    if (lstat(dir) && !lstat(dir).isDirectory()) return false;
    write(`${dir}/keep/k`, content(random));
    return dir;
  }],
  [1, 'output-moved-dir', ({ ws, random }) => {
    const dir = `${ws.dir}/${random.pick(OUTPUT_DIRS)}`;
    if (!lstat(dir)?.isDirectory() || lstat(`${dir}.away`)) return false;
    rename(dir, `${dir}.away`);
    fs.cpSync(`${dir}.away`, dir, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
    remove(`${dir}.away`);
    return dir;
  }],
];

// Store -------------------------------------------------------------------------------------------------------------------------

const onStore = (pattern, change) => (state) => {
  const files = storeFiles(state.base).filter((f) => pattern.test(f));
  if (files.length === 0) return false;
  const file = state.random.pick(files);
  if (change(state, file) === false) return false;
  state.forgetSaved();
  return file.slice(state.base.length);
};
export const STORE_STEPS = [
  [3, 'artifact-cut', onStore(/\.zst$/, ({ random }, file) => fs.truncateSync(file, random.below(Number(lstat(file).size) + 1)))],
  [3, 'artifact-gone', onStore(/\.zst$/, (_, file) => remove(file))],
  [4, 'artifact-flip', onStore(/\.zst$/, ({ random }, file) => {
    const text = twist(random, read(file));
    return text === undefined ? false : write(file, text);
  })],
  [2, 'artifact-swap', onStore(/\.zst$/, ({ random, base }, file) => {
    const other = random.pick(storeFiles(base).filter((f) => f.endsWith('.zst')));
    fs.copyFileSync(other, file);
  })],
  [2, 'store-database-gone', onStore(/store-1\.db$/, (_, file) => ['', '-wal', '-shm'].forEach((tail) => remove(file + tail)))],
  [1, 'store-database-cut', onStore(/store-1\.db$/, ({ random }, file) => fs.truncateSync(file, random.below(5000)))],
  [1, 'store-database-garbage', onStore(/store-1\.db$/, ({ random }, file) => write(file, random.pick(['', 'garbage', '\0'.repeat(5000)])))],
  [1, 'wal-cut', onStore(/store-1\.db-wal$/, ({ random }, file) => fs.truncateSync(file, random.below(Number(lstat(file).size) + 1)))],
  [1, 'artifacts-gone', (state) => {
    storeFiles(state.base).filter((f) => f.endsWith('.zst')).forEach(remove);
    state.forgetSaved();
    return 'all';
  }],
  [2, 'index-database-gone', ({ ws, random }) => {
    const dir = `${ws.dir}/.vx`;
    const found = lstat(dir) ? list(dir).filter((n) => n.startsWith('index-1.db')) : [];
    if (found.length === 0) return false;
    if (random.chance(50)) found.forEach((n) => remove(`${dir}/${n}`));
    else fs.truncateSync(`${dir}/index-1.db`, random.below(6000));
    return dir;
  }],
  [1, 'state-gone', ({ ws }) => (remove(`${ws.dir}/.vx`), '.vx')],
];

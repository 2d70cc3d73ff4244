// What a user does with git, and what git can be told to hide.
import { lstat, parent, remove, rename, write } from './disk.mjs';
import { content, FILTER_CONFIG } from './workspace.mjs';
import { editable } from './steps.mjs';

const BRANCHES = ['main', 'one', 'two'];
const plain = (name) => /^[\w./ -]+$/.test(name);

const someTracked = ({ ws, random }) => {
  const files = (ws.query(['ls-files', '-z', '--cached']) ?? []).filter((f) => !/(vx\.config|package)\.json$/.test(f));
  return files.length > 0 ? random.pick(files) : undefined;
};
const git = (...args) => ({ ws }) => (ws.git(args), args.join(' '));
const onTracked = (change) => (state) => {
  const file = someTracked(state);
  return file === undefined ? false : (change(state, file), file);
};
const config = (name, values) => ({ ws, random }) => {
  const value = random.pick(values);
  if (value === undefined) ws.git(['config', '--unset', name]);
  else ws.git(['config', name, value]);
  return `${name}=${value}`;
};
/** A state with conflicts or a half-done operation ends now and then. */
const settle = ({ ws, random }) => {
  const how = random.pick([['merge', '--abort'], ['reset', '-q', '--hard'], ['checkout', '-q', '--ours', '.'], ['add', '-A']]);
  ws.git(how);
  return how.join(' ');
};

export const GIT_STEPS = [
  [6, 'git-add-all', git('add', '-A')],
  [4, 'git-add', onTracked(({ ws }, file) => ws.git(['add'], { paths: [file] }))],
  [5, 'git-commit-all', ({ ws }) => (ws.git(['add', '-A']), ws.git(['commit', '-q', '-m', 'all']), 'all')],
  [2, 'git-commit', git('commit', '-q', '-m', 'staged')],
  [4, 'git-checkout', ({ ws, random }) => {
    const to = random.pick(BRANCHES);
    if (ws.git(['checkout', '-q', to]).status !== 0 && random.chance(60)) ws.git(['checkout', '-q', '-f', '-B', to]);
    return to;
  }],
  [2, 'git-checkout-file', onTracked(({ ws }, file) => ws.git(['checkout', '-q', 'HEAD'], { paths: [file] }))],
  [3, 'git-stash', ({ ws, random }) => {
    const how = random.pick([['stash', '-q'], ['stash', '-q', '-u'], ['stash', 'pop', '-q'], ['stash', 'pop', '-q']]);
    ws.git(how);
    return how.join(' ');
  }],
  [2, 'git-reset', ({ ws, random }) => {
    const how = random.pick([['reset', '-q'], ['reset', '-q', '--hard'], ['reset', '-q', '--soft', 'HEAD~1'], ['reset', '-q', '--hard', 'HEAD~1']]);
    ws.git(how);
    return how.join(' ');
  }],
  [3, 'git-merge', ({ ws, random }) => {
    const from = random.pick(BRANCHES);
    ws.git(['merge', '-q', '--no-edit', from]);
    return from;
  }],
  [3, 'git-settle', settle],
  [2, 'git-rm', onTracked(({ ws, random }, file) => ws.git(random.chance(50) ? ['rm', '-q', '-f'] : ['rm', '-q', '--cached'], { paths: [file] }))],
  [2, 'git-mv', onTracked(({ ws, random }, file) => plain(file) && ws.git(['mv', '-f', '--', file, `${parent(file)}/${random.pick(['mv1', 'x', 'mv2.txt'])}`]))],
  [2, 'git-hide', onTracked(({ ws, random }, file) => plain(file) && ws.git(['update-index', random.pick(['--assume-unchanged', '--skip-worktree', '--no-assume-unchanged', '--no-skip-worktree']), '--', file]))],
  [2, 'git-hide-edit', onTracked(({ ws, random }, file) => {
    if (!plain(file) || !lstat(`${ws.dir}/${file}`)?.isFile()) return;
    ws.git(['update-index', random.pick(['--assume-unchanged', '--skip-worktree']), '--', file]);
    write(`${ws.dir}/${file}`, content(random));
  })],
  [3, 'git-refresh', git('update-index', '-q', '--really-refresh')],
  [2, 'git-status', git('status', '--porcelain')],
  [2, 'git-intent', ({ ws, random }) => {
    const file = random.pick(editable(ws).concat(undefined));
    if (!file) return false;
    ws.git(['add', '-N'], { paths: [file] });
    return file;
  }],
  [2, 'git-renormalize', git('add', '--renormalize', '.')],
  [2, 'git-pull', ({ ws }) => (ws.git(['pull', '-q', '--no-edit', '--no-rebase', `${ws.base}/${ws.name === 'ws1' ? 'ws2' : 'ws1'}`, 'HEAD']), 'other')],
  [1, 'git-worktree', ({ ws }) => {
    const there = lstat(`${ws.dir}/wt`);
    ws.git(there ? ['worktree', 'remove', '--force', 'wt'] : ['worktree', 'add', '-q', '-f', '--detach', 'wt']);
    return there ? 'removed' : 'added';
  }],
  [1, 'git-worktree-edit', ({ ws, random }) => (lstat(`${ws.dir}/wt/packages`) ? (write(`${ws.dir}/wt/packages/a/src/x`, content(random)), 'wt') : false)],
  [1, 'git-nest', ({ ws, random }) => {
    const dir = `${ws.dir}/packages/b/src/nest`;
    if (!lstat(parent(dir))?.isDirectory()) return false;
    if (lstat(dir)) return remove(dir), 'gone';
    write(`${dir}/f`, content(random));
    ws.git(['init', '-q'], { cwd: dir });
    if (random.chance(70)) ws.git(['add', '-A'], { cwd: dir }), ws.git(['commit', '-q', '-m', 'n'], { cwd: dir });
    if (random.chance(40)) write(`${dir}/.gitignore`, 'ignored\n'), write(`${dir}/ignored`, content(random));
    return dir;
  }],
  [1, 'git-submodule', ({ ws, random }) => {
    const path = 'packages/a/src/sub';
    if (!lstat(parent(`${ws.dir}/${path}`))?.isDirectory()) return false;
    if (!lstat(`${ws.dir}/${path}`)) return ws.git(['submodule', 'add', '-q', '-f', `${ws.base}/sub`, path]), 'added';
    const how = random.pick([['submodule', 'deinit', '-f', path], ['submodule', 'update', '--init', '-q'], ['rm', '-q', '-f', path]]);
    ws.git(how);
    return how.join(' ');
  }],
  [1, 'git-sparse', ({ ws, random }) => {
    const how = random.pick([['sparse-checkout', 'disable'], ['sparse-checkout', 'set', '--no-cone', '/*', '!/packages/a/src/d/', '!/packages/b/lib/'], ['sparse-checkout', 'set', '--no-cone', '/*', '!x']]);
    ws.git(how);
    return how.join(' ');
  }],
  [1, 'git-autocrlf', config('core.autocrlf', ['true', 'input', 'false', undefined, undefined])],
  [1, 'git-filemode', config('core.fileMode', ['true', 'false'])],
  [1, 'git-trustctime', config('core.trustctime', ['true', 'false'])],
  [1, 'git-checkstat', config('core.checkStat', ['default', 'minimal'])],
  [1, 'git-ignorestat', config('core.ignoreStat', ['true', 'false'])],
  [1, 'git-monitor', ({ ws, random }) => config('core.fsmonitor', [`${ws.base}/monitor`, undefined])({ ws, random })],
  [1, 'git-filter', ({ ws, random }) => {
    const on = random.chance(70);
    for (const line of FILTER_CONFIG) {
      const [name, value] = line.split('=');
      ws.git(on ? ['config', name, value] : ['config', '--unset', name]);
    }
    return String(on);
  }],
  [1, 'git-global-attributes', ({ ws, random, base }) => {
    write(`${base}/attributes`, random.pick(['', '*.txt text eol=crlf\n', '*.v ident\n']));
    ws.git(['config', 'core.attributesFile', `${base}/attributes`]);
    return 'attributes';
  }],
  [1, 'git-copy', ({ ws, base }) => {
    // A tree with new inodes and old times, as a restored snapshot has.
    remove(`${base}/copy`);
    ws.copyTo(`${base}/copy`);
    remove(ws.dir);
    rename(`${base}/copy`, ws.dir);
    return 'copied';
  }],
];

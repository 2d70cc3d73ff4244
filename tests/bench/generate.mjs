// Makes a monorepo from a seed. Both runners find their configs in it; the tasks are the same shell commands for both.
import fs from 'node:fs';
import path from 'node:path';
import { execFileSync } from 'node:child_process';

/** A small, fast, seeded generator of numbers in [0, 1). */
export function numbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const commands = {
  build: 'mkdir -p dist && cat src/* > dist/out.txt',
  test: 'cat test/* > /dev/null',
  lint: 'cat src/* > /dev/null',
};
export const taskNames = Object.keys(commands);

/**
 * What the tree looks like: each package sits in a layer and depends on up to three packages of the layer below, so that the
 * longest chain is as long as there are layers.
 */
export function plan({ packages, layers, files, seed = 1 }) {
  const random = numbers(seed);
  const width = Math.ceil(packages / layers);
  const out = [];
  for (let i = 0; i < packages; i++) {
    const layer = Math.floor(i / width);
    const deps = new Set();
    if (layer > 0) {
      const below = Math.min(width, i);
      const count = 1 + Math.floor(random() * 3);
      for (let d = 0; d < count; d++) deps.add((layer - 1) * width + Math.floor(random() * below) % width);
    }
    out.push({ index: i, layer, name: `pkg-${String(i).padStart(4, '0')}`, deps: [...deps].sort((a, b) => a - b), files });
  }
  return out;
}

const text = (random, lines) => Array.from({ length: lines }, () => `export const v${Math.floor(random() * 1e9)} = ${Math.floor(random() * 1e9)};\n`).join('');

export function generate(root, options) {
  const all = plan(options);
  const random = numbers((options.seed ?? 1) ^ 0x5bd1e995);
  fs.rmSync(root, { recursive: true, force: true });
  fs.mkdirSync(root, { recursive: true });
  const put = (name, content) => {
    const file = path.join(root, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content, null, 2) + '\n');
  };
  put('package.json', { name: 'bench', private: true, packageManager: 'npm@10.0.0', workspaces: ['packages/*'] });
  put('.gitignore', 'node_modules/\n.vx/\n.turbo/\ndist/\n');
  put('turbo.json', {
    $schema: 'https://turborepo.com/schema.json',
    tasks: {
      build: { dependsOn: ['^build'], inputs: ['src/**'], outputs: ['dist/**'] },
      test: { dependsOn: ['build'], inputs: ['test/**'], outputs: [] },
      lint: { inputs: ['src/**'], outputs: [] },
    },
  });
  const lock = { name: 'bench', lockfileVersion: 3, requires: true, packages: { '': { name: 'bench', workspaces: ['packages/*'] } } };
  for (const p of all) {
    const dir = `packages/${p.name}`;
    const dependencies = Object.fromEntries(p.deps.map((d) => [all[d].name, '1.0.0']));
    put(`${dir}/package.json`, { name: p.name, version: '1.0.0', scripts: commands, ...(p.deps.length ? { dependencies } : {}) });
    put(`${dir}/vx.config.json`, {
      tasks: {
        build: { exec: { command: commands.build }, dependsOn: ['^build'], cache: { inputs: { files: ['src/**'] }, outputs: { files: ['dist/**'] } } },
        test: { exec: { command: commands.test }, dependsOn: ['build'], cache: { inputs: { files: ['test/**'] }, outputs: { files: [] } } },
        lint: { exec: { command: commands.lint }, cache: { inputs: { files: ['src/**'] }, outputs: { files: [] } } },
      },
    });
    const sources = Math.max(1, p.files - 3);
    for (let f = 0; f < sources; f++) put(`${dir}/src/f${f}.ts`, text(random, 12 + Math.floor(random() * 40)));
    put(`${dir}/test/t0.ts`, text(random, 10));
    lock.packages[dir] = { name: p.name, version: '1.0.0', ...(p.deps.length ? { dependencies } : {}) };
    lock.packages[`node_modules/${p.name}`] = { resolved: dir, link: true };
  }
  put('package-lock.json', lock);
  const git = (...args) => execFileSync('git', ['-c', 'user.name=bench', '-c', 'user.email=bench@example.invalid', '-c', 'init.defaultBranch=main', ...args], { cwd: root, stdio: 'ignore' });
  git('init', '-q');
  git('add', '-A');
  git('commit', '-q', '-m', 'generated');
  return all;
}

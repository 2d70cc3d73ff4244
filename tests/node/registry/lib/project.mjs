// Fresh projects and the package managers that install into them.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { version } from '../../../../bindings/node/npm/packages.mjs';
import { bare, cleanEnv, copyBuild } from '../../../cli/lib/workspace.mjs';
import { tools } from './registry.mjs';

/** What each manager is called with, and how it runs a program of the project. */
export const managers = {
  npm: { install: ['npm', 'install', '--no-audit', '--no-fund'], exec: ['npx', '--no-install'], node: ['node'] },
  pnpm: { install: [process.execPath, `${tools}/pnpm/bin/pnpm.cjs`, 'install'], exec: [process.execPath, `${tools}/pnpm/bin/pnpm.cjs`, 'exec'], node: ['node'] },
  'yarn 1': { install: [process.execPath, `${tools}/yarn/bin/yarn.js`, 'install', '--non-interactive'], exec: [process.execPath, `${tools}/yarn/bin/yarn.js`, 'run', '-s'], node: ['node'] },
  'yarn with node_modules': { berry: 'node-modules' },
  'yarn with Plug\'n\'Play': { berry: 'pnp' },
};
for (const m of Object.values(managers).filter((one) => one.berry)) {
  const yarn = [process.execPath, `${tools}/@yarnpkg/cli-dist/bin/yarn.js`];
  Object.assign(m, { install: [...yarn, 'install'], exec: [...yarn, 'exec'], node: [...yarn, 'node'] });
}

/** A workspace with one task that depends on @vzn/vx, not installed yet. */
export function project(url, manager = 'npm', { manifest = {} } = {}) {
  const ws = bare();
  const { berry } = managers[manager];
  ws.write('package.json', { name: 'fresh', version: '1.0.0', private: true, workspaces: ['packages/*'], devDependencies: { '@vzn/vx': version() }, ...manifest });
  ws.write('pnpm-workspace.yaml', manager === 'pnpm' ? 'packages:\n  - packages/*\n' : '');
  if (manager !== 'pnpm') ws.remove('pnpm-workspace.yaml');
  ws.write('.npmrc', `registry=${url}\n`);
  ws.write('.yarnrc', `registry "${url}"\n`);
  ws.write('.yarnrc.yml', {
    npmRegistryServer: url, unsafeHttpWhitelist: ['127.0.0.1'], nodeLinker: berry ?? 'node-modules', enableTelemetry: false, npmMinimalAgeGate: 0, enableGlobalCache: false, enableImmutableInstalls: false,
  });
  if (berry) ws.write('yarn.lock', '');
  ws.write('.gitignore', 'node_modules/\n.vx/\ndist/\n.yarn/\n');
  ws.write('packages/a/package.json', { name: 'a', version: '1.0.0' });
  ws.write('packages/a/src/x', 'a\n');
  ws.write('packages/a/vx.config.json', { tasks: { build: copyBuild() } });
  ws.git('init', '-q');
  ws.commit();
  const env = cleanEnv(ws.base, {
    npm_config_cache: path.join(ws.base, 'npm'), npm_config_registry: url, npm_config_update_notifier: 'false', ...(manager === 'pnpm' ? { npm_config_store_dir: path.join(ws.base, 'store') } : {}),
    YARN_CACHE_FOLDER: path.join(ws.base, 'yarn'), YARN_ENABLE_GLOBAL_CACHE: 'false', CI: undefined,
  });
  const run = (argv, more = {}) => {
    const r = spawnSync(argv[0], argv.slice(1), { cwd: ws.dir, env: { ...env, ...more.env }, encoding: 'utf8', timeout: 240_000, uid: more.uid, gid: more.uid });
    if (r.error) throw r.error;
    return { status: r.status, out: r.stdout, text: `$ ${argv.join(' ')}\n${r.stdout}${r.stderr}` };
  };
  const must = (argv, more) => {
    const r = run(argv, more);
    if (r.status !== 0) throw new Error(r.text);
    return r.out;
  };
  const m = managers[manager];
  return {
    ws, run, must,
    install: (...flags) => must([...m.install, ...flags]),
    vx: (...args) => run([...m.exec, 'vx', ...args]),
    node: (...args) => run([...m.node, ...args]),
    module: (name) => path.join(ws.dir, 'node_modules', name),
    exists: (name) => fs.existsSync(path.join(ws.dir, 'node_modules', name)),
  };
}

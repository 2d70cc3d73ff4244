// A verdaccio of our own on loopback, with the packages of this tree in it.
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { after } from 'node:test';
import { packageName, platformManifest, platforms, repository, version } from '../../../../bindings/node/npm/packages.mjs';
import { cleanEnv, tempDir, until } from '../../../cli/lib/workspace.mjs';

export const tools = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../node_modules');
export const here = platforms.find((p) => p.id === `${process.platform}-${process.arch}`);
export const dist = path.join(repository, 'build/dist/npm');

const servers = [];
after(() => servers.forEach((server) => server.kill()));  // here: a hook that is registered in a hook ends with it

const freePort = () => new Promise((resolve) => {
  const server = net.createServer().listen(0, '127.0.0.1', () => {
    const { port } = server.address();
    server.close(() => resolve(port));
  });
});

async function start(base) {
  const port = await freePort();
  const config = path.join(base, 'config.yaml');
  fs.writeFileSync(config, JSON.stringify({
    storage: path.join(base, 'storage'),
    auth: { htpasswd: { file: path.join(base, 'htpasswd') } },
    packages: { '**': { access: '$all', publish: '$authenticated' } },
    max_body_size: '100mb',
    log: { type: 'stdout', level: 'warn' },
  }));
  const server = spawn(process.execPath, [path.join(tools, 'verdaccio/bin/verdaccio'), '--config', config, '--listen', `127.0.0.1:${port}`], {
    cwd: base, env: cleanEnv(base), stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [server.stdout, server.stderr]) stream.on('data', (d) => (said += d));
  servers.push(server);
  const url = `http://127.0.0.1:${port}/`;
  await until(async () => {
    if (server.exitCode !== null) throw new Error(`verdaccio ended: ${said}`);
    return fetch(`${url}-/ping`).then((r) => r.ok, () => false);
  }, 'the registry');
  return url;
}

async function signUp(url) {
  const answer = await fetch(`${url}-/user/org.couchdb.user:tester`, {
    method: 'PUT', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ name: 'tester', password: 'tester-of-packages' }),
  });
  return (await answer.json()).token;
}

/** A platform package without binaries; `as` replaces fields of its manifest. */
function hollow(base, platform, as = {}) {
  const dir = fs.mkdtempSync(path.join(base, 'hollow-'));
  fs.writeFileSync(path.join(dir, 'package.json'), JSON.stringify({ ...platformManifest(platform, { files: {} }), ...as }));
  return dir;
}

/** {url, publish}: the registry with all packages, platform packages first. */
export async function registry() {
  const base = tempDir('vx-registry-');
  for (const name of ['home', 'tmp']) fs.mkdirSync(path.join(base, name));
  const url = await start(base);
  const npmrc = path.join(base, 'home/.npmrc');
  fs.writeFileSync(npmrc, `registry=${url}\n${url.slice('http:'.length)}:_authToken=${await signUp(url)}\n`);
  const publish = (what, tag = 'latest') => execFileSync('npm', ['publish', '--ignore-scripts', '--tag', tag, what], {
    cwd: base, env: cleanEnv(base, { npm_config_userconfig: npmrc, npm_config_cache: path.join(base, 'npm') }), stdio: 'pipe',
  });
  const tarball = (name) => path.join(dist, `${name.slice(1).replace('/', '-')}-${version()}.tgz`);
  for (const platform of platforms) publish(platform === here ? tarball(packageName(platform)) : hollow(base, platform));
  publish(tarball('@vzn/vx'));
  publish(hollow(base, here, { version: '0.0.1' }), 'old');
  return { url };
}

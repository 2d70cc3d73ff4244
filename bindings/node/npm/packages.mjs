// The one table of what is published, and the manifests made of it.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const repository = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../..');
export const scope = '@vzn';
export const main = `${scope}/vx`;

/**
 * What a platform package is for, and how its binaries are told from others'. `machine` is e_machine of ELF or cputype of Mach-O;
 * `interpreter` must exist where the executable is to start. `proved`: built and tested where the tests run; else by the release workflow.
 */
export const platforms = [
  { id: 'linux-x64', os: 'linux', cpu: 'x64', libc: 'glibc', machine: 62, interpreter: '/lib64/ld-linux-x86-64.so.2', proved: true },
  { id: 'linux-arm64', os: 'linux', cpu: 'arm64', libc: 'glibc', machine: 183, interpreter: '/lib/ld-linux-aarch64.so.1', proved: false },
  { id: 'darwin-x64', os: 'darwin', cpu: 'x64', machine: 0x01000007, proved: false },
  { id: 'darwin-arm64', os: 'darwin', cpu: 'arm64', machine: 0x0100000c, proved: false },
];
export const packageName = (platform) => `${main}-${platform.id}`;

/** What a platform package holds, by the place in the build directory. `optional`: packed when this version builds it. */
export const binaries = [
  { name: 'vx.node', from: 'bindings/node/vx.node', kind: 'addon' },
  { name: 'vx', from: 'bindings/cli/vx', kind: 'executable' },
  { name: 'vx-helper', from: 'capi/vx-helper', kind: 'executable', optional: true },
];

export function version() {
  const text = fs.readFileSync(path.join(repository, 'meson.build'), 'utf8');
  return text.match(/^ *version: '([^']+)'/m)[1];
}

const common = {
  license: 'MIT',
  engines: { node: '>=18.19' },
};

export function mainManifest() {
  const both = (name) => ({
    import: { types: `./lib/${name}.d.ts`, default: `./lib/${name}.js` },
    require: { types: `./lib/${name}.d.cts`, default: `./lib/${name}.cjs` },
  });
  return {
    name: main,
    version: version(),
    description: 'Monorepo task runner and build cache: the command, and its engine in your process',
    ...common,
    type: 'module',
    main: './lib/index.cjs',
    types: './lib/index.d.ts',
    bin: { vx: 'bin/vx' },
    exports: { '.': both('index'), './config': both('config'), './schemas/*': './schemas/*', './package.json': './package.json' },
    files: ['bin', 'lib', 'schemas'],
    optionalDependencies: Object.fromEntries(platforms.map((p) => [packageName(p), version()])),
  };
}

/** `facts`: what the gate found. */
export function platformManifest(platform, facts) {
  return {
    name: packageName(platform),
    version: version(),
    description: `The binaries of ${main} for ${platform.id}`,
    ...common,
    os: [platform.os],
    cpu: [platform.cpu],
    ...(platform.libc ? { libc: [platform.libc] } : {}),
    preferUnplugged: true,
    files: Object.keys(facts.files),
    vx: { ...(facts.glibc ? { glibc: facts.glibc } : {}), ...(platform.interpreter ? { interpreter: platform.interpreter } : {}), files: facts.files },
  };
}

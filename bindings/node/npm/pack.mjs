// Makes the packages that are published: directories and tarballs.
//   node bindings/node/npm/pack.mjs --build DIR --out DIR [--platform ID] [--strip PROGRAM]
// packs the main package and the platform package of the binaries in DIR (default: this machine's).
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { examine, highest } from './gate.mjs';
import { binaries, mainManifest, packageName, platformManifest, platforms, repository } from './packages.mjs';

const json = (value) => `${JSON.stringify(value, null, 2)}\n`;
const library = path.join(repository, 'bindings/node');

function fresh(dir) {
  fs.rmSync(dir, { recursive: true, force: true });
  fs.mkdirSync(dir, { recursive: true });
}

/** CommonJS users get the same types under the ending that TypeScript takes for theirs. */
const forCommonJs = (text) => text.replaceAll(/'(\.\/\w+)\.js'/g, "'$1.cjs'");

export function stageMain(dir) {
  fresh(dir);
  fs.writeFileSync(path.join(dir, 'package.json'), json(mainManifest()));
  for (const name of ['bin', 'lib']) fs.cpSync(path.join(library, name), path.join(dir, name), { recursive: true });
  for (const name of fs.readdirSync(path.join(dir, 'lib')).filter((n) => n.endsWith('.d.ts'))) {
    const text = fs.readFileSync(path.join(dir, 'lib', name), 'utf8');
    fs.writeFileSync(path.join(dir, 'lib', name.replace(/ts$/, 'cts')), forCommonJs(text));
  }
  fs.mkdirSync(path.join(dir, 'schemas'));
  const schemas = path.join(repository, 'capi/schemas');
  for (const name of fs.readdirSync(schemas).filter((n) => n.endsWith('.json'))) fs.copyFileSync(path.join(schemas, name), path.join(dir, 'schemas', name));
  fs.copyFileSync(path.join(library, 'npm/main.md'), path.join(dir, 'README.md'));
  fs.copyFileSync(path.join(repository, 'LICENSE'), path.join(dir, 'LICENSE'));
}

/** Throws when a binary does not pass the gate. Gives the figures of each. */
export function stagePlatform(dir, platform, build, strip) {
  fresh(dir);
  const facts = { files: {}, glibc: undefined };
  for (const { name, from, kind, optional } of binaries) {
    const source = path.join(build, from);
    if (!fs.existsSync(source)) {
      if (optional) continue;
      throw new Error(`${source} is not there: build it first (./dev build)`);
    }
    const file = path.join(dir, name);
    execFileSync(strip, [...(platform.os === 'darwin' ? ['-x'] : ['--strip-all']), '-o', file, source]);
    fs.chmodSync(file, 0o755);
    const { faults, glibc, needed } = examine(fs.readFileSync(file), kind, platform);
    if (faults.length > 0) throw new Error(`${source} cannot be packed: ${faults.join('; ')}`);
    facts.files[name] = { size: fs.statSync(file).size, needed };
    facts.glibc = highest([facts.glibc, glibc]);
  }
  fs.writeFileSync(path.join(dir, 'package.json'), json(platformManifest(platform, facts)));
  fs.writeFileSync(path.join(dir, 'README.md'), `The binaries of @vzn/vx for ${platform.id}. That package installs this one by itself.\n`);
  fs.copyFileSync(path.join(repository, 'LICENSE'), path.join(dir, 'LICENSE'));
  return facts;
}

/** npm's own tarball of a staged package; its path. */
function tarball(dir, out) {
  const text = execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', out, dir], { encoding: 'utf8' });
  return path.join(out, JSON.parse(text)[0].filename.replace('@', '').replace('/', '-'));
}

function packAll({ build, out, platform, strip }) {
  const row = platforms.find((p) => p.id === platform);
  if (row === undefined) throw new Error(`there is no package for ${platform}, only for ${platforms.map((p) => p.id).join(', ')}`);
  fs.mkdirSync(out, { recursive: true });
  const staged = path.join(out, 'stage');
  const facts = stagePlatform(path.join(staged, packageName(row)), row, build, strip);
  stageMain(path.join(staged, '@vzn/vx'));
  const made = [packageName(row), '@vzn/vx'].map((name) => tarball(path.join(staged, name), out));
  for (const [name, { size, needed }] of Object.entries(facts.files)) console.log(`${row.id}/${name}: ${size} bytes, needs ${needed.join(' ')}`);
  if (facts.glibc) console.log(`${row.id}: glibc ${facts.glibc} or newer`);
  for (const file of made) console.log(`${path.relative(process.cwd(), file)}: ${fs.statSync(file).size} bytes`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: {
      build: { type: 'string', default: path.join(repository, 'build') },
      out: { type: 'string', default: path.join(repository, 'build/dist/npm') },
      platform: { type: 'string', default: `${process.platform}-${process.arch}` },
      strip: { type: 'string', default: 'strip' },
    },
  });
  try {
    packAll(values);
  } catch (error) {
    console.error(`pack: ${error.message}`);
    process.exitCode = 1;
  }
}

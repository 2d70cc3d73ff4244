// A project with the packages as the packer stages them, for tests that damage them.
import fs from 'node:fs';
import path from 'node:path';
import { packageName, platforms } from '../../../bindings/node/npm/packages.mjs';
import { stageMain, stagePlatform } from '../../../bindings/node/npm/pack.mjs';
import { cleanEnv, tempDir } from '../../cli/lib/workspace.mjs';
import { build } from './addon.mjs';

export const here = platforms.find((p) => p.id === `${process.platform}-${process.arch}`);

let staged;
/** Staged once, then copied. */
function stage() {
  if (staged) return staged;
  staged = tempDir('vx-staged-');
  stageMain(path.join(staged, '@vzn/vx'));
  stagePlatform(path.join(staged, packageName(here)), here, build, 'strip');
  return staged;
}

/** Binaries are linked: who changes one makes it its own first. */
function copy(from, to) {
  fs.mkdirSync(to, { recursive: true });
  for (const entry of fs.readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [path.join(from, entry.name), path.join(to, entry.name)];
    if (entry.isDirectory()) copy(source, target);
    else if (fs.statSync(source).size > 1 << 20) fs.linkSync(source, target);
    else fs.copyFileSync(source, target);
  }
}
export function own(file) {
  fs.copyFileSync(file, `${file}.own`);
  fs.renameSync(`${file}.own`, file);
}

/** {dir, main, platform, env}: directories of a project, the two packages, and an environment without overrides. */
export function install() {
  const base = tempDir('vx-installed-');
  for (const name of ['home', 'tmp', 'project']) fs.mkdirSync(path.join(base, name));
  const dir = path.join(base, 'project');
  copy(stage(), path.join(dir, 'node_modules'));
  fs.writeFileSync(path.join(dir, 'package.json'), '{"name":"project","private":true,"type":"module"}\n');
  return { dir, main: path.join(dir, 'node_modules/@vzn/vx'), platform: path.join(dir, 'node_modules', packageName(here)), env: cleanEnv(base) };
}

export function editJson(file, change) {
  const value = JSON.parse(fs.readFileSync(file, 'utf8'));
  change(value);
  fs.writeFileSync(file, JSON.stringify(value));
}

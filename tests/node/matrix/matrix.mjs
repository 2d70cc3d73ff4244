// Runs the suites of tests/node on every Node of package.json, and one plan on Bun and Deno. Arguments: names to keep ("node18", "bun").
// The last line is "N passed, N failed".
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const repository = path.resolve(here, '../../..');
const modules = path.join(here, 'node_modules');
const build = path.resolve(process.env.VX_BUILD_DIR ?? path.join(repository, 'build'));
const env = { ...process.env, VX_BUILD_DIR: build, VX_BIN: path.join(build, 'vx'), VX_NODE_BINARY: path.join(build, 'bindings/node/vx.node') };

const wanted = process.argv.slice(2);
const nodes = fs.readdirSync(modules).filter((name) => /^node\d+$/.test(name)).sort();
const others = { bun: path.join(modules, '@oven/bun-linux-x64/bin/bun'), deno: path.join(modules, '@deno/linux-x64-glibc/deno') };
const kept = (name) => wanted.length === 0 || wanted.includes(name);

let passed = 0;
let failed = 0;

/** The suites, with this Node first on PATH so that everything they start is the same. */
function suites(name) {
  const bin = path.join(modules, name, 'bin');
  const node = path.join(bin, 'node');
  fs.chmodSync(node, 0o755);
  const files = fs.readdirSync(path.join(repository, 'tests/node')).filter((f) => f.endsWith('.test.mjs')).map((f) => path.join('tests/node', f));
  const r = spawnSync(node, ['--test', '--test-reporter=tap', ...files], { cwd: repository, env: { ...env, PATH: `${bin}:${process.env.PATH}` }, encoding: 'utf8', maxBuffer: 256 << 20 });
  const count = (word) => Number(r.stdout.match(new RegExp(`^# ${word} (\\d+)$`, 'm'))?.[1] ?? 0);
  const version = spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout.trim();
  const bad = Math.max(count('fail') + count('cancelled'), r.status === 0 ? 0 : 1);
  console.log(`${name} ${version}: ${count('pass')} passed, ${bad} failed, ${count('skipped')} skipped`);
  if (bad > 0) console.log(r.stdout.split('\n').filter((l) => /^\s*(not ok|error:|expected:|actual:)/.test(l)).join('\n') + r.stderr);
  passed += count('pass');
  failed += bad;
}

function onePlan(name, program) {
  fs.chmodSync(program, 0o755);
  const flags = name === 'deno' ? ['run', '--allow-all', '--no-config'] : [];
  const r = spawnSync(program, [...flags, path.join(here, 'plan.mjs')], { cwd: repository, env, encoding: 'utf8', timeout: 120_000 });
  const good = r.status === 0 && r.stdout === 'planned 1, ran true, 32 digits\n';
  console.log(`${name} ${spawnSync(program, ['--version'], { encoding: 'utf8' }).stdout.split('\n')[0]}: ${good ? 'one plan, one run, one key' : `status ${r.status} ${r.signal ?? ''}\n${r.stdout}${r.stderr}`}`);
  if (good) passed += 1;
  else failed += 1;
}

for (const name of nodes.filter(kept)) suites(name);
for (const [name, program] of Object.entries(others)) if (kept(name)) onePlan(name, program);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;

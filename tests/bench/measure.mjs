// Runs a command and says what it cost: wall time, CPU time of everything it waited for, peak memory.
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));

/** Compiles the two small C programs into `dir`. */
export function tools(dir) {
  fs.mkdirSync(dir, { recursive: true });
  const out = {};
  for (const name of ['timed', 'lstat_walk']) {
    out[name] = path.join(dir, name);
    execFileSync('cc', ['-O2', '-o', out[name], path.join(here, `${name}.c`)]);
  }
  return out;
}

/** What a measured command may see. */
export function environment(extra = {}) {
  const env = { ...process.env, TURBO_TELEMETRY_DISABLED: '1', DO_NOT_TRACK: '1', TURBO_NO_UPDATE_NOTIFIER: '1' };
  for (const name of Object.keys(env)) {
    if (/^(VX_(?!BIN)|TURBO_(TOKEN|API|TEAM|CACHE)|npm_|NX_)/.test(name)) delete env[name];
  }
  // The first makes every Node start slower, the second changes what it does, the others change what is printed.
  for (const name of ['NODE_EXTRA_CA_CERTS', 'NODE_OPTIONS', 'CI', 'FORCE_COLOR']) delete env[name];
  return { ...env, ...extra };
}

/** { ms, cpuMs, rssKb, status, stdout, stderr } */
export function measure(timed, [command, ...args], { cwd, env = environment(), mayFail = false } = {}) {
  const report = path.join(os.tmpdir(), `vx-bench-${process.pid}.time`);
  const run = spawnSync(timed, [report, command, ...args], { cwd, env, encoding: 'utf8', maxBuffer: 1 << 30, stdio: ['ignore', 'pipe', 'pipe'] });
  if (run.error) throw run.error;
  if (run.status !== 0 && !mayFail) {
    throw new Error(`${command} ${args.join(' ')} ended with ${run.status}\n${run.stdout.slice(-3000)}\n${run.stderr.slice(-3000)}`);
  }
  const [wall, cpu, rss, status] = fs.readFileSync(report, 'utf8').trim().split(' ').map(Number);
  fs.rmSync(report);
  return { ms: wall / 1000, cpuMs: cpu / 1000, rssKb: rss, status, stdout: run.stdout, stderr: run.stderr };
}

export function median(values) {
  const sorted = values.filter((v) => Number.isFinite(v)).sort((a, b) => a - b);
  if (sorted.length === 0) return null;
  const half = Math.floor(sorted.length / 2);
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

export function machine() {
  const cpus = os.cpus();
  return { cpu: cpus[0]?.model ?? 'unknown', cpus: cpus.length, memoryGb: Math.round(os.totalmem() / 2 ** 30), kernel: `${os.type()} ${os.release()}`, node: process.version };
}

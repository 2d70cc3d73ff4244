// The types, as strict TypeScript sees them in a fresh project: good programs compile, bad ones do not, and real documents fit.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test, { before } from 'node:test';
import { project } from './lib/project.mjs';
import { registry, tools } from './lib/registry.mjs';

let p;
before(async () => {
  p = project((await registry()).url);
  p.install();
  fs.mkdirSync(p.module('@types'), { recursive: true });
  for (const name of ['@types/node', 'undici-types']) fs.cpSync(path.join(tools, name), p.module(name), { recursive: true });
});

const options = (more = {}) => ({
  compilerOptions: {
    strict: true, noEmit: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, skipLibCheck: false, module: 'nodenext', target: 'es2022', types: ['node'], ...more,
  },
});
function compile(files, more) {
  fs.rmSync(p.ws.path('check'), { recursive: true, force: true });
  for (const [name, text] of Object.entries(files)) p.ws.write(`check/${name}`, text);
  p.ws.write('check/tsconfig.json', { ...options(more), files: Object.keys(files) });
  return p.run([process.execPath, path.join(tools, 'typescript/bin/tsc'), '-p', p.ws.path('check')]);
}
const accepts = (files, more) => {
  const r = compile(files, more);
  assert.equal(r.status, 0, r.text);
};

const program = `
const stop = new AbortController();
async function main() {
  const workspace: Workspace = await openWorkspace(new URL('file:///'), { env: process.env, cwd: new Uint8Array() });
  const plan: Plan = await workspace.plan({ tasks: ['build'], affected: 'main', concurrency: '50%' });
  const status: 'hit-local' | 'hit-remote' | 'miss' | 'no-cache' | 'group' | 'not-started' | 'error' | undefined = plan.tasks[0]?.cacheStatus;
  const summary = await workspace.run({ tasks: ['build'] as const }, {
    signal: stop.signal,
    onEvent(event) {
      if (event.kind === 'task.end') { const s: string = event.status; void s; }
      if (event.kind === 'run.end') { const ok: boolean = event.ok; void ok; }
    },
    onOutput: ({ data, stream, taskId }) => { const b: Uint8Array = data; const s: 'stdout' | 'stderr' = stream; const t: string | undefined = taskId; void b; void s; void t; },
  });
  const code: number = summary.exitCode;
  const key = new KeyBuilder({ schema: 'x-1', explain: true }).addEnv('A', process.env.A).addFile('f', null).finish();
  const cache = await Cache.open({ root: '/x' });
  const entry = await cache.lookup(key, { outputs: { root: '/x', files: 'dist/**' } });
  if (entry) { const names: string[] = entry.outputs().map((o) => o.path); const raw: Uint8Array[] = entry.outputs({ encoding: 'buffer' }).map((o) => o.path); void names; void raw; }
  const step = new Scheduler(new Graph().freeze()).next();
  if (step.step === 'run') { const n: number = step.node; void n; }
  const inputs = await Inputs.open('/x', { cache });
  const moved: string | null = await inputs.changedSince(await inputs.resolve(['src/**']), Inputs.mark());
  try { await workspace.close(); } catch (e) { if (e instanceof VxError && e.code === 'VX_E_CONFIG') throw e; }
  return [status, code, moved];
}
void main();
`;
const names = 'openWorkspace, Cache, Graph, Inputs, KeyBuilder, Scheduler, VxError';

test('strict programs, as ES modules and CommonJS', () => {
  accepts({
    'a.mts': `import { ${names} } from '@vzn/vx';\nimport type { Plan, Workspace } from '@vzn/vx';\n${program}\nawait using w = await openWorkspace();\nvoid w;`,
    'b.cts': `import vx = require('@vzn/vx');\nimport type { Plan, Workspace } from '@vzn/vx';\nconst { ${names} } = vx;\n${program}`,
    'vx.config.mts': "import { defineProject } from '@vzn/vx/config';\nexport default defineProject({ tasks: { build: { exec: { command: 'tsc' }, cache: { inputs: { files: ['src/**'] }, outputs: { files: [] } } } } });",
    'vx.workspace.cts': "import { defineWorkspace } from '@vzn/vx/config';\nexport = defineWorkspace({ concurrency: 2, remoteCache: { type: 'http', url: 'http://x' } });",
  }, { lib: ['es2022', 'esnext.disposable'], module: 'nodenext' });
});

test('a bundler\'s project', () => {
  accepts({ 'a.ts': `import { ${names}, type Plan, type Workspace } from '@vzn/vx';\n${program}` }, { module: 'esnext', moduleResolution: 'bundler' });
});

test('mistakes do not compile', () => {
  const mistakes = {
    "w.run({ task: ['x'] })": /'task' does not exist/,
    "w.run({ tasks: ['x'] }, { onevent() {} })": /'onevent' does not exist/,
    "w.plan({ continue: 'sometimes' })": /not assignable/,
    "w.run({}, { onEvent: (e) => { if (e.kind === 'task.finished') return; } })": /no overlap/,
    'w.plan().then((p) => p.task)': /'task' does not exist/,
    'new Workspace()': /private/,
    "new KeyBuilder({ schema: 's' }).add('fil', 'x', 'y')": /not assignable/,
    "defineProject({ tasks: { a: { exec: { cmd: 'x' } } } })": /'cmd' does not exist/,
  };
  for (const [text, pattern] of Object.entries(mistakes)) {
    const r = compile({ 'a.mts': `import { KeyBuilder, Workspace, defineProject } from '@vzn/vx';\ndeclare const w: Workspace;\n${text};` });
    assert.notEqual(r.status, 0, text);
    assert.match(r.text, pattern, text);
  }
});

test('documents that the addon gives fit the types', () => {
  p.ws.write('packages/b/package.json', { name: 'b', version: '1.0.0', dependencies: { a: '*' } });
  p.ws.write('packages/b/vx.config.json', { tasks: { build: { exec: { command: 'echo no; exit 4' }, dependsOn: ['^build'] } } });
  p.ws.write('emit.mjs', `
    import { openWorkspace } from '@vzn/vx';
    const w = await openWorkspace();
    const events = [];
    const out = [];
    const add = (type, value) => out.push([type, value]);
    add('Plan', await w.plan({ tasks: ['build'], all: true }));
    for (let i = 0; i < 2; i += 1) add('Summary', await w.run({ tasks: ['build'], all: true, continue: 'always' }, { onEvent: (e) => add('RunEvent', e), onOutput() {} }));
    add('Plan', await w.plan({ tasks: ['build'], all: true }));
    for (const target of [undefined, 'a', 'a#build', 'build']) add('ShowDocument', await w.show(target));
    add('TaskList', await w.listTasks());
    add('InfoDocument', await w.info());
    add('WhyDocument', await w.why('a#build'));
    for (const o of [undefined, { list: 2 }, { log: 'b#build' }]) add('LastDocument', await w.last(o));
    add('CacheStatsDocument', await w.cacheStats());
    add('PruneDocument', await w.pruneCache({ olderThan: '1d' }));
    await w.close();
    console.log(JSON.stringify(out));`);
  const r = p.node('emit.mjs');
  assert.equal(r.status, 0, r.text);
  const documents = JSON.parse(r.out);
  assert.ok(documents.length > 15);
  const types = [...new Set(documents.map(([type]) => type))];
  const lines = documents.map(([type, value], i) => `export const d${i}: ${type} = ${JSON.stringify(value)};`);
  accepts({ 'd.mts': `import type { ${types.join(', ')} } from '@vzn/vx';\n${lines.join('\n')}\n` });
  const broken = compile({ 'd.mts': `import type { Summary } from '@vzn/vx';\nexport const d: Summary = ${JSON.stringify({ ...documents.find(([t]) => t === 'Summary')[1], ok: 'yes' })};` });
  assert.match(broken.text, /not assignable to type 'boolean'/);
});

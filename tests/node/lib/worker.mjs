// What the tests of worker.test.mjs do inside a Worker.
import { parentPort, workerData } from 'node:worker_threads';
import { vx } from './addon.mjs';

const { kind, dir, env, store } = workerData;
const everything = { tasks: ['build'], all: true };

const kinds = {
  /** Runs until it is ended from outside; tells of the first output. */
  async endless() {
    const workspace = await vx.openWorkspace(dir, { env });
    let told = false;
    await workspace.run(everything, {
      onEvent() {},
      onOutput() {
        if (!told) parentPort.postMessage('going');
        told = true;
      },
    });
  },
  /** Many queries that are on their way when the end comes. */
  async queries() {
    const workspaces = await Promise.all(Array.from({ length: 6 }, () => vx.openWorkspace(dir, { env })));
    const all = workspaces.flatMap((w) => Array.from({ length: 5 }, () => w.plan(everything)));
    parentPort.postMessage('going');
    await Promise.all(all);
  },
  /** One run to its end, in the Worker's own environment. */
  async whole() {
    process.env.WHO = `worker ${store}`;
    const workspace = await vx.openWorkspace(dir);
    const summary = await workspace.run({ ...everything, cacheDir: store });
    await workspace.close();
    parentPort.postMessage({ ok: summary.ok, exitCode: summary.exitCode });
  },
  /** A layer that never answers. */
  async layer() {
    const cache = await vx.Cache.open({ dir: store });
    cache.addLayer({ get: () => new Promise(() => parentPort.postMessage('going')) });
    await cache.lookup(vx.digestBytes('a'), { outputs: { root: dir, files: ['dist/**'] } });
  },
  /** Handles that nobody closes. */
  async garbage() {
    for (let i = 0; i < 200; i += 1) {
      const k = new vx.KeyBuilder({ schema: 's' }).addEnv('A', `${i}`);
      if (i % 2) k.finish();
      const g = new vx.Graph();
      g.addNode();
    }
    const cache = await vx.Cache.open({ dir: store });
    await cache.lookupMany([vx.digestBytes('a'), vx.digestBytes('b')]);
    await vx.Inputs.open(dir, { env });
    globalThis.gc?.();
    parentPort.postMessage('done');
  },
};

await kinds[kind]();

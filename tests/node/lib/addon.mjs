// The addon as it lies in the build directory.
import path from 'node:path';
import { repository, cleanEnv, vxBin } from '../../cli/lib/workspace.mjs';

export const build = path.resolve(process.env.VX_BUILD_DIR ?? path.join(repository, 'build'));
export const library = path.join(repository, 'bindings/node/lib');
export const addonFile = process.env.VX_NODE_BINARY ?? path.join(build, 'bindings/node/vx.node');

process.env.VX_NODE_BINARY = addonFile;
process.env.VX_BINARY ??= vxBin;
export const vx = await import('../../../bindings/node/lib/index.js');

/** Opens a test's workspace with the test's own environment. */
export const open = (ws, options = {}) => vx.openWorkspace(ws.dir, { ...options, env: cleanEnv(ws.base, options.env) });

/** Fails unless the promise rejects with a VxError of this code; gives the error. */
export async function refusal(promise, code) {
  const error = await promise.then((value) => { throw new Error(`it succeeded: ${JSON.stringify(value)}`); }, (e) => e);
  if (!(error instanceof vx.VxError) || error.code !== code) throw error;
  return error;
}

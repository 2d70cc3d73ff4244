// One copy of everything, whichever way it is loaded: the classes must be the same.
import vx from './index.cjs';

export const {
  Cache, CacheEntry, Glob, Graph, Inputs, KeyBuilder, Scheduler, Selection, VxError, Workspace,
  defineProject, defineWorkspace, digestBytes, digestFile, features, gitBlobId, openWorkspace, version,
} = vx;
export default vx;

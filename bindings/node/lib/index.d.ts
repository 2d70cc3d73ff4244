/// <reference lib="esnext.disposable" />
import type {
  CacheStatsDocument, InfoDocument, LastDocument, Plan, PruneDocument, RunEvent, RunRequest, ShowDocument, Summary, TaskList, WhyDocument,
} from './documents.js';

export type * from './documents.js';
export { defineProject, defineWorkspace } from './config.js';

/** Paths are bytes: a string (taken as UTF-8), or a Uint8Array for names that are no UTF-8. */
export type Path = string | Uint8Array;
/** `'buffer'`: names come as they are. With `'utf8'` a name that is no UTF-8 is a VxError. */
export type Encoding = 'utf8' | 'buffer';

export type ErrorCode =
  | 'VX_E_INTERNAL' | 'VX_E_NO_MEMORY' | 'VX_E_INVALID' | 'VX_E_NOT_FOUND' | 'VX_E_IO' | 'VX_E_UNSUPPORTED' | 'VX_E_CANCELLED' | 'VX_E_CORRUPT'
  | 'VX_E_CYCLE' | 'VX_E_USAGE' | 'VX_E_UNKNOWN_COMMAND' | 'VX_E_UNKNOWN_TASK' | 'VX_E_UNKNOWN_PROJECT' | 'VX_E_NO_HISTORY' | 'VX_E_AMBIGUOUS'
  | 'VX_E_CONFIG' | 'VX_E_NO_WORKSPACE' | 'VX_E_CACHE_VERSION' | 'VX_E_REFUSED' | 'VX_E_FS' | 'VX_E_FDS';

/** What every failed call throws or rejects with. `message` is one line for people; branch on `code`. */
export class VxError extends Error {
  constructor(code: ErrorCode, message: string, options?: { path?: string; errno?: number; details?: unknown; cause?: unknown });
  readonly code: ErrorCode;
  /** The file at fault. */
  readonly path?: string;
  /** Of the system call that failed. */
  readonly errno?: number;
  /** Positions, cycles, candidates. */
  readonly details?: unknown;
  /** Of a run that its signal stopped (`name` is `'AbortError'`). */
  readonly summary?: Summary;
}

/** `"0.1.0"`. */
export const version: string;
/** Facts of this build: its platform, its key schema, what it was built with. */
export function features(): { platform: string; keySchema: string; artifactFormat: number; remote: boolean; sandbox: boolean };

// --- workspace -------------------------------------------------------------------------------------------------------------------

export interface OpenWorkspaceOptions {
  /** Decides the current project and what relative paths mean. Default: `path`. */
  readonly cwd?: Path | URL;
  /** The environment of tasks and queries. Default: the process's; in a Worker its own `process.env`. Copied when the workspace is opened. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Replaces `<os>-<arch>` in keys. */
  readonly platform?: string;
}

/** Opens the workspace that holds `path` (default: the working directory). */
export function openWorkspace(path?: Path | URL, options?: OpenWorkspaceOptions): Promise<Workspace>;

export interface Abortable {
  readonly signal?: AbortSignal;
}
export interface StoreOptions extends Abortable {
  /** Another store, which must exist; relative to the working directory of the workspace. */
  readonly cacheDir?: string;
}

export interface OutputChunk {
  /** `index` of the task's `task.start` event, and its id. */
  readonly index: number;
  readonly taskId: string | undefined;
  readonly stream: 'stdout' | 'stderr';
  readonly data: Uint8Array;
  /** A hit shows what the run that made it printed. */
  readonly replayed: boolean;
}

/** A callback that throws stops the run, which then rejects with what was thrown. Slow callbacks slow the run down; nothing is dropped. */
export interface RunOptions extends Abortable {
  readonly onEvent?: (event: RunEvent) => void;
  readonly onOutput?: (chunk: OutputChunk) => void;
  /** No events for groups and for hits whose outputs were in place already, no replayed output. */
  readonly skipCurrent?: boolean;
}

export class Workspace implements AsyncDisposable {
  private constructor();
  readonly root: string;
  /** The root as it is, for a path that is no UTF-8. */
  readonly rootBytes: Uint8Array;
  /** What a run would do. */
  plan(request?: RunRequest, options?: Abortable): Promise<Plan>;
  /** A task that fails is a result, not an error: read `ok`. Aborting the signal ends the tasks and rejects with an AbortError. */
  run(request?: RunRequest, options?: RunOptions): Promise<Summary>;
  show(target?: string, options?: Abortable & { readonly filter?: readonly string[] }): Promise<ShowDocument>;
  listTasks(options?: Abortable & { readonly filter?: readonly string[] }): Promise<TaskList>;
  info(options?: StoreOptions): Promise<InfoDocument>;
  /** Why the newest recorded run of the task (or that of `run`) executed it or was served. */
  why(task: string, options?: StoreOptions & { readonly run?: string }): Promise<WhyDocument>;
  /** One recorded run, the newest `list` runs, or the output of one task (`log`). */
  last(options?: StoreOptions & { readonly run?: string; readonly list?: number; readonly failed?: boolean; readonly log?: string }): Promise<LastDocument>;
  cacheStats(options?: StoreOptions): Promise<CacheStatsDocument>;
  /** Needs a bound. `olderThan: '30d'`, `maxSize: '10G'`. */
  pruneCache(options: StoreOptions & {
    readonly olderThan?: string; readonly maxSize?: string; readonly dryRun?: boolean; readonly waitMs?: number;
  }): Promise<PruneDocument>;
  /** Stops what still goes on and resolves when it has ended. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

// --- keys ------------------------------------------------------------------------------------------------------------------------

/** In the order in which they are added; within a kind any order will do, except for `workspace` and `forward`. */
export type KeyKind =
  | 'platform' | 'workspace' | 'package' | 'config' | 'forward' | 'env' | 'runtime' | 'ws-runtime' | 'upstream' | 'host' | 'file';

export interface KeyComponent {
  readonly kind: 'format' | KeyKind;
  readonly name: string;
  readonly digest: string;
}
export interface KeyDiff {
  entries: Array<{ kind: string; name: string; change: 'changed' | 'added' | 'removed'; before: string | null; after: string | null }>;
  unchangedCount: number;
}

/** Folds what a result depends on into a key of 32 hexadecimal digits. What the fold refuses is told by finish() at the latest. */
export class KeyBuilder {
  constructor(options: {
    /** Your derivation and its version, `"mytool-1"`. */
    readonly schema: string;
    /** What the key is of, `"project#task"`. */
    readonly subject?: string;
    /** 16 bytes for the digests of values; `cache.salt`. */
    readonly salt?: Uint8Array;
    /** Keep what was added, for components(), diff() and the cache. */
    readonly explain?: boolean;
  });
  /** `null` or nothing as the value is "absent", which differs from an empty one. */
  add(kind: KeyKind, name: Path | null, value?: Path | null): this;
  addPlatform(text: string): this;
  addWorkspaceFile(name: Path, value: Path): this;
  addPackage(identity: string | null): this;
  addConfig(text: Path): this;
  addForward(argument: Path): this;
  addEnv(name: string, value: string | undefined | null): this;
  addRuntime(command: string, printed: Path): this;
  addWorkspaceRuntime(command: string, printed: Path): this;
  addUpstream(name: string, key: string): this;
  addHost(name: string, value: Path): this;
  addFile(path: Path, identity: string | null): this;
  addSelection(selection: Selection): this;
  /** The next `count` items are of `kind`; end() fails when another number came. */
  begin(kind: KeyKind, count: number): this;
  end(): this;
  finish(): string;
  /** Of a finished key made with `explain`. */
  components(): KeyComponent[];
  static diff(before: KeyBuilder, after: KeyBuilder): KeyDiff;
}

export function digestBytes(data: string | Uint8Array): string;
export function digestFile(path: Path | URL): Promise<string>;
/** What `git hash-object` prints. */
export function gitBlobId(data: string | Uint8Array, algorithm?: 'sha1' | 'sha256'): string;

// --- graph -----------------------------------------------------------------------------------------------------------------------

export class Graph {
  /** Its number: 0, 1, 2 ... `group`: nothing to run. `exclusive`: runs alone. `weight` decides the critical path and the default order. */
  addNode(options?: { readonly weight?: number | bigint; readonly group?: boolean; readonly exclusive?: boolean }): number;
  /** `from` depends on `to`. */
  addEdge(from: number, to: number): this;
  /** Throws VX_E_CYCLE with `details: { cycle: [2, 5, 2] }`. */
  freeze(): this;
  readonly size: number;
  /** Dependencies first; ties by number. */
  order(): Uint32Array;
  /** How many nodes depend on each, directly or not. */
  dependentsCount(): Uint32Array;
  /** The seeds and everything they depend on, ascending. */
  closure(seeds: Iterable<number>): Uint32Array;
  /** The heaviest chain, dependencies first. */
  criticalPath(): Uint32Array;
}

export type ScheduleStep =
  | { step: 'idle' | 'done' }
  | { step: 'run' | 'restore' | 'complete'; node: number }
  | { step: 'skip' | 'abort'; node: number; blocker?: number };

/** What to start next, over a frozen graph: you ask, and tell how it ended. It knows no clock, thread or process. */
export class Scheduler {
  constructor(graph: Graph, options?: { readonly workers?: number; readonly restoreWorkers?: number; readonly continue?: 'never' | 'deps-ok' | 'always' });
  setPriority(node: number, priority: number): this;
  markRestorable(node: number): this;
  next(): ScheduleStep;
  tainted(node: number): boolean;
  finish(node: number, outcome: 'success' | 'hit' | 'failed' | 'aborted' | 'vanished'): this;
  stop(): void;
}

// --- inputs ----------------------------------------------------------------------------------------------------------------------

export class Glob {
  constructor(patterns: string | readonly string[]);
  match(path: Path): boolean;
}

export interface SelectedFile<Name> {
  readonly path: Name;
  /** A git blob id, behind `100755:` or `120000:`; null: the file is not there. */
  readonly identity: string | null;
  /** As git writes modes; 0: not there. */
  readonly mode: number;
}
export class Selection {
  private constructor();
  readonly count: number;
  files(options?: { readonly encoding?: 'utf8' }): SelectedFile<string>[];
  files(options: { readonly encoding: 'buffer' }): SelectedFile<Uint8Array>[];
}

export interface InputsRequest {
  readonly projectDir?: Path;
  readonly files?: string | readonly string[];
  readonly workspaceFiles?: string | readonly string[];
  readonly nested?: readonly Path[];
  readonly outputs?: string | readonly string[];
  readonly workspaceOutputs?: string | readonly string[];
  /** Exact files, instead of everything above. */
  readonly paths?: readonly Path[];
}

/** A listed work tree: it describes one moment. */
export class Inputs {
  private constructor();
  static open(root: Path | URL, options?: { readonly env?: Readonly<Record<string, string | undefined>>; readonly cache?: Cache }): Promise<Inputs>;
  static glob(patterns: string | readonly string[]): Glob;
  /** Take it immediately before the work starts. */
  static mark(): bigint;
  /** False: the tree was walked. */
  readonly usesGit: boolean;
  readonly notice: string;
  resolve(request: string | readonly string[] | InputsRequest): Promise<Selection>;
  /** The first file that no longer is what the selection says, or null. */
  changedSince(selection: Selection, mark: bigint, options?: { readonly byBytes?: boolean; readonly encoding?: 'utf8' }): Promise<string | null>;
  changedSince(selection: Selection, mark: bigint, options: { readonly byBytes?: boolean; readonly encoding: 'buffer' }): Promise<Uint8Array | null>;
  /** Forgets these paths, or everything. */
  invalidate(paths?: readonly Path[]): void;
  close(): void;
}

// --- cache -----------------------------------------------------------------------------------------------------------------------

/** The files that a piece of work makes and owns: what is not of the result is removed by a restore. */
export interface Outputs {
  readonly root: Path | URL;
  readonly projectDir?: Path;
  readonly files?: string | readonly string[];
  readonly workspaceFiles?: string | readonly string[];
  readonly nested?: readonly Path[];
}

export interface StoredFile<Name> {
  readonly path: Name;
  /** What `path` is relative to. */
  readonly space: 'project' | 'workspace';
  readonly mode: number;
  readonly size: number;
}
export type LogPiece = { stream: 'stdout' | 'stderr'; data: Uint8Array } | { dropped: number };

export class CacheEntry {
  private constructor();
  outputs(options?: { readonly encoding?: 'utf8' }): StoredFile<string>[];
  outputs(options: { readonly encoding: 'buffer' }): StoredFile<Uint8Array>[];
  stats(): {
    key: string; subject: string; durationNs: number; cpuNs: number | null; peakRssBytes: number | null;
    artifactBytes: number; outputBytes: number; logBytes: number; createdNs: number; usedNs: number;
  };
  log(): Promise<LogPiece[]>;
}

export interface CacheOpenOptions {
  /** Default: the store that all clones of the repository at `root` share on this machine. */
  readonly dir?: Path | URL;
  readonly root?: Path | URL;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly readOnly?: boolean;
}

/** A further place of artifacts: a server, a table. Rejecting, or giving anything else, is a miss and a notice. */
export interface CacheLayer {
  /** What notices call it. */
  readonly name?: string;
  has?(key: string): boolean | Promise<boolean>;
  /** The artifact as put() got it. */
  get?(key: string): Uint8Array | null | undefined | Promise<Uint8Array | null | undefined>;
  put?(key: string, artifact: Uint8Array): unknown;
}

/** A store of finished work, by key. Trouble of the store is a miss and a notice, never a failed lookup. */
export class Cache implements AsyncDisposable {
  private constructor();
  static open(options: CacheOpenOptions): Promise<Cache>;
  /** Removes what a declaration owns, before work that will be saved. */
  static cleanOutputs(outputs: Outputs): Promise<void>;
  readonly dir: string;
  readonly access: 'none' | 'read' | 'read-write';
  readonly salt: Uint8Array;
  /** Behind the store and the layers before it: asked by lookup() with `outputs` and by has(), handed what save() stored. */
  addLayer(layer: CacheLayer): this;
  /** Lines for people since the last call. */
  notices(): string[];
  /** With `outputs`, an artifact that the store has no row for can be verified and taken in. */
  lookup(key: string, options?: { readonly subject?: string; readonly outputs?: Outputs }): Promise<CacheEntry | null>;
  lookupMany(keys: readonly string[]): Promise<Array<CacheEntry | null>>;
  has(key: string): Promise<boolean>;
  save(key: string, options: {
    readonly outputs: Outputs;
    /** The finished key, made with `explain` and this cache's salt. */
    readonly components?: KeyBuilder;
    readonly subject?: string; readonly command?: string;
    readonly stdout?: string | Uint8Array; readonly stderr?: string | Uint8Array;
    readonly durationNs?: number; readonly cpuNs?: number; readonly peakRssBytes?: number;
  }): Promise<void>;
  /** False: the artifact is gone or damaged, which is a miss; the tree is as it was. */
  restore(entry: CacheEntry, outputs: Outputs): Promise<boolean>;
  isCurrent(entry: CacheEntry, outputs: Outputs): Promise<boolean>;
  /** Why the key missed: what moved since the newest entry of its subject. */
  explain(key: KeyBuilder): Promise<KeyDiff & { found: boolean; previousKey: string | null }>;
  /** Writes the artifact to a file that is not there yet. */
  exportFile(key: string, path: Path | URL): Promise<void>;
  importFile(key: string, path: Path | URL, options: { readonly subject?: string; readonly outputs: Outputs }): Promise<void>;
  prune(policy: { readonly olderThanNs?: number; readonly maxBytes?: number; readonly dryRun?: boolean }): Promise<{
    dryRun: boolean; evicted: number; bytesFreed: number; orphans: number; orphanBytes: number;
  }>;
  stats(): Promise<{
    cacheDir: string; entries: number; bytes: number; oldestUse: number | null; orphans: { artifacts: number; bytes: number };
    projects: Array<{ project: string; entries: number; bytes: number }>; badFiles: string[];
  }>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

// Made from capi/schemas by npm/documents.mjs; edit those.

/** What the store holds. `vx cache stats --format json` prints "result". */
export type CacheStatsDocument = {
  result: {
    cacheDir: string;
    cacheSource: 'flag' | 'config' | 'env' | 'shared' | 'workspace';
    entries: number;
    /** Allocated, of all files */
    bytes: number;
    maxBytes: number | null;
    olderThanMs: number | null;
    /** Milliseconds since 1970 */
    oldestUse: number | null;
    /** Artifacts without an index row */
    orphans: {
      artifacts: number;
      bytes: number;
    };
    runs24h: number;
    hits24h: number;
    restored24h: number;
    hitRate24h: number | null;
    savedMs24h: number;
    projects: Array<{
      project: string;
      entries: number;
      bytes: number;
    }>;
  };
  /** Lines for people */
  notices?: Array<string>;
};

/** One record of vx_observer.event. Readers ignore fields and kinds they do not know. */
export type RunEvent = {
  v: 1;
  kind: 'run.start';
  runId: string;
  /** Milliseconds since the epoch */
  ts: number;
  dropped?: number;
  run: RunEventContext;
  /** Real tasks */
  total: number;
  concurrency: number;
  /** Real tasks named, or surfaced by a named group */
  requestedCount: number;
  startedAt: number;
  projects?: {
    inRun: number;
    total: number;
  };
  flow?: 'focused' | 'broad';
} | {
  v: 1;
  kind: 'task.start';
  runId: string;
  /** Milliseconds since the epoch */
  ts: number;
  dropped?: number;
  /** Names the task in output calls */
  index: number;
  taskId: string;
  project: string;
  task: string;
  isGroup: boolean;
  requested: boolean;
  surfaced: boolean;
  persistent: boolean;
  cached?: boolean;
  /** As executed, secrets masked */
  command?: string;
  dependsOn?: Array<string>;
} | {
  v: 1;
  kind: 'task.retry';
  runId: string;
  /** Milliseconds since the epoch */
  ts: number;
  dropped?: number;
  taskId: string;
  attempt: number;
  total: number;
  exitCode: number;
  timedOut?: true;
} | {
  v: 1;
  kind: 'task.ready';
  runId: string;
  /** Milliseconds since the epoch */
  ts: number;
  dropped?: number;
  taskId: string;
  durationMs: number;
} | {
  v: 1;
  kind: 'task.end';
  runId: string;
  /** Milliseconds since the epoch */
  ts: number;
  dropped?: number;
  index?: number;
  project: string;
  task: string;
  status: 'success' | 'cache-hit' | 'cache-hit-remote' | 'failed' | 'skipped' | 'aborted';
  exitCode: number;
  /** What this run spent */
  durationMs: number;
  hash?: string | null;
  /** False: the outputs were already in place */
  restored?: boolean;
  noCache?: true;
  flaky?: {
    passes: number;
    failures: number;
    attempts?: number;
  };
  cpuMs?: number;
  peakRssBytes?: number;
  /** What the producing run spent */
  storedDurationMs?: number;
  storedCpuMs?: number;
  storedPeakRssBytes?: number;
  admissionHeldMs?: number;
  /** Root failure */
  blockedBy?: string;
  timedOut?: true;
  sandboxBackend?: 'namespaces' | 'namespaces-shared-proc' | 'landlock' | 'seatbelt';
  sandboxViolations?: number;
  notReady?: 'timeout' | 'exited' | 'spawn';
  /** Nanoseconds since the start of the run */
  wallclockStartNs?: string;
  /** Nanoseconds since the start of the run */
  wallclockEndNs?: string;
  taskId: string;
  cacheSource: 'miss' | 'local' | 'remote' | 'none';
  isGroup?: boolean;
  attempts?: number;
  failedAttempts?: Array<{
    endedAt: number;
    exitCode: number;
    timedOut?: true;
  }>;
  /** Stored output was replayed */
  log?: boolean;
  sandboxViolationLines?: Array<string>;
} | {
  v: 1;
  kind: 'task.exit';
  runId: string;
  /** Milliseconds since the epoch */
  ts: number;
  dropped?: number;
  taskId: string;
  exitCode: number;
  duringRun: boolean;
} | {
  v: 1;
  kind: 'run.status';
  runId: string;
  /** Milliseconds since the epoch */
  ts: number;
  dropped?: number;
  level: 'notice' | 'warning';
  line: string;
  taskId?: string;
} | {
  v: 1;
  kind: 'run.summary';
  runId: string;
  /** Milliseconds since the epoch */
  ts: number;
  dropped?: number;
  run: RunEventContext;
  startedAt: number;
  endedAt: number;
  totalDurationMs: number;
  taskCount: number;
  failedCount: number;
  abortedCount?: number;
  notRunCount?: number;
  skippedCount?: number;
  hitCount?: number;
  hitLocalCount?: number;
  hitRemoteCount?: number;
  upToDateCount?: number;
  restoredLocalCount?: number;
  restoredRemoteCount?: number;
  missCount?: number;
  noCacheCount?: number;
  savedMs?: number;
  exitOk: boolean;
  executed?: {
    count: number;
    maxMs: number;
    avgMs: number;
    minMs: number;
  };
  stages?: Array<{
    name: string;
    ownMs: number;
    totalMs: number;
  }>;
  tasks?: Array<{
    project: string;
    task: string;
    status: 'success' | 'cache-hit' | 'cache-hit-remote' | 'failed' | 'skipped' | 'aborted';
    exitCode: number;
    /** What this run spent */
    durationMs: number;
    hash?: string | null;
    /** False: the outputs were already in place */
    restored?: boolean;
    noCache?: true;
    flaky?: {
      passes: number;
      failures: number;
      attempts?: number;
    };
    cpuMs?: number;
    peakRssBytes?: number;
    /** What the producing run spent */
    storedDurationMs?: number;
    storedCpuMs?: number;
    storedPeakRssBytes?: number;
    admissionHeldMs?: number;
    /** Root failure */
    blockedBy?: string;
    timedOut?: true;
    sandboxBackend?: 'namespaces' | 'namespaces-shared-proc' | 'landlock' | 'seatbelt';
    sandboxViolations?: number;
    notReady?: 'timeout' | 'exited' | 'spawn';
    /** Nanoseconds since the start of the run */
    wallclockStartNs?: string;
    /** Nanoseconds since the start of the run */
    wallclockEndNs?: string;
    taskId: string;
    cacheSource: 'miss' | 'local' | 'remote' | 'none';
    isGroup?: boolean;
    attempts?: number;
    failedAttempts?: Array<{
      endedAt: number;
      exitCode: number;
      timedOut?: true;
    }>;
    /** Stored output was replayed */
    log?: boolean;
    sandboxViolationLines?: Array<string>;
  }>;
} | {
  v: 1;
  kind: 'run.end';
  runId: string;
  /** Milliseconds since the epoch */
  ts: number;
  dropped?: number;
  ok: boolean;
  exitCode: number;
  /** Ids of servers that still run */
  holding?: Array<string>;
};

export type RunEventContext = {
  runId: string;
  vxVersion: string;
  command: string;
  requestedTasks: Array<string>;
  /** lR,lW,rR,rW: the axes that are on */
  cachePolicy: string;
  concurrency: number;
  flow: 'focused' | 'broad' | null;
  commitSha?: string | null;
  branch?: string | null;
  dirty?: boolean | null;
  ci?: boolean;
  ciProvider?: string | null;
  host?: string | null;
  os: string;
  arch: string;
  tags: { [name: string]: string };
};

/** What vx found and uses in a workspace. `vx info --format json` prints "result". */
export type InfoDocument = {
  result: {
    vx: string;
    platform: string;
    /** null: not needed, or not found */
    evaluator: {
      kind: 'node' | 'bun' | 'deno';
      path: string;
      version: string;
    } | null;
    git: string | null;
    gitStatusCache: {
      fsmonitor: boolean;
      untrackedCache: boolean;
    } | null;
    workspaceRoot: string;
    projects: number;
    tasks: number;
    configErrors: Array<{
      path: string;
      message: string;
    }>;
    configs: {
      json: number;
      cached: number;
      everyRun: Array<{
        path: string;
        reasons: Array<string>;
      }>;
    };
    remoteCache: {
      type: string;
      endpoint: string;
      read: boolean;
      write: boolean;
    } | null;
    schedule: string;
    admission: string | null;
    telemetry: {
      endpoint: string;
    } | null;
    workers: {
      count: number;
      source: 'workspace' | 'cgroup' | 'cores';
      cores: number;
      cpuQuota: number | null;
    };
    memory: {
      usableBytes: number;
      totalBytes: number;
      cgroupLimitBytes: number | null;
    };
    cacheDir: string;
    cacheSource: 'flag' | 'config' | 'env' | 'shared' | 'workspace';
    cacheMode: 'read-write' | 'read-only' | 'none';
    stateDir: string;
    cacheVersion: string;
    schemaVersion: number;
    cacheEntries: number;
    cacheBytes: number;
    cacheRetention: {
      olderThan: string | null;
      maxSize: string | null;
      maxBytes: number | null;
    };
    orphans: {
      artifacts: number;
      bytes: number;
    };
    /** Databases that were set aside */
    badFiles: Array<string>;
    runs24h: number;
    hits24h: number;
    restored24h: number;
    flakyTasks: Array<{
      taskId: string;
      project: string;
      task: string;
      keys: number;
      passes: number;
      failures: number;
    }>;
    /** vx-lock.json is there */
    lockfile: boolean;
    guard: boolean;
    sandbox: {
      available: boolean;
      backend: string | null;
      require: 'namespaces' | 'any';
      reports: boolean;
      network: 'allow-list' | 'off-only' | null;
      reason: string | null;
      /** A task declares exec.sandbox */
      declared: boolean;
      steps: Array<{
        name: string;
        ok: boolean;
        detail: string;
      }>;
    };
  };
  /** Lines for people */
  notices?: Array<string>;
};

/** Recorded runs. `vx last --format json` prints "result". */
export type LastDocument = {
  kind: 'run' | 'list' | 'log';
  result: {
    invocation: LastDocumentInvocation;
    tasks: Array<LastDocumentTask>;
  } | Array<LastDocumentInvocation> | {
    runId: string;
    taskId: string;
    status: 'success' | 'failed' | 'cache-hit' | 'cache-hit-remote' | 'skipped';
    source: 'failure' | 'cache' | null;
    output: string;
  };
  /** Lists: the run ids, cut to what is unique */
  shortIds?: Array<string>;
  /** Lines for people */
  notices?: Array<string>;
};

export type LastDocumentInvocation = {
  runId: string;
  command: string;
  requestedTasks: Array<string>;
  /** Axes that were on: lR,lW,rR,rW */
  cachePolicy: string;
  concurrency: number;
  flow: 'focused' | 'broad' | null;
  startedAt: number;
  endedAt: number;
  totalDurationMs: number;
  taskCount: number;
  failedCount: number;
  hitCount: number;
  hitLocalCount: number;
  hitRemoteCount: number;
  upToDateCount: number;
  restoredLocalCount: number;
  restoredRemoteCount: number;
  exitOk: boolean;
  commitSha: string | null;
  branch: string | null;
  dirty: boolean | null;
  ci: boolean;
  ciProvider: string | null;
  host: string | null;
  os: string | null;
  arch: string | null;
  vxVersion: string;
  tags: { [name: string]: string };
};

export type LastDocumentTask = {
  runId: string;
  project: string;
  task: string;
  status: 'success' | 'failed' | 'cache-hit' | 'cache-hit-remote' | 'skipped';
  exitCode: number;
  durationMs: number;
  startedAt: number;
  endedAt: number;
  cacheHit: boolean | null;
  restored: boolean | null;
  cached: boolean | null;
  hash: string | null;
  cpuMs: number | null;
  peakRssBytes: number | null;
  wallclockStartNs: string | null;
  wallclockEndNs: string | null;
  /** The failure that a skip is for */
  blockedBy: string | null;
  timedOut: boolean | null;
  sandboxViolations: number | null;
  notReady: 'timeout' | 'exited' | 'spawn' | null;
  /** It had arguments after -- */
  forwarded: boolean;
  /** Failed tasks: the first 8 KiB and the last 56 KiB, masked */
  output?: string;
  locations?: Array<{
    /** Root-relative */
    file: string;
    line?: number;
    col?: number;
  }>;
  /** The first later run in which it passed */
  fixedIn?: string;
};

/** Every declared task. */
export type TaskList = {
  projects: Array<{
    name: string;
    dir: string;
    tags: Array<string>;
    tasks: Array<{
      id: string;
      name: string;
      command: string | null;
      dependsOn: Array<string>;
      cached: boolean;
      description?: string;
    }>;
  }>;
  current?: string | null;
  /** Lines for people */
  notices?: Array<string>;
};

/** What a run would do, without doing it. `vx run --dry=json` prints it without notices and exitCode. */
export type Plan = {
  tasks: Array<{
    /** <project>#<task> */
    id: string;
    project: string;
    task: string;
    hash: string | null;
    cacheStatus: 'hit-local' | 'hit-remote' | 'miss' | 'no-cache' | 'group' | 'not-started' | 'error';
    /** Ids, sorted */
    deps: Array<string>;
    /** Median duration of recorded executions */
    p50Ms?: number;
    executor?: string;
    download?: 'deferred';
    description?: string;
    affected?: {
      kind: 'input' | 'project' | 'package' | 'named' | 'selected';
      file?: string;
      project?: string;
      via?: Array<string>;
    };
    /** Why the task would fail before its command; with cacheStatus error */
    message?: string;
  }>;
  predicted?: {
    /** Longest chain of executions */
    wallMs: number;
    /** Sum of executions */
    workMs: number;
    /** Tasks without history */
    unknownCount: number;
    /** Ids, dependencies first */
    criticalPath: Array<string>;
  };
  downloadDowngrades?: Array<{
    taskId: string;
    reason: string;
  }>;
  /** Lines for people */
  notices?: Array<string>;
  /** What a command line would exit with */
  exitCode?: number;
};

/** What a prune removed, or would. `vx cache prune --format json` prints "result". */
export type PruneDocument = {
  result: {
    dryRun: boolean;
    evicted: number;
    bytesFreed: number;
    orphans: number;
    orphanBytes: number;
  };
  /** Lines for people */
  notices?: Array<string>;
};

/** What vx_run_start() takes. The queries of vx_workspace_query() take the same fields beside "query". */
export type RunRequest = {
  /** Names: task, pkg#task, //#task */
  readonly tasks?: ReadonlyArray<string>;
  /** Every project that declares the task */
  readonly all?: boolean;
  /** Project filters */
  readonly filter?: ReadonlyArray<string>;
  /** Tasks a change reaches, since a reference or the computed base */
  readonly affected?: boolean | string;
  /** Drop all dependency edges, or those to these task names */
  readonly excludeDependencies?: boolean | ReadonlyArray<string>;
  /** Arguments for the commands of requested tasks */
  readonly args?: ReadonlyArray<string>;
  /** Executing tasks at a time, or a share of the usable CPUs */
  readonly concurrency?: number | string;
  /** Read no cache, write it */
  readonly force?: boolean;
  /** Neither read nor write the cache, clean no outputs */
  readonly noCache?: boolean;
  /** Axes, for example local:rw,remote:r */
  readonly cache?: string;
  /** The whole store; relative to the working directory */
  readonly cacheDir?: string;
  /** Extra attempts */
  readonly retry?: number;
  readonly continue?: 'never' | 'deps-ok' | 'always';
  /** Milliseconds, for tasks that set none */
  readonly timeout?: number;
  /** Write the summary document, to the default place or to this path */
  readonly summarize?: boolean | string;
  /** Labels of the run */
  readonly tags?: { readonly [name: string]: string };
  /** The command line, for the record */
  readonly command?: string;
  readonly flow?: 'focused' | 'broad';
  /** Keep requested servers running after the graph has ended */
  readonly hold?: boolean;
};

/** Resolved configuration. `vx show --format json` prints "result". */
export type ShowDocument = {
  kind: 'projects' | 'project' | 'task' | 'tasks';
  result: Array<{
    name: string;
    /** Relative to the root */
    dir: string;
    tags: Array<string>;
    /** Declared task names */
    tasks: Array<string>;
  }> | {
    name: string;
    dir: string;
    config: ShowDocumentProject | null;
  } | {
    name: string;
    dir: string;
    task: string;
    config: ShowDocumentTask;
  } | Array<{
    name: string;
    dir: string;
    task: string;
    config: ShowDocumentTask;
  }>;
  /** Lines for people */
  notices?: Array<string>;
};

export type ShowDocumentProject = {
  '$schema'?: string;
  /** For a project without a package name */
  name?: string;
  tags?: Array<string>;
  /** Projects this one depends on, beside those of its manifest */
  dependencies?: Array<string>;
  /** Tasks by name */
  tasks?: { [name: string]: ShowDocumentTask };
};

export type ShowDocumentTask = {
  description?: string;
  exec?: ShowDocumentExec;
  dependsOn?: Array<string>;
  cache?: ShowDocumentCache;
};

export type ShowDocumentExec = {
  /** A shell command, run in the project's directory */
  command: string;
  env?: {
    /** Variables handed to the command; values are not in the key */
    passThrough?: Array<string>;
    /** Variables set for the command; in the key */
    define?: { [name: string]: string };
    /** Variables whose values are masked in output */
    secret?: Array<string>;
  };
  /** Milliseconds of one attempt */
  timeout?: number;
  /** Extra attempts after a failure */
  retries?: number;
  /** A server: dependants start when it is ready */
  persistent?: {
    /** A regular expression: ready when a line matches */
    readyWhen?: string;
  };
  /** Gets the terminal */
  interactive?: boolean;
  /** May run on a remote executor */
  remote?: true | false | 'only';
  sandbox?: ShowDocumentSandbox;
};

export type ShowDocumentCache = {
  inputs: {
    /** Globs, relative to the project */
    files: Array<string>;
    /** Globs, relative to the root */
    workspaceFiles?: Array<string>;
    /** Variables whose values are in the key */
    env?: Array<string>;
    /** Which dependencies' keys count; absent: all */
    tasks?: Array<string>;
    /** Commands whose output is in the key, run in the project */
    runtime?: Array<string>;
    /** The same, run at the root */
    workspaceRuntime?: Array<string>;
  };
  outputs: {
    /** Globs, relative to the project */
    files: Array<string>;
    /** Globs, relative to the root */
    workspaceFiles?: Array<string>;
  };
  /** The outputs do not depend on the machine */
  portable?: boolean;
  inputStability?: ShowDocumentInputStability;
};

export type ShowDocumentInputStability = {
  strategy?: 'immutable' | 'mutable' | 'unchecked';
  severity?: 'warn' | 'error';
};

export type ShowDocumentSandbox = {
  allow?: {
    read?: Array<string>;
    write?: Array<string>;
    network?: true | Array<string>;
    systemInfo?: Array<string>;
    machLookup?: Array<string>;
    unixSockets?: true | Array<string>;
    localBinding?: boolean | Array<number>;
    pty?: boolean;
    gitConfig?: boolean;
  };
  deny?: {
    network?: Array<string>;
  };
  ignore?: {
    read?: Array<string>;
    write?: Array<string>;
    systemInfo?: Array<string>;
    network?: Array<string>;
  };
  weakerWhenNested?: boolean;
  weakerNetworkIsolation?: boolean;
};

/** The document of --summarize and of `vx run --format json`. */
export type Summary = {
  runId: string;
  ok: boolean;
  /** What a command line exits with */
  exitCode: number;
  /** ISO 8601 */
  startedAt: string;
  /** ISO 8601 */
  endedAt: string;
  totalMs: number;
  /** What the hits' producing runs spent */
  savedMs: number;
  /** Every real task but the aborted */
  tasks: Array<SummaryRow>;
  aborted: Array<SummaryRow>;
  summary: {
    successful: number;
    failed: number;
    skipped: number;
    cachedLocal: number;
    restoredLocal: number;
    restoredRemote: number;
    upToDate: number;
    cachedRemote: number;
    aborted: number;
    total: number;
  };
};

export type SummaryRow = {
  id: string;
  project: string;
  task: string;
  status: 'success' | 'cache-hit' | 'cache-hit-remote' | 'failed' | 'skipped' | 'aborted';
  exitCode: number;
  /** What this run spent */
  durationMs: number;
  hash: string | null;
  /** False: the outputs were already in place */
  restored?: boolean;
  noCache?: true;
  flaky?: {
    passes: number;
    failures: number;
    attempts?: number;
  };
  cpuMs?: number;
  peakRssBytes?: number;
  /** What the producing run spent */
  storedDurationMs?: number;
  storedCpuMs?: number;
  storedPeakRssBytes?: number;
  admissionHeldMs?: number;
  /** Root failure */
  blockedBy?: string;
  timedOut?: true;
  sandboxBackend?: 'namespaces' | 'namespaces-shared-proc' | 'landlock' | 'seatbelt';
  sandboxViolations?: number;
  notReady?: 'timeout' | 'exited' | 'spawn';
  /** Nanoseconds since the start of the run */
  wallclockStartNs?: string;
  /** Nanoseconds since the start of the run */
  wallclockEndNs?: string;
};

/** vx.config.json, vx.config.jsonc, or the default export of vx.config.{ts,mts,cts,js,mjs,cjs}. */
export type ProjectConfig = {
  readonly '$schema'?: string;
  /** For a project without a package name */
  readonly name?: string;
  readonly tags?: ReadonlyArray<string>;
  /** Projects this one depends on, beside those of its manifest */
  readonly dependencies?: ReadonlyArray<string>;
  /** Tasks by name */
  readonly tasks?: { readonly [name: string]: ProjectConfigTask };
};

export type ProjectConfigTask = {
  readonly description?: string;
  readonly exec?: ProjectConfigExec;
  readonly dependsOn?: ReadonlyArray<string>;
  readonly cache?: ProjectConfigCache;
};

export type ProjectConfigExec = {
  /** A shell command, run in the project's directory */
  readonly command: string;
  readonly env?: {
    /** Variables handed to the command; values are not in the key */
    readonly passThrough?: ReadonlyArray<string>;
    /** Variables set for the command; in the key */
    readonly define?: { readonly [name: string]: string };
    /** Variables whose values are masked in output */
    readonly secret?: ReadonlyArray<string>;
  };
  /** Milliseconds of one attempt */
  readonly timeout?: number;
  /** Extra attempts after a failure */
  readonly retries?: number;
  /** A server: dependants start when it is ready */
  readonly persistent?: {
    /** A regular expression: ready when a line matches */
    readonly readyWhen?: string;
  };
  /** Gets the terminal */
  readonly interactive?: boolean;
  /** May run on a remote executor */
  readonly remote?: true | false | 'only';
  readonly sandbox?: ProjectConfigSandbox;
};

export type ProjectConfigCache = {
  readonly inputs: {
    /** Globs, relative to the project */
    readonly files: ReadonlyArray<string>;
    /** Globs, relative to the root */
    readonly workspaceFiles?: ReadonlyArray<string>;
    /** Variables whose values are in the key */
    readonly env?: ReadonlyArray<string>;
    /** Which dependencies' keys count; absent: all */
    readonly tasks?: ReadonlyArray<string>;
    /** Commands whose output is in the key, run in the project */
    readonly runtime?: ReadonlyArray<string>;
    /** The same, run at the root */
    readonly workspaceRuntime?: ReadonlyArray<string>;
  };
  readonly outputs: {
    /** Globs, relative to the project */
    readonly files: ReadonlyArray<string>;
    /** Globs, relative to the root */
    readonly workspaceFiles?: ReadonlyArray<string>;
  };
  /** The outputs do not depend on the machine */
  readonly portable?: boolean;
  readonly inputStability?: ProjectConfigInputStability;
};

export type ProjectConfigInputStability = {
  readonly strategy?: 'immutable' | 'mutable' | 'unchecked';
  readonly severity?: 'warn' | 'error';
};

export type ProjectConfigSandbox = {
  readonly allow?: {
    readonly read?: ReadonlyArray<string>;
    readonly write?: ReadonlyArray<string>;
    readonly network?: true | ReadonlyArray<string>;
    readonly systemInfo?: ReadonlyArray<string>;
    readonly machLookup?: ReadonlyArray<string>;
    readonly unixSockets?: true | ReadonlyArray<string>;
    readonly localBinding?: boolean | ReadonlyArray<number>;
    readonly pty?: boolean;
    readonly gitConfig?: boolean;
  };
  readonly deny?: {
    readonly network?: ReadonlyArray<string>;
  };
  readonly ignore?: {
    readonly read?: ReadonlyArray<string>;
    readonly write?: ReadonlyArray<string>;
    readonly systemInfo?: ReadonlyArray<string>;
    readonly network?: ReadonlyArray<string>;
  };
  readonly weakerWhenNested?: boolean;
  readonly weakerNetworkIsolation?: boolean;
};

/** vx.workspace.json, vx.workspace.jsonc, or the default export of vx.workspace.{ts,mts,cts,js,mjs,cjs}. No field is in a cache key. */
export type WorkspaceConfig = {
  readonly '$schema'?: string;
  /** Member globs of projects without a package manager */
  readonly projects?: ReadonlyArray<string>;
  /** Executing tasks at a time */
  readonly concurrency?: number;
  /** Milliseconds, for tasks that set none */
  readonly timeout?: number;
  /** The store; relative to the root */
  readonly cacheDir?: string;
  /** When entries are removed; false: never */
  readonly cacheRetention?: false | {
    readonly olderThan?: string | 0 | false;
    readonly maxSize?: string | 0 | false;
  };
  /** The reference --affected compares with */
  readonly affectedBase?: string;
  readonly cacheScope?: string;
  readonly rules?: {
    readonly exclusiveOutputs?: boolean;
    readonly upfrontKeys?: boolean;
  };
  readonly lockfile?: 'whole' | 'closure';
  readonly schedule?: 'critical-path' | 'most-work' | 'direct-dependents' | 'ready-order';
  readonly admission?: 'memory';
  readonly remoteCache?: WorkspaceConfigRemote | ReadonlyArray<WorkspaceConfigRemote>;
  readonly inputStability?: WorkspaceConfigInputStability;
  readonly sandbox?: {
    readonly require?: 'namespaces' | 'any';
  };
  readonly telemetry?: {
    readonly otlp?: true | {
      readonly endpoint: string;
    };
  };
};

export type WorkspaceConfigRemote = {
  readonly type: 'turbo';
  readonly url?: string;
  /** Name of the variable that holds the token */
  readonly tokenEnv?: string;
  /** Name of the variable that holds the signature secret */
  readonly signatureKeyEnv?: string;
  readonly signature?: boolean;
  readonly connectTimeoutMs?: number;
  readonly idleTimeoutMs?: number;
  readonly budgetMs?: number;
  readonly uploadWaitMs?: number;
  readonly team?: string;
} | {
  readonly type: 'http';
  readonly url?: string;
  /** Name of the variable that holds the token */
  readonly tokenEnv?: string;
  /** Name of the variable that holds the signature secret */
  readonly signatureKeyEnv?: string;
  readonly signature?: boolean;
  readonly connectTimeoutMs?: number;
  readonly idleTimeoutMs?: number;
  readonly budgetMs?: number;
  readonly uploadWaitMs?: number;
} | {
  readonly type: 's3';
  readonly url?: string;
  /** Name of the variable that holds the token */
  readonly tokenEnv?: string;
  /** Name of the variable that holds the signature secret */
  readonly signatureKeyEnv?: string;
  readonly signature?: boolean;
  readonly connectTimeoutMs?: number;
  readonly idleTimeoutMs?: number;
  readonly budgetMs?: number;
  readonly uploadWaitMs?: number;
  readonly bucket?: string;
  readonly prefix?: string;
  readonly region?: string;
  readonly endpoint?: string;
  readonly pathStyle?: boolean;
} | {
  readonly type: 'nx';
  readonly url?: string;
  /** Name of the variable that holds the token */
  readonly tokenEnv?: string;
  /** Name of the variable that holds the signature secret */
  readonly signatureKeyEnv?: string;
  readonly connectTimeoutMs?: number;
  readonly idleTimeoutMs?: number;
  readonly budgetMs?: number;
  readonly uploadWaitMs?: number;
} | {
  readonly type: 'reapi';
  readonly url?: string;
  /** Name of the variable that holds the token */
  readonly tokenEnv?: string;
  /** Name of the variable that holds the signature secret */
  readonly signatureKeyEnv?: string;
  readonly signature?: boolean;
  readonly connectTimeoutMs?: number;
  readonly idleTimeoutMs?: number;
  readonly budgetMs?: number;
  readonly uploadWaitMs?: number;
  readonly instance?: string;
};

export type WorkspaceConfigInputStability = {
  readonly strategy?: 'immutable' | 'mutable' | 'unchecked';
  readonly severity?: 'warn' | 'error';
};

/** Why a task's recorded run executed, or was served. `vx why --format json` prints "result". */
export type WhyDocument = {
  result: {
    taskId: string;
    runId: string;
    why: {
      runId: string;
      taskId: string;
      found: true;
      thisRun: {
        hash: string | null;
        status: 'success' | 'failed' | 'cache-hit' | 'cache-hit-remote' | 'skipped';
        /** null: nothing can be said of a skip, or of a task without a cache block */
        cacheHit: boolean | null;
        /** Hits: false when the outputs were in place */
        restored: boolean | null;
        /** The task has a cache block */
        cached: boolean | null;
        /** Milliseconds since 1970 */
        startedAt: number;
      };
      previousRun: {
        hash: string | null;
        status: 'success' | 'failed' | 'cache-hit' | 'cache-hit-remote' | 'skipped';
        /** null: nothing can be said of a skip, or of a task without a cache block */
        cacheHit: boolean | null;
        /** Hits: false when the outputs were in place */
        restored: boolean | null;
        startedAt: number;
      } | null;
      hashChanged: boolean | null;
      /** The verdict, one sentence */
      note: string;
    };
    diff: {
      runId: string;
      taskId: string;
      /** Both sides' components are known */
      found: boolean;
      /** What it is compared with: the newest earlier run that saved */
      previousRunId: string | null;
      entries: Array<WhyDocumentChange>;
      unchangedCount: number;
      note: string;
    };
    /** Moved dependencies, followed to their causes */
    roots: Array<{
      /** Task ids, from the asked one to the one whose own inputs moved */
      chain: Array<string>;
      /** Empty: not recorded */
      entries: Array<WhyDocumentChange>;
    }>;
  };
  /** Lines for people */
  notices?: Array<string>;
};

export type WhyDocumentChange = {
  kind: 'format' | 'platform' | 'workspace' | 'package' | 'config' | 'forward' | 'env' | 'runtime' | 'ws-runtime' | 'upstream' | 'host' | 'file';
  /** A path, a variable, a command, a task id */
  name: string;
  change: 'added' | 'removed' | 'changed';
  /** A blob id, key or digest; eight digits of a salted one, or unset */
  before: string | null;
  after: string | null;
};

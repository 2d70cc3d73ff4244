'use strict';
const { isUtf8 } = require('node:buffer');
const { constants } = require('node:os');
const check = require('./check.cjs');
const environmentOf = require('./environment.cjs');
const { aborted, invalid } = require('./error.cjs');
const native = require('./native.cjs');

const skipCurrent = 1;  // VX_OBSERVE_SKIP_CURRENT
const { SIGTERM } = constants.signals;

/** Turns the addon's calls for one run into the caller's: parsed, named, and stopping the run when a callback throws. */
class Handlers {
  #names = new Map();
  #stop;
  thrown;

  constructor(options, stop) {
    this.#stop = stop;
    const { onEvent, onOutput } = options;
    if (onEvent || onOutput) {
      this.event = (text) => {
        const event = JSON.parse(text);
        if (event.kind === 'task.start') this.#names.set(event.index, event.taskId);
        if (onEvent) this.#call(onEvent, event);
      };
    }
    if (onOutput) {
      this.output = (index, stream, data, replayed) =>
        this.#call(onOutput, { index, taskId: this.#names.get(index), stream: stream === 2 ? 'stderr' : 'stdout', data, replayed });
    }
  }

  #call(callback, value) {
    if (this.thrown) return;
    try {
      callback(value);
    } catch (error) {
      this.thrown = { error };
      this.#stop();
    }
  }
}

class Workspace {
  #handle;
  #turn = Promise.resolve();  // a handle serves one call at a time
  #live = new Set();          // {stop, ended} of every call that has not ended
  #closed;
  #root;

  constructor(key, handle) {
    if (key !== internal) throw invalid('a Workspace is made by openWorkspace()');
    this.#handle = handle;
    this.#root = native.workspaceRoot(handle);
  }

  get root() {
    if (isUtf8(this.#root)) return this.#root.toString();
    throw invalid('the path of the root is no UTF-8 and cannot be a string: use rootBytes');
  }
  get rootBytes() {
    return Buffer.from(this.#root);
  }

  /** `body(token, free)`: holds the handle until it calls free(). Stopped by the signal and by close(). */
  async #call(signal, body) {
    if (this.#closed) throw invalid('the workspace is closed');
    if (signal?.aborted) throw aborted(signal);
    const token = native.cancelNew();
    let stopped = false;
    const stop = () => {
      stopped = true;
      native.cancelRequest(token, SIGTERM);
    };
    let free;
    const turn = this.#turn;
    this.#turn = new Promise((resolve) => (free = resolve));
    const going = turn.then(() => {
      if (stopped) throw signal?.aborted ? aborted(signal) : invalid('the workspace is closed');
      return body(token, free, stop);
    });
    const entry = { stop, ended: going.then(free, free) };
    this.#live.add(entry);
    signal?.addEventListener('abort', stop, { once: true });
    try {
      return await going;
    } catch (error) {
      throw signal?.aborted && error.code === 'VX_E_CANCELLED' && error.name !== 'AbortError' ? aborted(signal) : error;
    } finally {
      signal?.removeEventListener('abort', stop);
      this.#live.delete(entry);
    }
  }

  async #query(query, fields, { signal } = {}) {
    const request = JSON.stringify({ ...fields, query });
    check.signal(signal);
    return JSON.parse(await this.#call(signal, (token) => native.workspaceQuery(this.#handle, request, token)));
  }

  async plan(request, options) {
    return this.#query('plan', check.object(request, 'request'), check.known(options, 'options', ['signal']));
  }

  async show(target, options) {
    const { signal, ...rest } = check.known(options, 'options', ['filter', 'signal']);
    return this.#query('show', { target, ...rest }, { signal });
  }

  async listTasks(options) {
    const { signal, ...rest } = check.known(options, 'options', ['filter', 'signal']);
    return this.#query('list-tasks', rest, { signal });
  }

  async info(options) {
    const { signal, ...rest } = check.known(options, 'options', ['cacheDir', 'signal']);
    return this.#query('info', rest, { signal });
  }

  async why(task, options) {
    const { signal, ...rest } = check.known(options, 'options', ['run', 'cacheDir', 'signal']);
    return this.#query('why', { task, ...rest }, { signal });
  }

  async last(options) {
    const { signal, ...rest } = check.known(options, 'options', ['run', 'list', 'failed', 'log', 'cacheDir', 'signal']);
    return this.#query('last', rest, { signal });
  }

  async cacheStats(options) {
    const { signal, ...rest } = check.known(options, 'options', ['cacheDir', 'signal']);
    return this.#query('cache-stats', rest, { signal });
  }

  async pruneCache(options) {
    const { signal, ...rest } = check.known(options, 'options', ['olderThan', 'maxSize', 'dryRun', 'waitMs', 'cacheDir', 'signal']);
    return this.#query('prune-cache', rest, { signal });
  }

  async run(request, options) {
    const json = JSON.stringify(check.object(request, 'request'));
    const given = check.known(options, 'options', ['onEvent', 'onOutput', 'signal', 'skipCurrent']);
    for (const name of ['onEvent', 'onOutput']) check.callback(given[name], name);
    const signal = check.signal(given.signal);
    let handlers;
    const text = await this.#call(signal, (token, free, stop) => {
      handlers = new Handlers(given, stop);
      const flags = given.skipCurrent ? skipCurrent : 0;
      return native.runStart(this.#handle, json, flags, handlers.event, handlers.output, token, free);
    }).catch((error) => {
      throw handlers?.thrown ? handlers.thrown.error : error;
    });
    if (handlers.thrown) throw handlers.thrown.error;
    const summary = JSON.parse(text);
    if (signal?.aborted && summary.exitCode === 128 + SIGTERM) throw aborted(signal, summary);
    return summary;
  }

  /** Stops what still goes on, waits for its end, and lets go of the workspace. */
  close() {
    this.#closed ??= (async () => {
      const live = [...this.#live];
      for (const { stop } of live) stop();
      await Promise.all(live.map(({ ended }) => ended));
      native.workspaceClose(this.#handle);
    })();
    return this.#closed;
  }
}
const internal = Symbol('internal');
Object.defineProperty(Workspace.prototype, Symbol.asyncDispose, { value: Workspace.prototype.close, writable: true, configurable: true });

async function openWorkspace(path = process.cwd(), options) {
  const given = check.known(options, 'options', ['cwd', 'env', 'platform']);
  const cwd = check.optional(given.cwd, 'options.cwd', check.absolute);
  const platform = check.optional(given.platform, 'options.platform');
  return new Workspace(internal, await native.workspaceOpen(check.absolute(path, 'path'), cwd, environmentOf(given.env), platform));
}

module.exports = { Workspace, openWorkspace };

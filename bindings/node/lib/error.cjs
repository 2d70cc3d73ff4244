'use strict';

/** What every failed call throws or rejects with. `code` says what to do about it, `message` is one line for people. */
class VxError extends Error {
  constructor(code, message, { path, errno, details, cause } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    if (path !== undefined) this.path = path;
    if (errno !== undefined) this.errno = errno;
    if (details !== undefined) this.details = details;
  }
}
Object.defineProperty(VxError.prototype, 'name', { value: 'VxError', writable: true, configurable: true });

/** The error of a failure as the addon tells it. */
function fromNative(code, message, path, errno, details) {
  return new VxError(code, message, {
    path: path === '' ? undefined : path,
    errno: errno === 0 ? undefined : errno,
    details: details === '' ? undefined : JSON.parse(details),
  });
}

const invalid = (message) => new VxError('VX_E_INVALID', message);

/** A call that its AbortSignal stopped. `summary` is there when a run had begun. */
function aborted(signal, summary) {
  const error = new VxError('VX_E_CANCELLED', 'the operation was aborted', { cause: signal.reason });
  error.name = 'AbortError';
  if (summary !== undefined) error.summary = summary;
  return error;
}

module.exports = { VxError, aborted, fromNative, invalid };

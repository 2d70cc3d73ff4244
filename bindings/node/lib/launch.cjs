'use strict';
// The command: replaces this process where Node can, else stands in front of a child as if it were it.
const fs = require('node:fs');
const { constants } = require('node:os');
const { VxLoadError, explain, locate } = require('./load.cjs');

// EM_* of the ELF header, CPU types of Mach-O.
const machines = { elf: { x64: 62, arm64: 183 }, macho: { x64: 0x01000007, arm64: 0x0100000c } };

/** Why the kernel would not start it. Replacing the process cannot fail politely: it must be known before. */
function whyNot(located) {
  const { file } = located;
  try {
    fs.accessSync(file, fs.constants.X_OK);
  } catch (cause) {
    return cause;
  }
  const head = Buffer.alloc(64);
  const fd = fs.openSync(file, 'r');
  try {
    fs.readSync(fd, head, 0, head.length, 0);
  } finally {
    fs.closeSync(fd);
  }
  if (head.readUInt16BE(0) === 0x2321) return located.override === undefined ? new Error('it is a script') : undefined;
  const [magic, machine, want] = process.platform === 'darwin'
    ? [head.readUInt32LE(0) === 0xfeedfacf, head.readUInt32LE(4), machines.macho]
    : [head.readUInt32BE(0) === 0x7f454c46, head.readUInt16LE(18), machines.elf];
  if (!magic) return new Error('it is no executable of this system');
  if (want[process.arch] !== undefined && machine !== want[process.arch]) return new Error('it is for another processor');
  const loader = located.found?.manifest.vx?.interpreter;
  if (loader !== undefined && !fs.existsSync(loader)) return new Error(`${loader} is not there`);
  return undefined;
}

// Of a terminal's Ctrl-C and Ctrl-\ the child has its own: they go to everyone in the foreground.
const fromTerminal = ['SIGINT', 'SIGQUIT'];
const forwarded = [...fromTerminal, 'SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGCONT'];

function standInFront(located, args) {
  const { spawn } = require('node:child_process');
  const child = spawn(located.file, args, { stdio: 'inherit', argv0: 'vx' });
  const terminal = [0, 1, 2].some((fd) => require('node:tty').isatty(fd));
  const handlers = forwarded.map((name) => [name, () => {
    if (!(terminal && fromTerminal.includes(name))) child.kill(name);
  }]);
  for (const [name, handler] of handlers) process.on(name, handler);
  child.on('error', (cause) => fail(explain(located, cause)));
  child.on('exit', (code, signal) => {
    for (const [name, handler] of handlers) process.off(name, handler);
    if (signal === null) process.exit(code);
    process.kill(process.pid, signal);
    // A signal that does not end this process (ignored, or without effect) still tells how the child ended.
    setTimeout(() => process.exit(128 + constants.signals[signal]), 1000);
  });
}

function fail(error) {
  if (!(error instanceof VxLoadError)) throw error;
  process.stderr.write(`vx: ${error.message}\n`);
  process.exit(1);
}

function launch(args) {
  try {
    const located = locate('vx', 'VX_BINARY');
    const cause = whyNot(located);
    if (cause !== undefined) throw explain(located, cause);
    if (typeof process.execve !== 'function') return standInFront(located, args);
    process.execve(located.file, ['vx', ...args], process.env);
  } catch (error) {
    fail(error);
  }
}

module.exports = { launch };

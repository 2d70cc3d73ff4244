// What the API answers: the schemas, the types made of them, and the documents agree.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { createRequire } from 'node:module';
import { generate, target } from '../../bindings/node/npm/documents.mjs';
import { faults } from '../cli/lib/schema.mjs';
import { always, copyBuild, monorepo } from '../cli/lib/workspace.mjs';
import { addonFile, library, open, vx } from './lib/addon.mjs';

test('the types are the schemas\'', () => {
  assert.equal(fs.readFileSync(target, 'utf8'), generate(), 'run: node bindings/node/npm/documents.mjs');
});

test('the codes of the types are the library\'s', () => {
  const union = fs.readFileSync(path.join(library, 'index.d.ts'), 'utf8').match(/type ErrorCode =([^;]*);/)[1];
  assert.deepEqual(union.match(/VX_E_[A-Z_]+/g), createRequire(import.meta.url)(addonFile).statusNames());
});

test('every name of the types exists and the other way round', () => {
  const declared = [...fs.readFileSync(path.join(library, 'index.d.ts'), 'utf8').matchAll(/^export (?:class|function|const) (\w+)/gm)].map((m) => m[1]);
  const exported = Object.keys(vx).filter((name) => name !== 'default' && !name.startsWith('define'));
  assert.deepEqual(declared.sort(), exported.sort());
  const text = fs.readFileSync(path.join(library, 'index.d.ts'), 'utf8');
  for (const name of exported.filter((n) => /^[A-Z]/.test(n) && n !== 'VxError')) {
    const body = text.slice(text.indexOf(`export class ${name} `)).split(/^}/m)[0];
    const own = Object.getOwnPropertyNames(vx[name].prototype).filter((n) => n !== 'constructor');
    const fixed = Object.getOwnPropertyNames(vx[name]).filter((n) => !['length', 'name', 'prototype'].includes(n));
    for (const member of own) assert.match(body, new RegExp(`^  (readonly )?${member}[(:]`, 'm'), `${name}.${member}`);
    for (const member of fixed) assert.match(body, new RegExp(`^  static ${member}\\(`, 'm'), `${name}.${member}`);
    for (const [, member] of body.matchAll(/^ {2}(?:readonly )?(\w+)[(:]/gm)) assert.ok(member === 'constructor' || own.includes(member), `${name}.${member}`);
  }
});

test('documents of every method, against the schemas', async () => {
  const ws = monorepo({ app: { deps: ['lib'], tasks: { build: copyBuild({ dependsOn: ['^build'] }), bad: always('echo no; exit 2') } }, lib: { tasks: { build: copyBuild() } } });
  const w = await open(ws);
  const request = { tasks: ['build', 'bad'], all: true, continue: 'always', tags: { a: 'b' } };
  assert.deepEqual(faults('run-request', request), []);
  const valid = (name, value) => assert.deepEqual(faults(name, value), [], name);
  valid('plan', await w.plan(request));
  valid('summary', await w.run(request, { onEvent: (e) => valid('event', e) }));
  for (const target of [undefined, 'app', 'app#build', 'build']) valid('show', await w.show(target));
  valid('list-tasks', await w.listTasks());
  valid('info', await w.info());
  valid('why', await w.why('app#build'));
  for (const options of [undefined, { list: 3 }, { log: 'app#bad' }, { failed: true }]) valid('last', await w.last(options));
  valid('cache-stats', await w.cacheStats());
  valid('prune-cache', await w.pruneCache({ olderThan: '1d' }));
});

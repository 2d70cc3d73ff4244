// When a remembered evaluation of a program config may still be believed.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { HIT, MISS, build, dist, keyOf, single } from './lib/place.mjs';
import { rulesOf } from './lib/rule.mjs';

const rule = rulesOf(import.meta.url, 'Config evaluation');
const file = 'packages/a/vx.config.mjs';
const task = (command) => `export default { tasks: { build: { exec: { command: \`mkdir -p dist; echo \${${command}} > dist/x\` }, cache: { inputs: { files: [] }, outputs: { files: ['dist/**'] } } } } };\n`;
const program = (head, command, name = file) => {
  const ws = single();
  ws.remove('packages/a/vx.config.json');
  ws.write(name, head + task(command));
  return ws;
};
/** The output follows what the config read, and an unchanged world is a hit. */
function follows(ws, steps) {
  for (const [change, want, options] of steps) {
    change();
    const r = ws.run(['a#build'], options);
    assert.equal(r.outcomes['a#build'], MISS, r.stderr);
    assert.equal(dist(ws), `${want}\n`);
    assert.equal(build(ws, [], options), HIT);
  }
}

rule(144, 'Helper that reads the machine counted as pure', {
  law: 'every file, variable and directory read is traced; clock, randomness and child processes mark the config for evaluation on every run',
  breaks: 'serve the stored evaluation whatever it read', mutation: 'stale-evaluation',
}, () => {
  const read = program("import fs from 'node:fs';\nconst at = (n) => new URL('./' + n, import.meta.url);\n",
    "[fs.existsSync(at('maybe')), fs.readFileSync(at('word'), 'utf8').trim(), fs.readdirSync(at('dir')).join('+'), process.env.WORD].join(',')");
  read.write('packages/a/word', 'one');
  read.write('packages/a/dir/1', '');
  follows(read, [
    [() => {}, 'false,one,1,w', { env: { WORD: 'w' } }], [() => read.write('packages/a/word', 'two'), 'false,two,1,w', { env: { WORD: 'w' } }],
    [() => read.write('packages/a/dir/2', ''), 'false,two,1+2,w', { env: { WORD: 'w' } }], [() => read.write('packages/a/maybe', ''), 'true,two,1+2,w', { env: { WORD: 'w' } }],
    [() => {}, 'true,two,1+2,v', { env: { WORD: 'v' } }],
  ]);
  for (const expression of ['Date.now()', 'Math.random()', 'new Date().getTime()']) {
    const ws = program('', expression);
    assert.notEqual(keyOf(ws), keyOf(ws), expression);
  }
  const child = program("import { execSync } from 'node:child_process';\n", "execSync('cat ../../word', { cwd: import.meta.dirname ?? new URL('.', import.meta.url).pathname }).toString().trim()");
  follows(child, [[() => child.write('word', '1'), '1'], [() => child.write('word', '2'), '2']]);
});

rule(145, 'Imports through links, other extensions, or found by a failed lookup first', {
  law: 'real paths and failed lookups are traced', breaks: 'trace the files that were found, under the names they were asked by', mutation: 'stale-evaluation',
}, () => {
  const linked = program("import { word } from './preset.mjs';\n", 'word');
  linked.write('shared/one.mjs', "export const word = 'one';\n");
  linked.write('shared/two.mjs', "export const word = 'two';\n");
  fs.symlinkSync('../../shared/one.mjs', linked.path('packages/a/preset.mjs'));
  follows(linked, [
    [() => {}, 'one'], [() => linked.write('shared/one.mjs', "export const word = 'edited';\n"), 'edited'],
    [() => (linked.remove('packages/a/preset.mjs'), fs.symlinkSync('../../shared/two.mjs', linked.path('packages/a/preset.mjs'))), 'two'],
  ]);
  const failed = program("import { createRequire } from 'node:module';\nconst { word } = createRequire(import.meta.url)('./preset');\n", 'word');
  failed.write('packages/a/preset.json', '{"word":"json"}');
  follows(failed, [
    [() => {}, 'json'], [() => failed.write('packages/a/preset.json', '{"word":"edited"}'), 'edited'],
    [() => failed.write('packages/a/preset.js', "module.exports = { word: 'js' };\n"), 'js'],
  ]);
  const plain = single();
  plain.remove('packages/a/vx.config.json');
  plain.write('packages/a/package.json', { name: 'a', version: '1.0.0', type: 'commonjs' });
  plain.write('packages/a/vx.config.cjs', `const { word } = require('./preset');\n${task('word').replace('export default', 'module.exports =')}`);
  plain.write('packages/a/preset.json', '{"word":"json"}');
  follows(plain, [[() => {}, 'json'], [() => plain.write('packages/a/preset.js', "module.exports = { word: 'js' };\n"), 'js'], [() => (plain.remove('packages/a/preset.js'), plain.write('packages/a/preset.json', '{"word":"json 2"}')), 'json 2']]);
});

rule(146, 'Engine options or loader files change the result', {
  law: 'part of the trace; nothing is kept while NODE_OPTIONS preloads modules', breaks: 'trust a trace whatever was loaded before it began', mutation: 'ignore-preloads',
}, () => {
  const ws = program('', 'globalThis.WORD');
  for (const word of ['one', 'two']) ws.write(`${word}.cjs`, `globalThis.WORD = '${word}';\n`);
  const env = (word) => ({ env: { NODE_OPTIONS: `--require=${ws.path(`${word}.cjs`)}` } });
  follows(ws, [[() => {}, 'one', env('one')], [() => {}, 'two', env('two')], [() => ws.write('two.cjs', "globalThis.WORD = 'edited';\n"), 'edited', env('two')]]);
});

// A step that never does the same work twice: its key says what the result depends on, the cache holds what it made and printed.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Cache, Inputs, KeyBuilder } from '@vzn/vx';

const root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'memo-')));
fs.mkdirSync(path.join(root, 'src'));
fs.writeFileSync(path.join(root, 'src/words'), 'pear\napple\nfig\n');

const outputs = { root, files: ['dist/**'] };
const cache = await Cache.open({ root, dir: path.join(root, 'store') });

async function sortWords(options) {
  const inputs = await Inputs.open(root, { cache });
  const files = await inputs.resolve('src/**');
  const key = new KeyBuilder({ schema: 'sort-words-1', subject: 'words#sort', explain: true, salt: cache.salt });
  for (const option of options) key.addForward(option);
  key.addEnv('LC_ALL', 'C').addSelection(files);
  const digest = key.finish();

  const hit = await cache.lookup(digest, { subject: 'words#sort', outputs });
  if (hit && (await cache.isCurrent(hit, outputs))) return 'in place';
  if (hit && (await cache.restore(hit, outputs))) return 'restored';

  const why = await cache.explain(key);
  await Cache.cleanOutputs(outputs);
  const mark = Inputs.mark();
  fs.mkdirSync(path.join(root, 'dist'), { recursive: true });
  const stdout = execFileSync('sort', [...options, 'src/words', '-o', 'dist/words'], { cwd: root, env: { ...process.env, LC_ALL: 'C' } });
  const moved = await inputs.changedSince(files, mark);
  if (moved === null) await cache.save(digest, { outputs, components: key, stdout });
  return `made (${why.found ? why.entries.map((e) => `${e.kind} ${e.change}`).join(', ') : 'nothing like it is stored'})`;
}

console.log(await sortWords([]));
console.log(await sortWords([]));
fs.rmSync(path.join(root, 'dist'), { recursive: true });
console.log(await sortWords([]));
console.log(await sortWords(['-r']));
fs.appendFileSync(path.join(root, 'src/words'), 'quince\n');
console.log(await sortWords(['-r']));
await cache.close();
fs.rmSync(root, { recursive: true });

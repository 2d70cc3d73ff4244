// A small linter: no trailing blanks, no tabs, a newline at the end. Checks the sources below the current directory.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const skipped = new Set(['node_modules', 'dist', 'bin', '.vx']);
const checked = /\.(ts|mjs|js|c|h)$/;

function* sources(dir) {
  for (const entry of readdirSync(dir, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(dir, entry.name);
    if (entry.isDirectory() && !skipped.has(entry.name)) yield* sources(path);
    else if (entry.isFile() && checked.test(entry.name)) yield path;
  }
}

let files = 0;
let faults = 0;
for (const path of sources('.')) {
  files += 1;
  const text = readFileSync(path, 'utf8');
  text.split('\n').forEach((line, i) => {
    const fault = /[ \t]$/.test(line) ? 'trailing blank' : line.includes('\t') ? 'tab' : null;
    if (fault) {
      faults += 1;
      console.log(`${path}:${i + 1}: ${fault}`);
    }
  });
  if (!text.endsWith('\n')) {
    faults += 1;
    console.log(`${path}: no newline at the end`);
  }
}
console.log(`${files} files, ${faults} faults`);
process.exitCode = faults === 0 ? 0 : 1;

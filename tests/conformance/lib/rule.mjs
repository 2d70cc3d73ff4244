// The table of the suite: every rule registers its number, cause and law, and runs the real command on a real little workspace.
import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

/** Numbers of the checklist of causes (1 to 146) and of causes that our own machinery adds; and those of features with suites of their own. */
export const last = 149;
export const elsewhere = {
  117: 'sandbox', 138: 'remote', 139: 'remote', 140: 'remote', 141: 'remote', 142: 'remote', 143: 'sandbox',
};

export const registered = [];
const listing = () => process.env.VX_CONFORMANCE_LIST === '1';
const chosen = (process.env.VX_RULES ?? '').split(/[\s,]+/).filter(Boolean);

/**
 * What a file registers its rules with: `rule(36, 'CRLF file keyed by its LF blob', { law, breaks, mutation }, body)`.
 *   law       the rule that prevents the cause
 *   breaks    the one-line change that turns the test red
 *   mutation  the same as a switch of a build with -Dmutations=true (tests/conformance/mutate.sh)
 */
export function rulesOf(url, heading) {
  const file = path.basename(fileURLToPath(url));
  return (number, cause, { law, breaks, mutation, skip }, body) => {
    if (!law || !breaks) throw new Error(`rule ${number} lacks its law or what breaks it`);
    registered.push({ number, cause, law, breaks, mutation, heading, file });
    if (listing() || (chosen.length > 0 && !chosen.includes(String(number)))) return;
    test(`${number}. ${cause}`, { skip }, body);
  };
}

const here = path.dirname(fileURLToPath(import.meta.url));
export const suite = path.resolve(here, '..');

/** Every rule of every file, without running any. */
export async function allRules() {
  process.env.VX_CONFORMANCE_LIST = '1';
  for (const name of fs.readdirSync(suite).sort()) {
    if (name.endsWith('.test.mjs') && name !== 'table.test.mjs' && name !== 'probes.test.mjs') await import(path.join(suite, name));
  }
  return registered.sort((a, b) => a.number - b.number);
}

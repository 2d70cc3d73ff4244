// docs/correctness.md from the registered rules: node tests/conformance/table.mjs > docs/correctness.md
process.env.VX_CONFORMANCE_LIST = '1';
const { allRules, elsewhere } = await import('./lib/rule.mjs');

const escape = (text) => text.replaceAll('|', '\\|');

export async function document() {
  const rules = await allRules();
  const lines = [
    '# Correctness', '',
    'A stale hit is the worst failure a build cache can have. This is every cause of one that we know of, the rule that prevents it, and the',
    'test that fails without the rule. A column says which rules are also proven by switching them off (`tests/conformance/mutate.sh`).', '',
    'This page is made by `node tests/conformance/table.mjs`; a test compares it.', '',
  ];
  let heading = '';
  for (const r of rules) {
    if (r.heading !== heading) {
      heading = r.heading;
      lines.push(`## ${heading}`, '', '| # | cause | rule | what breaks it | test | switched off |', '|---|---|---|---|---|---|');
    }
    lines.push(`| ${r.number} | ${escape(r.cause)} | ${escape(r.law)} | ${escape(r.breaks)} | [${r.file.replace('.test.mjs', '')}](../tests/conformance/${r.file}) | ${r.mutation ? `\`${r.mutation}\`` : ''} |`);
    const next = rules[rules.indexOf(r) + 1];
    if (next === undefined || next.heading !== heading) lines.push('');
  }
  lines.push('## Elsewhere', '', 'Rules of features that have suites of their own:', '');
  for (const feature of [...new Set(Object.values(elsewhere))]) {
    lines.push(`- ${feature}: ${Object.keys(elsewhere).filter((n) => elsewhere[n] === feature).join(', ')}`);
  }
  lines.push('', '## Accepted', '',
    'Known and left: a removed filter that preserved the size of a file; an mtime forged back inside the clock tick of vx\'s own write; undeclared',
    'writes of an unsandboxed task into another project; a cached task that writes undeclared files which are nobody\'s inputs; reads outside the',
    'workspace; a file added in a directory that held no listed file; tasks that are not deterministic.', '');
  return lines.join('\n');
}

if (import.meta.url === `file://${process.argv[1]}` || process.argv[1]?.endsWith('table.mjs')) {
  process.stdout.write(await document());
  process.exit(0);
}

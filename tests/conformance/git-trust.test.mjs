// When git's word may stand for a file, and when only its bytes do.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import {
  HIT, MISS, RESTORED, aged, always, bare, build, built, cached, checkout, copyBuild, dist, expectFresh, forge, keyOf, monorepo, onLinux, shim, single, src, trustworthy,
  until,
} from './lib/place.mjs';
import { rulesOf } from './lib/rule.mjs';

const rule = rulesOf(import.meta.url, 'Git trust');
const X = 'packages/a/src/x';
const oid = (ws, name = X) => ws.git('ls-files', '-s', '--', name).split(' ')[1];

/** Two texts that git stores as one blob: the build follows the bytes on disk, whichever it built before. */
async function oneBlobTwoTexts(ws, first, second, want = MISS) {
  const put = async (text) => {
    ws.remove(X);
    ws.write(X, text);
    ws.git('add', '--renormalize', X);
    ws.git('add', X);
    await trustworthy(ws, X);
    return oid(ws);
  };
  const id = await put(first);
  expectFresh(ws, want);
  assert.equal(await put(second), id, 'git must see one blob');
  expectFresh(ws, want);
  await put(first);
  expectFresh(ws, want === MISS ? RESTORED : want);
}

// A filter under which both words have one blob of the same size.
const filter = (ws, name = 'l') => {
  ws.git('config', `filter.${name}.clean`, "sed -e 's/REAL/BLOB/' -e 's/PTRS/BLOB/'");
  ws.git('config', `filter.${name}.smudge`, 'cat');
};

rule(36, 'CRLF file keyed by its LF blob (`autocrlf`, `text`, `eol`, `ident`)', {
  law: 'the clean-filter gate: such files are keyed by their bytes', breaks: 'believe index ids whatever converts', mutation: 'no-trust-checks',
}, async () => {
  for (const attribute of ['* text', '* text=auto', '* eol=lf', '* eol=crlf']) {
    const ws = single();
    ws.write('.gitattributes', `${attribute}\n`);
    ws.commit();
    await oneBlobTwoTexts(ws, 'one\r\n', 'one\n');
  }
  for (const value of ['true', 'input']) {
    const ws = single();
    ws.git('config', 'core.autocrlf', value);
    await oneBlobTwoTexts(ws, 'one\r\n', 'one\n');
  }
  const ws = single();
  ws.write('.gitattributes', '* ident\n');
  ws.commit();
  await oneBlobTwoTexts(ws, '$Id: 1111$\n', '$Id: 2222$\n');
});

rule(37, 'Global or system attributes missed', {
  law: 'they are asked for', breaks: 'look at the attributes of the tree alone', mutation: 'no-global-attributes',
}, async () => {
  for (const where of ['config', 'default', 'info']) {
    const ws = single();
    filter(ws);
    const file = where === 'config' ? path.join(ws.base, 'attributes') : where === 'default' ? path.join(ws.base, 'home/.config/git/attributes') : ws.path('.git/info/attributes');
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, '*x filter=l\n');
    if (where === 'config') ws.git('config', '--global', 'core.attributesFile', file);
    await oneBlobTwoTexts(ws, 'REAL\n', 'PTRS\n');
  }
});

rule(38, 'Untracked, modified or ignored `.gitattributes` missed', {
  law: 'attributes are looked for on disk', breaks: 'read the attributes that the index holds', mutation: 'no-disk-attributes',
}, async () => {
  for (const state of ['untracked', 'modified', 'ignored']) {
    const ws = single();
    filter(ws);
    if (state === 'modified') {
      ws.write('packages/a/src/.gitattributes', '# none\n');
      ws.commit();
    }
    if (state === 'ignored') ws.write('.gitignore', 'node_modules/\n.vx/\ndist/\n.gitattributes\n');
    ws.write('packages/a/src/.gitattributes', 'x filter=l\n');
    await oneBlobTwoTexts(ws, 'REAL\n', 'PTRS\n');
  }
});

rule(39, '`filter`, `working-tree-encoding` or old `crlf` missed (LFS pointer against content)', {
  law: 'all six attributes are asked', breaks: 'ask for text and eol alone', mutation: 'two-attributes',
}, async () => {
  const ws = single();
  ws.write('.gitattributes', 'x filter=l\n');
  filter(ws);
  ws.commit();
  await oneBlobTwoTexts(ws, 'REAL\n', 'PTRS\n');
  const old = single();
  old.write('.gitattributes', '* crlf\n');
  old.commit();
  await oneBlobTwoTexts(old, 'one\r\n', 'one\n');
  const encoded = single();
  encoded.write('.gitattributes', 'x working-tree-encoding=UTF-16LE-BOM\n');
  encoded.commit();
  encoded.write(X, Buffer.from('\ufeffab', 'utf16le'));
  encoded.git('add', X);
  await trustworthy(encoded, X);
  expectFresh(encoded, MISS);
  encoded.remove('.gitattributes');
  encoded.write(X, 'ab');
  encoded.commit();
  expectFresh(encoded, MISS);
});

rule(40, 'Filter removed after the add', {
  law: 'a blob of another size than the file loses trust', breaks: 'leave the blob-size check out', mutation: 'no-blob-size',
}, async () => {
  const ws = single();
  ws.write('.gitattributes', '* text\n');
  ws.write(X, 'one\r\ntwo\r\n');
  await aged(ws, X, 1100);  // git itself compares whole seconds
  ws.commit();
  ws.remove('.gitattributes');
  ws.commit();
  await trustworthy(ws, X);
  assert.equal(ws.git('status', '--porcelain', '--', X), '', 'git sees no change');
  expectFresh(ws, MISS);
  ws.write(X, 'one\ntwo\n');
  expectFresh(ws, MISS, 'the bytes of the blob');
});

rule(41, '`skip-worktree`, `assume-unchanged`, `core.ignoreStat` hide edits; absent files counted', {
  law: 'flags take trust away, lstat decides', breaks: 'believe entries that git was told not to look at', mutation: 'trust-flags',
}, async () => {
  for (const hide of [['update-index', '--assume-unchanged', X], ['update-index', '--skip-worktree', X], ['config', 'core.ignoreStat', 'true']]) {
    const ws = built();
    ws.git(...hide);
    if (hide[0] === 'config') ws.sh(`git update-index --force-write-index; rm ${X}; git checkout -q -- ${X}`);
    ws.write(X, 'edited behind the index\n');
    expectFresh(ws, MISS, hide.join(' '));
    assert.equal(build(ws), HIT);
    ws.write('packages/a/src/y', '1');
    ws.commit();
    const keep = keyOf(ws);
    ws.git('update-index', '--skip-worktree', 'packages/a/src/y');
    ws.remove('packages/a/src/y');
    assert.notEqual(keyOf(ws), keep, 'an absent file is no input');
  }
});

rule(42, 'File-monitor hook reports no change', {
  law: 'disabled; vx compares itself', breaks: 'let git ask its file monitor', mutation: 'fsmonitor',
}, () => {
  const ws = built();
  ws.write('hook.sh', `#!/bin/sh\ntouch ${ws.base}/hook-ran\nprintf 'token\\0'\n`, 0o755);
  ws.git('config', 'core.untrackedCache', 'true');
  ws.git('config', 'core.fsmonitor', ws.path('hook.sh'));
  ws.git('status');
  fs.rmSync(`${ws.base}/hook-ran`, { force: true });
  ws.write(X, 'edited\n');
  ws.write('packages/a/src/new', '1');
  expectFresh(ws, MISS);
  assert.ok(fs.existsSync(ws.path('packages/a/dist/new')));
  assert.equal(fs.existsSync(`${ws.base}/hook-ran`), false);
});

rule(43, 'Copy, `add -N`, delete misread as a rename; intent-to-add taken as the empty blob', {
  law: 'no renames are asked for, the flag takes trust away', breaks: 'believe the id of an intent-to-add entry', mutation: 'trust-intent',
}, async () => {
  const ws = built();
  ws.sh(`cp ${X} packages/a/src/n; git add -N packages/a/src/n; rm ${X}`);
  await aged(ws, 'packages/a/src/n');
  assert.equal(build(ws), MISS);
  assert.deepEqual(ws.list('packages/a/dist'), ['n']);
  for (const text of ['one\n', 'two\n']) {
    ws.write('packages/a/src/n', text);
    await aged(ws, 'packages/a/src/n');  // else the check before the save would see the edit, whatever the key holds
    assert.equal(build(ws), MISS);
    assert.equal(dist(ws, 'n'), text);
  }
});

rule(44, 'Deleted file paired as source of an unmerged path', {
  law: 'stage 0 alone, existence by lstat', breaks: 'take any stage\'s id', mutation: 'any-stage',
}, () => {
  const ws = built();
  ws.sh(`git checkout -q -b t; echo t > ${X}; git commit -qam t; git checkout -q main; echo m > ${X}; echo d > packages/a/src/d; git add -A; git commit -qam m`);
  ws.sh('git merge t > /dev/null 2>&1 || true; rm packages/a/src/d');
  for (const text of ['resolving 1\n', 'resolving 2\n', 'resolving 3\n']) {
    ws.write(X, text);
    expectFresh(ws, MISS);
    assert.deepEqual(ws.list('packages/a/dist'), ['x']);
  }
});

rule(45, '`core.trustctime=false`, `core.checkStat=minimal`', {
  law: 'not consulted; vx compares by itself, ctime and inode too', breaks: 'compare size and mtime alone', mutation: 'weak-stat',
}, async () => {
  const ws = built();
  ws.git('config', 'core.trustctime', 'false');
  ws.git('config', 'core.checkStat', 'minimal');
  await trustworthy(ws, X);
  expectFresh(ws, HIT);
  forge(ws, X, 'b\n');
  expectFresh(ws, MISS);
});

rule(46, 'Same-size rewrite with restored mtime inside one second', {
  law: 'ctime to the nanosecond, and the racy rule on index entries', breaks: 'compare whole seconds', mutation: 'whole-seconds',
}, async () => {
  const ws = single();
  for (let i = 0; i < 6; i++) {
    await until(() => Date.now() % 1000 < 100, 'the start of a second');
    ws.write(X, `${1000 + 2 * i}`);
    ws.sh('git add -A; git update-index --refresh -q');
    build(ws);
    forge(ws, X, `${1001 + 2 * i}`);
    expectFresh(ws, MISS, `round ${i}`);
  }
});

rule(47, 'Memo by (mtime, size) serves old digests after `tar -x`, `cp -p`, `rsync -t`', {
  law: 'a memo row needs equal size, mtime, ctime and inode', breaks: 'compare size and mtime alone', mutation: 'weak-memo',
}, async () => {
  const ws = single();
  ws.write('packages/a/src/x', 'one\n');
  ws.git('rm', '-q', '--cached', X);
  await aged(ws, X);
  expectFresh(ws, MISS);
  expectFresh(ws, HIT, 'the row is there now');
  forge(ws, X, 'two\n');
  expectFresh(ws, MISS, 'in place');
  await aged(ws, X);
  expectFresh(ws, HIT);
  ws.sh(`printf 'six\\n' > ../new; touch -r ${X} ../new; rm ${X}; cp -p ../new ${X}`);
  expectFresh(ws, MISS, 'another file');
});

/** A same-size rewrite under equal coarse stamps. Waits for a second in which everything fits. */
async function coarseRewrite(settings, grain) {
  for (let attempt = 0; attempt < 60; attempt++) {
    const ws = single();
    ws.git('rm', '-q', '--cached', X);
    const env = shim({ SHIM_GRAIN: String(grain), ...settings(ws) });
    const slot = () => Math.floor(Date.now() / 1000 / grain);
    await until(() => Date.now() % (1000 * grain) < 60, 'the start of a second');
    const begun = slot();
    ws.write(X, 'one\n');
    await until(() => Date.now() > fs.statSync(ws.path(X)).ctimeMs + 70, 'the usual window to pass');
    const first = ws.run(['a#build'], { env });
    assert.equal(first.outcomes['a#build'], MISS, first.stderr);
    forge(ws, X, 'two\n');
    if (slot() !== begun) continue;
    expectFresh(ws, MISS, 'equal stamps', [], { env });
    return;
  }
  assert.fail('the machine is too slow for two runs in one tick');
}

rule(48, 'Whole-second and even-second stamps fall inside the window', {
  law: 'the window is a second wider for whole-second stamps, two for even ones', breaks: 'the same window for every stamp', mutation: 'narrow-window', skip: onLinux,
}, async () => {
  await coarseRewrite(() => ({}), 1);
  await coarseRewrite(() => ({}), 2);
});

rule(49, 'Host clocks differ on a network file system', {
  law: 'the file system\'s own clock', breaks: 'compare stamps with the wall clock', mutation: 'local-clock', skip: onLinux,
}, async () => {
  await coarseRewrite((ws) => {
    fs.writeFileSync(`${ws.base}/clock`, '3600');
    return { SHIM_NETWORK: '1', SHIM_CLOCK: `${ws.base}/clock` };
  }, 2);
  // The check before a save compares with the same clock: an edit during the command is seen, however far ahead this host is.
  const ws = single(cached('mkdir -p dist; cp src/x dist/x; cat ../../next > src/x'));
  fs.writeFileSync(`${ws.base}/clock`, '3600');
  ws.write('next', 'edited\n');
  const r = ws.run(['a#build'], { env: shim({ SHIM_NETWORK: '1', SHIM_CLOCK: `${ws.base}/clock` }) });
  assert.match(r.stderr, /src\/x/);
  ws.write(X, 'a\n');
  assert.equal(build(ws), MISS, 'nothing was stored');
});

rule(50, 'Wall clock stepped back during a run', {
  law: 'inputs are hashed again before each save', breaks: 'trust ctimes across the step', mutation: 'no-clock-step', skip: onLinux,
}, () => {
  const ws = single(cached('mkdir -p dist; cp src/x dist/x; echo 0 > "$CLOCK"; cat ../../next > src/x', { exec: { env: { passThrough: ['CLOCK'] } } }));
  const clock = `${ws.base}/clock`;
  fs.writeFileSync(clock, '5');
  ws.write('next', 'edited\n');
  const r = ws.run(['a#build'], { env: shim({ SHIM_CLOCK: clock, CLOCK: clock }) });
  assert.match(r.stderr, /src\/x/);
  ws.write(X, 'a\n');
  ws.config('a', (c) => c);
  ws.remove('packages/a/dist');
  assert.equal(build(ws), MISS, 'nothing was stored for the first text');
});

rule(51, 'Nested repository\'s files invisible, dirty submodule unseen', {
  law: 'listed by its own git, read by content', breaks: 'skip nested repositories', mutation: 'skip-nested',
}, () => {
  const ws = built(cached('mkdir -p dist; cp src/sub/f dist/f'), { files: { 'src/sub/f': '0' } });
  ws.sh('rm -r packages/a/src/sub; git init -q ../sub; cd ../sub; echo 1 > f; git add f; git commit -q -m 1');
  ws.sh('git rm -q -r --cached packages/a/src/sub; git -c protocol.file.allow=always submodule --quiet add "$(cd ../sub && pwd)" packages/a/src/sub; git commit -q -m sub');
  const follow = (what) => {
    assert.equal(build(ws), MISS, what);
    assert.equal(dist(ws, 'f'), ws.read('packages/a/src/sub/f'), what);
  };
  follow('added');
  ws.write('packages/a/src/sub/f', '2\n');
  follow('dirty');
  ws.write('packages/a/src/sub/f', '3\n');
  ws.sh('cd packages/a/src/sub; git commit -qam 3');
  follow('committed inside');
  ws.sh('rm -r packages/a/src/sub/.git packages/a/src/sub; git rm -q --cached packages/a/src/sub .gitmodules; git init -q packages/a/src/sub; echo 4 > packages/a/src/sub/f');
  follow('an untracked repository');
  ws.write('packages/a/src/sub/f', '5\n');
  follow('its untracked file');
});

rule(52, 'Gitlink without `.git` lists nothing', {
  law: 'walked', breaks: 'skip nested repositories', mutation: 'skip-nested',
}, () => {
  const ws = single(cached('mkdir -p dist; cat src/sub/f > dist/f', { files: ['src/**'] }));
  ws.sh('git init -q packages/a/src/sub; cd packages/a/src/sub; echo 1 > f; git add f; git commit -q -m 1; cd -; git add packages/a/src/sub 2>/dev/null; git commit -q -m link; rm -rf packages/a/src/sub/.git');
  assert.match(ws.git('ls-files', '-s', 'packages/a/src/sub'), /^160000 /);
  for (const text of ['1\n', '2\n']) {
    ws.write('packages/a/src/sub/f', text);
    assert.equal(build(ws), MISS);
    assert.equal(dist(ws, 'f'), text);
  }
});

rule(53, 'Odd bytes in names vanish from key or artifact', {
  law: 'names are bytes everywhere', breaks: 'drop names that are not UTF-8',
}, () => {
  const names = ['日本語', 'a"b', 'n\nl', ' lead', 'trail ', 'back\\slash', '-dash', 'e\u0301', '\u00e9'].map((n) => Buffer.from(n));
  names.push(Buffer.from([0x62, 0xff, 0x64]), Buffer.from([0xed, 0xa0, 0x80]));
  const at = (ws, dir, name) => Buffer.concat([Buffer.from(`${ws.path(`packages/a/${dir}`)}/`), name]);
  for (const git of [true, false]) {
    const ws = single(cached('mkdir -p dist && cp -R src/. dist/'), { git });
    if (!git) ws.remove('.gitignore');
    if (!git) ws.write('.gitignore', '.vx\ndist\n');
    for (const n of names) fs.writeFileSync(at(ws, 'src', n), '1');
    assert.equal(build(ws), MISS);
    ws.remove('packages/a/dist');
    assert.equal(build(ws), RESTORED);
    for (const n of names) assert.equal(fs.readFileSync(at(ws, 'dist', n), 'utf8'), '1');
    for (const n of names) {
      fs.writeFileSync(at(ws, 'src', n), '22');
      assert.equal(build(ws), MISS, n.toString());
    }
  }
});

rule(54, 'Listed file deleted by an upstream', {
  law: 'folds as absent', breaks: 'keep the id that the file had', mutation: 'keep-facts',
}, () => {
  const ws = monorepo({ a: { tasks: { gen: always('if [ -e ../../drop ]; then rm -f src/y; else echo y > src/y; fi'), build: copyBuild({ dependsOn: ['gen'], inputs: { tasks: [] } }), look: cached('true', { outputs: [] }) } } });
  const list = () => ws.list('packages/a/dist');
  for (const [drop, want] of [[false, ['x', 'y']], [true, ['x']], [false, ['x', 'y']], [true, ['x']]]) {
    if (drop) ws.write('drop', '');
    else ws.remove('drop');
    ws.run(['a#look', 'a#build']);
    assert.deepEqual(list(), want);
  }
  assert.equal(ws.run(['a#look', 'a#build']).outcomes['a#build'], HIT, 'and stored without it');
});

rule(55, 'Path below a directory that became a link read through the link', {
  law: 'counts as absent', breaks: 'look through links', mutation: 'through-links',
}, () => {
  const ws = built(cached('mkdir -p dist; ls src > dist/list'), { files: { 'src/d/f': '1' } });
  ws.sh('cd packages/a; mv src/d ../moved; ln -s ../../moved src/d');
  assert.equal(build(ws), MISS);
  const key = keyOf(ws);
  ws.write('packages/moved/f', '2');
  assert.equal(keyOf(ws), key, 'what lies behind the link is not below it');
});

rule(56, 'Inherited `GIT_DIR` / `GIT_INDEX_FILE` describe another tree', {
  law: 'cleared', breaks: 'hand git the inherited variables', mutation: 'inherit-git-env',
}, () => {
  const ws = built();
  ws.sh('git clone -q . ../other; cd ../other; echo other > packages/a/src/x; git commit -qam other');
  const key = keyOf(ws);
  const env = { GIT_DIR: path.join(ws.base, 'other/.git'), GIT_INDEX_FILE: path.join(ws.base, 'other/.git/index'), GIT_WORK_TREE: path.join(ws.base, 'other') };
  assert.equal(keyOf(ws, [], { env }), key);
  ws.write('packages/a/src/new', '1');
  expectFresh(ws, MISS, '', [], { env });
  assert.equal(dist(ws, 'new'), '1');
});

rule(57, 'Sparse-absent files taken as present', {
  law: 'not inputs; one notice', breaks: 'take the index\'s word for files that are not there', mutation: 'trust-absent',
}, () => {
  const make = (inputs) => {
    const ws = monorepo({ a: { tasks: { build: cached('mkdir -p dist; cat ../../shared/* > dist/x 2>/dev/null || true', { files: [], inputs }) } }, c: {} });
    ws.write('shared/f', '1\n');
    ws.commit();
    return ws;
  };
  const ws = make({ workspaceFiles: ['shared/**'] });
  assert.equal(build(ws), MISS);
  assert.equal(dist(ws), '1\n');
  ws.git('sparse-checkout', 'set', 'packages/a');
  const r = ws.run(['a#build']);
  assert.equal(r.outcomes['a#build'], MISS);
  assert.match(r.stderr, /sparse/);
  assert.equal(dist(ws), '');
  const whole = make({});
  const key = keyOf(whole);
  whole.git('sparse-checkout', 'set', 'packages/a');
  assert.equal(keyOf(whole), key, 'inside the cone nothing moves');
});

rule(58, 'Root or project inside a git-ignored directory lists nothing', {
  law: 'walked', breaks: 'take an empty listing for an answer', mutation: 'empty-listing',
}, () => {
  const ws = single();
  ws.sh('rm -rf .git; cd ..; git init -q; printf "/ws/\\n/home/\\n/tmp/\\n" > .gitignore; git add .gitignore; git commit -q -m outer');
  for (const text of ['1\n', '2\n']) {
    ws.write(X, text);
    expectFresh(ws, MISS, 'ignored root');
  }
  const inner = single();
  inner.write('.gitignore', 'node_modules/\n.vx/\ndist/\npackages/a/\n');
  inner.sh('git rm -q -r --cached packages/a; git commit -qam ignored');
  for (const text of ['1\n', '2\n']) {
    inner.write(X, text);
    expectFresh(inner, MISS, 'ignored project');
  }
});

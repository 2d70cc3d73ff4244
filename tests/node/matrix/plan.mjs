// One plan, one run and one key, on a runtime that need not have node:test.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { KeyBuilder, openWorkspace } from '../../../bindings/node/lib/index.js';

const dir = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'vx-plan-')));
fs.writeFileSync(path.join(dir, 'package.json'), '{"name":"one","private":true}');
fs.writeFileSync(path.join(dir, 'vx.config.json'), '{"tasks":{"build":{"exec":{"command":"echo hello"}}}}');
const workspace = await openWorkspace(dir, { env: { PATH: process.env.PATH, HOME: dir } });
const plan = await workspace.plan({ tasks: ['build'] });
let text = '';
const summary = await workspace.run({ tasks: ['build'] }, { onOutput: ({ data }) => (text += new TextDecoder().decode(data)) });
await workspace.close();
const key = new KeyBuilder({ schema: 'plan-1' }).addEnv('A', '1').finish();
fs.rmSync(dir, { recursive: true });
console.log(`planned ${plan.tasks.length}, ran ${summary.ok && text === 'hello\n'}, ${key.length} digits`);

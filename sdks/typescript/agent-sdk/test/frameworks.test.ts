import { execFile, spawn } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type LiteFixture, openLite } from '../../../../test/support/lite.js';
import { needs } from '../../../../test/support/needs.js';
import { FRAMEWORKS, HAS_FRAMEWORKS } from '../../../../test/support/sdk-frameworks.js';

const PACKAGE = fileURLToPath(new URL('..', import.meta.url));
const TSC = fileURLToPath(new URL('../../../../node_modules/typescript/bin/tsc', import.meta.url));
const EXAMPLES = ['ai-sdk', 'google-adk', 'langchain', 'llamaindex', 'mastra', 'openai-agents'];

/** Each example is an agent of a framework with a scripted model, and checks itself what ran (`examples/acts.mjs`). */
(HAS_FRAMEWORKS ? describe : describe.skip)(`the examples${needs('sdk-frameworks', HAS_FRAMEWORKS)}`, () => {
  let folder: string;
  let gate: LiteFixture;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gate-sdk-frameworks-'));
    gate = await openLite();
    await promisify(execFile)(process.execPath, [TSC, '-p', PACKAGE]);
    await cp(join(PACKAGE, 'examples'), folder, { recursive: true });
    // Packages as they are installed, and the SDK beside them.
    await mkdir(join(folder, 'node_modules/@gate'), { recursive: true });
    await symlink(PACKAGE, join(folder, 'node_modules/@gate/agent-sdk'));
    for (const name of await readdir(join(FRAMEWORKS, 'node_modules')))
      if (!name.startsWith('.'))
        await symlink(join(FRAMEWORKS, 'node_modules', name), join(folder, 'node_modules', name));
  }, 120_000);
  afterAll(async () => {
    await gate?.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('are all named here', async () => {
    const there = (await readdir(join(PACKAGE, 'examples'))).filter((name) => name !== 'acts.mjs');
    expect(there.toSorted()).toEqual(EXAMPLES.map((name) => `${name}.mjs`));
  });

  const run = (name: string, decision: 'approve' | 'deny'): Promise<{ code: number | null; text: string }> =>
    new Promise((resolve) => {
      const child = spawn(process.execPath, [`${name}.mjs`], {
        cwd: folder,
        env: { ...process.env, GATE_ENDPOINT: gate.lite.url },
      });
      let text = '';
      let decided = false;
      const hear = (bytes: Buffer): void => {
        text += bytes.toString('utf8');
        const [, id] = /decide ([0-9a-f-]{36})/.exec(text) ?? [];
        if (id === undefined || decided) return;
        decided = true;
        void gate.send('POST', `/decide/${id}`, { body: { decision, reason: 'as the test says' } });
      };
      child.stdout.on('data', hear);
      child.stderr.on('data', hear);
      child.once('close', (code) => resolve({ code, text }));
    });

  it.each(EXAMPLES)(
    '%s: reads run, what destroys does not, money runs once a person approved it',
    async (name) => {
      const { code, text } = await run(name, 'approve');
      expect(text).toContain('list_files: allow\ndelete_file: deny policy_denied\nwire_transfer: pending');
      expect(text).toContain('as it should be');
      expect(code).toBe(0);
    },
    60_000,
  );

  it.each(EXAMPLES)(
    '%s: what a person denied does not run',
    async (name) => {
      const { code, text } = await run(name, 'deny');
      // The example expects an approval, and finds that the transfer did not run.
      expect(text).not.toContain('as it should be');
      expect(text).toMatch(/AssertionError|review_denied|not run/);
      expect(code).not.toBe(0);
    },
    60_000,
  );
});

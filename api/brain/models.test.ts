import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { readModels } from '../../config/brain-models.js';
import { modelsFile, written } from '../../test/support/judging-models.js';
import { complete, type ModelStub, startModelStub } from '../../test/support/model-stub.js';
import { modelStandings } from '../../domain/models/model-standing.js';
import { openModels } from './models.js';

describe('the key of a provider, in a file', () => {
  let folder: string;
  let stub: ModelStub;
  const keyFile = () => join(folder, 'key');
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gate-keys-'));
    stub = await startModelStub((_asked, response) => complete(response, '{}'));
  });
  afterAll(async () => {
    await stub.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('is read at each question; where it is gone nothing is sent, nothing is paid, and the log says it once', async () => {
    writeFileSync(keyFile(), 'sk-first-1234\n');
    const file = written(modelsFile({ url: stub.url }), readModels);
    const told: object[] = [];
    const { models, close } = await openModels(file, {
      env: { GATE_BRAIN_TEST_KEY_FILE: keyFile() },
      metrics: { attempt: () => undefined, saved: () => undefined },
      log: { warn: () => undefined, error: (fields) => void told.push(fields) },
    });
    const ask = () =>
      models.complete({ workload: 'injection', tenant: 'acme', system: 's', data: 'd', schema: z.strictObject({}) });
    try {
      await ask();
      rmSync(keyFile());
      for (let time = 0; time < 2; time += 1)
        await expect(ask()).rejects.toMatchObject({ failure: 'no_key', costMicros: 0 });
      expect(stub.asked).toHaveLength(1);
      expect(told).toEqual([{ fault: 'GATE_BRAIN_TEST_KEY_FILE: cannot be read (ENOENT)' }]);
      writeFileSync(keyFile(), 'sk-second-5678');
      await ask();
      expect(stub.asked[1]?.headers.authorization).toBe('Bearer sk-second-5678');
      // What people see of it has the class of the failure, and neither the key, nor its place, nor the address.
      const { routing, providers: kinds } = file;
      const standing = modelStandings({ models, routing, kinds, report: null }).of('acme');
      const last = expect.objectContaining({ failure: 'no_key' });
      expect(standing.providers[0]).toMatchObject({ asked: 2, failed: 0, circuit: 'closed', last_failure: last });
      expect(JSON.stringify(standing)).not.toMatch(/sk-|127\.0\.0\.1|GATE_|key_file/i);
      expect(JSON.stringify(told)).not.toContain('sk-');
    } finally {
      await close();
    }
  });

  it.each([
    ['that is not there', {}, 'GATE_BRAIN_TEST_KEY: is not set, or empty'],
    ['that is a sentence', { GATE_BRAIN_TEST_KEY: 'ask 4711 people' }, 'GATE_BRAIN_TEST_KEY: is no key'],
  ])('%s is refused at the start with its name, and is not shown', async (_what, env, message) => {
    const opened = openModels(written(modelsFile({ url: stub.url }), readModels), {
      env,
      metrics: { attempt: () => undefined, saved: () => undefined },
      log: { warn: () => undefined, error: () => undefined },
    });
    await expect(opened).rejects.toThrow(message);
    await expect(opened).rejects.not.toThrow('4711');
  });
});

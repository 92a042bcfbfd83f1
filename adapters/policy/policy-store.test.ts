import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { sha256Hex } from '../../domain/crypto/digest.js';
import { EVERYBODY, type PolicyChange, type PolicyStore } from '../../domain/policy/library-ports.js';
import { headerOf } from '../../domain/policy/policy-header.js';
import { POLICY_KEYS } from '../../test/support/policy-keys.js';
import { openPolicyStore } from './policy-store.js';

const folder = mkdtempSync(join(tmpdir(), 'gate-policy-store-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const AT = '2026-11-28T00:00:00.000Z';
const MANY = 120;
const changes = Array.from({ length: MANY }, (_, at): PolicyChange => {
  const [name, body] = [`rule_${at}.rego`, `package gate.authz\n\n# ${at}\n`];
  return {
    policy: {
      tenant: EVERYBODY,
      name,
      content_type: 'rego',
      active: true,
      current_version: 1,
      body_sha256: sha256Hex(body),
      header: headerOf(body),
      deleted_at: null,
      created_at: AT,
      updated_at: AT,
    },
    body,
    reason: 'a test',
    actor_sub: 'somebody',
    actor_idp: 'local',
    event_kind: 'policy.created',
    row: { id: `row-${at}` } as PolicyChange['row'],
  };
});
const files = changes.map(({ policy: { name, content_type, current_version, body_sha256 } }) => ({
  name,
  content_type,
  version: current_version,
  body_sha256,
}));
const VERSION = '2026-11-28.1';
const write = (store: PolicyStore) =>
  store.write({
    expected: 0,
    at: AT,
    changes,
    sets: [
      { tenant: EVERYBODY, set: { tenant: EVERYBODY, version: VERSION, files, data: {}, sources_sha256: 'a' } },
      { tenant: 'acme', set: { tenant: 'acme', version: VERSION, files, data: {}, sources_sha256: 'a' } },
    ],
    modules: [],
  });

/** How often anything else had its turn in this process meanwhile. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let [turns, ended] = [0, false];
  const done = work().finally(() => (ended = true));
  while (!ended) {
    await new Promise((resolve) => setImmediate(resolve));
    turns += 1;
  }
  await done;
  return turns;
}

describe('the store of policies in a file', () => {
  it('lets calls go on between the policies of a change and between the texts of a set, however many there are', async () => {
    const store = await openPolicyStore({ file: join(folder, 'policies.db') }, POLICY_KEYS);
    try {
      expect(await turnsDuring(() => write(store))).toBeGreaterThanOrEqual(MANY);
      expect(await turnsDuring(() => store.pastSet(EVERYBODY, VERSION))).toBeGreaterThanOrEqual(MANY / 30);
      const texts = async () => {
        for (const { name } of files) await store.version(EVERYBODY, name, 1);
      };
      expect(await turnsDuring(texts)).toBeGreaterThanOrEqual(MANY);
    } finally {
      await store.close();
    }
  });

  it('reads thousands of policies in pages, each verified in a turn of its own', async () => {
    const many = changes.flatMap((change, at) =>
      Array.from({ length: 5 }, (_, part): PolicyChange => {
        const policy = { ...change.policy, tenant: `tenant-${part}`, name: `${part}_${change.policy.name}` };
        return { ...change, policy, row: { id: `row-${at}-${part}` } as PolicyChange['row'] };
      }),
    );
    const store = await openPolicyStore({ file: join(folder, 'many.db') }, POLICY_KEYS);
    try {
      await store.write({ expected: 0, at: AT, changes: many, sets: [], modules: [] });
      const turns = await turnsDuring(async () => {
        const { policies } = await store.catalogue();
        expect(new Set(policies.map(({ tenant, name }) => JSON.stringify([tenant, name]))).size).toBe(many.length);
      });
      // Its own, between three pages of the policies and of their versions, and before each of three parts of the digest.
      expect(turns).toBeGreaterThanOrEqual(8);
    } finally {
      await store.close();
    }
  });

  it("gives a past set with all its texts, a tenant's among those for everybody, and says which text was edited", async () => {
    const store = await openPolicyStore({ file: join(folder, 'past.db') }, POLICY_KEYS);
    try {
      await write(store);
      expect((await store.pastSet('acme', VERSION))?.files).toEqual(files);
      const last = files.at(-1);
      const { name = '', version = 0 } = last ?? {};
      const set = (digest: string) => ({
        tenant: 'acme',
        version: `2026-11-28.${digest}`,
        files: files.map((file) => (file.name === name ? { ...file, body_sha256: digest } : file)),
        data: {},
        sources_sha256: 'a',
      });
      const other = set('0'.repeat(64));
      await store.write({ expected: 1, at: AT, changes: [], sets: [{ tenant: 'acme', set: other }], modules: [] });
      await expect(store.pastSet('acme', other.version)).rejects.toMatchObject({
        code: 'policy_tampered',
        message: `edited in the store: version ${version} of ${name} is gone`,
      });
    } finally {
      await store.close();
    }
  });
});

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sha256Hex } from '../../domain/crypto/digest.js';
import { type KeyRing, keyRing } from '../../domain/crypto/key-ring.js';
import { EVERYBODY, type PolicyStore, type StoredPolicy, type StoredSet } from '../../domain/policy/library-ports.js';
import { changeRow } from '../../domain/policy/library-rows.js';
import { headerOf } from '../../domain/policy/policy-header.js';
import { POLICY_AUTHENTICATED, POLICY_NOT_AUTHENTICATED, SEALED_TABLES } from '../../domain/policy/sealed-policies.js';
import { policyMigrations } from '../../migrations/policies.js';
import { type EditedStore, editedPostgres, editedSqlite, stopEditedPostgres } from '../../test/support/edited-store.js';
import { writeMigrated } from '../../test/support/migrated-file.js';
import { openPolicyStore } from './policy-store.js';

const key = (name: string): [string, Buffer] => [name, Buffer.alloc(32, name)];
const KEYS = keyRing(new Map([key('policies')]));
const BOTH = keyRing(new Map([key('newer'), key('policies')]));
const NEWER = keyRing(new Map([key('newer')]));
const AT = '2026-11-28T10:00:00.000Z';
const BY = { reason: 'ticket 12', actor_sub: 'ada', actor_idp: 'https://idp.example' };
const WASM = Buffer.from('compiled');
const MODULE = { sources_sha256: 'sources', wasm_sha256: sha256Hex(WASM), wasm: WASM, opa_version: '1.0.0' };

afterAll(stopEditedPostgres);
describe.each([
  [
    'SQLite',
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'gate-policy-tamper-'));
      const target = { file: join(folder, 'policies.db') };
      await writeMigrated(target.file, policyMigrations);
      return { ...editedSqlite(target.file), target, folder };
    },
  ],
  ['Postgres', async () => ({ ...(await editedPostgres('policies', policyMigrations)), folder: null })],
])('whoever edits the store of policies changes nothing that judges: %s', (_name, newPlace) => {
  let place: EditedStore & { folder: string | null; target: Parameters<typeof openPolicyStore>[0] };
  let store: PolicyStore;
  let adopted: number[];
  const start = async (keys: KeyRing = KEYS) => {
    store = await openPolicyStore(place.target, keys, { onAdopted: (rows) => adopted.push(rows) });
  };
  const again = async (keys?: KeyRing) => {
    await store.close();
    await start(keys);
  };
  beforeEach(async () => {
    adopted = [];
    place = await newPlace();
    await start();
  }, 60_000);
  afterEach(async () => {
    await store.close();
    if (place.folder) await rm(place.folder, { recursive: true, force: true });
  });

  /** One change of one policy, and the set and the module that come of it. */
  async function change(tenant: string, name: string, body: string, active = true): Promise<StoredPolicy> {
    const { generation, policies } = await store.catalogue();
    const before = policies.find((one) => one.tenant === tenant && one.name === name) ?? null;
    const policy: StoredPolicy = {
      tenant,
      name,
      content_type: 'json',
      active,
      current_version: (before?.current_version ?? 0) + 1,
      body_sha256: sha256Hex(body),
      header: headerOf(''),
      deleted_at: null,
      created_at: before?.created_at ?? AT,
      updated_at: AT,
    };
    const by = { ...BY, event_kind: before ? ('policy.updated' as const) : ('policy.created' as const) };
    const { current_version: version, body_sha256 } = policy;
    const set: StoredSet = {
      tenant,
      version: `2026-11-28.${generation + 1}`,
      files: active ? [{ name, content_type: 'json', version, body_sha256 }] : [],
      data: active ? { [name.slice(0, -'.json'.length)]: JSON.parse(body) } : {},
      sources_sha256: MODULE.sources_sha256,
    };
    const written = await store.write({
      expected: generation,
      at: AT,
      changes: [{ policy, body, ...by, row: changeRow(policy, before, by) }],
      sets: [{ tenant, set }],
      modules: [MODULE],
    });
    expect(written).toBe(true);
    return policy;
  }
  const all = (table: string) => place.all(`select * from ${table}`);
  const restored = async (table: string, keys: readonly string[], row: Record<string, unknown>) => {
    await place.all(
      `delete from ${table} where ${keys.map((name) => `${name} = ?`).join(' and ')}`,
      keys.map((name) => row[name]),
    );
    const columns = Object.keys(row);
    await place.all(
      `insert into ${table} (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`,
      columns.map((name) => row[name]),
    );
  };
  /** All that Gate reads of the store to judge, change or derive again; what it says of a row that is not its own. */
  async function said(): Promise<string[]> {
    const told: string[] = [];
    const ask = async (question: () => Promise<unknown>) => {
      try {
        await question();
      } catch (error) {
        expect(error).toMatchObject({ code: 'policy_tampered', status: 409 });
        told.push((error as Error).message);
      }
    };
    await ask(async () => told.push(...(await store.sets()).unreadable.map(({ why }) => why)));
    await ask(() => store.catalogue());
    await ask(() => store.module(MODULE.sources_sha256));
    for (const tenant of [EVERYBODY, 'acme']) {
      await ask(async () =>
        told.push(
          ...(await store.versions(tenant, 'a.json')).flatMap((one) => ('tampered' in one ? one.tampered : [])),
        ),
      );
      await ask(async () => {
        for (const { tampered } of await store.texts([tenant])) if (tampered !== null) told.push(tampered);
      });
      for (const generation of [1, 2, 3]) await ask(() => store.pastSet(tenant, `2026-11-28.${generation}`));
    }
    return told;
  }

  it('says nothing of what Gate wrote, also after it was opened again', async () => {
    await change(EVERYBODY, 'a.json', '{"max":1}');
    await change('acme', 'a.json', '{"max":2}');
    await change(EVERYBODY, 'a.json', '{"max":3}', false);
    expect(await said()).toEqual([]);
    await again();
    expect(await said()).toEqual([]);
    expect(adopted).toEqual([]);
  });

  it('covers or names every column of a table by which calls are judged', async () => {
    const columns = await place.columns();
    for (const table of SEALED_TABLES)
      expect(Object.keys(columns[table] ?? {}).toSorted()).toEqual(
        [
          ...POLICY_AUTHENTICATED[table],
          ...((POLICY_NOT_AUTHENTICATED as Record<string, readonly string[]>)[table] ?? []),
          'mac',
        ].toSorted(),
      );
  });

  it('is found at every column, by the name of its row', async () => {
    await change(EVERYBODY, 'a.json', '{"max":1}');
    const rowIs: Record<string, RegExp> = {
      policy_state: /the state of the policies/,
      policies: /the policy a\.json for everybody|a policy was deleted/,
      policy_versions: /version \d+ of a\.json|version 1 of a\.json is gone/,
      policy_modules: /the module of sources/,
      policy_sets: /the set .* for everybody/,
      policy_past_sets: /the kept set .* for everybody/,
    };
    for (const table of SEALED_TABLES)
      for (const [column, type] of Object.entries((await place.columns())[table] ?? {})) {
        // What is read by its key is not found at all under another.
        if (['id', 'tenant', 'name', 'chain_seq'].includes(column)) continue;
        if (
          ['policy_versions.version', 'policy_past_sets.version', 'policy_modules.sources_sha256'].includes(
            `${table}.${column}`,
          )
        )
          continue;
        const [row] = await all(table);
        const was = row?.[column];
        const now = /int/.test(type)
          ? Number(was) + 1
          : /blob|bytea/.test(type)
            ? Buffer.from('other')
            : `${(was ?? '') as string}0`;
        await place.all(`update ${table} set ${column} = ?`, [now]);
        expect([table, column, (await said()).join('\n')]).toEqual([
          table,
          column,
          expect.stringMatching(rowIs[table] as RegExp),
        ]);
        await place.all(`update ${table} set ${column} = ?`, [was]);
        expect([table, column, await said()]).toEqual([table, column, []]);
      }
  });

  it('takes no row of another tenant, policy or table, and none that Gate never wrote', async () => {
    await change(EVERYBODY, 'a.json', '{"max":1}');
    await change('acme', 'a.json', '{"max":2}');
    await change(EVERYBODY, 'b.json', '{"max":3}');
    const of = async (table: string, tenant: string, name?: string) =>
      (await all(table)).find((row) => row['tenant'] === tenant && (name === undefined || row['name'] === name)) ?? {};
    const copied = async (
      table: string,
      keys: string[],
      from: Record<string, unknown>,
      over: object,
      where: RegExp,
    ) => {
      const to = { ...from, ...over } as Record<string, unknown>;
      const was = (await all(table)).find((row) => keys.every((name) => row[name] === to[name]));
      await restored(table, keys, to);
      expect((await said()).join('\n')).toMatch(where);
      await place.all(
        `delete from ${table} where ${keys.map((name) => `${name} = ?`).join(' and ')}`,
        keys.map((name) => to[name]),
      );
      if (was) await restored(table, keys, was);
      expect(await said()).toEqual([]);
    };
    const byName = ['tenant', 'name'];
    await copied(
      'policies',
      byName,
      await of('policies', 'acme'),
      { tenant: EVERYBODY },
      /the policy a\.json for everybody/,
    );
    await copied(
      'policies',
      byName,
      await of('policies', EVERYBODY, 'b.json'),
      { name: 'a.json' },
      /the policy a\.json/,
    );
    await copied('policies', byName, await of('policies', 'acme'), { tenant: 'shop' }, /the policy a\.json for shop/);
    const versions = [...byName, 'version'];
    await copied(
      'policy_versions',
      versions,
      await of('policy_versions', 'acme'),
      { tenant: EVERYBODY },
      /version 1 of a\.json/,
    );
    await copied(
      'policy_versions',
      versions,
      await of('policy_versions', EVERYBODY, 'b.json'),
      { name: 'a.json' },
      /version 1 of a\.json/,
    );
    await copied(
      'policy_sets',
      ['tenant'],
      await of('policy_sets', 'acme'),
      { tenant: EVERYBODY },
      /the set .* for everybody/,
    );
    await copied('policy_sets', ['tenant'], await of('policy_sets', 'acme'), { tenant: 'shop' }, /the set .* for shop/);
    const kept = (await all('policy_past_sets')).find((row) => row['tenant'] === 'acme') ?? {};
    const { mac, ...set } = await of('policy_sets', EVERYBODY);
    await copied(
      'policy_past_sets',
      ['tenant', 'version'],
      { ...kept, version: '2026-11-28.3', mac },
      {},
      /the kept set 2026-11-28\.3 for acme/,
    );
    expect(set['tenant']).toBe(EVERYBODY);
  });

  it('who puts an earlier row back, or deletes one, is found, and no later change makes it Gate’s', async () => {
    await change('acme', 'a.json', '{"max":1}');
    const [policy, set] = [(await all('policies'))[0] ?? {}, (await all('policy_sets'))[0] ?? {}];
    await change('acme', 'a.json', '{"max":2}');
    const [policyNow, setNow] = [(await all('policies'))[0] ?? {}, (await all('policy_sets'))[0] ?? {}];

    await restored('policies', ['tenant', 'name'], policy);
    const back = 'edited in the store: the policy a.json for acme was put back to version 1 of 2';
    await expect(store.catalogue()).rejects.toMatchObject({
      code: 'policy_tampered',
      message: expect.stringContaining(back),
    });
    // What judges is not touched by that, and nothing can be changed.
    expect(await store.sets()).toMatchObject({ unreadable: [], tampered: expect.stringContaining(back) });
    const planned = { expected: 2, at: AT, changes: [], sets: [], modules: [] };
    await expect(store.write(planned)).rejects.toMatchObject({ code: 'policy_tampered' });
    await place.all('delete from policies');
    await expect(store.catalogue()).rejects.toThrow('the policy a.json for acme is gone');
    await restored('policies', ['tenant', 'name'], policyNow);
    expect(await said()).toEqual([]);

    await restored('policy_sets', ['tenant'], set);
    expect(await store.sets()).toMatchObject({
      sets: [],
      unreadable: [{ tenant: 'acme', why: 'the set 2026-11-28.1 for acme: it is not the one of the last change' }],
    });
    await change(EVERYBODY, 'b.json', '{}');
    expect((await store.sets()).unreadable).toHaveLength(1);
    await place.all("delete from policy_sets where tenant = 'acme'");
    await again();
    expect((await store.sets()).unreadable).toEqual([{ tenant: 'acme', why: 'the set for acme is gone' }]);
    await restored('policy_sets', ['tenant'], setNow);
    expect(await said()).toEqual([]);
    // A change of the tenant's own policies makes its set anew.
    await restored('policy_sets', ['tenant'], set);
    await change('acme', 'a.json', '{"max":3}');
    expect(await said()).toEqual([]);
  });

  it('who puts the state back with the sets of its time is told by what Gate kept of the changes since', async () => {
    const tables = async (...names: string[]) =>
      Object.fromEntries(await Promise.all(names.map(async (name) => [name, await all(name)] as const)));
    const putAllBack = async (earlier: Record<string, Record<string, unknown>[]>) => {
      for (const [table, rows] of Object.entries(earlier)) {
        await place.all(`delete from ${table}`);
        for (const row of rows) await restored(table, Object.keys(row), row);
      }
    };
    const SEALED = ['policy_state', 'policy_sets', 'policies', 'policy_past_sets', 'policy_versions'];
    await change(EVERYBODY, 'a.json', '{"max":1}');
    const first = await tables(...SEALED);
    await change(EVERYBODY, 'a.json', '{"max":2}');
    const second = await tables(...SEALED);
    const of = (from: typeof first, ...names: string[]) =>
      Object.fromEntries(names.map((name) => [name, from[name] ?? []]));
    const refused = async (by: string) => {
      const message = `edited in the store: the store was put back to generation 1: ${by} is of a later one`;
      for (const question of [() => store.sets(), () => store.catalogue()])
        await expect(question()).rejects.toMatchObject({ code: 'policy_tampered', message });
    };
    for (const tablesBack of [
      ['policy_state', 'policy_sets'],
      ['policy_state', 'policy_sets', 'policies'],
    ]) {
      await putAllBack(of(first, ...tablesBack));
      await refused('the set 2026-11-28.2 for everybody');
      await putAllBack(of(second, ...tablesBack));
      expect(await said()).toEqual([]);
    }
    await putAllBack(of(first, 'policy_state', 'policy_sets', 'policies', 'policy_past_sets'));
    await refused('version 2 of a.json for everybody');
    // A copy of the whole store says nothing of what came after it.
    await putAllBack(first);
    expect(await said()).toEqual([]);
    await putAllBack(second);

    // Nobody makes up a later change without the keys.
    const [kept, version] = [(await all('policy_past_sets'))[0] ?? {}, (await all('policy_versions'))[0] ?? {}];
    await restored('policy_past_sets', ['version'], { ...kept, version: '2026-11-28.10' });
    await restored('policy_versions', ['version'], { ...version, version: 3 });
    expect(await store.sets()).toMatchObject({ generation: 2, unreadable: [], tampered: null });
  });

  it('who puts back a tenant’s own set from before its copies went is told by that change', async () => {
    await change('acme', 'a.json', '{"max":1}');
    const [state, sets] = [await all('policy_state'), await all('policy_sets')];
    const by = { ...BY, event_kind: 'policy.deleted' as const };
    const { generation, policies } = await store.catalogue();
    const policy = { ...(policies[0] as StoredPolicy), active: false, current_version: 2, deleted_at: AT };
    const gone = { policy, body: '{"max":1}', ...by, row: changeRow(policy, policies[0] ?? null, by) };
    await store.write({
      expected: generation,
      at: AT,
      changes: [gone],
      sets: [{ tenant: 'acme', set: null }],
      modules: [],
    });
    await restored('policy_state', ['id'], state[0] ?? {});
    await restored('policy_sets', ['tenant'], sets[0] ?? {});
    await expect(store.sets()).rejects.toThrow('the set 2026-11-28.2 for acme is of a later one');
  });

  it('gets no MAC by taking all of them away but one, and none by taking the mark', async () => {
    await change(EVERYBODY, 'a.json', '{"max":1}');
    await place.all('update policy_versions set mac = null, body = ?', ['{"max":1000}']);
    await place.all('delete from policy_seal');
    await again();
    expect(adopted).toEqual([]);
    expect((await said()).join('\n')).toMatch(/version 1 of a\.json for everybody: it has no mac/);
  });

  it('of an earlier Gate is sealed once as it is, but for a text or module that is not the one of its digest', async () => {
    await change(EVERYBODY, 'a.json', '{"max":1}');
    await change('acme', 'a.json', '{"max":2}');
    for (const table of SEALED_TABLES) await place.all(`update ${table} set mac = null`);
    await place.all('update policy_state set set_macs = null, policies_sha256 = null');
    await place.all('delete from policy_seal');
    await place.all("update policy_versions set body = '{}' where tenant = 'acme'");
    await again();
    // Two policies, two sets that are in force and two that are kept, the module, and the version whose text is whole.
    expect(adopted).toEqual([8]);
    expect([...new Set(await said())]).toEqual([
      expect.stringContaining('version 1 of a.json for acme: it has no mac'),
    ]);
    await change(EVERYBODY, 'a.json', '{"max":3}');
    await again();
    expect(adopted).toEqual([8]);
  });

  it.each(['x', '{}', '[{}]'])(
    'of an earlier Gate, with %s for the files of one tenant, is that tenant’s fault alone',
    async (files) => {
      await change(EVERYBODY, 'a.json', '{"max":1}');
      await change('acme', 'a.json', '{"max":2}');
      for (const table of SEALED_TABLES) await place.all(`update ${table} set mac = null`);
      await place.all('update policy_state set set_macs = null, policies_sha256 = null');
      await place.all('delete from policy_seal');
      await place.all(`update policy_sets set files = '${files}' where tenant = 'acme'`);
      await again();
      const { sets, unreadable } = await store.sets();
      expect(sets.map(({ tenant }) => tenant)).toEqual([EVERYBODY]);
      expect(unreadable).toEqual([{ tenant: 'acme', why: expect.stringContaining('it has no mac') }]);
    },
  );

  it('a store that was emptied of its rows, its MACs and its mark is sealed, and said to be without rows', async () => {
    await change(EVERYBODY, 'a.json', '{"max":1}');
    for (const table of SEALED_TABLES) if (table !== 'policy_state') await place.all(`delete from ${table}`);
    await place.all('update policy_state set mac = null, set_macs = null, policies_sha256 = null');
    await place.all('delete from policy_seal');
    await again();
    expect(adopted).toEqual([0]);
  });

  it('opens under no other keys, and under new ones alone once they were put in front', async () => {
    await change(EVERYBODY, 'a.json', '{"max":1}');
    await change('acme', 'a.json', '{"max":2}');
    await store.close();
    await expect(start(NEWER)).rejects.toMatchObject({
      code: 'store_unavailable',
      message: expect.stringContaining('the policies were written under other policy keys'),
    });
    await start(BOTH);
    await change(EVERYBODY, 'a.json', '{"max":3}');
    expect(await said()).toEqual([]);
    await again(NEWER);
    expect(await said()).toEqual([]);
  });

  it('has nothing of his sealed under a new key', async () => {
    await change(EVERYBODY, 'a.json', '{"max":1}');
    const [policy, set] = [(await all('policies'))[0] ?? {}, (await all('policy_sets'))[0] ?? {}];
    await change(EVERYBODY, 'a.json', '{"max":2}');
    await restored('policies', ['tenant', 'name'], policy);
    await restored('policy_sets', ['tenant'], set);
    await place.all("update policy_versions set reason = 'other' where version = 2");
    await again(BOTH);
    await again(NEWER);
    expect((await said()).join('\n')).toMatch(/the set 2026-11-28\.1 for everybody: no key policies in this ring/);
    expect((await said()).join('\n')).toMatch(/the policy a\.json for everybody: no key policies in this ring/);
    expect((await said()).join('\n')).toMatch(/version 2 of a\.json for everybody: no key policies in this ring/);
  });
});

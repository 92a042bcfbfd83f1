import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Kysely } from 'kysely';
import { errorText } from '../../domain/errors.js';
import { sha256Hex } from '../../domain/crypto/digest.js';
import { type KeyRing, keyRing } from '../../domain/crypto/key-ring.js';
import { EVERYBODY, type PolicyStore, type StoredPolicy, type StoredSet } from '../../domain/policy/library-ports.js';
import { changeRow } from '../../domain/policy/library-rows.js';
import { suggestionOf } from '../../domain/policy/mining/suggestions.js';
import { headerOf } from '../../domain/policy/policy-header.js';
import {
  POLICY_AUTHENTICATED,
  POLICY_NOT_AUTHENTICATED,
  policyKey,
  policySealing,
  SEALED_TABLES,
} from '../../domain/policy/sealed-policies.js';
import { policyMigrations } from '../../migrations/policies.js';
import { type EditedStore, editedPostgres, editedSqlite, stopEditedPostgres } from '../../test/support/edited-store.js';
import { writeMigrated } from '../../test/support/migrated-file.js';
import { MINED_FACTS } from '../../test/support/mined-facts.js';
import { openStore } from '../store/database.js';
import { openPolicyStore } from './policy-store.js';
import type { PolicyTables } from './policy-tables.js';
import { laterVersions } from './put-back.js';
import type { Renewal } from './seal-policies.js';
import type { SuggestionTables } from './suggestion-store.js';

const key = (name: string): [string, Buffer] => [name, Buffer.alloc(32, name)];
const KEYS = keyRing(new Map([key('policies')]));
const BOTH = keyRing(new Map([key('newer'), key('policies')]));
const NEWER = keyRing(new Map([key('newer')]));
const AT = '2026-11-28T10:00:00.000Z';
const BY = { reason: 'ticket 12', actor_sub: 'ada', actor_idp: 'https://idp.example' };
const SUGGESTION = suggestionOf(
  { tenant: EVERYBODY, tool: 'a_tool', name: 'mined_a_tool.rego', body: 'package gate.authz' },
  MINED_FACTS,
  5,
  AT,
);
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
  let renewals: Renewal[];
  const start = async (keys: KeyRing = KEYS) => {
    store = await openPolicyStore(place.target, keys, {
      onAdopted: (rows) => adopted.push(rows),
      onRenewed: (renewal) => renewals.push(renewal),
    });
  };
  const again = async (keys?: KeyRing) => {
    await store.close();
    await start(keys);
  };
  beforeEach(async () => {
    [adopted, renewals] = [[], []];
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
    const after = [...policies.filter((one) => one.tenant !== tenant || one.name !== name), policy];
    const texts = new Map(
      (await store.texts([tenant, EVERYBODY, 'acme'])).map((text) => [policyKey(text.tenant, text.name), text.body]),
    );
    texts.set(policyKey(tenant, name), body);
    // What holds for everybody is in the set of each tenant that has policies of its own.
    const owners = tenant === EVERYBODY ? new Set([EVERYBODY, ...after.map((one) => one.tenant)]) : [tenant];
    const setOf = (owner: string): StoredSet => {
      const own = after.filter((one) => one.tenant === owner);
      const shared = after.filter((one) => one.tenant === EVERYBODY && own.every((other) => other.name !== one.name));
      const inForce = [...new Set([...own, ...shared])].filter((one) => one.active);
      return {
        tenant: owner,
        version: `2026-11-28.${generation + 1}`,
        files: inForce.map((one) => ({
          name: one.name,
          content_type: 'json',
          version: one.current_version,
          body_sha256: one.body_sha256,
        })),
        data: Object.fromEntries(
          inForce.map((one) => [
            one.name.slice(0, -'.json'.length),
            JSON.parse(texts.get(policyKey(one.tenant, one.name)) ?? 'null'),
          ]),
        ),
        sources_sha256: MODULE.sources_sha256,
      };
    };
    const written = await store.write({
      expected: generation,
      at: AT,
      changes: [{ policy, body, ...by, row: changeRow(policy, before, by) }],
      sets: [...owners].map((owner) => ({ tenant: owner, set: setOf(owner) })),
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
    await inserted(table, row);
  };
  const inserted = async (table: string, row: Record<string, unknown>) => {
    const columns = Object.keys(row);
    await place.all(
      `insert into ${table} (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`,
      columns.map((name) => row[name]),
    );
  };
  /** How many questions of the database this asks. */
  async function questionsOf(ask: (db: Kysely<PolicyTables>) => Promise<unknown>): Promise<number> {
    const { db, close } = await openStore<PolicyTables>(place.target, policyMigrations);
    let asked = 0;
    const counted = db.withPlugin({
      transformQuery({ node }) {
        asked += 1;
        return node;
      },
      transformResult: ({ result }) => Promise.resolve(result),
    });
    await ask(counted);
    await close();
    return asked;
  }
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
    await ask(async () => told.push(...(await store.undelivered(20)).tampered));
    for (const tenant of [EVERYBODY, 'acme']) {
      await ask(async () =>
        told.push(
          ...(await store.versions(tenant, 'a.json')).flatMap((one) => ('tampered' in one ? one.tampered : [])),
        ),
      );
      for (const { withdrawn_why: why } of await store.suggestions(tenant)) if (why !== null) told.push(why);
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
      policy_outbox: /the row \d+\.\d+ for the ledger, of version \d+ of .*a\.json/,
      policy_suggestions: /edited in the store/,
    };
    await store.keepSuggestions(EVERYBODY, [SUGGESTION], []);
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
    await change('shop', 'b.json', '{}');
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

  const tables = async (...names: string[]) =>
    Object.fromEntries(await Promise.all(names.map(async (name) => [name, await all(name)] as const)));
  const putAllBack = async (earlier: Record<string, Record<string, unknown>[]>) => {
    for (const [table, rows] of Object.entries(earlier)) {
      await place.all(`delete from ${table}`);
      for (const row of rows) await restored(table, Object.keys(row), row);
    }
  };
  const refusedBy = async (later: string, generation = 1) => {
    const message = `edited in the store: the store was put back to generation ${generation}: ${later} is of a later one`;
    for (const question of [() => store.sets(), () => store.catalogue()])
      await expect(question()).rejects.toMatchObject({ code: 'policy_tampered', message });
  };

  it('an invalid number, in a table that somebody made anew, hides no later version', async () => {
    await change(EVERYBODY, 'a.json', '{"max":1}');
    const first = await tables('policy_state', 'policy_sets', 'policies');
    await change(EVERYBODY, 'a.json', '{"max":2}');
    await putAllBack(first);
    const kept = (await all('policy_past_sets')).map(({ version }) => String(version)).toSorted();
    await place.all(`delete from policy_past_sets where version = '${kept.at(-1)}'`);
    const versions = await all('policy_versions');
    const isFile = place.folder !== null;
    if (isFile) {
      const columns = Object.keys(versions[0] ?? {}).map((name) =>
        name === 'version' ? name : `${name} ${name === 'active' || name === 'chain_seq' ? 'integer' : 'text'}`,
      );
      await place.all('drop table policy_versions');
      await place.all(`create table policy_versions (${columns.join(', ')}, primary key (tenant, name, version))`);
      for (const row of versions) await inserted('policy_versions', row);
    } else await place.all('alter table policy_versions alter column version type numeric');
    await inserted('policy_versions', { ...versions[0], version: isFile ? 'zzz' : 'NaN' });
    const told = await store.sets().then(({ tampered }) => tampered, errorText);
    expect(told).toMatch(/put back to generation 1: version 2 of a\.json .* is of a later one/);
  });

  it('who puts the state and the sets back and takes the kept sets away is told by the policies and versions since', async () => {
    await change(EVERYBODY, 'a.json', '{"max":1}');
    const first = await tables('policy_state', 'policy_sets');
    const policiesOfThen = await tables('policies');
    await change(EVERYBODY, 'a.json', '{"max":2}');
    const policiesNow = await tables('policies');
    await putAllBack(first);
    await place.all("delete from policy_past_sets where version = '2026-11-28.2'");
    await refusedBy('version 2 of a.json for everybody');
    // The policies alone tell it, and so do the versions alone.
    const versions = await tables('policy_versions');
    await place.all('delete from policy_versions where version = 2');
    await refusedBy('version 2 of a.json for everybody');
    await putAllBack(versions);
    await place.all('delete from policies');
    await refusedBy('version 2 of a.json for everybody');
    // A number that somebody made up hides no version below it, wherever the policies are from.
    const [version] = await all('policy_versions');
    await restored('policy_versions', ['version'], { ...version, version: 999 });
    await refusedBy('version 2 of a.json for everybody');
    await putAllBack(policiesOfThen);
    await refusedBy('version 2 of a.json for everybody');
    await place.all('update policies set current_version = 999');
    await refusedBy('version 2 of a.json for everybody');
    await putAllBack(policiesNow);
    await refusedBy('version 2 of a.json for everybody');
  });

  it('who puts a set back in which a rule is that was switched off since, or lacks one, is told', async () => {
    await change(EVERYBODY, 'a.json', '{"max":1}');
    await change('acme', 'a.json', '{"max":2}');
    const second = await tables('policy_state', 'policy_sets');
    await change('acme', 'a.json', '{"max":2}', false);
    const third = await tables('policy_state', 'policy_sets', 'policy_past_sets');
    await place.all('delete from policy_past_sets');
    await putAllBack(second);
    await refusedBy('version 2 of a.json for acme', 2);
    await putAllBack(third);
    await change(EVERYBODY, 'b.json', '{"max":3}');
    await putAllBack(third);
    await refusedBy('version 1 of b.json for everybody', 3);
  });

  it('who puts the state back with the sets of its time is told by what Gate kept of the changes since', async () => {
    const SEALED = ['policy_state', 'policy_sets', 'policies', 'policy_past_sets', 'policy_versions'];
    await change(EVERYBODY, 'a.json', '{"max":1}');
    const first = await tables(...SEALED);
    await change(EVERYBODY, 'a.json', '{"max":2}');
    const second = await tables(...SEALED);
    const of = (from: typeof first, ...names: string[]) =>
      Object.fromEntries(names.map((name) => [name, from[name] ?? []]));
    for (const tablesBack of [
      ['policy_state', 'policy_sets'],
      ['policy_state', 'policy_sets', 'policies'],
    ]) {
      await putAllBack(of(first, ...tablesBack));
      await refusedBy('the set 2026-11-28.2 for everybody');
      await putAllBack(of(second, ...tablesBack));
      expect(await said()).toEqual([]);
    }
    await putAllBack(of(first, 'policy_state', 'policy_sets', 'policies', 'policy_past_sets'));
    await refusedBy('version 2 of a.json for everybody');
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
    // Two policies, two sets that are in force and two that are kept, the module, and the version whose text is whole, with its row for the ledger.
    expect(adopted).toEqual([9]);
    expect([...new Set(await said())]).toEqual([
      expect.stringContaining('the row 2.0 for the ledger, of version 1 of a.json for acme: it has no mac'),
      expect.stringContaining('version 1 of a.json for acme: it has no mac'),
    ]);
    await change(EVERYBODY, 'a.json', '{"max":3}');
    await again();
    expect(adopted).toEqual([9]);
  });

  it('of a Gate that had no MACs for suggestions and rows for the ledger has those sealed once, and none that somebody put there', async () => {
    const markOfThen = KEYS.authenticate('gate.policy-store/1: every policy has a mac', 'policy-store');
    await change(EVERYBODY, 'a.json', '{"max":1}');
    await store.keepSuggestions(EVERYBODY, [SUGGESTION], []);
    for (const table of ['policy_outbox', 'policy_suggestions']) await place.all(`update ${table} set mac = null`);
    await place.all('update policy_seal set mac = ?', [markOfThen]);
    const [waits, suggestion] = [(await all('policy_outbox'))[0] ?? {}, (await all('policy_suggestions'))[0] ?? {}];
    const content = { ...(JSON.parse(String(waits['content'])) as object), actor_sub: 'ceo' };
    await restored('policy_outbox', ['generation', 'ordinal'], {
      ...waits,
      ordinal: 1,
      content: JSON.stringify(content),
    });
    await restored('policy_suggestions', ['id'], { ...suggestion, id: 'other', rule_name: 'other.rego' });
    await again();
    expect(adopted).toEqual([2]);
    expect((await store.undelivered(20)).waiting.map(({ row }) => row.actor_sub)).toEqual(['ada']);
    expect(await said()).toEqual([
      expect.stringContaining('the row 1.1 for the ledger, of version 1 of a.json for everybody: it has no mac'),
      'edited in the store: it has no mac',
    ]);
    // The mark of then, put back, opens the store and seals nothing.
    await place.all('update policy_seal set mac = ?', [markOfThen]);
    await again();
    expect([adopted, (await said()).length]).toEqual([[2], 2]);
  });

  it('hands the ledger no row that somebody else wrote, and all others', async () => {
    await change(EVERYBODY, 'a.json', '{"max":1}');
    await change(EVERYBODY, 'b.json', '{"max":2}');
    const [row] = await all('policy_outbox');
    const content = { ...(JSON.parse(String(row?.['content'])) as object), id: 'made up', actor_sub: 'ceo' };
    // In front of the others, more than are handed over at once, and one whose content is no JSON.
    for (let ordinal = 0; ordinal < 30; ordinal += 1)
      await restored('policy_outbox', ['generation', 'ordinal'], {
        ...row,
        generation: 0,
        ordinal,
        content: ordinal === 0 ? 'x' : JSON.stringify(content),
      });
    const { waiting, tampered } = await store.undelivered(20);
    expect(waiting.map(({ name, row: { actor_sub } }) => [name, actor_sub])).toEqual([
      ['a.json', 'ada'],
      ['b.json', 'ada'],
    ]);
    expect(tampered[0]).toBe('the row 0.0 for the ledger, of version 1 of a.json for everybody: its mac does not hold');
    expect(tampered).toHaveLength(5);
    expect((await store.undelivered(1)).waiting.map(({ name }) => name)).toEqual(['a.json']);
  });

  it('writes over what somebody put where the next change writes, and not over what Gate wrote', async () => {
    await change(EVERYBODY, 'a.json', '{"max":1}');
    const [version, kept, waits] = [
      (await all('policy_versions'))[0] ?? {},
      (await all('policy_past_sets'))[0] ?? {},
      (await all('policy_outbox'))[0] ?? {},
    ];
    await restored('policy_versions', ['version'], { ...version, version: 2, body: 'other' });
    await restored('policy_past_sets', ['version'], { ...kept, version: '2026-11-28.2', mac: null });
    await restored('policy_outbox', ['generation'], { ...waits, generation: 2 });
    await change(EVERYBODY, 'a.json', '{"max":2}');
    expect(await said()).toEqual([]);
    expect((await store.version(EVERYBODY, 'a.json', 2))?.body).toBe('{"max":2}');
    expect((await store.undelivered(20)).waiting.map(({ version: of }) => of)).toEqual([1, 2]);

    // Gate's own row of a later time says that the rest was put back.
    const before = await tables('policy_state', 'policy_sets', 'policies', 'policy_versions', 'policy_past_sets');
    await change(EVERYBODY, 'a.json', '{"max":3}');
    await putAllBack(before);
    await expect(change(EVERYBODY, 'a.json', '{"max":4}')).rejects.toMatchObject({
      code: 'policy_tampered',
      message:
        'edited in the store: the row 3.0 for the ledger, of version 3 of a.json for everybody was there before its change',
    });
    expect((await store.catalogue()).generation).toBe(2);
  });

  it('shows nothing of a suggestion that somebody wrote, and keeps what was found in its place', async () => {
    const forged = { evidence: { ...MINED_FACTS.evidence, approvals: { passed: 212, of: 214 } } };
    const row = { ...SUGGESTION, facts: JSON.stringify({ ...MINED_FACTS, ...forged }), mac: null };
    await restored('policy_suggestions', ['id'], row);
    expect(await store.suggestions(EVERYBODY)).toMatchObject([
      {
        withdrawn_why: 'edited in the store: it has no mac',
        facts: { evidence: { approvals: { passed: 0, of: 0 } }, parts: [] },
      },
    ]);
    await store.withdrawSuggestion(EVERYBODY, SUGGESTION.id, 'row 7');
    await store.checkedSuggestions(EVERYBODY, [SUGGESTION.id], 9);
    expect((await all('policy_suggestions'))[0]).toMatchObject({ mac: null, withdrawn_why: null });
    await place.all("update policy_suggestions set facts = 'x'");
    expect(await store.suggestions(EVERYBODY)).toHaveLength(1);
    await store.keepSuggestions(EVERYBODY, [SUGGESTION], []);
    // It may have been withdrawn: it is compared with all that people decided.
    expect(await store.suggestions(EVERYBODY)).toEqual([{ ...SUGGESTION, checked_seq: 0 }]);
    // What Gate changes of its own keeps a MAC; what it withdrew does not come back by hand.
    await store.checkedSuggestions(EVERYBODY, [SUGGESTION.id], 9);
    expect(await store.suggestions(EVERYBODY)).toEqual([{ ...SUGGESTION, checked_seq: 9 }]);
    await store.withdrawSuggestion(EVERYBODY, SUGGESTION.id, 'row 10');
    expect(await store.suggestions(EVERYBODY)).toMatchObject([{ withdrawn_why: 'row 10' }]);
    await place.all('update policy_suggestions set withdrawn_why = null');
    expect(await store.suggestions(EVERYBODY)).toMatchObject([
      { withdrawn_why: 'edited in the store: its mac does not hold' },
    ]);
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
    // The state, the module, and of each change its policy, version, set, kept set and row for the ledger.
    expect(renewals).toEqual([{ renewed: 12, left: {} }]);
    await change(EVERYBODY, 'a.json', '{"max":3}');
    expect(await said()).toEqual([]);
    await again(NEWER);
    expect(await said()).toEqual([]);
  });

  it('two processes that put the rows under a new key leave none, and say what each did', async () => {
    await change(EVERYBODY, 'a.json', '{"max":1}');
    await store.close();
    const told: Renewal[] = [];
    const open = () => openPolicyStore(place.target, BOTH, { onRenewed: (renewal) => told.push(renewal) });
    // Two openings of a file in one process wait for each other without end.
    const isFile = place.folder !== null;
    const one = isFile ? await open() : open();
    const opened = await Promise.all([one, open()]);
    await Promise.all(opened.map(({ close }) => close()));
    expect(told).toEqual([{ renewed: 7, left: {} }]);
    await start(BOTH);
    expect(renewals).toEqual([]);
  });

  it('says why all rows are left under an earlier key where the state is not Gate’s', async () => {
    await change(EVERYBODY, 'a.json', '{"max":1}');
    await place.all('update policy_state set generation = 5');
    await again(BOTH);
    expect(renewals).toEqual([{ renewed: 0, left: { 'the state of the policies: its mac does not hold': 7 } }]);
  });

  it('names few reasons, whatever keys somebody made up', async () => {
    await change(EVERYBODY, 'a.json', '{"max":1}');
    const [version] = await all('policy_versions');
    for (let number = 2; number <= 31; number += 1)
      await inserted('policy_versions', {
        ...version,
        version: number,
        mac: `${'k'.repeat(number * 10)}:${'0'.repeat(64)}`,
      });
    await again(BOTH);
    const [{ renewed, left } = { renewed: 0, left: {} }] = renewals;
    expect([renewed, Object.values(left).reduce((sum, rows) => sum + rows, 0)]).toEqual([7, 30]);
    expect(Object.keys(left).length).toBeLessThanOrEqual(11);
    expect(Object.keys(left).filter((why) => why.length > 200)).toEqual([]);
    expect(left['others']).toBeGreaterThanOrEqual(20);
  });

  it('says of rows under a newer key that this process has not got it, and not that somebody edited them', async () => {
    await change(EVERYBODY, 'a.json', '{"max":1}');
    await (await openPolicyStore(place.target, BOTH)).close();
    const message = 'the state of the policies: it was written under the key newer, which this process does not have';
    await expect(store.catalogue()).rejects.toMatchObject({ code: 'policy_tampered', message });
  });

  it('shows a version whose place in the ledger can be none, and nobody is kept from anything', async () => {
    await change(EVERYBODY, 'a.json', '{"max":1}');
    await change('acme', 'b.json', '{"max":2}');
    for (const place_in_ledger of ['9223372036854775807', '-1']) {
      await place.all(`update policy_versions set chain_seq = ${place_in_ledger}`);
      expect(await store.versions('acme', 'b.json')).toMatchObject([{ version: 1, chain_seq: null }]);
      expect((await store.sets()).unreadable).toEqual([]);
      expect(await store.version('acme', 'b.json', 1)).toMatchObject({ body: '{"max":2}' });
    }
  });

  it('names versions and sets that somebody made up, some of many, and reads many by few questions', async () => {
    await change(EVERYBODY, 'a.json', '{"max":1}');
    expect(await store.sets()).toMatchObject({ tampered: null, madeUp: null });
    const [version] = await all('policy_versions');
    const [set] = await all('policy_past_sets');
    await inserted('policy_versions', { ...version, version: '9223372036854775807' });
    await inserted('policy_past_sets', { ...set, version: '2026-11-28.7' });
    expect((await store.sets()).madeUp?.split('; ')).toEqual([
      'the set 2026-11-28.7 for everybody: its mac does not hold',
      'version 9223372036854776000 of a.json for everybody: it has no number of a version',
    ]);
    for (let number = 1; number <= 60; number += 1)
      await inserted('policy_versions', { ...version, name: `b${number % 30}.json`, version: number + 100 });
    const { madeUp, tampered } = await store.sets();
    expect([tampered, madeUp?.split('; ')]).toEqual([
      null,
      [...Array.from({ length: 5 }, () => expect.anything()), 'and 57 more'],
    ]);
    expect(await store.catalogue()).toMatchObject({ policies: [{ name: 'a.json' }] });
    const highest = Array.from({ length: 30 }, (_, at) => ({ tenant: EVERYBODY, name: `b${at}.json`, version: 160 }));
    const asked = await questionsOf((db) => laterVersions(db, policySealing(KEYS), new Map(), highest));
    // One for what there is, and those that read 60 rows.
    expect(asked).toBe(4);
    await place.all('delete from policy_versions where version > 1');
    await place.all("delete from policy_past_sets where version = '2026-11-28.7'");
    expect(await store.sets()).toMatchObject({ tampered: null, madeUp: null });
  });

  it('a row that does not fit is no store that is away, and neither is a mistake of Gate’s own', async () => {
    await change(EVERYBODY, 'a.json', '{"max":1}');
    const [version] = await all('policy_versions');
    const sealing = policySealing(KEYS);
    const odd = sealing.withMac('policy_versions', {
      ...(version as unknown as PolicyTables['policy_versions']),
      event_kind: 'policy.sung',
    });
    await restored('policy_versions', ['version'], { ...odd });
    await expect(store.version(EVERYBODY, 'a.json', 1)).rejects.toMatchObject({
      code: 'policy_tampered',
      message: expect.stringContaining('version 1 of a.json for everybody: it does not fit (event_kind: '),
    });
    expect(await store.versions(EVERYBODY, 'a.json')).toMatchObject([{ version: 1, tampered: expect.any(String) }]);

    const operation = { operation_id: 'one', tenant: 'acme', kind: 'provision', begun_at: AT } as const;
    await store.beginOperation(operation);
    for (const [receipt, why] of [
      ['{', 'it is no JSON'],
      ['{}', 'it does not fit (tenant: '],
    ] as const) {
      await place.put('policy_tenant_operations', 'operation_id', 'one', { receipt });
      await expect(store.beginOperation(operation)).rejects.toMatchObject({
        code: 'policy_tampered',
        message: expect.stringContaining(`the receipt of one for acme: ${why}`),
      });
    }

    await store.keepSuggestions(EVERYBODY, [SUGGESTION], []);
    const [suggestion] = await all('policy_suggestions');
    await restored('policy_suggestions', ['id'], {
      ...sealing.withMac('policy_suggestions', {
        ...(suggestion as unknown as SuggestionTables['policy_suggestions']),
        facts: '{}',
      }),
    });
    expect(await store.suggestions(EVERYBODY)).toMatchObject([
      { withdrawn_why: expect.stringContaining('it does not fit (since: ') },
    ]);

    await expect(store.texts(null as never)).rejects.toThrow(TypeError);
  });

  it('shows numbers that somebody made up as ones that an answer can hold', async () => {
    await change(EVERYBODY, 'a.json', '{"max":1}');
    await place.all('update policy_versions set version = 9223372036854775807');
    expect(await store.versions(EVERYBODY, 'a.json')).toMatchObject([{ version: Number.MAX_SAFE_INTEGER }]);
    await place.all('update policies set current_version = 9223372036854775807');
    expect((await store.shown()).policies).toMatchObject([{ current_version: Number.MAX_SAFE_INTEGER }]);
  });

  it('has a suggestion that was withdrawn and edited compared with all that people decided, and no process writes over one under a newer key', async () => {
    await store.keepSuggestions(EVERYBODY, [SUGGESTION], []);
    await store.withdrawSuggestion(EVERYBODY, SUGGESTION.id, 'row 7');
    const [withdrawn] = await all('policy_suggestions');
    await place.all("update policy_suggestions set rule_name = 'x'");
    await store.keepSuggestions(EVERYBODY, [{ ...SUGGESTION, checked_seq: 12 }], []);
    expect(await store.suggestions(EVERYBODY)).toEqual([{ ...SUGGESTION, checked_seq: 0 }]);
    await restored('policy_suggestions', ['id'], withdrawn ?? {});
    await (await openPolicyStore(place.target, BOTH)).close();
    const under = await all('policy_suggestions');
    await store.keepSuggestions(EVERYBODY, [SUGGESTION], []);
    expect(await all('policy_suggestions')).toEqual(under);
  });

  it('shows the other policies beside one that somebody edited or put back, and changes none', async () => {
    await change(EVERYBODY, 'a.json', '{"max":1}');
    const [first] = await all('policies');
    await change(EVERYBODY, 'a.json', '{"max":2}');
    await change('acme', 'b.json', '{"max":3}');
    const policiesNow = await tables('policies');
    const told = async () => [...(await store.shown()).tampered];
    expect(await told()).toEqual([]);
    await place.all("update policies set active = 0, content_type = 'x', header = 'x' where name = 'a.json'");
    const key = JSON.stringify([EVERYBODY, 'a.json']);
    const why = 'edited in the store: the policy a.json for everybody: its mac does not hold';
    expect(await told()).toEqual([[key, why]]);
    expect((await store.shown()).policies.map(({ name, content_type }) => [name, content_type])).toEqual([
      ['a.json', 'json'],
      ['b.json', 'json'],
    ]);
    await expect(store.catalogue()).rejects.toMatchObject({ code: 'policy_tampered', message: why });
    await restored('policies', ['tenant', 'name'], first ?? {});
    const back = 'edited in the store: the policy a.json for everybody was put back to version 1 of 2';
    expect(await told()).toEqual([[key, back]]);
    // A list that lacks some is none.
    await place.all("delete from policies where name = 'b.json'");
    await expect(store.shown()).rejects.toMatchObject({ code: 'policy_tampered' });
    await putAllBack(policiesNow);
    expect(await told()).toEqual([]);
  });

  it('has nothing of his sealed under a new key', async () => {
    await change(EVERYBODY, 'a.json', '{"max":1}');
    const [policy, set] = [(await all('policies'))[0] ?? {}, (await all('policy_sets'))[0] ?? {}];
    await change(EVERYBODY, 'a.json', '{"max":2}');
    await restored('policies', ['tenant', 'name'], policy);
    await restored('policy_sets', ['tenant'], set);
    await place.all("update policy_versions set reason = 'other' where version = 2");
    await again(BOTH);
    expect(renewals).toEqual([
      {
        renewed: 7,
        left: {
          'policies: a policy was edited, deleted or put back': 1,
          'policy_sets: it is not the one of the last change': 1,
          'policy_versions: its mac does not hold': 1,
        },
      },
    ]);
    await again(NEWER);
    expect((await said()).join('\n')).toMatch(
      /the set 2026-11-28\.1 for everybody: it was written under the key policies, which this process does not have/,
    );
    expect((await said()).join('\n')).toMatch(
      /the policy a\.json for everybody: it was written under the key policies, which this process does not have/,
    );
    expect((await said()).join('\n')).toMatch(
      /version 2 of a\.json for everybody: it was written under the key policies, which this process does not have/,
    );
  });
});

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DatabaseSync } from '@photostructure/sqlite';
import { sha256Hex } from '../../domain/crypto/digest.js';
import { EVERYBODY, type PolicyChange, type PolicyStore, type StoredSet } from '../../domain/policy/library-ports.js';
import { changeRow } from '../../domain/policy/library-rows.js';
import { headerOf } from '../../domain/policy/policy-header.js';
import { policyMigrations } from '../../migrations/policies.js';
import { findOpa } from '../../stack/programs/find-program.js';
import { type EditedStore, editedSqlite } from '../../test/support/edited-store.js';
import { writeMigrated } from '../../test/support/migrated-file.js';
import { POLICY_KEYS } from '../../test/support/policy-keys.js';
import { oneOfEach, someOf } from '../../test/support/some-of.js';
import { eventually } from '../../test/support/waiting.js';
import { createLivePolicies, type LivePolicies } from './live-policies.js';
import { loadPolicySet } from './load-policy-set.js';
import { opaCompiler } from './opa-compiler.js';
import { openPolicyStore } from './policy-store.js';
import { shippedPolicyDirectory } from './policy-sources.js';

const directory = shippedPolicyDirectory();
const floor = await loadPolicySet({ directory });
const compiler = opaCompiler({ find: () => findOpa({ onProgress: () => undefined }), directory });
async function moduleOf(tool: string) {
  const name = `${tool}.rego`;
  const body = `package gate.authz\n\nimport rego.v1\n\ndeny contains "Violation: ${tool}" if input.tool_type == "${tool}"\n`;
  const compiled = await compiler.compile([{ name, body }]);
  if (compiled.fault) throw new Error(compiled.fault.message);
  const { wasm } = compiled;
  const module = { sources_sha256: `of ${tool}`, wasm_sha256: sha256Hex(wasm), wasm, opa_version: '1.0.0' };
  return { name, body, module };
}
const [A, B] = [await moduleOf('a'), await moduleOf('b')];
const LIMIT = '{"max":10}';
const AT = '2026-11-28T10:00:00.000Z';
const BY = { reason: 'ticket 12', actor_sub: 'ada', actor_idp: 'https://idp.example' };
/** So short that what is due every minute is due four times a second. */
const WATCH_MS = 2;

let folder: string;
let file: string;
let editor: EditedStore;
let store: PolicyStore;
let live: LivePolicies;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gate-watched-policies-'));
  file = join(folder, 'policies.db');
  await writeMigrated(file, policyMigrations);
  editor = editedSqlite(file);
  store = await openPolicyStore({ file }, POLICY_KEYS);
  live = createLivePolicies({ floor, store, watchMs: WATCH_MS });
});
afterEach(async () => {
  await live.close();
  await live.refresh([]);
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

/** A rule and the document beside it, in force for the tenant as one change. */
async function put(tenant: string, { name, body, module }: typeof A, limit = LIMIT): Promise<void> {
  const { generation, policies } = await store.catalogue();
  const changes = [
    { name, body },
    { name: 'limit.json', body: limit },
  ].map((file): PolicyChange => {
    const before = policies.find((one) => one.tenant === tenant && one.name === file.name) ?? null;
    const policy = {
      tenant,
      name: file.name,
      content_type: file.name.endsWith('.json') ? ('json' as const) : ('rego' as const),
      active: true,
      current_version: (before?.current_version ?? 0) + 1,
      body_sha256: sha256Hex(file.body),
      header: headerOf(''),
      deleted_at: null,
      created_at: AT,
      updated_at: AT,
    };
    const by = { ...BY, event_kind: before ? ('policy.updated' as const) : ('policy.created' as const) };
    return { policy, body: file.body, ...by, row: changeRow(policy, before, by) };
  });
  // What holds for everybody is in the set of each tenant, where it has no copy of its own.
  const shared = policies.filter(
    (one) =>
      one.tenant !== tenant && one.tenant === EVERYBODY && changes.every(({ policy }) => policy.name !== one.name),
  );
  const set: StoredSet = {
    tenant,
    version: `2026-11-28.${generation + 1}`,
    files: [...changes.map(({ policy }) => policy), ...shared].map(
      ({ name: of, content_type, current_version: version, body_sha256 }) => ({
        name: of,
        content_type,
        version,
        body_sha256,
      }),
    ),
    data: { limit: JSON.parse(limit) },
    sources_sha256: module.sources_sha256,
  };
  expect(await store.write({ expected: generation, at: AT, changes, sets: [{ tenant, set }], modules: [module] })).toBe(
    true,
  );
}
const TABLES = [
  'policy_state',
  'policies',
  'policy_versions',
  'policy_modules',
  'policy_sets',
  'policy_past_sets',
  'policy_outbox',
];
/** Puts back these tables, or all, as one transaction: one for each row is most of what the test takes. */
async function copyOfAll(): Promise<(tables?: readonly string[]) => void> {
  const copied = await Promise.all(
    TABLES.map(async (table) => [table, await editor.all(`select * from ${table}`)] as const),
  );
  return (tables = TABLES) => {
    const connection = new DatabaseSync(file);
    try {
      connection.exec('begin immediate');
      for (const [table, rows] of copied) if (tables.includes(table)) putBack(connection, table, rows);
      connection.exec('commit');
    } finally {
      connection.close();
    }
  };
}
function putBack(
  connection: InstanceType<typeof DatabaseSync>,
  table: string,
  rows: readonly Record<string, unknown>[],
): void {
  connection.exec(`delete from ${table}`);
  for (const row of rows) {
    const names = Object.keys(row);
    const places = names.map(() => '?').join(', ');
    connection
      .prepare(`insert into ${table} (${names.join(', ')}) values (${places})`)
      .run(...(Object.values(row) as string[]));
  }
}
/** The one table that an edit is of. */
const tableOf = (edit: string): string => {
  const table = TABLES.find((name) => edit.startsWith(`update ${name} `) || edit.startsWith(`delete from ${name} `));
  if (table === undefined) throw new Error(`no table is known in: ${edit}`);
  return table;
};
const readiness = (): string => {
  try {
    return String(live.ready());
  } catch (error) {
    return (error as Error).message;
  }
};
const denied = (tenant: string, tool: string): readonly unknown[] =>
  live.judgingNow(tenant).rules?.judge({ tool_type: tool }).deny ?? [];

describe('a process that runs', () => {
  const FAILS = /^policies: generation 2 is in force, and not what is stored: edited in the store: /;
  const ACME = /^of the tenant acme: edited in the store: .*; its rules of before stay in force/;
  const UNCHANGEABLE = /^no policy can be changed: edited in the store: /;
  const EDITS: readonly (readonly [string, string, RegExp, RegExp])[] = [
    [
      'the set for everybody',
      "update policy_sets set data = '{}' where tenant = ''",
      FAILS,
      /the set .* for everybody/,
    ],
    ['that it is there', "delete from policy_sets where tenant = ''", FAILS, /the set for everybody is gone/],
    [
      'its MAC',
      "update policy_sets set mac = null where tenant = ''",
      FAILS,
      /the set .* for everybody: it has no mac/,
    ],
    ['its module', `update policy_modules set wasm = x'00' where sources_sha256 = 'of a'`, FAILS, /the module of of a/],
    [
      'that it is there',
      "delete from policy_modules where sources_sha256 = 'of a'",
      FAILS,
      /the module of of a is gone/,
    ],
    [
      'a text of its documents',
      `update policy_versions set body = '{"max":99}' where tenant = '' and name = 'limit.json'`,
      FAILS,
      /version 1 of limit\.json for everybody/,
    ],
    [
      'its kept set',
      "update policy_past_sets set files = '[]' where tenant = ''",
      FAILS,
      /the kept set .* for everybody/,
    ],
    ['the state', "update policy_state set set_macs = '[]'", FAILS, /the state of the policies/],
    ['a tenant’s own set', "update policy_sets set files = '[]' where tenant = 'acme'", ACME, /the set .* for acme/],
    ['that it is there', "delete from policy_sets where tenant = 'acme'", ACME, /the set for acme is gone/],
    [
      'a text of a tenant’s document',
      `update policy_versions set body = '{"max":99}' where tenant = 'acme' and name = 'limit.json'`,
      ACME,
      /version 1 of limit\.json for acme/,
    ],
    [
      'its module',
      "update policy_modules set opa_version = '0' where sources_sha256 = 'of b'",
      ACME,
      /the module of of b/,
    ],
    ['a policy', 'update policies set active = 0', UNCHANGEABLE, /the policy a\.rego for everybody/],
    [
      'that it is there',
      "delete from policies where name = 'b.rego'",
      UNCHANGEABLE,
      /the policy b\.rego for acme is gone/,
    ],
  ];

  it('finds by itself whatever was edited, though no generation moved, and that it was put back', async () => {
    await put(EVERYBODY, A);
    await put('acme', B);
    await live.start();
    live.begin();
    const restore = await copyOfAll();
    // Of each kind of answer at least one.
    const kinds = oneOfEach('kinds of edits of policies', EDITS, ([, , how]) => how.source);
    const played = new Set([...kinds, ...someOf('edits of policies', EDITS, 4)]);
    for (const [what, edit, how, where] of played) {
      expect(readiness()).toBe('2');
      await editor.all(edit);
      await eventually(`${what}: ${edit}`, () => how.test(readiness()) && where.test(readiness()));
      expect([edit, denied('shop', 'a'), denied('acme', 'b')]).toEqual([edit, ['Violation: a'], ['Violation: b']]);
      restore([tableOf(edit)]);
      await eventually(`${edit}: it is over`, () => readiness() === '2');
    }
  }, 120_000);

  it('has another set in force that has the number of its own, after a backup was put back', async () => {
    await put(EVERYBODY, A);
    const restore = await copyOfAll();
    await put(EVERYBODY, A);
    await live.start();
    restore();
    const other = '{"max":20}';
    await put(EVERYBODY, A, other);
    expect(await live.refresh([])).toBeNull();
    expect([readiness(), live.judgingNow('shop').files.at(-1)?.body_sha256]).toEqual(['2', sha256Hex(other)]);
  });
});

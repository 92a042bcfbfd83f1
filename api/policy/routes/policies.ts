import { z } from 'zod';
import {
  policyFile,
  policyList,
  type PolicyRow,
  policyStanding,
  type PolicyStanding,
} from '../../../contracts/policy.js';
import {
  type KeptVersion,
  policyDiff,
  type PolicyVersion,
  policyVersion,
  policyVersions,
} from '../../../contracts/policy-library.js';
import { storableString } from '../../../contracts/storable.js';
import { GateError } from '../../../domain/errors.js';
import { EVERYBODY, type StoredPolicy } from '../../../domain/policy/library-ports.js';
import type { PolicySet } from '../../../domain/policy/policy-set.js';
import { edited, ofWhom, policyKey } from '../../../domain/policy/sealed-policies.js';
import { unifiedDiff } from '../../../domain/policy/unified-diff.js';
import type { ServiceApp } from '../../plugins/app.js';
import type { PolicyManagement } from '../management.js';
import { floorRows, floorVersion, storedRow } from '../shown.js';

/** Whose copy is meant; without it, what holds for everybody. */
export const tenantQuery = {
  tenant: z
    .string()
    .regex(/^[A-Za-z0-9._-]{1,63}$/)
    .optional(),
};
export const ofTenant = z.strictObject(tenantQuery);
/** Looked up: a name that no policy may have is one that there is not. */
export const nameInPath = storableString(1, 1_024);
export const byName = z.strictObject({ name: nameInPath });
export const versionNumber = z.coerce
  .number()
  .int()
  .min(1)
  .max(2 ** 31 - 1);

/** As it is there, and why it is not as Gate left it; null where it is. */
type Shown = StoredPolicy & { readonly tampered: string | null };

/** Of a policy whose current version is not there. */
const goneText = ({ name, current_version: version, tenant }: StoredPolicy) => ({
  body: null,
  tampered: edited(`version ${version} of ${name} for ${ofWhom(tenant)} is gone`).message,
});

/** What this process judges with, and the policies that operators keep: all of them, the text of one, and how it came about. */
export function policyRoutes(app: ServiceApp, set: PolicySet, management: PolicyManagement | null = null): void {
  let floor: Promise<readonly PolicyRow[]> | undefined;
  const shipped = (): Promise<readonly PolicyRow[]> =>
    (floor ??= floorRows(set).catch((error: unknown) => {
      floor = undefined;
      throw error;
    }));

  /** As a tenant has them: its copies, and what holds for everybody where it has none. */
  async function policiesOf(tenant: string): Promise<readonly Shown[]> {
    if (!management) return [];
    const { policies: all, tampered } = await management.store.shown();
    const policies = all.map((policy) => ({
      ...policy,
      tampered: tampered.get(policyKey(policy.tenant, policy.name)) ?? null,
    }));
    const own = policies.filter((policy) => policy.tenant === tenant);
    const copied = new Set(own.filter(({ deleted_at: at }) => at === null).map(({ name }) => name));
    const shared = policies.filter((policy) => policy.tenant === EVERYBODY && !copied.has(policy.name));
    return tenant === EVERYBODY ? own : [...own, ...shared];
  }
  const missing = (name: string): GateError => new GateError('not_found', `there is no policy ${name}`);
  async function stored(tenant: string, name: string): Promise<Shown> {
    const found = (await policiesOf(tenant)).filter((policy) => policy.name === name);
    const there = found.find(({ deleted_at: at }) => at === null) ?? found[0];
    if (!there) throw missing(name);
    return there;
  }
  /**
   * The file that ships of this name. An operator's policy that had the name before a release brought that file comes first: it can still be switched
   * off and deleted.
   */
  async function floorFile(tenant: string, name: string) {
    const file = set.files.find((one) => one.name === name);
    if (!file) return undefined;
    const isKept = (await policiesOf(tenant)).some((policy) => policy.name === name && policy.deleted_at === null);
    return isKept ? undefined : file;
  }
  async function versionsOf(tenant: string, name: string): Promise<readonly KeptVersion[]> {
    const file = await floorFile(tenant, name);
    if (file) return [floorVersion(file, set.origin.loaded_at)];
    const policy = await stored(tenant, name);
    return (management as PolicyManagement).store.versions(policy.tenant, name);
  }
  /** Versions of a policy, in the order of their numbers here. All policies are read and verified once for them. */
  async function theseVersions(tenant: string, name: string, versions: readonly number[]): Promise<PolicyVersion[]> {
    const file = await floorFile(tenant, name);
    const policy = file || !management ? null : await stored(tenant, name);
    const found: PolicyVersion[] = [];
    for (const version of versions) {
      const shippedOne = file?.version === version ? floorVersion(file, set.origin.loaded_at) : null;
      const one = policy ? await management?.store.version(policy.tenant, name, version) : shippedOne;
      if (!one) throw new GateError('not_found', `${name} has no version ${version}`);
      found.push(one);
    }
    return found;
  }

  const standingOf = (tenant: string): PolicyStanding => ({
    not_in_force: management?.live.notInForce(tenant) ?? null,
    takes_no_change: management?.live.takesNoChange(tenant) ?? null,
  });

  app.get(
    '/policies',
    {
      schema: {
        querystring: z.strictObject({ ...tenantQuery, include_deleted: z.enum(['true', 'false']).optional() }),
        response: { 200: policyList },
      },
    },
    async ({ query: { tenant = EVERYBODY, include_deleted } }) => {
      const policies = await policiesOf(tenant);
      // Nobody knows whether one is deleted that somebody else wrote.
      const shown = policies.filter(
        ({ deleted_at: at, tampered }) => include_deleted === 'true' || at === null || tampered !== null,
      );
      const texts = new Map(
        shown.length === 0
          ? []
          : ((await management?.store.texts([...new Set([EVERYBODY, tenant])])) ?? []).map(
              (one) => [policyKey(one.tenant, one.name), one] as const,
            ),
      );
      const rows = await Promise.all(
        shown.map(({ tampered, ...policy }) => {
          const text = texts.get(policyKey(policy.tenant, policy.name)) ?? goneText(policy);
          return storedRow(policy, tampered === null ? text : { body: null, tampered });
        }),
      );
      const all = [...(await shipped()), ...rows].toSorted((one, other) => (one.name < other.name ? -1 : 1));
      return {
        bundle: management?.live.bundleFor(tenant) ?? set.bundle,
        origin: { ...set.origin, entrypoints: [...set.origin.entrypoints] },
        policies: all,
        ...standingOf(tenant),
      };
    },
  );
  app.get(
    '/policies/standing',
    { schema: { querystring: ofTenant, response: { 200: policyStanding } } },
    async ({ query: { tenant = EVERYBODY } }) => standingOf(tenant),
  );
  app.get(
    '/policies/:name',
    { schema: { params: byName, querystring: ofTenant, response: { 200: policyFile } } },
    async ({ params: { name }, query: { tenant = EVERYBODY } }) => {
      const row = (await shipped()).find((policy) => policy.name === name);
      const file = row && (await floorFile(tenant, name));
      if (row && file)
        return {
          ...row,
          current_body: file.body,
          current_body_sha256: file.body_sha256,
          ...standingOf(tenant),
        };
      const { tampered, ...policy } = await stored(tenant, name);
      if (tampered !== null) throw new GateError('policy_tampered', tampered);
      const version = await (management as PolicyManagement).store.version(policy.tenant, name, policy.current_version);
      if (!version) throw new GateError('policy_tampered', goneText(policy).tampered);
      const { body, body_sha256 } = version;
      return {
        ...(await storedRow(policy, { body, tampered: null })),
        current_body: body,
        current_body_sha256: body_sha256,
        ...standingOf(tenant),
      };
    },
  );
  app.get(
    '/policies/:name/versions',
    { schema: { params: byName, querystring: ofTenant, response: { 200: policyVersions } } },
    async ({ params: { name }, query: { tenant = EVERYBODY } }) => ({
      versions: [...(await versionsOf(tenant, name))],
    }),
  );
  app.get(
    '/policies/:name/versions/:version',
    {
      schema: {
        params: z.strictObject({ name: nameInPath, version: versionNumber }),
        querystring: ofTenant,
        response: { 200: policyVersion },
      },
    },
    async ({ params: { name, version }, query: { tenant = EVERYBODY } }) =>
      (await theseVersions(tenant, name, [version]))[0] as PolicyVersion,
  );
  app.get(
    '/policies/:name/diff',
    {
      schema: {
        params: byName,
        querystring: z.strictObject({ ...tenantQuery, from: versionNumber, to: versionNumber }),
        response: { 200: policyDiff },
      },
    },
    async ({ params: { name }, query: { tenant = EVERYBODY, from, to } }) => {
      const [before, after] = (await theseVersions(tenant, name, [from, to])) as [PolicyVersion, PolicyVersion];
      const names = { from: `${name} version ${from}`, to: `${name} version ${to}` };
      return { name, from, to, diff: unifiedDiff(before.body, after.body, names) };
    },
  );
}

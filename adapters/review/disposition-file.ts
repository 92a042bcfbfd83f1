import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import {
  DISPOSITIONS_CONTRACT,
  type KnownDisposition,
  leftOf,
  type TakenOut,
  type TenantDisposition,
  tenantDispositions,
  type TenantDispositions,
} from '../../contracts/tenant-dispositions.js';
import type { JsonObject } from '../../contracts/json.js';
import { canonicalJson } from '../../domain/crypto/digest.js';
import { parseStrictJson } from '../../domain/mcp/strict-json.js';
import type { Dispositions } from '../../domain/review/ports.js';
import { PRIVATE_FILE, readIfPresent, replaceFile } from '../store/durable-file.js';

export interface DispositionFileOptions {
  readonly file: string;
  /** 32 bytes, kept apart from the store and its copies. */
  readonly key: Uint8Array;
  readonly clock?: () => number;
}

/**
 * Which tenants have left, and who was taken out, in a file beside the store and in no copy of it (docs/architecture/reviews.md#restored-stores). An HMAC-SHA-256
 * (RFC 2104) covers it. One process writes it.
 */
export function dispositionFile({ file, key, clock = Date.now }: DispositionFileOptions): Dispositions {
  const key_id = `sha256:${createHash('sha256').update(key).digest('hex').slice(0, 16)}`;
  const macOf = (body: Omit<TenantDispositions, 'hmac'>): Buffer =>
    createHmac('sha256', key)
      .update(canonicalJson(body as unknown as JsonObject))
      .digest();

  function parsed(text: string): TenantDispositions {
    let read: ReturnType<typeof tenantDispositions.safeParse>;
    try {
      read = tenantDispositions.safeParse(parseStrictJson(text));
    } catch {
      throw new Error(`${file} is not a file of dispositions`);
    }
    if (!read.success) throw new Error(`${file} is not a file of dispositions (${DISPOSITIONS_CONTRACT})`);
    const { hmac, ...body } = read.data;
    if (body.key_id !== key_id)
      throw new Error(`${file} was written with another key (${body.key_id}), GATE_HIL_DISPOSITIONS_KEY is ${key_id}`);
    if (!timingSafeEqual(Buffer.from(hmac, 'hex'), macOf(body)))
      throw new Error(`${file} is not what Gate wrote: its HMAC does not hold`);
    return read.data;
  }

  function write(tenants: readonly KnownDisposition[], people: readonly TakenOut[]): TenantDispositions {
    const body = {
      contract: DISPOSITIONS_CONTRACT,
      generation: tenants.reduce((sum, { generation }) => sum + generation, 0),
      key_id,
      updated_at: new Date(clock()).toISOString(),
      tenants: tenants.toSorted((one, other) => (one.tenant < other.tenant ? -1 : 1)),
      people: [...people],
    } as const satisfies Omit<TenantDispositions, 'hmac'>;
    const written: TenantDispositions = { ...body, hmac: macOf(body).toString('hex') };
    replaceFile(file, `${JSON.stringify(written, null, 2)}\n`, PRIVATE_FILE);
    return written;
  }

  function read(): TenantDispositions | null {
    const text = readIfPresent(file, PRIVATE_FILE);
    if (text === null)
      throw new Error(
        `${file} is missing: put the latest one back. Where there never was one, an empty file in its place begins one with what this store says`,
      );
    return text.trim() === '' ? null : parsed(text);
  }

  function begun(): TenantDispositions {
    const said = read();
    if (said === null) throw new Error(`${file} was emptied: put the latest one back`);
    return said;
  }

  return {
    read,
    check() {
      const { tenants, people = [] } = begun();
      write(tenants, people);
    },
    begin: (standing) =>
      write(
        standing.map((one) => known(one)),
        [],
      ),
    recordTakenOut(person) {
      const { tenants, people = [] } = begun();
      const isSame = isNamed(person);
      const said = people.find(isSame);
      const generation = Math.max(person.generation, said?.generation ?? 1);
      const left = Math.max(leftOf(person), said?.left ?? 1);
      if (said?.generation === generation && said.left === left) return;
      write(tenants, [...people.filter((one) => !isSame(one)), { ...person, generation, left }]);
    },
    timesTakenOut(of) {
      const said = begun().people?.find(isNamed(of));
      return said === undefined ? 0 : leftOf(said);
    },
    record(one, done = false) {
      const { tenants, people = [] } = begun();
      const before = tenants.find(({ tenant }) => tenant === one.tenant);
      const isOvertaken = before !== undefined && before.generation > one.generation;
      if (isOvertaken && !(done && before.left_in === one.generation)) return;
      const next = isOvertaken ? { ...before, left_done: true } : known(one, before, done);
      write([...tenants.filter(({ tenant }) => tenant !== one.tenant), next], people);
    },
  };
}

type Named = Pick<TakenOut, 'tenant' | 'subject'>;
const isNamed =
  (person: Named) =>
  ({ tenant, subject }: Named): boolean =>
    tenant === person.tenant && subject === person.subject;

function known(one: TenantDisposition, before?: KnownDisposition, done = false): KnownDisposition {
  const { left_in = 0, left_done = false } = before ?? {};
  if (one.state !== 'offboarded') return { ...one, left_in, left_done };
  return { ...one, left_in: one.generation, left_done: done || (left_done && left_in === one.generation) };
}

import { LRUCache } from 'lru-cache';
import type { PolicyRow } from '../../contracts/policy.js';
import type { PolicyVersion } from '../../contracts/policy-library.js';
import { readPolicyFiles, shippedPolicyDirectory } from '../../adapters/policy/policy-sources.js';
import { sha256Hex } from '../../domain/crypto/digest.js';
import { type CurrentText, EVERYBODY, type StoredPolicy } from '../../domain/policy/library-ports.js';
import type { PolicyFile } from '../../domain/policy/policy-files.js';
import { headerOf } from '../../domain/policy/policy-header.js';
import type { PolicySet } from '../../domain/policy/policy-set.js';

type Facts = Pick<PolicyRow, 'package' | 'bytes' | 'rules'>;
/** Bytes of texts of which it is known what they say; what is known of one is no larger than it. */
const KNOWN_BYTES = 16 * 1_048_576;
const known = new LRUCache<string, Facts>({ maxSize: KNOWN_BYTES, sizeCalculation: ({ bytes }) => 1_024 + bytes });

/** What a file says of itself: a function of its bytes alone, so that the YAML parser reads no text again that is listed again. */
async function factsOf(contentType: 'rego' | 'json', body: string): Promise<Facts> {
  const key = `${contentType} ${sha256Hex(body)}`;
  const told = known.get(key);
  if (told) return told;
  const { packageOf, rulesOf } = await import('../../domain/policy/rule-metadata.js');
  const rego = contentType === 'rego';
  const facts = {
    package: rego ? packageOf(body) : null,
    bytes: Buffer.byteLength(body),
    rules: rego ? [...rulesOf(body)] : [],
  };
  known.set(key, facts);
  return facts;
}

const listsOf = ({ frameworks, tags, tool_surface, ...header }: StoredPolicy['header']) => ({
  ...header,
  frameworks: [...frameworks],
  tags: [...tags],
  tool_surface: [...tool_surface],
});

/** The files of the loaded set. It never changes, so they are described once. */
export async function floorRows({ files }: Pick<PolicySet, 'files'>): Promise<readonly PolicyRow[]> {
  const shipped = new Map(
    (await readPolicyFiles(shippedPolicyDirectory())).map((file) => [file.name, file.body_sha256]),
  );
  return Promise.all(
    files.map(async ({ name, content_type, version, body_sha256, body }) => ({
      name,
      content_type,
      // Every file of a set is compiled into it or is its data, so every listed file is active.
      active: true,
      protected: shipped.has(name),
      as_shipped: shipped.get(name) === body_sha256,
      current_version: version,
      body_sha256,
      ...listsOf(headerOf(content_type === 'rego' ? body : '')),
      ...(await factsOf(content_type, body)),
      tenant: null,
      deleted_at: null,
      created_at: null,
      updated_at: null,
    })),
  );
}

/** Without a text where somebody edited it in the store. */
export async function storedRow(
  { header, tenant, ...policy }: StoredPolicy,
  { body, tampered }: Pick<CurrentText, 'body' | 'tampered'>,
): Promise<PolicyRow> {
  return {
    ...policy,
    ...listsOf(header),
    ...(await factsOf(policy.content_type, body ?? '')),
    ...(tampered !== null && { tampered }),
    protected: false,
    as_shipped: false,
    tenant: tenant === EVERYBODY ? null : tenant,
  };
}

/** The one version of a file that ships. */
export const floorVersion = ({ name, version, body, body_sha256 }: PolicyFile, loadedAt: string): PolicyVersion => ({
  name,
  version,
  body,
  body_sha256,
  active: true,
  reason: 'the rules that this process loaded at its start',
  actor_sub: 'bootstrap',
  actor_idp: 'system',
  event_kind: null,
  chain_seq: null,
  created_at: loadedAt,
});

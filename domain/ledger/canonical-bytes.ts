/**
 * Chain version 6 (docs/architecture/ledger-rows.md#fields): 33 hashed fields in a fixed order. Any change of fields or order is a new
 * version.
 */
export const CHAIN_VERSION = 6;

/** How a field is stored and rendered: `json` columns hold canonical JSON text, `bool` columns 0 or 1. */
export type FieldKind = 'text' | 'bool' | 'int' | 'json';

/** Fields 6 to 33 in hash order: the content that a row's author gives. Fields 1 to 5 are its position in the chain. */
export const CONTENT_FIELDS = [
  ['agent_id', 'text'],
  ['method', 'text'],
  ['intent_category', 'text'],
  ['authorized', 'bool'],
  ['reasoning', 'text'],
  ['policy_decision', 'json'],
  ['correlation_id', 'text'],
  ['source', 'text'],
  ['signal', 'text'],
  ['approver_assertion', 'text'],
  ['agent_spiffe', 'text'],
  ['signature', 'text'],
  ['key_id', 'text'],
  ['event_kind', 'text'],
  ['tenant', 'text'],
  ['agent_name', 'text'],
  ['actor_sub', 'text'],
  ['actor_idp', 'text'],
  ['payload_sha256', 'text'],
  ['agent_kind', 'text'],
  ['cost_micros', 'int'],
  ['brain_evidence_sha256', 'text'],
  ['brain_scores', 'json'],
  ['tool_params_sha256', 'text'],
  ['credential_fingerprint', 'text'],
  ['upstream_id', 'text'],
  ['tool_name', 'text'],
  ['state_namespace', 'text'],
] as const satisfies readonly (readonly [string, FieldKind])[];

export type ContentField = (typeof CONTENT_FIELDS)[number][0];
/** Values of CONTENT_FIELDS in order, as stored: text, canonical JSON text, 0/1 or an integer; `null` when absent. */
export type ContentValues = readonly (string | number | null)[];

const INDEX = new Map<ContentField, number>(CONTENT_FIELDS.map(([name], index) => [name, index]));
export const contentIndex = (field: ContentField): number => INDEX.get(field) as number;

interface Rendering {
  readonly kind: FieldKind;
  readonly key: string;
  /** The whole rendering of an absent value, precomputed because most optional fields are absent. */
  readonly absent: string;
}
const RENDERING: readonly Rendering[] = CONTENT_FIELDS.map(([name, kind], index) => {
  const key = `${index === 0 ? '' : ','}"${name}":`;
  return { kind, key, absent: `${key}null` };
});

/**
 * The author's part of the canonical bytes: fields 6 to 33 and the closing brace. Two rows with equal content say the same, whatever their
 * positions. Takes checked values; throws when a value's type is not that of its field.
 */
export function canonicalContent(values: ContentValues): string {
  let text = '';
  for (let index = 0; index < RENDERING.length; index++) {
    const { kind, key, absent } = RENDERING[index] as Rendering;
    const value = values[index];
    text += value === null ? absent : key + render(kind, value);
  }
  return `${text}}`;
}

function render(kind: FieldKind, value: string | number | undefined): string {
  if (kind === 'text' && typeof value === 'string') return JSON.stringify(value);
  if (kind === 'json' && typeof value === 'string') return value;
  if (kind === 'bool' && (value === 0 || value === 1)) return value === 1 ? 'true' : 'false';
  if (kind === 'int' && typeof value === 'number') return String(value);
  throw new TypeError(`a ${kind} field holds ${typeof value}`);
}

/** Fields 1 to 5: the position of a row. `timestamp` is hashed as the stored text. */
export interface Position {
  readonly chainVersion: number;
  readonly id: string;
  readonly timestamp: string;
  readonly seq: number;
  readonly prevHash: string;
}

/**
 * The canonical bytes of an entry (docs/architecture/ledger-rows.md#canonical-bytes): one JSON object with 33 keys in table order, no white
 * space, strings escaped as by `JSON.stringify`, nested JSON by RFC 8785. The same entry gives the same text in every store, release and
 * language.
 */
export const canonicalEntry = (position: Position, content: string): string =>
  `{"chain_version":${position.chainVersion},"id":${JSON.stringify(position.id)},"timestamp":${JSON.stringify(position.timestamp)},"seq":${position.seq},"prev_hash":${JSON.stringify(position.prevHash)},${content}`;

import { GateError } from '../errors.js';

/** What may be delegated to an agent (docs/architecture/identity.md#envelopes). Both are sets: sorted, without repeats. */
export interface Envelope {
  readonly scope: readonly string[];
  readonly yellow: readonly string[];
}

/** No grant is possible. */
export const NO_ENVELOPE: Envelope = { scope: [], yellow: [] };

const LONGEST_SCOPE_BYTES = 128;
const SPACE_OR_CONTROL = /[\s\p{C}]/u;

/** A scope is an opaque name. `*` is none: nothing here means everything. */
const isScope = (text: string): boolean =>
  text !== '' &&
  text !== '*' &&
  Buffer.byteLength(text) <= LONGEST_SCOPE_BYTES &&
  text.isWellFormed() &&
  text.normalize('NFC') === text &&
  text.toLowerCase() === text &&
  !SPACE_OR_CONTROL.test(text);

/** The set of these scopes. Throws `scope_not_normalized` with the place of the first that is not written as a scope is. */
export function scopeSet(field: string, given: readonly string[]): readonly string[] {
  const at = given.findIndex((text) => !isScope(text));
  if (at !== -1) {
    const place = `${field}[${at}]`;
    throw new GateError(
      'scope_not_normalized',
      `${place}: a scope has 1 to 128 bytes in lower case and Unicode's form NFC, without spaces and control characters, and is not *`,
      { fields: { field: place } },
    );
  }
  return [...new Set(given)].toSorted();
}

/** Those of the first that are not among the second. */
export const beyond = (some: readonly string[], among: readonly string[]): readonly string[] => {
  const known = new Set(among);
  return some.filter((one) => !known.has(one));
};
const beyondEnvelope = (some: Envelope, among: Envelope): readonly string[] => [
  ...beyond(some.scope, among.scope),
  ...beyond(some.yellow, among.yellow),
];

/** Throws `envelope_not_narrower` where something was added, or nothing taken away. */
export function assertNarrower(was: Envelope, to: Envelope): void {
  const offenders = beyondEnvelope(to, was);
  if (offenders.length === 0 && beyondEnvelope(was, to).length > 0) return;
  throw new GateError(
    'envelope_not_narrower',
    offenders.length > 0 ? `not in the envelope now: ${offenders.join(', ')}` : 'nothing is taken away',
    { fields: { offenders: [...offenders] } },
  );
}

/** Throws `envelope_not_wider` where something was taken away, or nothing added. */
export function assertWider(was: Envelope, to: Envelope): void {
  const offenders = beyondEnvelope(was, to);
  if (offenders.length === 0 && beyondEnvelope(to, was).length > 0) return;
  throw new GateError(
    'envelope_not_wider',
    offenders.length > 0 ? `would be taken away: ${offenders.join(', ')}` : 'nothing is added',
    { fields: { offenders: [...offenders] } },
  );
}

/** Throws where a grant of these scopes reaches beyond the envelope. Nothing of it is left out silently. */
export function assertWithin({ scope, yellow }: Envelope, envelope: Envelope): void {
  const check = (
    code: 'scope_outside_envelope' | 'yellow_scope_outside_envelope',
    asked: readonly string[],
    allowed: readonly string[],
  ): void => {
    const offenders = beyond(asked, allowed);
    if (offenders.length > 0)
      throw new GateError(code, `not in the agent's envelope: ${offenders.join(', ')}`, {
        fields: { offenders: [...offenders] },
      });
  };
  check('scope_outside_envelope', scope, envelope.scope);
  check('yellow_scope_outside_envelope', yellow, envelope.yellow);
}

/** The scope that lets an agent call a tool, and the one that lets it ask a person whether it may. */
export const toolScope = (tool: string): string => `tool:${tool.normalize('NFC').toLowerCase()}`;
export const yellowToolScope = (tool: string): string => `yellow:${tool.normalize('NFC').toLowerCase()}`;

/** The tools that a grant covers neither by its scope nor by its yellow scope, by the scopes that are missing. */
export const notGranted = (
  { scope, yellow_scope: yellow }: { readonly scope: readonly string[]; readonly yellow_scope: readonly string[] },
  tools: readonly string[],
): readonly string[] => [
  ...new Set(
    tools.filter((tool) => !scope.includes(toolScope(tool)) && !yellow.includes(yellowToolScope(tool))).map(toolScope),
  ),
];

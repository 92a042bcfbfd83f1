import { LRUCache } from 'lru-cache';
import { errorText } from '../errors.js';
import type { PolicyCompiler, FirstRead } from './compiler.js';
import type { StoredPolicy } from './library-ports.js';
import { readingNothing } from './validation.js';

/** What a text can read of data, as far as that is told without parsing it. */
interface Seen {
  /** The names behind `data.gate.`; null where `data` stands in another way too, so that only its tree says what it reads. */
  readonly names: readonly string[] | null;
  reads: readonly FirstRead[] | null;
}

/** Texts are read once; one of the most policies that a store is likely to hold is some hundred bytes here. */
const TEXTS_KEPT = 4_000;
/** Nobody reads more. */
const MOST_TOLD = 20;

/** `data` cannot be written in another way in Rego, so a text is parsed only where it may read what nobody gives. */
const DATA = /\bdata\b(?:\.gate\.([A-Za-z_][A-Za-z0-9_]{0,200}))?/g;

/**
 * What rules in force read and nobody gives, in the words of a check. Only what a change touches is told: rules that it puts there, and documents
 * that it takes away.
 */
export function createReadings(compiler: Pick<PolicyCompiler, 'reads'>) {
  const kept = new LRUCache<string, Seen>({ max: TEXTS_KEPT });

  async function readsOf(
    { name, body_sha256: digest }: StoredPolicy,
    textOf: () => Promise<string>,
    isGiven: (name: string) => Promise<boolean>,
  ): Promise<readonly FirstRead[]> {
    let seen = kept.get(digest);
    let body: string | null = null;
    if (!seen) {
      body = await textOf();
      seen = { names: namesIn(body), reads: null };
      kept.set(digest, seen);
    }
    if (seen.reads === null && seen.names !== null) {
      const given = await Promise.all(seen.names.map(isGiven));
      if (given.every(Boolean)) return [];
    }
    seen.reads ??= await compiler.reads({ name, body: body ?? (await textOf()) });
    return seen.reads;
  }

  return async function missing(
    inForce: readonly StoredPolicy[],
    touched: ReadonlySet<string>,
    textOf: (policy: StoredPolicy) => Promise<string>,
    isGiven: (name: string) => Promise<boolean>,
  ): Promise<readonly string[]> {
    const told: string[] = [];
    try {
      for (const rule of inForce.filter(({ content_type: type }) => type === 'rego')) {
        const reads = await readsOf(rule, () => textOf(rule), isGiven);
        const meant = reads.filter(({ name }) => touched.has(rule.name) || touched.has(`${name}.json`));
        for (const message of await readingNothing(meant, isGiven)) told.push(`${rule.name}: ${message}`);
      }
    } catch (error) {
      told.push(`whether the rules in force read what is not there is not known: ${errorText(error)}`);
    }
    return told.length > MOST_TOLD
      ? [...told.slice(0, MOST_TOLD), `and ${told.length - MOST_TOLD} more of this kind`]
      : told;
  };
}

function namesIn(body: string): readonly string[] | null {
  const names = new Set<string>();
  for (const [, name] of body.matchAll(DATA)) {
    if (name === undefined) return null;
    names.add(name);
  }
  return [...names];
}

import { LRUCache } from 'lru-cache';
import { type DefinitionScanRequest, type EntryScan, MAX_SCANNED } from '../../contracts/definition-scan.js';
import type { JsonObject } from '../../contracts/json.js';
import type { DefinitionScanner, PinOwner } from './ports.js';
import { isLargeScan, scanDefinitions } from './scan-definitions.js';
import { LOOKALIKE } from './tool-names.js';

/** A text that a model reads, and what it is called in a row. */
export interface ToldPart {
  readonly name: string;
  readonly told: JsonObject;
}
/** An entry as it was listed. */
export interface ListedEntry {
  readonly text: string;
  /** It is called by its name, so that is no text. */
  readonly nameIdentifies: boolean;
}

/** A tool as it was listed. */
interface ListedTool {
  /** Covers everything that `text` says. */
  readonly sha256: string;
  readonly text: string;
}

/** What Brain finds in what an upstream told one agent, in order. Rejects where nobody looked: then nothing of it is known. */
export interface DefinitionJudge {
  /** The rules that found something in each tool. Names that are alike are left to who sees the whole list. */
  tools(tools: readonly ListedTool[]): Promise<readonly (readonly string[])[]>;
  texts(parts: readonly ToldPart[]): Promise<readonly (readonly string[])[]>;
  /** Where each entry instructs a model; `null` where it does not. */
  places(entries: readonly ListedEntry[]): Promise<readonly (EntryScan | null)[]>;
}

const REMEMBERED = 20_000;
const NOTHING: readonly string[] = [];

/**
 * Judges over Brain. Each definition is asked about once, by its digest. Where Brain does not answer, what is small is read by the same rules
 * right here, and `onDegraded` is told; what is large is not looked at.
 */
export function definitionJudges({
  scanner,
  onDegraded,
}: {
  readonly scanner: DefinitionScanner;
  readonly onDegraded: (error: unknown) => void;
}): (owner: PinOwner) => DefinitionJudge {
  const known = new LRUCache<string, readonly string[]>({ max: REMEMBERED });

  return ({ tenant, agent }) => {
    type Lists = Partial<Pick<DefinitionScanRequest, 'tools' | 'texts' | 'entries'>>;
    async function scan(lists: Lists) {
      const asked = { agent_id: agent, tenant, tools: [], texts: [], entries: [], ...lists };
      try {
        return await scanner.scanDefinitions(asked);
      } catch (error) {
        onDegraded(error);
        if (isLargeScan(asked)) throw error;
        return { ...scanDefinitions(asked), degraded: true };
      }
    }

    return {
      async tools(tools) {
        const asked = [...new Map(tools.map(({ sha256, text }) => [sha256, text]))].filter(
          ([sha256]) => !known.has(sha256),
        );
        const now = new Map<string, readonly string[]>();
        for (const part of inParts(asked)) {
          const { flagged, degraded } = await scan({ tools: part.map(([, text]) => text) });
          const found = new Map(flagged.map(({ index, signals }) => [index, signals]));
          for (const [index, [sha256]] of part.entries()) {
            const rules = (found.get(index) ?? NOTHING).filter((rule) => rule !== LOOKALIKE);
            now.set(sha256, rules);
            if (!degraded) known.set(sha256, rules);
          }
        }
        return tools.map(({ sha256 }) => now.get(sha256) ?? known.get(sha256) ?? NOTHING);
      },
      async texts(parts) {
        const all: (readonly string[])[] = [];
        for (const part of inParts(parts)) {
          const texts = part.map(({ name, told }) => ({ name, text: JSON.stringify(told) }));
          const found = new Map((await scan({ texts })).flagged_texts.map(({ index, signals }) => [index, signals]));
          all.push(...part.map((_, index) => found.get(index) ?? NOTHING));
        }
        return all;
      },
      async places(entries) {
        const all: (EntryScan | null)[] = [];
        for (const part of inParts(entries)) {
          const { located } = await scan({
            entries: part.map(({ text, nameIdentifies }) => ({ text, name_identifies: nameIdentifies })),
          });
          const found = new Map(located.map(({ index, ...where }) => [index, where]));
          all.push(...part.map((_, index) => found.get(index) ?? null));
        }
        return all;
      },
    };
  };
}

function* inParts<Item>(items: readonly Item[]): Generator<readonly Item[]> {
  for (let at = 0; at < items.length; at += MAX_SCANNED) yield items.slice(at, at + MAX_SCANNED);
}
